#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# keys.sh [ROUNDS [PAYLOAD [OPTIONS...]]]: what keys cost: CPU time of all processes and time of a call, of the same job without a key, with one,
# with encrypted payloads, and with 1/1000 and 1/100 of each sum repeated (TRIB_SAMPLE), in turns: one switch, 4 ranks on the loopback that each
# send, allreduces of 8 MiB of float32. Prints median and quartiles of the ratios; a wrong sum ends it.
set -euo pipefail
ROUNDS=${1:-8} PAYLOAD=${2:-8192}
shift $(($# < 2 ? $# : 2))
ROOT=$(cd "$(dirname "$0")/.." && pwd)
T=${TRIBUTARY:-$ROOT/build/bin/tributary}
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
mkdir "$TMP/keys"
"$T" key new "$TMP/job.key" >/dev/null
"$T" key tenant "$TMP/job.key" "$TMP/keys" >/dev/null
TRIBUTARY=$T ROUNDS=$ROUNDS PAYLOAD=$PAYLOAD TMP=$TMP python3 - "$@" <<'END'
import json, os, resource, statistics, subprocess, sys
folder, program = os.environ["TMP"], os.environ["TRIBUTARY"]
KEY = {"TRIB_KEY_FILE": folder + "/job.key"}
KINDS = {  # environment of the ranks, and with whom they are compared
    "no key": ({}, None), "a key": (KEY, "no key"), "encrypted payloads": ({**KEY, "TRIB_ENCRYPT": "1"}, "no key"),
    "samples of 1/1000": ({**KEY, "TRIB_SAMPLE": "1000"}, "a key"), "samples of 1/100": ({**KEY, "TRIB_SAMPLE": "100"}, "a key")}


def run(kind):
    """CPU seconds of switch and ranks, and microseconds of a call."""
    own = KINDS[kind][0]
    ready, end = os.pipe()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    keys = ["--keys", folder + "/keys"] if own else []
    switch = subprocess.Popen([program, "switch", "--listen", "127.0.0.1:0", "--http", "none", *keys, "--ready-fd", str(end)], pass_fds=[end],
                              stderr=subprocess.DEVNULL)
    environment = {**os.environ, "TRIB_SWITCH": "127.0.0.1:" + os.read(ready, 16).decode().strip(), "TRIB_LEVEL0": "0",
                   "TRIB_PAYLOAD": os.environ["PAYLOAD"], **own}
    os.close(ready)
    os.close(end)
    try:
        said = subprocess.run([program, "perf", "--workers", "4", "-b", "8MiB", "-e", "8MiB", "-n", "60", "--json", *sys.argv[1:]], env=environment,
                              capture_output=True, text=True, timeout=120)
    finally:
        switch.terminate()
        switch.wait()
    if said.returncode != 0:
        sys.exit(f"keys.sh: {kind}: {said.stdout}{said.stderr}")
    row = json.loads(said.stdout)["rows"][0]
    if row["wrong"] != 0:
        sys.exit(f"keys.sh: {kind}: wrong sums")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, row["time_us"]


rounds = [{kind: run(kind) for kind in KINDS} for _ in range(int(os.environ["ROUNDS"]))]
if not rounds:
    sys.exit("keys.sh: no round ran")
for kind, (_, base) in KINDS.items():
    for what, field, unit in (("CPU time", 0, "s"), ("time of a call", 1, "us")):
        if base:
            ratios = sorted(row[kind][field] / row[base][field] for row in rounds)
            print(f"{kind} against {base}: {what} x {statistics.median(ratios):.2f}, quartiles {ratios[len(ratios) // 4]:.2f} and "
                  f"{ratios[3 * len(ratios) // 4]:.2f}, of {statistics.median(row[base][field] for row in rounds):.2f} {unit}")
END
