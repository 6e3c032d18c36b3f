# SPDX-License-Identifier: Apache-2.0
"""What a collective returns: torch's Work, over a request of the library.

A request is collected once, by one thread: whoever waits first, or the group's collector thread, which is started when somebody
wants a future or waits with a limit of his own. Until then the group keeps the work, and so the tensors' memory, alive.
Callbacks of futures run on the collector thread, one after the other; one that waits for another work collects that itself. One that
waits for another future, which is torch's wait and not ours, is relieved by another thread.
Progress is the library's business (its own thread): an operation goes on though nobody waits.
Read next: _group.py (who makes works).
"""
import contextlib
import ctypes
import datetime
import queue
import threading
import time

import torch
from torch._C._distributed_c10d import Work

from . import _bootstrap, _capi

_IN_FLIGHT, _COLLECTING, _ENDED = range(3)
LOOK_NS = 200_000_000  # so often Python looks whether a signal has come while a thread waits
_NO_LIMIT = datetime.timedelta(0)
_profiler_is_on = torch._C._autograd._profiler_enabled


class TributaryWork(Work):
    """group: takes care of what is in flight. requests: of the library, in order. tensors: the results, and what the future holds.
    finish: called when all is there (copies back), or None. limit: seconds after which wait() gives up, None for the library's own."""

    def __init__(self, group, title, requests, tensors, finish, limit):
        super().__init__()
        self._group = group
        self._title = title
        self._requests = requests
        self._tensors = tensors
        self._finish = finish
        self._limit = limit
        self._state = _IN_FLIGHT if requests else _ENDED
        self._status = _capi.OK  # the first that was not, of the requests that are gone
        self._error = None
        self._future = None
        self._end_seen = None  # what the future follows
        self._ended = None
        self._kept = None  # what the library reads or writes, besides tensors

    def keep(self, kept):
        self._kept = kept
        return self

    # ---- torch's side ----

    def wait(self, timeout=_NO_LIMIT):
        if self._state != _ENDED:
            limit = timeout.total_seconds() if timeout > _NO_LIMIT else self._limit
            if limit is not None and limit >= self._group.library_limit:
                limit = None  # the library will say who is missing
            if limit is not None:
                self._wait_for(limit)
            elif self._claim():
                self._collect()
            else:
                self._wait_for_other()
        if self._error is not None:
            raise self._error
        return True

    def synchronize(self):
        self.wait()

    def is_completed(self):
        if self._state == _IN_FLIGHT and self._claim():
            done = ctypes.c_bool(True)
            while self._requests and done.value:
                self._take(self._group.lib.trib_request_test(self._requests[0], ctypes.byref(done)), done.value)
            if done.value:
                self._end()
            else:
                self._unclaim()
        return self._state == _ENDED

    def has_ended(self):
        """As far as anybody has looked."""
        return self._state == _ENDED

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
        raise: C++ would take the exception for the tensors. A callback that raises makes a real one."""
        with self._group.lock:
            started = self._future is not None
            if not started:
                self._end_seen = torch.futures.Future()
                self._future = self._end_seen.then(self._outcome)
            ended = self._state == _ENDED
        if ended:
            if not started:
                self._end_seen.set_result(None)
        elif Collector.is_current():  # whoever waits for it in a callback could not be told by this thread
            self._collect_here(None)
        elif not started:
            self._group.collect_later(self)
        return self._future

    def _outcome(self, _):
        if self._error is not None:
            raise self._error
        return list(self._tensors)

    # ---- who collects ----

    def _claim(self):
        with self._group.lock:
            if self._state != _IN_FLIGHT:
                return False
            self._state = _COLLECTING
            return True

    def _unclaim(self):
        """Somebody may have begun to wait, or have asked for a future, and found it claimed."""
        with self._group.lock:
            self._state = _IN_FLIGHT
            wanted = self._ended is not None or self._future is not None
        if wanted:
            self._group.collect_later(self)

    def collect_if_unclaimed(self):
        """Of the collector thread."""
        if self._claim():
            self._collect()

    def _collect(self):
        if _profiler_is_on():
            with torch.profiler.record_function(f"{self._title} wait"):
                self._collect_all()
        else:
            self._collect_all()

    def _collect_all(self):
        """What a signal's handler raises, as Ctrl-C does, ends the wait, not the operation: that can be waited for again."""
        interrupt = None
        while self._requests and interrupt is None:
            done, status = ctypes.c_bool(False), None
            try:
                status = self._group.lib.trib_request_wait_for(self._requests[0], LOOK_NS, ctypes.byref(done))
            except BaseException as error:  # it comes behind the call, which may have freed the request then
                interrupt = error
            if status is None:
                status = _capi.ERR_ABORTED if self._group.communicator.error() else _capi.OK
            self._take(status, done.value)
        if self._requests:
            self._unclaim()
        else:
            self._end()
        if interrupt is not None:
            raise interrupt

    def _take(self, status, is_done):
        """Of who has claimed it: what the library says of the first request, which is gone if it is done."""
        if is_done:
            self._requests = self._requests[1:]
            self._status = self._status if self._status != _capi.OK else status

    def _ending(self):
        with self._group.lock:
            if self._ended is None:
                self._ended = threading.Event()
                if self._state == _ENDED:
                    self._ended.set()
            return self._ended

    def _collect_here(self, seconds):
        """Of a collector thread, which cannot leave it to itself. Whether it has ended in time."""
        end = None if seconds is None else time.monotonic() + seconds
        ending = self._ending()
        while not ending.is_set():
            if end is None and self._claim():
                self._collect()
            elif end is None:
                ending.wait(0.05)  # somebody else collects, or only looks
            elif not self.is_completed():
                if time.monotonic() >= end:
                    return False
                ending.wait(0.001)
        return True

    def _wait_for_other(self):
        """Somebody else collects, or only looked (is_completed) and has found nothing: then nobody does yet."""
        if Collector.is_current():
            self._collect_here(None)
            return
        ending = self._ending()
        if self._state == _IN_FLIGHT:
            self._group.collect_later(self)
        ending.wait()

    def _wait_for(self, seconds):
        if Collector.is_current():
            in_time = self._collect_here(seconds)
        else:
            ending = self._ending()
            self._group.collect_later(self)
            in_time = ending.wait(seconds)
        if not in_time:
            raise self._group.error_type(
                f"{self._title}: timed out after {seconds:g} s on rank {self._group.rank()} of group {self._group.label()}")

    def _end(self):
        """Of who has claimed it."""
        error = None
        if self._status != _capi.OK:
            error = self._group.failure(self._status, self._title)
        elif self._finish is not None:
            try:
                self._finish()
            except Exception as cause:  # the others have their results: this rank alone says what it lacks
                error = cause
        with self._group.lock:
            self._error = error
            self._finish = self._kept = None
            self._state = _ENDED
            future, ending = self._end_seen, self._ended
        self._group.forget(self)
        if ending is not None:
            ending.set()
        if future is not None:
            with Collector.callbacks():
                future.set_result(None)


class Collector:
    """The thread that waits for works on behalf of futures, in the order in which they were handed over. While it runs callbacks, one
    may wait for a future that is in the queue behind: after a while of that another thread goes on with the queue."""

    RELIEVED_S = 0.1  # so long callbacks may keep the others waiting
    _on_this_thread = threading.local()

    @classmethod
    def is_current(cls):
        """Whether this thread is one, of whatever group."""
        return cls._current() is not None

    @classmethod
    def _current(cls):
        return getattr(cls._on_this_thread, "collector", None)

    @classmethod
    @contextlib.contextmanager
    def callbacks(cls):
        """Around what may run callbacks."""
        collector = cls._current()
        if collector is not None:
            collector._enter()
        try:
            yield
        finally:
            if collector is not None:
                collector._leave()

    def __init__(self, name):
        self._name = name
        self._works = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._threads = []  # the last one has the queue; those before it are in callbacks
        self._since = None  # when the last one began to run callbacks
        self._watcher = None
        self._begin()
        _bootstrap.stop_at_end(self)

    def _begin(self):
        self._threads.append(threading.Thread(target=self._run, name=self._name, daemon=True))
        self._threads[-1].start()

    def add(self, work):
        self._works.put(work)
        if self._since is not None:
            self._watch()

    def stop(self, seconds=None):
        """Runs what has been handed over, and ends; waits for that, no longer than so."""
        end = None if seconds is None else time.monotonic() + seconds
        self._works.put(None)
        self._watch()
        while self._current() is not self and (alive := [thread for thread in self._threads if thread.is_alive()]):
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return
            alive[0].join(left)

    def _has_queue(self):
        return self._threads[-1] is threading.current_thread()

    def _run(self):
        self._on_this_thread.collector = self
        while (work := self._works.get()) is not None:
            work.collect_if_unclaimed()
            work = None  # or its tensors would live until the next one
            with self._lock:
                if not self._has_queue():
                    self._threads.remove(threading.current_thread())
                    return

    def _enter(self):
        if self._has_queue():
            self._since = time.monotonic()
            if not self._works.empty():
                self._watch()

    def _leave(self):
        with self._lock:
            if self._has_queue():
                self._since = None

    def _watch(self):
        with self._lock:
            if self._watcher is None:
                self._watcher = threading.Thread(target=self._relieve, name=f"{self._name}-watcher", daemon=True)
                self._watcher.start()

    def _relieve(self):
        """As long as there is a queue behind callbacks."""
        while True:
            time.sleep(self.RELIEVED_S / 2)
            with self._lock:
                if self._since is None or self._works.empty():
                    self._watcher = None
                    return
                if time.monotonic() - self._since >= self.RELIEVED_S:
                    self._since = None
                    self._begin()
