# SPDX-License-Identifier: Apache-2.0
"""Runs Tributary: a switch and the ranks of `tributary perf` in a network, and makes one measurement of their output.

A measurement is a dict: size, calls (every call of the run, timed or not), times in microseconds (median, mean, min), CPU
nanoseconds per byte of the tensor (all, workers, switch), wrong elements, counters of the wire, and what is peculiar to it.
"""
import hashlib
import json
import os
import shutil
import subprocess

from processes import BenchError, finish, run, start, stop

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILT = os.path.join(ROOT, "build", "bin", "tributary")
TRIBUTARY = os.path.join(ROOT, "build", "bench", f"tributary-{os.getpid()}")  # a copy: a rebuild must not mix two programs
PORT, HTTP_PORT = 7470, 8470
MANY = os.path.join(ROOT, "build", "tests", "integration", "many")
GROUPED = os.path.join(ROOT, "build", "tests", "integration", "grouped")
TENSORS = 64
COMMUNICATORS, BUSY, MANY_MS = 256, 8, 300
NICE = ["nice", "-n", "-15"]
READ_SWITCH = (f"import urllib.request as r; print(r.build_opener(r.ProxyHandler({{}})).open('http://127.0.0.1:{HTTP_PORT}"
               "/v1/switch', timeout=2).read().decode())")


def start_switch(network, contestant):
    """The daemon, serving."""
    reader, writer = os.pipe()
    command = network.switch_place() + NICE + [
        TRIBUTARY, "switch", "--listen", f"{network.switch_address()}:{PORT}", "--ready-fd", str(writer)]
    quiet = dict(os.environ, TRIB_DEBUG="WARN")  # nobody reads its pipe: a line for each of hundreds of jobs would fill it
    process = start(command + options_of(contestant), pass_fds=[writer], env=quiet)
    os.close(writer)
    with os.fdopen(reader) as ready:
        if not ready.readline().strip():
            stop(process)
            raise BenchError("the switch did not start")
    return process


def options_of(contestant):
    """Options that switch and ranks share."""
    options = [] if contestant.trains else ["--no-trains"]
    if contestant.loss:
        options += ["--loss", contestant.loss, "--seed", "7"]
    return options


def collective_of(scenario, contestant):
    return contestant.collective or scenario.collective


def start_rank(network, scenario, contestant, rank, switch):
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TRIB_")}
    environment.update(TRIB_RANK=str(rank), TRIB_RANKS=str(scenario.workers * contestant.each), TRIB_JOB="bench",
                       TRIB_LEVEL0="1" if contestant.level0 or contestant.each > 1 else "0")
    if switch:
        environment.update(TRIB_SWITCH=f"{network.switch_address()}:{PORT}")
    elif contestant.no_box:
        environment.update(TRIB_RENDEZVOUS=f"{network.worker_address(0)}:{PORT}", TRIB_HOSTID=f"host-{rank}")
    command = network.worker_place(rank // contestant.each) + NICE + [
        TRIBUTARY, "perf", "-b", str(scenario.size), "-e", str(scenario.size), "-n", str(scenario.iterations),
        "-w", str(scenario.warmups), "--collective", collective_of(scenario, contestant), "--payload", str(contestant.payload), "--wire", contestant.wire,
        "--scheme", contestant.scheme, "--json"]
    if switch:
        command += ["--switch-pid", str(switch.pid)]
    elif not contestant.no_box:
        command.append("--no-switch")
    if contestant.shared:
        command.append("--shared")
    if not contestant.multicast:
        command.append("--no-multicast")
    return start(command + options_of(contestant), env=environment)


def switch_traffic(network):
    """The switch's own counters, if this build has HTTP."""
    try:
        return json.loads(run(network.switch_place() + ["python3", "-c", READ_SWITCH]))["traffic"]
    except (BenchError, ValueError, KeyError):
        return None


def measure(network, scenario, contestant):
    switch = None if contestant.level0 or contestant.no_box else start_switch(network, contestant)
    before = network.counters()
    ranks = [start_rank(network, scenario, contestant, rank, switch) for rank in range(scenario.workers * contestant.each)]
    outputs = [finish(process, scenario.limit_s) for process in ranks]
    after = network.counters()
    traffic = switch_traffic(network) if switch else None
    if switch:
        stop(switch)
    report = json.loads(outputs[0])
    if (report["hosts"] == 1) != contestant.level0:
        raise BenchError("ranks met " + ("in shared memory" if report["level0"] else "over a network"))
    if contestant.each > 1 and report["hosts"] != scenario.workers:
        raise BenchError(f"ranks were summed on {report['hosts']} hosts")
    roots = scenario.workers if contestant.no_box and contestant.scheme == "switchml" else 0
    if report["no_box"] != contestant.no_box or (report["roots"] if report["no_box"] else 0) != roots:
        raise BenchError(f"no box: {report['no_box']}, with {report['roots']} roots")
    if switch and report["multicast"] != contestant.multicast:
        raise BenchError("results did not come by " + ("multicast" if contestant.multicast else "unicast"))
    return digest(scenario, report, difference(before, after), traffic)


def rank_environment(network, scenario, contestant, rank):
    """Of a program of ours that takes its settings from nowhere else."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TRIB_")}
    environment.update(TRIB_RANK=str(rank), TRIB_RANKS=str(scenario.workers), TRIB_JOB="bench", TRIB_LEVEL0="0", TRIB_PAYLOAD=str(contestant.payload),
                       TRIB_SWITCH=f"{network.switch_address()}:{PORT}")
    return environment


def measure_many(network, scenario, contestant):
    """256 communicators in each rank, 8 of them busy: tests/integration/many.c, which checks every value."""
    switch = start_switch(network, contestant)
    before = network.counters()
    ranks = []
    for rank in range(scenario.workers):
        command = [MANY, str(COMMUNICATORS), str(BUSY), str(scenario.size), str(MANY_MS), str(scenario.iterations)]
        ranks.append(start(network.worker_place(rank) + NICE + command, env=rank_environment(network, scenario, contestant, rank)))
    reports = [json.loads(finish(process, scenario.limit_s)) for process in ranks]
    wire = difference(before, network.counters())
    stop(switch)
    first = reports[0]
    return {
        "size": scenario.size, "calls": first["moved"] // scenario.size, "wrong": sum(report["wrong"] for report in reports),
        "share": first["many"] / first["alone"], "many": first["many"], "alone": first["alone"], "one": first["one"],
        "memory_mb": max(report["rss_peak"] for report in reports) * 1024 / 1e6, "make_ms": first["make_ms"], "wire": wire,
    }


def measure_grouped(network, scenario, contestant):
    """Many small tensors: a call for each, all started at once, and one group: tests/integration/grouped.c, which checks every value."""
    switch = start_switch(network, contestant)
    before = network.counters()
    ranks = []
    for rank in range(scenario.workers):
        command = [GROUPED, str(TENSORS), str(scenario.size // TENSORS), str(scenario.iterations), "3"]
        ranks.append(start(network.worker_place(rank) + NICE + command, env=rank_environment(network, scenario, contestant, rank)))
    reports = [json.loads(finish(process, scenario.limit_s)) for process in ranks]
    wire = difference(before, network.counters())
    stop(switch)
    slowest = {way: min(report[way] for report in reports) for way in ("single", "started", "group")}
    return {"size": scenario.size, "calls": 9 * scenario.iterations, "wrong": sum(report["wrong"] for report in reports), "wire": wire,
            "over_single": slowest["group"] / slowest["single"], "over_started": slowest["group"] / slowest["started"], **slowest}


def difference(before, after):
    return [{key: new[key] - old[key] for key in new} for old, new in zip(before, after)]


def digest(scenario, report, wire, traffic):
    row = report["rows"][0]
    moved = scenario.size * scenario.iterations
    workers = sum(worker["cpu_ns"] for worker in row["workers"])
    per_rank = {key: [worker[key] for worker in row["workers"]] for key in row["workers"][0]}
    return {
        "size": row["size"], "calls": scenario.iterations + scenario.warmups + 2, "wrong": report["wrong"],
        "median_us": row["time_us"], "mean_us": row["mean_us"], "min_us": row["min_us"], "p99_us": row["p99_us"],
        "cpu_all": (workers + row["switch_cpu_ns"]) / moved, "cpu_workers": workers / moved,
        "cpu_switch": row["switch_cpu_ns"] / moved, "wire": wire, "ranks": per_rank, "switch_traffic": traffic,
        "kernels": report["kernels"],
    }


def keep_program():
    """Copies the built program to where this run takes it from; its SHA-256."""
    os.makedirs(os.path.dirname(TRIBUTARY), exist_ok=True)
    shutil.copy2(BUILT, TRIBUTARY)
    with open(TRIBUTARY, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def forget_program():
    if os.path.exists(TRIBUTARY):
        os.remove(TRIBUTARY)


def commit():
    """The commit that was measured; "+" for changes on top."""
    try:
        git = ["git", "-C", ROOT]
        name = subprocess.run(git + ["rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=True).stdout.strip()
        dirty = subprocess.run(git + ["status", "--porcelain", "-uno", "src", "include"], capture_output=True, text=True,
                               check=True).stdout.strip()
        return name + ("+" if dirty else "")
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
