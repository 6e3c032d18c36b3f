# SPDX-License-Identifier: Apache-2.0
"""What a collective returns: torch's Work, over requests of the library.

Whoever waits collects: one thread at a time looks at a work's requests, for a fifth of a second at most, and what it has seen stays seen
whatever a signal's handler raises. Until a work has ended the group keeps it, and so the tensors' memory, alive.
Callbacks of futures run on the group's collector thread alone, one after the other, in the order in which the futures were asked for: they
may start operations, and these must have the same order on every rank. A callback may wait for works, and for futures that it asks for
itself; one that waits for another future waits for ever, so that the group is aborted at its timeout.
Progress is the library's business (its own thread): an operation goes on though nobody waits.
Read next: _group.py (who makes works).
"""
import collections
import ctypes
import datetime
import queue
import sys
import threading
import time

import torch
from torch._C._distributed_c10d import Work

from . import _bootstrap, _capi

LOOK_NS = 200_000_000  # so often Python looks whether a signal has come while a thread waits
_NO_LIMIT = datetime.timedelta(0)


def _is_in_backward():
    """Whether a backward pass asks, and not one within another: at the end of that (checkpoint(use_reentrant=True)) DDP does not wait yet."""
    if torch._C._current_graph_task_id() == -1:
        return False
    frame, passes = sys._getframe(), 0
    while frame is not None:
        passes += frame.f_code is torch.autograd.graph._engine_run_backward.__code__
        frame = frame.f_back
    return passes < 2


class Flight:
    """A request of the library from before its start until after its end. The library itself writes what is so, within its calls: there is
    no moment at which a signal's handler could make Python forget it."""

    __slots__ = ("request", "done", "request_at", "done_at", "statuses", "work")

    def __init__(self):
        self.request = ctypes.c_void_p()
        self.done = ctypes.c_bool(False)  # the request is gone
        self.request_at, self.done_at = ctypes.byref(self.request), ctypes.byref(self.done)
        self.statuses = None  # a deque of one: of the last look
        self.work = None  # that a synchronous call has become

    def look(self, function, *arguments):
        """trib_request_test or _wait_for. One call of C has the status from the library and keeps it."""
        if self.statuses is None:
            self.statuses = collections.deque(maxlen=1)
        self.statuses.extend(map(function, (self.request,), *((argument,) for argument in arguments), (self.done_at,)))

    def is_started(self):
        return self.request.value is not None

    def reset(self):
        """For another request: none is there."""
        self.request.value, self.done.value = None, False


class TributaryWork(Work):
    """group: takes care of what is in flight. tensors: the results, and what the future holds. buffers: Buffers or None, what else the
    library reads or writes, and what is to be copied back. limit: seconds after which wait() gives up, None for the library's own."""

    def __init__(self, group, title, tensors, buffers, limit, flights=()):
        super().__init__()
        self._group = group
        self._title = title
        self._tensors = tensors
        self._buffers = buffers
        self._limit = limit
        self._flights = list(flights)
        self.turn = threading.Lock()  # of who starts, or looks at the flights
        self._looker = None  # the thread that has taken it to look
        self._status = _capi.OK  # the first that was not, of the flights that are over
        self._ended = False
        self._error = None
        self._future = None
        self.told = None  # what the future follows
        self.event = None  # in the profiler's trace

    def start(self, function, *arguments):
        """Of who has the turn: one of the work's operations. The library's status."""
        flight = Flight()
        self._flights.append(flight)
        try:
            return self._group.communicator.call(function, *arguments, flight.request_at)
        finally:
            if not flight.is_started():
                self._flights.pop()

    def is_in_flight(self):
        return bool(self._flights)

    # ---- torch's side ----

    def wait(self, timeout=_NO_LIMIT):
        if not self._ended:
            limit = timeout.total_seconds() if timeout > _NO_LIMIT else self._limit
            if limit is not None and limit >= self._group.library_limit:
                limit = None  # the library will say who is missing
            if not self.collect(limit):
                raise self._group.error_type(
                    f"{self._title}: Timed out after {limit:g} s on rank {self._group.rank()} of group {self._group.label()}")
        if self.event is not None:
            self.event.wait()
        if self._error is not None:
            raise self._error
        return True

    def synchronize(self):
        self.wait()

    def is_completed(self):
        if not self._ended and not self.turn.locked():
            self._look_in_turn(0)
        return self._ended

    def is_success(self):
        return self.is_completed() and self._error is None

    def exception(self):
        return self._error if self.is_completed() else None

    def result(self):
        return list(self._tensors)

    def source_rank(self):
        return -1

    def get_future(self):
        """What C++ waits for as well (DDP's reducer), so its error must be a future's error. Future.set_exception only makes Python
        raise: C++ would take the exception for the tensors. A callback that raises makes a real one, but a RuntimeError of C++, whatever
        its type. A backward pass that asks for a future therefore waits for the work itself at its end, just before DDP's reducer waits
        for the future: backward() raises the work's own error then, and a signal's handler can end it."""
        if self._future is None:
            collector = self._group.collector()
            is_alone = collector is None or collector.is_current()  # a callback may wait for it: nobody else could tell it
            told = torch.futures.Future()
            future = told.then(self._outcome)
            with self._group.lock:
                is_first = self._future is None
                if is_first:
                    self.told, self._future = told, future
                    if not is_alone:
                        collector.works.put(self)  # the next call of C: no signal's handler comes between
            if is_first and is_alone:
                self.tell()
            elif is_first:
                collector.watch()
            if is_first and _is_in_backward():
                torch.autograd.Variable._execution_engine.queue_callback(self.wait)
        return self._future

    def _outcome(self, told):
        error = self._error or told.value()
        if error is not None:
            raise error
        return list(self._tensors)

    # ---- who collects ----

    def collect(self, seconds=None):
        """Whether it has ended in time. What a signal's handler raises, as Ctrl-C does, ends the wait, not the operation."""
        end = None if seconds is None else time.monotonic() + seconds
        left = LOOK_NS
        while not self._ended:
            if end is not None:
                left = min(LOOK_NS, int((end - time.monotonic()) * 1e9))
                if left <= 0:
                    return self.is_completed()
                if self.turn.locked() and not self.is_looked_at():
                    time.sleep(0.001)  # somebody else looks, perhaps for longer
                    continue
            if self.is_looked_at():
                self._look(left)
                continue
            self._look_in_turn(left)
        return True

    def _look_in_turn(self, limit_ns):
        with self.turn:
            try:
                self._looker = threading.get_ident()
                self._look(limit_ns)
            finally:
                self._looker = None

    def is_looked_at(self):
        """By this thread: it runs a signal's handler, and has the turn until that returns."""
        return self._looker == threading.get_ident()

    def _look(self, limit_ns):
        """Of who has the turn. A signal's handler within may look as well, and leave nothing to do."""
        lib = self._group.lib
        while self._flights:
            flight = self._flights[0]
            if not flight.done.value:
                if limit_ns == 0:
                    flight.look(lib.trib_request_test)
                else:
                    flight.look(lib.trib_request_wait_for, limit_ns)
                if not flight.done.value:
                    return
            if self._flights and self._flights[0] is flight:
                self._status = self._status if self._status != _capi.OK else flight.statuses[-1]
                self._flights.pop(0)
        if not self._ended:
            self._end()

    def _end(self):
        error = None
        if self._status != _capi.OK:
            error = self._group.failure(self._status, self._title)
        elif self._buffers is not None:
            try:
                self._buffers.copy_back()
            except Exception as cause:  # the others have their results: this rank alone says what it lacks
                error = cause
        self._error = error
        self._buffers = None
        self._ended = True
        if self.event is not None:
            self.event.finish()
        self._group.forget(self)

    def tell(self, error=None):
        """Once, of who has its future to do: collects, and runs the callbacks. error: theirs, though the work may have ended well."""
        self.collect()
        self.told.set_result(error)


class Collector:
    """The thread that waits for works on behalf of futures, and runs their callbacks: those of one work, then those of the next. A callback
    that is not back at the group's timeout, while works wait behind it, ends the group: only then, when no callback can start an operation
    any more, are the others told at once, so that whoever waits for them hears of the error."""

    def __init__(self, group, name):
        self._group = group
        self._name = name
        self.works = queue.SimpleQueue()  # what is to be told
        self._lock = threading.RLock()
        self._since = None  # when it began to run callbacks
        self._over = threading.Event()
        self._watcher = None
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()
        _bootstrap.stop_at_end(self)

    def is_current(self):
        return threading.get_ident() == self._thread.ident

    def stop(self, seconds=None):
        """Of a group that is closed: runs what has been handed over, and ends; waits for that, no longer than so."""
        self.works.put(None)
        self.watch()
        if self.is_current():
            return
        self._thread.join(seconds)
        watcher = self._watcher
        if watcher is not None and self._over.is_set():  # it ends now; until then it keeps the group, and so gloo's sockets and threads
            watcher.join()

    def _run(self):
        while (work := self.works.get()) is not None:
            work.collect()
            self._since = time.monotonic()
            self.watch()
            work.told.set_result(None)
            self._since = None
            work = None  # or its tensors would live until the next one
        self._over.set()
        self._tell_rest()

    def _tell_rest(self):
        """What has been handed over to a collector that has ended."""
        for work in self._take_all():
            work.tell()

    def watch(self):
        """Whoever begins to run callbacks, or adds to what waits behind them, sees to it that somebody looks at the time."""
        if self._over.is_set():
            self._tell_rest()
        if self._since is None or self.works.empty():
            return
        with self._lock:
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._watch_callbacks, name=f"{self._name}-watcher", daemon=True)
                self._watcher.start()

    def _watch_callbacks(self):
        """As long as works wait behind callbacks."""
        left = self._group.library_limit
        while not self._over.wait(left):
            with self._lock:
                since = self._since
                if since is None or self.works.empty():
                    self._watcher = None
                    return
            left = since + self._group.library_limit - time.monotonic()
            if left <= 0:
                left = self._group.library_limit
                text = (f"a callback of a future has not come back for {left:g} s, and the futures of later operations wait behind it: "
                        "it may wait for a work, or for a future that it asks for itself, but for no other")
                waiting = self._take_all()  # before a callback that ends now lets the collector go on to them
                self._group.abort(text)
                error = self._group.failure(_capi.ERR_ABORTED, "tributary:future")
                for work in waiting:  # each on a thread of its own: a callback may wait for any
                    threading.Thread(target=work.tell, args=(error,), name=f"{self._name}-error", daemon=True).start()

    def _take_all(self):
        works = []
        while not self.works.empty():
            try:
                work = self.works.get_nowait()
            except queue.Empty:  # another thread takes them too
                break
            if work is None and not self._over.is_set():
                self.works.put(None)
                break
            if work is not None:
                works.append(work)
        return works
