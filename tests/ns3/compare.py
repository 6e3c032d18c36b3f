#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`tributary sim` against ns-3: the same flows with DCTCP on the same leaf-spine network, in both.

  tests/ns3/compare.py            completion times: means within 5 %, 99th percentiles within 10 %; and 8 flows into one port end as much
                                  together as in ns-3 (`make test-all` runs this)
  tests/ns3/compare.py --bench    packet-hops per second of CPU time of both, in turns; a figure, no verdict

Needs a build (BUILD_DIR, else build/) and ns-3 (Debian: libns3-dev); exits 77 where there is none. Reads: flows.c, leaf_spine.cc.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.environ.get("BUILD_DIR", os.path.join(os.path.dirname(os.path.dirname(HERE)), "build"))
OURS = os.path.join(BUILD, "tests", "ns3", "flows")
THEIRS = os.path.join(BUILD, "tests", "ns3", "leaf_spine")
SOURCE = os.path.join(HERE, "leaf_spine.cc")
PARTS = ["core", "network", "internet", "point-to-point", "traffic-control"]
TIMEOUT = 240
MEAN, TAIL = 0.05, 0.10
NETWORK, FLOWS, SEEDS = ["4", "4", "8"], "1000", ["1", "2"]
SHARED, SHARERS, DRAWS = ["1", "1", "9"], "8", ["1", "2", "3", "4", "5", "6"]
APART = 0.05  # of the smallest over the largest time, the mean of all draws
BENCH = [("128 hosts", ["8", "8", "16"], "2000", 60), ("1,024 hosts", ["32", "32", "32"], "600", 200)]
ROUNDS = 3


def say(text):
    print(text, flush=True)


def compile_theirs():
    if not (shutil.which("g++") and os.path.exists("/usr/include/ns3/core-module.h")):
        say("skipped: no ns-3 (Debian: libns3-dev and g++)")
        sys.exit(77)
    if os.path.exists(THEIRS) and os.path.getmtime(THEIRS) > os.path.getmtime(SOURCE):
        return
    # Debian's .pc files name no folder that is there.
    command = ["g++", "-O2", "-DNDEBUG", "-std=c++17", "-Wall", "-Wextra", SOURCE, "-o", THEIRS]
    subprocess.run(command + ["-lns3-" + part for part in PARTS], check=True)


def run(command, text=""):
    done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=TIMEOUT, check=False)
    if done.returncode != 0:
        sys.exit(f"{os.path.basename(command[0])}: exit status {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def figures(times):
    times = sorted(times)
    return statistics.mean(times), times[len(times) // 2], times[-(-len(times) * 99 // 100) - 1]


def compare(seed):
    """Prints the completion times of one draw; returns whether they agree."""
    flows = run([OURS, *NETWORK, FLOWS, seed])
    rows = [[int(word) for word in line.split()] for line in flows.splitlines()[1:-1]]
    answer = run([THEIRS], flows).splitlines()
    theirs = [int(word) for word in answer[:-1]]
    counts = [flows.splitlines()[-1].split(), answer[-1].split()]
    if len(theirs) != len(rows) or min(theirs) == 0 or len(rows) != int(FLOWS):
        sys.exit("ns-3 has not ended all flows")
    say(f"seed {seed}: {len(rows)} flows; hops {counts[0][0]} and {counts[1][0]}, marked {counts[0][1]} and {counts[1][1]}, "
        f"dropped {counts[0][2]} and {counts[1][2]}")
    is_good = True
    for what, scale, bounds in (("time, us", [1e6] * len(rows), (MEAN, None, TAIL)), ("slowdown", [row[7] for row in rows], (None, None, None))):
        ours = figures([row[6] / unit for row, unit in zip(rows, scale)])
        others = figures([time / unit for time, unit in zip(theirs, scale)])
        for name, mine, other, bound in zip(("mean", "p50", "p99"), ours, others, bounds):
            verdict = "" if bound is None else "ok" if abs(mine / other - 1) <= bound else "FAILED"
            is_good = is_good and verdict != "FAILED"
            say(f"  {what:10} {name:5} ours {mine:9.2f}  ns-3 {other:9.2f}  ratio {mine / other:.3f}  {verdict}")
    return is_good


def share():
    """Prints the smallest over the largest time of flows that share a port; returns whether ours are as even as ns-3's."""
    ours, theirs = [], []
    for seed in DRAWS:
        flows = run([OURS, *SHARED, SHARERS, seed, "share"])
        times = [int(line.split()[6]) for line in flows.splitlines()[1:-1]]
        others = [int(word) for word in run([THEIRS], flows).splitlines()[:-1]]
        if len(others) != int(SHARERS) or min(others) == 0:
            sys.exit("ns-3 has not ended all flows")
        ours.append(min(times) / max(times))
        theirs.append(min(others) / max(others))
        say(f"{SHARERS} flows into one port, seed {seed}: smallest over largest time ours {ours[-1]:.3f}  ns-3 {theirs[-1]:.3f}")
    is_good = statistics.mean(ours) >= statistics.mean(theirs) - APART
    say(f"  mean       ours {statistics.mean(ours):.3f}  ns-3 {statistics.mean(theirs):.3f}  {'ok' if is_good else 'FAILED'}")
    return is_good


def bench():
    """The same permutation for the same time. Set-up is left out on both sides."""
    for name, network, length, goal in BENCH:
        ratios = []
        for _ in range(ROUNDS):
            flows = run([OURS, *network, "0", "1", length])
            mine = flows.splitlines()[-1].split()
            other = run([THEIRS, length], flows).splitlines()[-1].split()
            ours, theirs = int(mine[0]) / float(mine[3]), int(other[0]) / float(other[3])
            ratios.append(ours / theirs)
            say(f"  {name}: ours {ours / 1e6:.2f} M hops/s ({mine[0]} hops), ns-3 {theirs / 1e6:.3f} M ({other[0]} hops), {ours / theirs:.0f}x; "
                f"payload that came {int(mine[4]) / int(other[5]):.3f}")
        say(f"{name}: {statistics.median(ratios):.0f}x ns-3, median of {ROUNDS} (goal {goal}x)")


def main():
    parser = argparse.ArgumentParser(prog="tests/ns3/compare.py", description="tributary sim against ns-3.")
    parser.add_argument("--bench", action="store_true", help="packet-hops per second of CPU time")
    options = parser.parse_args()
    compile_theirs()
    if options.bench:
        bench()
        return 0
    verdicts = [compare(seed) for seed in SEEDS] + [share()]
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
