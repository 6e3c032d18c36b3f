# SPDX-License-Identifier: Apache-2.0
"""Worlds: ranks in processes of their own that run functions of cases.py together, one call after another.

A world is made once per transport and lives for many tests; a test that means to break one takes a fresh one, and behind a test that
breaks one without meaning to it is made again. If a rank does not answer in time, the test prints where its threads are, and what the
switch said. Needs TRIBUTARY, the program; TRIB_PATIENCE multiplies every bound of time. Nothing survives a test run: ranks end with this
process, by a pipe that closes.
"""
import contextlib
import datetime
import faulthandler
import importlib
import multiprocessing
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import traceback

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
# Ranks import this module as well, behind this process: under a name that the library does not take for one of its own.
PATIENCE = float(os.environ.get("TRIB_PATIENCE") or os.environ.get("TEST_PATIENCE", "1"))
TRIBUTARY = os.environ.get("TRIBUTARY", "")
RANKS = 4
for name in [name for name in os.environ if name.startswith("TRIB_")]:
    del os.environ[name]
os.environ["TEST_PATIENCE"] = str(PATIENCE)
os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Ranks are forked from a process that has torch, but has neither used it nor loaded the C library.
_context = multiprocessing.get_context("forkserver")
# The last one is what a first DistributedDataParallel imports.
_context.set_forkserver_preload(["torch", "torch.distributed.fsdp", "torch.nn.parallel", "torch._dynamo"])


def _rank(pipe, rank, ranks, folder, environment, timeout, options):
    """A rank's life: joins, then runs what comes through the pipe until that closes. SIGUSR1: writes its stacks, wherever it is."""
    faulthandler.register(signal.SIGUSR1, file=open(f"{folder}/stacks-{rank}", "w"), all_threads=True)
    os.environ.update(environment)
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank))
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin with it ignored
    import torch
    import torch.distributed as dist
    torch.set_num_threads(1)
    dist.set_debug_level_from_env()
    try:
        kwargs = {}
        if options is not None:
            import tributary_torch
            kwargs["pg_options"] = tributary_torch.Options(**options)
        dist.init_process_group("tributary", init_method=f"file://{folder}/store", rank=rank, world_size=ranks, timeout=timeout, **kwargs)
        pipe.send((True, os.getpid()))
    except Exception:
        pipe.send((False, traceback.format_exc()))
        return
    while True:
        try:
            name, args = pipe.recv()
        except EOFError:
            os._exit(0)
        if name == "leave":
            dist.destroy_process_group()
            pipe.send((True, None))
            return
        try:
            module, _, function = name.rpartition(".")
            pipe.send((True, getattr(importlib.import_module(module or "cases"), function)(*args)))
        except Exception:
            pipe.send((False, traceback.format_exc()))


class World:
    def __init__(self, ranks=RANKS, environment=None, timeout=60, options=None):
        self.folder = tempfile.TemporaryDirectory()
        self.pipes, self.processes, self.pids = [], [], []
        self.is_broken = False  # a rank has failed or does not answer: where the others are is not known
        self.environment = {"MASTER_ADDR": "127.0.0.1", **(environment or {})}
        for rank in range(ranks):
            ours, theirs = _context.Pipe()
            process = _context.Process(target=_rank, daemon=True, args=(
                theirs, rank, ranks, self.folder.name, self.environment, datetime.timedelta(seconds=timeout * PATIENCE), options))
            process.start()
            theirs.close()
            self.pipes.append(ours)
            self.processes.append(process)
        try:
            self.pids = self.results(60)
        except AssertionError:
            self.close()
            raise

    def _ranks(self, ranks):
        return range(len(self.pipes)) if ranks is None else ranks

    def start(self, name, *args, ranks=None):
        for rank in self._ranks(ranks):
            self.pipes[rank].send((name, args))

    def outcomes(self, seconds, ranks=None):
        """(ended well, result or traceback) of each rank; None for one that does not say in time, or has died: these are printed."""
        end = time.monotonic() + seconds * PATIENCE
        ranks, got = self._ranks(ranks), []
        for rank in ranks:
            try:
                got.append(self.pipes[rank].recv() if self.pipes[rank].poll(max(0, end - time.monotonic())) else None)
            except EOFError:
                got.append(None)
        silent = [rank for rank, one in zip(ranks, got, strict=True) if one is None]
        if silent:
            print(self.report(silent, seconds))
        return got

    def results(self, seconds=60, ranks=None):
        got = self.outcomes(seconds, ranks)
        self.is_broken = self.is_broken or any(one is None or not one[0] for one in got)
        for rank, one in zip(self._ranks(ranks), got, strict=True):
            assert one is None or one[0], f"rank {rank}:\n{one[1]}"  # first, as the others may wait for this one
        for rank, one in zip(self._ranks(ranks), got, strict=True):
            assert one is not None, f"rank {rank} says nothing"
        return [one[1] for one in got]

    def run(self, name, *args, seconds=60):
        """A function of cases.py, or "module.function", on every rank; what each returned."""
        self.start(name, *args)
        return self.results(seconds)

    def report(self, ranks, seconds):
        """Where the threads of these ranks are, and what their switch has said."""
        parts = [f"rank {rank} says nothing within {seconds * PATIENCE:g} s: {self.stacks(rank)}" for rank in ranks]
        switch = Switch.at.get(self.environment.get("TRIB_SWITCH"))
        return "\n".join(parts + ([f"the switch has said:\n{switch.said()}"] if switch is not None else []))

    def stacks(self, rank):
        """Of its Python threads; or how it has ended."""
        path, text, end = pathlib.Path(self.folder.name) / f"stacks-{rank}", "", time.monotonic() + 10 * PATIENCE
        if not path.exists():
            return "it has not begun"
        before = path.stat().st_size
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.processes[rank].pid, signal.SIGUSR1)
        while not text.endswith("in <module>\n") and time.monotonic() < end:  # the outermost call of the main thread, which is last
            if self.processes[rank].exitcode is not None:
                return f"it has ended with {self.processes[rank].exitcode}"
            time.sleep(0.01)
            text = path.read_text()[before:]
        return f"\n{text}"

    def close(self):
        for pipe in self.pipes:
            pipe.close()
        for process in self.processes:
            if not self.is_broken:
                process.join(10 * PATIENCE)
            if process.is_alive():
                process.kill()
            process.join()
        self.folder.cleanup()


class Switch:
    """A switch of the tree's program on 127.0.0.1."""
    at = {}  # by address

    def __init__(self, *options, port=0):
        if not TRIBUTARY:
            pytest.skip("TRIBUTARY names no program")
        self.options = options
        self.log = tempfile.TemporaryFile(mode="w+")
        self._start(port)

    def _start(self, port):
        self.ready, ready = os.pipe()
        self.process = subprocess.Popen([TRIBUTARY, "switch", "--listen", f"127.0.0.1:{port}", "--http", "none", *self.options,
                                         "--ready-fd", str(ready)], pass_fds=[ready], stderr=self.log)
        os.close(ready)
        self.port = int(os.read(self.ready, 16))
        self.address = f"127.0.0.1:{self.port}"
        Switch.at[self.address] = self

    def said(self):
        return os.pread(self.log.fileno(), os.fstat(self.log.fileno()).st_size, 0).decode()  # its place in the file is the switch's own

    def restart(self):
        """Dies, and is there again at the same address with nothing in its memory."""
        self.kill()
        self._start(self.port)

    def kill(self):
        self.process.kill()
        self.process.wait()
        os.close(self.ready)

    def close(self):
        if self.process.returncode is None:
            self.kill()


def run_script(name, ranks, *args, seconds=90, **environment):
    """torchrun of a script in this folder, or of a path; options of torchrun begin with --. (exit status, output)."""
    own = [arg for arg in args if not arg.startswith("--")] if not os.path.isabs(str(name)) else list(args)
    command = [sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={ranks}", "--rdzv-backend=c10d",
               "--rdzv-endpoint=127.0.0.1:0", *[arg for arg in args if arg not in own], str(pathlib.Path(__file__).parent / name), *own]
    got = subprocess.run(command, env={**os.environ, **environment}, capture_output=True, text=True, timeout=seconds * PATIENCE, check=False)
    return got.returncode, got.stdout + got.stderr


def after_step(folder, step):
    """Waits until a training with marks has done it."""
    end = time.monotonic() + 60 * PATIENCE
    while not (folder / str(step)).exists():
        assert time.monotonic() < end, f"step {step} is not reached"
        time.sleep(0.005)


# ---- the wheel as a user builds it: most of a minute of compiling, while tests wait for ranks ----

class Wheel:
    """pip wheel of the package, without torch's help and without a network, behind everything else."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        self.environment = {name: value for name, value in os.environ.items()
                            if name not in ("TRIBUTARY_BUILD_DIR", "TRIBUTARY_LIBRARY", "PYTHONPATH")}
        self.process = subprocess.Popen(
            ["nice", "-n", "19", sys.executable, "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--no-index", "-w",
             self.folder.name, str(pathlib.Path(__file__).resolve().parents[1])],
            env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=os.setpgrp)

    def close(self):
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.communicate()
        self.folder.cleanup()


_wheels = []


def pytest_collection_finish(session):
    if not session.config.option.collectonly and any("wheel" in item.fixturenames for item in session.items):
        _wheels.append(Wheel())


def pytest_unconfigure():
    while _wheels:
        _wheels.pop().close()


@pytest.fixture
def wheel():
    """It is being built since the tests have been found."""
    return _wheels[0]


@pytest.fixture
def switch():
    made = Switch()
    yield made
    made.close()


def environment_of(transport, switch):
    if transport == "switch":
        return {"TRIB_SWITCH": switch.address, "TRIB_LEVEL0": "0"}
    return {"TRIB_LEVEL0": "0"} if transport == "nobox" else {}


class Worlds:
    """The world of a transport, made again if a test has broken it."""

    def __init__(self, transport, **kwargs):
        self.transport = transport
        self.switch = Switch() if transport == "switch" else None
        self._kwargs = {"environment": environment_of(transport, self.switch), **kwargs}
        self._world = None

    def whole(self):
        if self._world is not None and self._world.is_broken:
            self._close_world()
        if self._world is None:
            self._world = World(**self._kwargs)
            self._world.transport = self.transport
        return self._world

    def _close_world(self):
        world, self._world = self._world, None
        if world is not None:
            world.close()

    def close(self):
        self._close_world()
        if self.switch is not None:
            self.switch.close()


@pytest.fixture(scope="session", params=["host", "switch", "nobox"])
def worlds(request):
    made = Worlds(request.param)
    yield made
    made.close()


@pytest.fixture
def world(worlds):
    """Four ranks: in the memory of this host; through a switch, packet by packet; at roots in their own processes."""
    return worlds.whole()


@pytest.fixture
def fresh():
    """Makes worlds that a test may break: fresh(ranks=..., environment=...)."""
    made = []

    def make(**kwargs):
        made.append(World(**kwargs))
        return made[-1]
    yield make
    for one in made:
        one.close()
