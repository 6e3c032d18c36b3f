# SPDX-License-Identifier: Apache-2.0
"""Builds and runs what Tributary is measured against: Gloo's ring, and Open MPI over TCP or in shared memory, as Debian packages them.

The same shape of measurement as in ours.py. Traps that these settings avoid: Gloo stalls on a loopback with an MTU of 65536;
Open MPI spins on more ranks than cores unless told to yield, and would use shared memory unless told to use TCP.
"""
import json
import os
import statistics

from ours import NICE, ROOT, collective_of, difference
from processes import BenchError, finish, run, start

SOURCES = os.path.join(ROOT, "bench", "peers")
BINARIES = os.path.join(ROOT, "build", "bench")
BUILDS = {
    "gloo_collective": ["g++", "-std=c++17", "-O3", "-march=native", "gloo_collective.cc", "-lgloo", "-lpthread"],
    "mpi_allreduce": ["mpicc", "-std=gnu11", "-O3", "-march=native", "mpi_allreduce.c"],
}
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none", "--mca", "mpi_yield_when_idle", "1", "--mca", "pml", "ob1"]
MPI_OVER_TCP = ["--mca", "btl", "self,tcp", "--mca", "btl_tcp_if_include", "lo"]
MPI_IN_MEMORY = ["--mca", "btl", "self,vader"]
MPI_AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


def build(name):
    """The program of a peer, built when it is older than its source."""
    program = os.path.join(BINARIES, name)
    command = BUILDS[name]
    source = os.path.join(SOURCES, next(word for word in command if word.startswith(name)))
    if not os.path.exists(program) or os.path.getmtime(program) < os.path.getmtime(source):
        os.makedirs(BINARIES, exist_ok=True)
        try:
            run(command + ["-o", program], cwd=SOURCES)
        except OSError as error:
            raise BenchError(f"cannot build {name} ({error}); `tools/deps.sh bench` installs what it needs") from None
        except BenchError as error:
            raise BenchError(f"{error}; `tools/deps.sh bench` installs what it needs") from None
    return program


def measure_gloo(network, scenario, contestant):
    ranks = range(scenario.workers)
    command = [build("gloo_collective"), "--ranks", str(scenario.workers), "--bytes", str(scenario.size),
               "--iterations", str(scenario.iterations), "--warmups", str(scenario.warmups),
               "--collective", collective_of(scenario, contestant), "--algorithm", contestant.algorithm, "--address", ",".join(network.worker_address(rank) for rank in ranks)]
    if network.kind == "star":
        command = NICE + command + ["--netns", ",".join(network.worker_names)]
    else:
        command = network.worker_place(0) + NICE + command
    calls = scenario.iterations + scenario.warmups
    return measure(network, scenario, start, command, calls)


def measure_mpi(network, scenario, contestant):
    command = network.worker_place(0) + NICE + MPIRUN + (MPI_IN_MEMORY if contestant.level0 else MPI_OVER_TCP) + [
        "-np", str(scenario.workers), build("mpi_allreduce"), str(scenario.size), str(scenario.iterations), str(scenario.warmups)]
    calls = scenario.iterations + scenario.warmups + 2
    return measure(network, scenario, lambda c: start(c, env={**os.environ, **MPI_AS_ROOT}), command, calls)


def measure(network, scenario, begin, command, calls):
    before = network.counters()
    report = json.loads(finish(begin(command), scenario.limit_s))
    wire = difference(before, network.counters())
    cpu = sum(worker["cpu_ns"] for worker in report["workers"]) / (scenario.size * scenario.iterations)
    times = report["times_us"]
    return {"size": report["size"], "calls": calls, "wrong": report["wrong"], "median_us": statistics.median(times),
            "mean_us": statistics.mean(times), "min_us": min(times), "cpu_all": cpu, "cpu_workers": cpu, "wire": wire}


def versions():
    """What Debian calls the packages that were measured."""
    try:
        lines = run(["dpkg-query", "-W", "-f", "${Package} ${Version}\n", "libgloo0", "libopenmpi3"]).splitlines()
        return dict(line.split() for line in lines)
    except (BenchError, OSError, ValueError):
        return {}
