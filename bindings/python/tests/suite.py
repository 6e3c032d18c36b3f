# SPDX-License-Identifier: Apache-2.0
"""PyTorch's own tests of a backend, torch/testing/_internal/distributed/distributed_test.py, which every torch wheel contains:

    suite.py compare WORLD_SIZE [TEST...]         backend tributary; each test that did not pass runs with gloo as well
    suite.py run BACKEND WORLD_SIZE [TEST...]     one backend; prints a JSON object per test

compare fails if a test that gloo passes does not pass with tributary. The suite skips many tests unless BACKEND is "gloo": here the name
of tributary equals "gloo" in those conditions, so that both backends run the same tests. TRIB_PATIENCE multiplies a test's time limit.
"""
import importlib.util
import json
import multiprocessing
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

MODULE = "torch.testing._internal.distributed.distributed_test"
LIMIT_S = 90  # of one test; the longest takes 10 s on a quiet machine


class BackendName(str):
    """A backend's name that equals "gloo" as well: in the conditions with which the suite skips tests."""

    def __eq__(self, other):
        return str.__eq__(self, other) or other == "gloo"

    def __ne__(self, other):
        return not self == other

    def __hash__(self):
        return hash("gloo")


def load_suite(backend):
    """The suite's module with its constant BACKEND made a BackendName."""
    import torch.distributed as dist
    from torch.testing._internal import common_distributed
    if backend != "gloo":
        assert backend in dist.Backend.backend_list, f"backend {backend} is not registered: is tributary-torch installed here?"
        common_distributed.DistTestCases.backend_feature["plugin"].add(backend)
    spec = importlib.util.find_spec(MODULE)
    source = pathlib.Path(spec.origin).read_text()
    line = 'BACKEND = os.environ["BACKEND"]'
    assert source.count(line) == 1, f"{spec.origin} has no line {line}"
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    module.NameOfBackend = BackendName
    exec(compile(source.replace(line, f"{line[:10]}NameOfBackend({line[10:]})"), spec.origin, "exec"), module.__dict__)
    for one in ("PROFILING_SUPPORTED_BACKENDS", "SEND_RECV_PROFILING_SUPPORTED_BACKENDS"):
        getattr(module, one).append(backend)
    return module


def cases_of(module):
    """The suite as a class whose ranks are forked: spawned ones would import torch again in every test."""

    class Cases(module.TestDistBackend, module.DistributedTest._DistTestBase):
        def setUp(self):
            super().setUp()
            self._start_processes(multiprocessing.get_context("fork").Process)

        def tearDown(self):
            processes = self.processes
            super().tearDown()
            for process in processes:
                process.join(5)
                if process.is_alive():
                    process.kill()
                    process.join()

    Cases.__qualname__ = "Cases"
    return Cases


def run_one(case):
    """(outcome, its text) of a test case: passed, skipped or failed."""
    result = unittest.TestResult()
    case.run(result)
    for one, text in result.failures + result.errors:
        return "failed", text
    for one, text in result.skipped:
        return "skipped", text
    return "passed", ""


def run(backend, world_size, names):
    os.environ.update(BACKEND=backend, WORLD_SIZE=str(world_size), GLOO_SOCKET_IFNAME="lo", MASTER_ADDR="127.0.0.1", OMP_NUM_THREADS="1",
                      DISTRIBUTED_TESTS_DEFAULT_TIMEOUT=str(int(LIMIT_S * float(os.environ.get("TRIB_PATIENCE", "1")))))
    answers, sys.stdout = sys.stdout, sys.stderr
    with tempfile.TemporaryDirectory() as folder:
        os.environ.update(TEMP_DIR=folder, INIT_METHOD=f"file://{folder}/made-again")
        tempfile.tempdir = folder
        import torch
        torch.set_num_threads(1)
        module = load_suite(backend)
        cases = cases_of(module)
        for name in names or unittest.TestLoader().getTestCaseNames(cases):
            start = time.monotonic()
            outcome, text = run_one(cases(name))
            print(json.dumps({"test": name, "outcome": outcome, "seconds": round(time.monotonic() - start, 1), "text": text}),
                  file=answers, flush=True)


def outcomes(backend, world_size, names, log):
    """{test: its JSON object} of a run in a process of its own."""
    command = [sys.executable, __file__, "run", backend, str(world_size), *names]
    got = {}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True) as process:
        for line in process.stdout:
            one = json.loads(line)
            got[one["test"]] = one
            print(f"{backend:>9} {world_size} ranks {one['seconds']:6.1f} s {one['outcome']:>7} {one['test']}", flush=True)
    assert process.returncode == 0, f"the run of {backend} ended with {process.returncode}"
    return got


def compare(world_size, names=(), log=None):
    """({test: outcome} of tributary, {test: text} of those that gloo passes and tributary does not)."""
    ours = outcomes("tributary", world_size, names, log)
    rest = [name for name, one in ours.items() if one["outcome"] != "passed"]
    theirs = outcomes("gloo", world_size, rest, log) if rest else {}
    worse = {name: ours[name]["text"] for name in rest if theirs[name]["outcome"] == "passed"}
    return {name: one["outcome"] for name, one in ours.items()}, worse


def main(arguments):
    if arguments[:1] == ["run"] and len(arguments) >= 3:
        run(arguments[1], int(arguments[2]), arguments[3:])
    elif arguments[:1] == ["compare"] and len(arguments) >= 2:
        ours, worse = compare(int(arguments[1]), arguments[2:], subprocess.DEVNULL)
        for name, text in worse.items():
            print(f"\n==== gloo passes and tributary does not: {name}\n{text}")
        counts = [f"{list(ours.values()).count(outcome)} {outcome}" for outcome in ("passed", "skipped", "failed")]
        print(f"{len(ours)} tests with {arguments[1]} ranks: {', '.join(counts)}; {len(worse)} that gloo passes do not pass")
        return len(worse) > 0
    else:
        print(__doc__)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
