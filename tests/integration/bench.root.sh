#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The benchmark works: one row of the star and one of the loopback with small sizes; values, bytes on the wire and cleaning up.
set -euo pipefail
cd "$(dirname "$0")/../.."

skip() {
    echo "skipped: $1"
    exit 77
}

[ "$(id -u)" -eq 0 ] || skip "needs root"
command -v ip >/dev/null && command -v tc >/dev/null || skip "needs iproute2"
command -v g++ >/dev/null && echo '#include <gloo/allreduce.h>' | g++ -std=c++17 -fsyntax-only -x c++ - 2>/dev/null ||
    skip "needs libgloo-dev: tools/deps.sh bench"
command -v mpicc >/dev/null && command -v mpirun >/dev/null || skip "needs Open MPI: tools/deps.sh bench"
[ -x build/bin/tributary ] || skip "needs build/bin/tributary"
probe=tribbenchprobe$$
ip netns add "$probe" 2>/dev/null || skip "cannot make network namespaces here"
ip netns del "$probe"

bench/run --quick goodput-4-1500 star-gloo-4-1500 cpu-all wall-mpi
python3 - build/bench-quick.json <<'END'
import json, sys
rows = {row["name"]: row for row in json.load(open(sys.argv[1]))}
for name in ("goodput-4-1500", "star-gloo-4-1500", "cpu-all", "wall-mpi"):
    row = rows[name]
    assert row["ours"] > 0 and row["met"] is None and row["quick"], row
    assert row["peer"] is None or row["peer"] > 0, row
    for measurement in row["medians"].values():
        assert measurement["wrong"] == 0 and measurement["wire_asserted"]["nic_out_per_byte"] >= 1, row
END

bench/run --quick host-100m host-100m-shared host-4k
python3 - build/bench-quick.json <<'END'
import json, sys
rows = {row["name"]: row for row in json.load(open(sys.argv[1]))}
for name in ("host-100m", "host-100m-shared", "host-4k"):
    row = rows[name]
    assert row["ours"] > 0 and row["peer"] > 0 and row["met"] is None and row["setup"]["level0"], row
    for measurement in row["medians"].values():
        assert measurement["wrong"] == 0, row
END

bench/run --quick communicators communicators-memory communicators-made
python3 - build/bench-quick.json <<'END'
import json, sys
rows = {row["name"]: row for row in json.load(open(sys.argv[1]))}
for name in ("communicators", "communicators-memory", "communicators-made"):
    row = rows[name]
    assert row["ours"] > 0 and row["met"] is None and row["quick"], row
    for measurement in row["medians"].values():
        assert measurement["wrong"] == 0 and measurement["wire_asserted"]["nic_out_per_byte"] >= 1, row
END

bench/run --quick allgather-4-1500 scatter-4-1500 scatter-ring-4-1500 grouped
python3 - build/bench-quick.json <<'END'
import json, sys
rows = {row["name"]: row for row in json.load(open(sys.argv[1]))}
for name in ("allgather-4-1500", "scatter-4-1500", "scatter-ring-4-1500", "grouped"):
    row = rows[name]
    assert row["ours"] > 0 and row["met"] is None and row["quick"], row
    assert row["peer"] is None or row["peer"] > 0, row
    for measurement in row["medians"].values():
        # An allgather sends a rank's quarter, and a header for each other fragment.
        assert measurement["wrong"] == 0 and measurement["wire_asserted"]["nic_out_per_byte"] >= 0.25, row
END

bench/run --quick two-by-four two-by-four-1408
python3 - build/bench-quick.json <<'END'
import json, sys, types
rows = {row["name"]: row for row in json.load(open(sys.argv[1]))}
for name in ("two-by-four", "two-by-four-1408"):
    row = rows[name]
    assert row["ours"] >= 1 and row["met"] is None and row["quick"] and row["setup"]["workers"] == 2, row
    for measurement in row["medians"].values():
        assert measurement["wrong"] == 0 and measurement["payload_per_byte"] >= 1, row
assert rows["two-by-four"]["ours"] < rows["two-by-four-1408"]["ours"], "headers are no payload"

# A verdict compares what was measured, not its four digits; and says by how much.
sys.path.insert(0, "bench")
sys.dont_write_bytecode = True
import report
from rows import ROWS, SCENARIOS
row = next(row for row in ROWS if row.name == "two-by-four")
for payload, met in ((1.0, True), (1.0 + 4e-6, False)):
    result = report.judge(row, SCENARIOS[row.scenario], {row.ours: [{"payload_per_byte": payload}]})
    line = report.line(report.entry_of(row, {"quick": False}, result))
    assert result["met"] is met and result["ours"] == 1.0 and ("beyond the target by 4e-06" in line) is not met, line
END

# A profile: the values' filling does not count, nor do other processes.
python3 - <<'END'
import sys
sys.path.insert(0, "bench")
sys.dont_write_bytecode = True
import profiles
samples = """
 tributary      ffffffff81 _copy_from_iter+0x10 ([kernel.kallsyms])
 tributary      ffffffff82 udp_sendmsg+0x1 ([kernel.kallsyms])
 tributary      55aa trib_crc32c_clmul+0x40 (/build/bin/tributary)
 tributary      55ab contribution+0x4 (/build/bin/tributary)
 tributary      55ac perf_fill+0x4 (/build/bin/tributary)
 ksoftirqd/0    ffffffff83 net_rx_action+0x4 ([kernel.kallsyms])
"""
found = {kind: dict(functions) for kind, functions in profiles.read_samples(samples, "tributary").items() if functions}
assert found == {"values": {"perf_fill": 1}, "kernel: copies": {"_copy_from_iter": 1}, "kernel: rest": {"udp_sendmsg": 1},
                 "checksums": {"trib_crc32c_clmul": 1}, "program: rest": {"contribution": 1}}, found
END
if command -v perf >/dev/null && perf record -q -a -o /dev/null -- true 2>/dev/null; then
    bench/run --quick --profile goodput-4-1500 | grep -E '^    kernel: copies +[0-9.]+ % '
elif ! command -v perf >/dev/null; then
    status=0
    bench/run --profile goodput-4-1500 2>/dev/null || status=$?
    [ "$status" -eq 2 ]
fi

# Interrupted, it leaves nothing behind either.
bench/run --quick >/dev/null 2>&1 &
bench=$!
sleep 1
kill -INT "$bench" 2>/dev/null || true
kill -TERM "$bench" 2>/dev/null || true
wait "$bench" || true
if ip netns list | grep "^tribbench${bench}-"; then
    echo "namespaces are left over"
    exit 1
fi
# Nor when the signal comes while namespaces are removed: the first of them is, and then the signal comes.
python3 - <<'END'
import os, runpy, signal, subprocess, sys
sys.path.insert(0, "bench")
sys.dont_write_bytecode = True
import star
remove = star.run
def interrupted(command, **options):
    result = remove(command, **options)
    if command[:3] == ["ip", "netns", "del"]:
        star.run = remove
        os.kill(os.getpid(), signal.SIGTERM)
    return result
star.run = interrupted
sys.argv = ["bench/run", "--quick", "goodput-4-1500"]
try:
    runpy.run_path("bench/run", run_name="__main__")
except SystemExit as end:
    assert end.code == 143, end
names = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True).stdout
assert star.run is remove and f"tribbench{os.getpid()}-" not in names, names
END
status=0
bench/run no-such-row 2>/dev/null || status=$?
[ "$status" -eq 2 ]
echo "bench: passed"
