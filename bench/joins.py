#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How fast jobs meet, and meet again:  bench/joins.py [PLACE ...] [--ranks 64,1024] [--rounds 5]

Of each place (star: a switch; tree: two switches below one; several: a switch with another; none: the first rank's process) and count of
ranks: milliseconds from the first that may join to each rank's end of trib_comm_create (median over ranks and the last, of the round in
the middle), control messages a second to one switch while nothing is summed and while ranks sum, and how long they stood still when it was
killed meanwhile and started again. With --keys all sessions have keys (TLS). All on the loopback, each rank a thread (bench/micro/joins.c). Needs a build and `ss` (iproute2).
"""
import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.dont_write_bytecode = True

from processes import BenchError, kill_all, name_of, say, start  # noqa: E402

BUILD = os.environ.get("BUILD_DIR", os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build"))
KEYS = []  # options of each switch
STAY_S = 8  # the first half idle, the second busy


def begin(command, **options):
    """With a file for what it says of each rank: a pipe that nobody reads would be full, and the process would wait."""
    said = tempfile.TemporaryFile("w+")
    process = start(command, stderr=said, **options)
    process.said = said
    return process


def last_said(process):
    """Of a process that has ended, or is to end."""
    process.wait()
    process.said.seek(0)
    return process.said.read()[-1000:].strip()


class Switch:
    def __init__(self, *options):
        self.options, self.port = options, 0
        self.start()

    def start(self):
        ready, theirs = os.pipe()
        command = [os.path.join(BUILD, "bin", "tributary"), "switch", "--listen", f"127.0.0.1:{self.port}", "--http", "none", "--memory", "16GiB",
                   "--job-quota", "8GiB", "--join-timeout", "120s", "--ready-fd", str(theirs), *KEYS, *self.options]
        self.process = begin(command, pass_fds=[theirs])
        os.close(theirs)
        said = os.read(ready, 16)
        os.close(ready)
        if not said:
            raise BenchError(f"{name_of(self.process)}: {last_said(self.process)}")
        self.port = int(said)
        self.address = f"127.0.0.1:{self.port}"

    def restart(self):
        self.process.kill()
        self.process.wait()
        self.start()


def place_of(name):
    """(switches, which of them is killed, where ranks meet)."""
    if name == "star":
        one = Switch()
        return one, [one.address]
    if name == "tree":
        top = Switch()
        leaves = [Switch("--parent", top.address) for _ in range(2)]
        return leaves[0], [leaf.address for leaf in leaves]
    if name == "several":
        lender = Switch("--lend", "127.0.0.1")
        return lender, [Switch("--with", lender.address).address]
    return None, [f"127.0.0.1:{free_port()}", "none"]


def free_port():
    one = Switch()
    one.process.kill()
    one.process.wait()
    return one.port


def messages_to(pid):
    """Segments with data that have come to a process's TCP sockets: of short messages, each is one or a few."""
    listed = subprocess.run(["ss", "-tinpH"], capture_output=True, text=True, check=True).stdout
    entries = re.split(r"\n(?=\S)", listed)
    return sum(int(count) for entry in entries if f"pid={pid}," in entry for count in re.findall(r"data_segs_in:(\d+)", entry))


def rate(switch, seconds):
    before = messages_to(switch.process.pid)
    time.sleep(seconds)
    return (messages_to(switch.process.pid) - before) / seconds


def measure(name, ranks, rounds):
    killed, places = place_of(name)
    address, *rest = [",".join(places)] if name != "none" else places
    process = begin([os.path.join(BUILD, "bin", "bench-joins"), str(ranks), str(rounds), str(1000 * STAY_S), address, *rest])
    said, result = [], {"place": name, "ranks": ranks}
    while len(said) < rounds:
        line = process.stdout.readline()
        if not line or "error" in line:
            raise BenchError(f"{name}, {ranks} ranks: {line.strip() or last_said(process)}")
        said.append(json.loads(line))
    said.sort(key=lambda one: one["p50"])
    result["p50_ms"], result["last_ms"] = said[rounds // 2]["p50"], max(one["last"] for one in said)
    if killed is not None:
        eighth = STAY_S / 8
        time.sleep(eighth)
        result["idle_s"] = rate(killed, eighth)
        time.sleep(2.5 * eighth)
        result["busy_s"] = rate(killed, eighth)
        killed.restart()
    line = process.stdout.readline()
    if not line or "error" in line:
        raise BenchError(f"{name}, {ranks} ranks, after a kill: {line.strip() or last_said(process)}")
    result["gap_ms"] = json.loads(line)["gap"]
    kill_all()
    return result


def make_keys(folder):
    """A key for the ranks, its file for the switches, and one for them alone."""
    program = os.path.join(BUILD, "bin", "tributary")
    key, operator = os.path.join(folder, "job.key"), os.path.join(folder, "operator.key")
    taken = os.path.join(folder, "taken")
    os.mkdir(taken)
    for command in (["new", key], ["new", operator], ["tenant", key, taken]):
        subprocess.run([program, "key", *command], check=True, stdout=subprocess.DEVNULL)
    os.environ["TRIB_KEY_FILE"] = key
    KEYS.extend(["--keys", taken, "--key", operator])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("places", metavar="PLACE", nargs="*", default=["star", "tree", "several", "none"])
    parser.add_argument("--ranks", default="64,1024")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keys", action="store_true", help="sessions with keys")
    options = parser.parse_args()
    failed = 0
    folder = tempfile.TemporaryDirectory()
    if options.keys:
        make_keys(folder.name)
    print(f"{'place':<8} {'ranks':>5} {'median ms':>10} {'last ms':>8} {'idle /s':>8} {'busy /s':>8} {'gap ms':>7}")
    for name in options.places:
        for ranks in map(int, options.ranks.split(",")):
            try:
                one = measure(name, ranks, options.rounds)
                rates = [f"{one[key]:.0f}" if key in one else "-" for key in ("idle_s", "busy_s")]
                print(f"{name:<8} {ranks:>5} {one['p50_ms']:>10.1f} {one['last_ms']:>8.1f} {rates[0]:>8} {rates[1]:>8} {one['gap_ms']:>7.0f}",
                      flush=True)
            except BenchError as error:
                say(str(error))
                failed = 1
            finally:
                kill_all()
    return failed


if __name__ == "__main__":
    sys.exit(main())
