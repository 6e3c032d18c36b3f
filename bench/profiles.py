# SPDX-License-Identifier: Apache-2.0
"""Where the CPU time of a contestant goes: one more run beside `perf record`, its samples by kind, in ns per byte of the tensor.

Samples are of the contestant's processes. The share of each kind is that of their samples, without those of the values' filling and
checking, which no figure of CPU time has; it is told as that part of the run's own figure. Without hardware counters (a virtual
machine) the kernel takes samples by a timer: then time with interrupts off counts where they are on again.
"""
import collections
import dataclasses
import math
import os
import re
import tempfile

import ours
from processes import BenchError, finish, run, start

SECONDS, DELAY = 3.0, 3.0
RATE = 1999
PROGRAMS = {"ours": os.path.basename(ours.TRIBUTARY), "gloo": "gloo_collective", "mpi": "mpi_allreduce"}
# In this order: the first that matches a function is its kind. Where: k in the kernel, p in a program or library.
KINDS = (
    ("values", "p", r"main$|fill|wrong_elements|perf_"),
    ("kernel: copies", "k", r"_copy_(to|from)_iter|copy_user|rep_movs|_*memcpy|memcpy_orig"),
    ("kernel: switches", "k", r"finish_task_switch|_*schedule$|pick_next|try_to_wake_up|do_sched_yield|default_idle"),
    ("kernel: rest", "k", r""),
    ("checksums", "p", r"trib_crc32c"),
    ("copies and sums", "p", r"_*mem(cpy|move|set)|(sum|load|order|copy)_|(void )?gloo::sum|opal_memcpy|ompi_op|mca_op"),
    ("program: rest", "p", r""),
)
LINE = re.compile(r"\s*(.*?)\s+([0-9a-f]+)\s+(.*?)\s+\((.*)\)$")


def kind_of(symbol, dso):
    where = "k" if dso.startswith("[") and "vdso" not in dso else "p"
    return next(kind for kind, place, pattern in KINDS if place == where and re.match(pattern, symbol))


def read_samples(text, program):
    """Of each kind: samples of the program's processes, by function."""
    kinds = {kind: collections.Counter() for kind, _, _ in KINDS}
    for line in text.splitlines():
        match = LINE.match(line)
        if match and match[1] == program[:15]:
            symbol = match[3].split("+0x")[0]
            kinds[kind_of(symbol, match[4])][symbol] += 1
    return kinds


def record(runner, network, scenario, contestant, median_us, quick):
    """A run that lasts longer than the recording beside it; its samples by kind, and its measurement."""
    seconds, delay = (1.5, 0.1) if quick else (SECONDS, DELAY)
    calls = math.ceil((seconds + delay) * 1.5e6 / median_us)
    scenario = dataclasses.replace(scenario, iterations=max(scenario.iterations, calls))
    with tempfile.TemporaryDirectory() as folder:
        data = os.path.join(folder, "perf.data")
        process = start(["perf", "record", "-q", "-a", "-F", str(RATE), "-o", data, "-D", str(int(delay * 1000)), "--", "sleep", str(seconds + delay)])
        measurement = runner(network, scenario, contestant)
        finish(process, 60)
        text = run(["perf", "script", "-i", data, "-F", "comm,ip,sym,dso"])
    return read_samples(text, PROGRAMS[contestant.runner]), measurement


def lines(scenario, contestant, kinds, measurement):
    """The kinds with their shares, and the functions with most samples."""
    values = KINDS[0][0]
    total = sum(sum(functions.values()) for kind, functions in kinds.items() if kind != values)
    if total == 0:
        raise BenchError(f"{scenario.name} {contestant.name}: perf has no samples of it")
    cpu = measurement["cpu_all"]
    yield f"{scenario.name} {contestant.name}: {cpu:.3f} ns/B, {total} samples"
    for kind, functions in kinds.items():
        count = sum(functions.values())
        if kind != values and count > 0:
            most = ", ".join(f"{name} {100 * n / total:.1f}" for name, n in functions.most_common(5))
            yield f"    {kind:<17} {100 * count / total:5.1f} %  {count / total * cpu:.3f} ns/B   {most}"
