#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sample.sh [ROUNDS [PAYLOAD [OPTIONS...]]]: CPU time of all processes and time of a call, of a job with a key whose ranks repeat 1/1000 and 1/100
# of each sum (TRIB_SAMPLE), against the same job without samples, in turns: one switch, 4 ranks on the loopback that each send, allreduces of
# 8 MiB of float32. Prints median and quartiles of the ratios.
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


def run(sample):
    """CPU seconds of switch and ranks, and microseconds of a call."""
    ready, end = os.pipe()
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    switch = subprocess.Popen([program, "switch", "--listen", "127.0.0.1:0", "--http", "none", "--keys", folder + "/keys", "--ready-fd", str(end)],
                              pass_fds=[end], stderr=subprocess.DEVNULL)
    environment = {**os.environ, "TRIB_SWITCH": "127.0.0.1:" + os.read(ready, 16).decode().strip(), "TRIB_LEVEL0": "0",
                   "TRIB_PAYLOAD": os.environ["PAYLOAD"], "TRIB_KEY_FILE": folder + "/job.key", "TRIB_SAMPLE": str(sample)}
    os.close(ready)
    os.close(end)
    try:
        said = subprocess.run([program, "perf", "--workers", "4", "-b", "8MiB", "-e", "8MiB", "-n", "60", "--json", *sys.argv[1:]], env=environment,
                              capture_output=True, text=True, timeout=120)
    finally:
        switch.terminate()
        switch.wait()
    if said.returncode != 0:
        sys.exit(f"sample.sh: {sample}: {said.stdout}{said.stderr}")
    row = json.loads(said.stdout)["rows"][0]
    if row["wrong"] != 0:
        sys.exit(f"sample.sh: {sample}: wrong sums")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, row["time_us"]


rounds = [[run(sample) for sample in (0, 1000, 100)] for _ in range(int(os.environ["ROUNDS"]))]
for at, name in ((1, "1/1000"), (2, "1/100")):
    for what, field, unit in (("CPU time", 0, "s"), ("time of a call", 1, "us")):
        ratios = sorted(row[at][field] / row[0][field] for row in rounds)
        print(f"{name}: {what} x {statistics.median(ratios):.3f}, quartiles {ratios[len(ratios) // 4]:.3f} and {ratios[3 * len(ratios) // 4]:.3f}, "
              f"of {statistics.median(row[0][field] for row in rounds):.2f} {unit}")
END
