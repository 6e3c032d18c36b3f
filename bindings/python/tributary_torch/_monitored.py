# SPDX-License-Identifier: Apache-2.0
"""monitored_barrier over the group's store: rank 0 names the ranks that do not come. The texts are gloo's, as programs look for them.

Each rank sets a key of its own, and waits for rank 0's answer. The keys of a barrier have its number; rank 0 removes those of the one
before, which every rank has left once it has come to this one.
"""
import datetime
import time

import torch.distributed as dist

_SLICE = datetime.timedelta(seconds=0.5)  # between two looks for signals
_NO_TIME = datetime.timedelta(0)


class MonitoredBarrier:
    def __init__(self, store, rank, size):
        self._store = dist.PrefixStore("monitored", store)
        self._rank, self._size = rank, size
        self._number = 0

    def run(self, timeout, wait_all_ranks):
        """timeout: a timedelta. Raises RuntimeError if a rank does not come in time."""
        self._number += 1
        end = time.monotonic() + timeout.total_seconds()
        if self._rank == 0:
            self._collect(timeout, end, wait_all_ranks)
        else:
            self._report(timeout, end)

    def _key(self, name, number=None):
        return f"{self._number if number is None else number}/{name}"

    def _comes(self, key, end):
        """Whether the key is set in time; one that is there counts even if no time is left."""
        while not self._store.check([key]):
            left = datetime.timedelta(seconds=end - time.monotonic())
            if left <= _NO_TIME:
                return False
            try:
                self._store.wait([key], min(left, _SLICE))
            except RuntimeError:  # it was not set in time; a store that is gone says so in check
                continue
        return True

    def _collect(self, timeout, end, wait_all_ranks):
        missing, text = [], ""
        milliseconds = round(timeout / datetime.timedelta(milliseconds=1))
        if timeout <= _NO_TIME:
            text = f"[Rank 0]: Rank 0 timed out in monitoredBarrier after {milliseconds} ms"
        for rank in range(1, self._size):
            if not text and not self._comes(self._key(rank), end):
                missing.append(rank)
                if not wait_all_ranks:
                    break
        if missing:
            ranks = ", ".join(map(str, missing))
            text = f"[Rank 0]: Rank{'s' if len(missing) > 1 else ''} {ranks} failed to pass monitoredBarrier in {milliseconds} ms"
        self._store.set(self._key("answer"), text)
        for name in ["answer", *range(1, self._size)]:
            self._store.delete_key(self._key(name, self._number - 1))
        if text:
            raise RuntimeError(text)

    def _report(self, timeout, end):
        self._store.set(self._key(self._rank), "")
        key = self._key("answer")
        text = (self._store.get(key).decode() if self._comes(key, end)
                else f"Timed out after {timeout.total_seconds():g} s: rank 0 has not come")
        if text:
            raise RuntimeError(f"Rank {self._rank} successfully reached monitoredBarrier, but received errors while waiting for send/recv "
                               f"from rank 0. Please check rank 0 logs for faulty rank.\nOriginal exception:\n{text}")
