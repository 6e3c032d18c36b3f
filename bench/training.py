# SPDX-License-Identifier: Apache-2.0
"""Runs PyTorch: examples/torch/train_digits.py on every worker of a network, over this library or gloo; and calls from Python.

Needs a Python with torch and this tree's package, which tools/torch.sh makes (`make demo-torch` and `make bench` call it).
The same shape of measurement as in ours.py. Communication time is a step's with communication less one's without, which take turns: what training sees of it.
"""
import filecmp
import glob
import json
import os
import statistics
import struct
import tempfile

import ours
from ours import NICE, ROOT, TRIBUTARY, difference
from processes import AbsentError, BenchError, finish, run, start, stop

PYTHON = os.path.join(os.environ.get("TORCH_VENV", os.path.join(ROOT, "build", "torch-venv")), "bin", "python")
EXAMPLE = os.path.join(ROOT, "examples", "torch", "train_digits.py")
PACKAGE = os.path.join(ROOT, "bindings", "python", "tributary_torch")
LIBRARY = os.path.join(ROOT, "build", "lib", "libtributary.so.0")
CALLS = os.path.join(ROOT, "bench", "calls_torch.py")
STORE_PORT = 29512
# What a parameter is in bytes, and how many the models of the example have.
FLOAT = 4
RESNET50, CNN = 25_550_760 * FLOAT, 151_498 * FLOAT
RATE = "0.001"  # so that a few steps of a large network end well


def check_python():
    if not os.access(PYTHON, os.X_OK):
        raise AbsentError("no torch: `tools/torch.sh install` makes build/torch-venv")
    finder = "import importlib.util as util; found = util.find_spec('tributary_torch'); print(found.origin if found else '')"
    place = run([PYTHON, "-I", "-c", finder]).strip()
    other = another_trees(os.path.dirname(place)) if place else "none"
    if other:
        raise BenchError(f"the tributary-torch of {PYTHON} is not this tree's ({other}): `tools/torch.sh install` makes it so")


def build_id(library):
    """The linker's name for what it made, which strip keeps: the wheel's library is stripped. None: it has none."""
    with open(library, "rb") as file:
        data = file.read()
    note = struct.pack("=III", 4, 20, 3) + b"GNU\0"
    at = data.find(note)
    return data[at + len(note):at + len(note) + 20] if at >= 0 else None


def is_same(own, installed):
    if not os.path.exists(own) or not os.path.exists(installed):
        return False
    return filecmp.cmp(own, installed, shallow=False) or (own == LIBRARY and build_id(own) is not None and build_id(own) == build_id(installed))


def another_trees(folder):
    """What of an installed package is not as this tree has it: a file's name, or None."""
    pairs = [(path, os.path.join(folder, os.path.basename(path))) for path in [*sorted(glob.glob(os.path.join(PACKAGE, "*.py"))), LIBRARY]]
    return next((os.path.basename(own) for own, installed in pairs if not is_same(own, installed)), None)


def has_switch(contestant):
    return contestant.backend == "tributary" and not contestant.level0 and not contestant.no_box


def rank_environment(network, scenario, contestant, rank):
    """torchrun's variables, and where the switch is. Without one nothing more is said: the ranks find out."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("TRIB_", "TRIBUTARY_", "PYTHON"))}
    environment.update(RANK=str(rank), WORLD_SIZE=str(scenario.workers), LOCAL_RANK="0", MASTER_ADDR=network.worker_address(0),
                       MASTER_PORT=str(STORE_PORT), GLOO_SOCKET_IFNAME="eth0" if network.kind == "star" else "lo", OMP_NUM_THREADS="1",
                       PYTHONDONTWRITEBYTECODE="1", TRIB_PAYLOAD=str(contestant.payload))
    if has_switch(contestant):
        environment.update(TRIB_SWITCH=f"{network.switch_address()}:{ours.PORT}", TRIB_LEVEL0="0")
    return environment


def start_ranks(network, scenario, contestant, command):
    return [start(network.worker_place(rank) + NICE + [PYTHON] + command, env=rank_environment(network, scenario, contestant, rank))
            for rank in range(scenario.workers)]


def train(network, scenario, contestant, arguments):
    """The example's report, and the bytes that its ranks moved from start to end."""
    check_python()
    switch = ours.start_switch(network, contestant) if has_switch(contestant) else None
    before = network.counters()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report")
        command = [EXAMPLE, "--backend", contestant.backend, "--json", path, *arguments]
        for process in start_ranks(network, scenario, contestant, command):
            finish(process, scenario.limit_s)
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    wire = difference(before, network.counters())
    if switch:
        stop(switch)
    return report, wire


def measure_training(network, scenario, contestant):
    """Steps of DistributedDataParallel with a model of the scenario's size."""
    model = {RESNET50: "resnet50", CNN: "cnn"}[scenario.size]
    compared = scenario.iterations + scenario.warmups
    report, wire = train(network, scenario, contestant, [
        "--model", model, "--batch", "2", "--rate", RATE, "--steps", "1", "--compare", str(compared)])
    step_ms, without_ms = (statistics.median(report[name][scenario.warmups:]) for name in ("with_ms", "without_ms"))
    return {"size": report["parameters"] * FLOAT, "calls": 1 + compared, "wrong": 0, "wire": wire, "step_ms": step_ms,
            "without_ms": without_ms, "communication_ms": step_ms - without_ms, "loss": report["losses"][-1], "hash": report["hash"], "median_us": 1000 * step_ms}


def measure_calls(network, scenario, contestant):
    """A call from Python, and the same call of the C API, by `tributary perf`."""
    check_python()
    memory = [TRIBUTARY, "perf", "--workers", str(scenario.workers), "--no-switch", "-b", str(scenario.size), "-e", str(scenario.size),
              "-n", str(scenario.iterations), "-w", str(scenario.warmups), "--json"]
    before = network.counters()
    from_c = json.loads(finish(start(network.worker_place(0) + NICE + memory), scenario.limit_s))
    command = [CALLS, str(scenario.size), str(scenario.iterations), str(scenario.warmups)]
    outputs = [finish(process, scenario.limit_s) for process in start_ranks(network, scenario, contestant, command)]
    wire = difference(before, network.counters())
    from_python = json.loads(outputs[0])
    c_us = from_c["rows"][0]["time_us"]
    return {"size": scenario.size, "calls": scenario.iterations + scenario.warmups, "wrong": from_c["wrong"] + from_python["wrong"],
            "wire": wire, "median_us": from_python["median_us"], "c_us": c_us, "over_c_us": from_python["median_us"] - c_us}
