# SPDX-License-Identifier: Apache-2.0
"""Groups that a signal's handler destroys, on the ranks of a world (conftest.py)."""
import gc
import os
import random
import signal
import threading
import time

import torch
import torch.distributed as dist


def _new_group():
    """A group that all ranks have made: one that is destroyed earlier cannot be made by the others, as gloo's connections are closed."""
    group = dist.new_group(list(range(dist.get_world_size())))
    dist.barrier()
    return group


def _destroyed_within(wait, seconds):
    """A signal's handler destroys the group while wait(group) waits for the others: that raises, since the sum lacks them."""
    store, group = dist.distributed_c10d._get_default_store(), _new_group()
    key = f"destroyed within/{store.add(f'within/{dist.get_rank()}', 1)}"
    if dist.get_rank() == 0:
        before = signal.signal(signal.SIGALRM, lambda *_: dist.destroy_process_group(group))
        timer = threading.Timer(seconds, os.kill, (os.getpid(), signal.SIGALRM))
        try:
            timer.start()
            wait(group)
            raise AssertionError("a sum without the others")
        except dist.DistBackendError:
            pass
        finally:
            timer.join()
            signal.signal(signal.SIGALRM, before)
        store.set(key, "")
    else:
        store.wait([key])
        dist.destroy_process_group(group)
    dist.barrier()


def _held():
    return [len(os.listdir(f"/proc/self/{kind}")) for kind in ("fd", "task")]


def _holds_no_more_than(before):
    """What a group holds is gone soon, if not at once."""
    end = time.monotonic() + 20
    while any(now > then for now, then in zip(_held(), before, strict=True)):
        assert time.monotonic() < end, (_held(), before)
        time.sleep(0.01)
        gc.collect()


class _SignalWithin:
    """A lock: a signal's handler that destroys the group runs while this thread has it, in turn `turn`, from 0 on."""

    def __init__(self, lock, turn, group):
        self._lock, self._turn, self._group = lock, turn, group

    def __enter__(self):
        self._lock.acquire()
        self._turn -= 1
        if self._turn == -1:
            dist.destroy_process_group(self._group)

    def __exit__(self, *_):
        self._lock.release()


def destroyed_within_a_lock():
    """A signal's handler destroys the group while the thread that it interrupts has a lock of the group: neither waits for the other, a future
    of then is told, and nothing stays."""
    for turn in range(5):
        group = dist.new_group(list(range(dist.get_world_size())))
        works = [dist.all_reduce(torch.ones(1), group=group, async_op=True) for _ in range(2)]
        works[0].wait()
        works[1].wait()
        if turn > 0:
            group.lock = _SignalWithin(group.lock, turn - 1, group)
        else:
            dist.destroy_process_group(group)
        for work in works:
            assert work.get_future().wait()[0].item() == dist.get_world_size()
        del group, works, work
        if turn == 0:
            gc.collect()
            before = _held()
    gc.collect()
    _holds_no_more_than(before)
    dist.barrier()


def _destroy_while_busy(seconds):
    """seconds: until a signal's handler destroys the group; 0: never."""
    group = _new_group()

    def destroy(*_):
        if group in dist.distributed_c10d._world.pg_map:
            dist.destroy_process_group(group)

    before = signal.signal(signal.SIGALRM, destroy)
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        for _ in range(100 if seconds > 0 else 2):
            work = dist.all_reduce(torch.ones(1), group=group, async_op=True)
            work.get_future().then(lambda _: None)
            work.is_completed()
    except (dist.DistBackendError, ValueError, KeyError):  # the latter two are torch's: there is no such group any more
        pass
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    destroy()


def destroyed_anywhere():
    """A signal's handler destroys the group at a drawn moment of works, their futures and callbacks: nobody waits for ever, and nothing
    stays."""
    random.seed(dist.get_rank())
    _destroy_while_busy(0)
    gc.collect()
    before = _held()
    for _ in range(8):
        _destroy_while_busy(random.uniform(1e-6, 5e-3))
    _holds_no_more_than(before)
    dist.barrier()


def destroyed_within_a_call():
    """A synchronous operation, in its first look and in a later one; a work, and one whose future the collector's thread waits for."""
    opts = dist.AllreduceOptions()
    opts.asyncOp = False
    _destroyed_within(lambda group: group.allreduce([torch.ones(1000)], opts).wait(), 0.1)
    _destroyed_within(lambda group: group.allreduce([torch.ones(1000)], opts).wait(), 0.3)
    _destroyed_within(lambda group: group.allreduce([torch.ones(1000)]).wait(), 0.1)

    def wait_for_both(group):
        work = group.allreduce([torch.ones(1000)])
        timer = threading.Timer(0.02, work.get_future)
        timer.start()
        work.wait()

    _destroyed_within(wait_for_both, 0.1)
