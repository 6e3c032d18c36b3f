#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# keys.sh [PAIRS [PAYLOAD [OPTIONS...]]]: CPU time of all processes of a job with a key, and with encrypted payloads, against the same job
# without, in turns: one switch, 4 ranks on the loopback that each send, allreduces of 8 MiB. Prints median and quartiles of the ratios.
set -euo pipefail
PAIRS=${1:-8} PAYLOAD=${2:-8192}
shift $(($# < 2 ? $# : 2))
ROOT=$(cd "$(dirname "$0")/.." && pwd)
T=${TRIBUTARY:-$ROOT/build/bin/tributary}
TMP=$(mktemp -d)
trap 'rm -rf "$TMP"' EXIT
mkdir "$TMP/keys"
"$T" key new "$TMP/job.key" >/dev/null
"$T" key tenant "$TMP/job.key" "$TMP/keys" >/dev/null

# run KIND OPTIONS...: CPU seconds of switch and ranks.
run() {
    local kind=$1
    shift
    TRIBUTARY=$T KIND=$kind PAYLOAD=$PAYLOAD TMP=$TMP python3 - "$@" <<'END'
import os, resource, subprocess, sys
kind, folder, program = os.environ["KIND"], os.environ["TMP"], os.environ["TRIBUTARY"]
keys = ["--keys", folder + "/keys"] if kind != "clear" else []
ready, end = os.pipe()
switch = subprocess.Popen([program, "switch", "--listen", "127.0.0.1:0", "--http", "none", *keys, "--ready-fd", str(end)], pass_fds=[end],
                          stderr=subprocess.DEVNULL)
environment = {**os.environ, "TRIB_SWITCH": "127.0.0.1:" + os.read(ready, 16).decode().strip(), "TRIB_LEVEL0": "0",
               "TRIB_PAYLOAD": os.environ["PAYLOAD"]}
if keys:
    environment["TRIB_KEY_FILE"] = folder + "/job.key"
if kind == "encrypted":
    environment["TRIB_ENCRYPT"] = "1"
try:
    said = subprocess.run([program, "perf", "--workers", "4", "-b", "8MiB", "-e", "8MiB", "-n", "60", *sys.argv[1:]], env=environment,
                          capture_output=True, text=True, timeout=120)
finally:
    switch.terminate()
    switch.wait()
if said.returncode != 0 or "# 0 wrong elements" not in said.stdout:
    sys.exit("keys.sh: " + kind + ": " + said.stdout + said.stderr)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime)
END
}

for ((pair = 0; pair < PAIRS; pair++)); do
    clear=$(run clear "$@")
    key=$(run key "$@")
    encrypted=$(run encrypted "$@")
    echo "$clear $key $encrypted"
done | python3 -c '
import statistics, sys
rows = [[float(word) for word in line.split()] for line in sys.stdin]
if not rows:
    sys.exit("keys.sh: no pair ran")
for name, at in (("a key", 1), ("encrypted payloads", 2)):
    ratios = sorted(row[at] / row[0] for row in rows)
    print(f"{name}: CPU time x {statistics.median(ratios):.2f}, quartiles {ratios[len(ratios) // 4]:.2f} and {ratios[3 * len(ratios) // 4]:.2f}, "
          f"of {statistics.median(row[0] for row in rows):.2f} s")
'
