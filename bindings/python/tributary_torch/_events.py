# SPDX-License-Identifier: Apache-2.0
"""Events of torch's profiler: one for each operation, named as torch names those of its own backends ("tributary:all_reduce"), with the
shapes of its inputs, from its start until its end.

An event is asynchronous to the profiler if another thread ends it than began it: one thread here ends all. An event that ends after its
profiler would write into freed memory, so a profiler that stops ends the events that are left.
Read next: _work.py (which thread sees the end of an operation).
"""
import functools
import os
import queue
import threading

import torch
from torch._C._distributed_c10d import Work

from . import _bootstrap
from ._name import NAME

is_on = torch._C._autograd._profiler_enabled
_lock = threading.RLock()
_open = set()  # events that the profiler has not been told the end of
_ender = None


class _Ender:
    """The thread that ends events."""

    def __init__(self):
        self.pid = os.getpid()
        self.events = queue.SimpleQueue()
        threading.Thread(target=self._run, name="tributary-events", daemon=True).start()

    def _run(self):
        while True:
            event = self.events.get()
            event.told.set_result(None)
            with _lock:
                _open.discard(event)
            event = None


class Event:
    """One operation in the profiler's trace. inputs: tensors."""

    __slots__ = ("told", "_ended", "_is_over")

    def __init__(self, title, inputs):
        record = torch.autograd._record_function_with_args_enter(f"{NAME}:{title}", *inputs)
        self.told = torch.futures.Future()
        with torch._C.DisableTorchFunctionSubclass():
            self._ended = torch.ops.profiler._call_end_callbacks_on_jit_fut._RecordFunction(record, self.told)
        self._is_over = False
        _follow_profiler()
        with _lock:
            _open.add(self)

    def finish(self):
        """Hands it to the thread that ends it, once."""
        global _ender
        with _lock:
            if self._is_over:
                return
            self._is_over = True
            if _ender is None or _ender.pid != os.getpid():
                _ender = _Ender()
            _ender.events.put(self)

    def wait(self):
        """Until it has ended, behind finish()."""
        self._ended.wait()


@functools.cache
def _follow_profiler():
    """Ends what is left when torch's profiler stops."""
    from torch.autograd import profiler
    disable = profiler._disable_profiler

    @functools.wraps(disable)
    def end_all_and_disable():
        with _lock:
            events = list(_open)
        for event in events:
            event.finish()
        for event in events:
            event.wait()
        return disable()

    profiler._disable_profiler = end_all_and_disable


class Recorder:
    """The thread of a group that waits for the works in the trace, so that an event ends with its operation whoever else waits."""

    def __init__(self, name):
        self._works = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        _bootstrap.stop_at_end(self)

    def add(self, work):
        self._works.put(work)

    def stop(self, seconds=None):
        """Of a group that is closed: its works have ended or will soon."""
        self._works.put(None)
        self._thread.join(seconds)

    def _run(self):
        while (work := self._works.get()) is not None:
            work.collect()
            work = None  # or its tensors would live until the next one


class RecordedWork(Work):
    """A work of gloo in the trace. Its event ends with its future if it has one, else when its wait does, as gloo's own event."""

    def __init__(self, work, event, has_future):
        super().__init__()
        self._work = work
        self._event = event
        if has_future:
            work.get_future().add_done_callback(lambda done: event.finish())

    def wait(self, *timeout):
        try:
            return self._work.wait(*timeout)
        finally:
            self._event.finish()
            self._event.wait()

    def synchronize(self):
        self.wait()

    def is_completed(self):
        return self._work.is_completed()

    def is_success(self):
        return self._work.is_success()

    def exception(self):
        return self._work.exception()

    def result(self):
        return self._work.result()

    def source_rank(self):
        return self._work._source_rank()

    def _source_rank(self):
        return self._work._source_rank()

    def get_future(self):
        return self._work.get_future()


def recorded(title, inputs, function, *arguments, has_future=True):
    """The work of a call of gloo, in the trace if a profiler is on."""
    if not is_on():
        return function(*arguments)
    event = Event(title, inputs)
    try:
        return RecordedWork(function(*arguments), event, has_future)
    except BaseException:
        event.finish()
        raise
