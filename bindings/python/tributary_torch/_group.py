# SPDX-License-Identifier: Apache-2.0
"""The process group: what torch asks for, as operations of the library. What the library does not do goes to gloo.

Order: operations of a group run in the order in which they are asked for, which must be the same on every rank (torch's rule).
The calls return at once; with async_op=False the call itself waits, without a detour over other threads, and looks for signals.
Memory: tensors are handed over by pointer, and kept until their operation has ended (_buffers.py copies what is not contiguous).
gloo is a backend of this group as well (_gloo.py): the methods that are not here are torch's, and lead there.
Read next: _work.py (what is returned), _bootstrap.py (how the ranks meet).
"""
import _thread
import ctypes
import datetime
import logging
import os
import sys
import threading

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

from . import _bootstrap, _buffers, _capi, _events, _work
from ._buffers import TYPES, Buffers, check, held, in_parts, is_memory, is_plain, moved_as, summed_as
from ._events import Event, Recorder, recorded
from ._gloo import AllOf
from ._monitored import MonitoredBarrier
from ._name import NAME
from ._work import LOOK_NS, Collector, Flight, TributaryWork

_log = logging.getLogger("tributary_torch")
_said = set()
_UNSET = datetime.timedelta(0)
_REFUSED = {_capi.STATUS[name] for name in ("ERR_INVALID", "ERR_UNSUPPORTED", "ERR_MEMORY")}
_FOLDER = os.path.dirname(__file__) + os.sep
_PENDING_MAX = 64  # works that nobody waits for are looked at from here on


def _is_within_package(frame):
    """Whether a call of this package, but for shutdown's own, has led to the one of this frame."""
    while frame is not None and (not frame.f_code.co_filename.startswith(_FOLDER) or frame.f_code.co_name == "shutdown"):
        frame = frame.f_back
    return frame is not None


class ProcessGroupTributary(dist.ProcessGroup):
    is_tributary = True
    error_type = dist.DistBackendError

    def __init__(self, store, rank, size, comm, gloo, timeout, name, ranks):
        try:
            super().__init__(store, rank, size)
        except TypeError:  # other versions of torch
            super().__init__(rank, size)
        self.communicator = comm
        self.lib = _capi.library()
        self._starts = {title: getattr(self.lib, f"trib_{title}_start") for title in _TITLES}
        self.lock = threading.RLock()  # a signal's handler may start operations while this thread has it
        self.library_limit = timeout.total_seconds()  # after which the library ends the job
        self._first_timeout = self._timeout = timeout
        self._limit = None  # seconds, where set_timeout has made it shorter than at the beginning
        self._rank, self._size = rank, size
        self._name, self._ranks = name, ranks
        self._pending = {}
        self._calls = {}  # synchronous ones
        self._flights = []  # of synchronous calls that are over, for the next ones
        self._collector = None
        self._recorder = None
        self._is_over = False  # there will be no collector and no recorder any more
        self._cause = None  # why this rank has aborted
        self._done = TributaryWork(self, "", [], None, None)  # what every synchronous call returns
        self._done.wait()
        self._gloo = gloo
        self._gloo.owner = self
        self._monitored = MonitoredBarrier(store, rank, size)
        self._register_backend(torch.device("cpu"), dist.ProcessGroup.BackendType.GLOO, self._gloo)
        self._set_default_backend(dist.ProcessGroup.BackendType.GLOO)

    # ---- who it is ----

    def getBackendName(self):
        return NAME

    def name(self):
        return NAME

    def rank(self):
        return self._rank

    def size(self):
        return self._size

    def getRank(self):
        return self._rank

    def getSize(self):
        return self._size

    def label(self):
        """The group, for messages."""
        return f"{self._name} (global ranks {', '.join(map(str, self._ranks))})" if self._ranks else self._name

    def stats(self):
        """The library's counts (struct trib_comm_stats) as a dict."""
        return self.communicator.stats()

    def job(self):
        """The name under which the ranks met."""
        return self.communicator.job()

    def scheme(self):
        """What sums: as asked, or "ring" where the switch wanted it so (Options.gradient_bytes)."""
        return self.communicator.scheme()

    # ---- its end ----

    def set_timeout(self, timeout):
        """For operations from now on. A shorter one than at the beginning ends a wait, not the job; a longer one must be set on all ranks,
        as the shortest ends the job."""
        library = max(timeout, self._first_timeout)
        self._timeout = timeout
        self._limit = timeout.total_seconds() if timeout < library else None
        self.library_limit = library.total_seconds()
        self.communicator.call(self.lib.trib_comm_set_timeout, _bootstrap.nanoseconds(library))

    def set_priority(self, priority):
        """Of operations from now on, where switches combine: trib_comm_set_priority."""
        self._check_open("set_priority")
        status = self.communicator.call(self.lib.trib_comm_set_priority, priority)
        if status != _capi.OK:
            raise self.failure(status, "set_priority")

    def abort(self, cause=None):
        """Ends what is under way, here and, naming this rank, on the other ranks. cause: what errors here say from then on, also where
        another rank was the first to end the job: it had waited for this one, and knows no more than that."""
        self._cause = self._cause or cause
        self.communicator.abort()

    def shutdown(self):
        """Within a call of this package, so in a signal's handler or a callback, the rest is left to another thread: this one may have a lock,
        or be the one that is waited for."""
        self.communicator.close()
        self._gloo.owner = None
        if _is_within_package(sys._getframe()):
            _thread.start_new_thread(self._finish, ())  # threading has locks of its own, which the interrupted call may hold
        else:
            self._finish()

    def _finish(self):
        with self.lock:
            self._is_over = True
            collector, self._collector = self._collector, None
            recorder, self._recorder = self._recorder, None
        if collector is not None:
            collector.stop()
        if recorder is not None:
            recorder.stop()
        for work in list(self._pending.values()):
            work.collect()
        self._done = None  # it names this group: gloo's sockets and threads would stay until Python looks for such circles

    def failure(self, status, title):
        """The exception for an operation that ended so."""
        is_refused = status in _REFUSED  # nothing has begun, and the group goes on
        text = None if is_refused else self._cause
        text = text or self.communicator.error() or _capi.status_text(status)
        if not is_refused:
            self.communicator.failed = True
        if status == _capi.ERR_TIMEOUT:  # the words that gloo has, as programs look for them
            text = f"Timed out after {self.library_limit:g} s: {text}"
        return self.error_type(f"{title}: {text} [rank {self._rank} of group {self.label()}]")

    # ---- works ----

    def collector(self):
        """None: the group is over."""
        with self.lock:
            if self._collector is None and not self._is_over:
                self._collector = Collector(self, f"tributary-{self._name}")
            return self._collector

    def forget(self, work):
        self._pending.pop(id(work), None)

    def _limit_of(self, opts):
        """Seconds after which a wait gives up; None for the library's own limit, which says who is missing."""
        timeout = getattr(opts, "timeout", _UNSET)
        limit = timeout.total_seconds() if timeout > _UNSET else self._limit
        return limit if limit is not None and limit < self.library_limit else None

    def _run(self, title, arguments, tensors, opts, buffers=None, inputs=None):
        """Operation `title` of the library: trib_<title>_start. tensors: its results; inputs: what the profiler shows, where they differ."""
        self._check_open(title)
        limit, is_seen = self._limit_of(opts), _events.is_on()
        is_synchronous = not getattr(opts, "asyncOp", True)
        if is_synchronous and limit is None and not is_seen:
            return self._run_now(title, arguments, tensors, buffers)
        work = TributaryWork(self, _full(title), tensors, buffers, limit)
        calls = [(self._starts[title], *arguments)]
        if not is_seen:
            return self._start(work, title, calls)
        self._start_seen(work, title, calls, tensors if inputs is None else inputs)
        if is_synchronous:
            work.wait()
        return work

    def _check_open(self, title):
        if not self.communicator.is_open():
            raise self.error_type(f"{_full(title)}: group {self.label()} has been destroyed")

    def _start_seen(self, work, title, calls, inputs):
        """As _start, with an event in the profiler's trace."""
        work.event = Event(_NAMES.get(title, title).removesuffix("_coalesced"), inputs)
        try:
            self._start(work, title, calls)
        except BaseException:
            work.event.finish()
            raise
        with self.lock:
            if self._recorder is None and not self._is_over:
                self._recorder = Recorder(f"tributary-{self._name}-events")
            if self._recorder is not None:
                self._recorder.add(work)
        return work

    def _run_now(self, title, arguments, tensors, buffers):
        """A synchronous operation, kept from before its start. One that takes longer, or is left by what a signal's handler raises, is a
        work like others."""
        done = self._done  # a signal's handler may destroy the group, which then has none
        try:
            flight = self._flights.pop()
        except IndexError:
            flight = Flight()
        call = (flight, title, tensors, buffers)
        try:
            self._calls[id(flight)] = call
            status = self.communicator.call(self._starts[title], *arguments, flight.request_at)
            if status == _capi.OK:
                status = self.lib.trib_request_wait_for(flight.request, LOOK_NS, flight.done_at)
                if not flight.done.value:
                    self._adopt(call)
                if flight.work is not None:  # so it is if a signal's handler has destroyed the group
                    flight.work.wait()
                    return flight.work
        except BaseException:
            self._adopt(call)
            raise
        self._calls.pop(id(flight), None)
        if status != _capi.OK:
            raise self.failure(status, _full(title))
        flight.reset()
        self._flights.append(flight)
        if buffers is not None:
            buffers.copy_back()
        return done

    def _adopt(self, call):
        """Makes a work of a synchronous call that is not over, once. Where the group is over nobody else would collect it."""
        flight, title, tensors, buffers = call
        if id(flight) in self._calls and flight.is_started() and not flight.done.value:
            flight.work = work = TributaryWork(self, _full(title), tensors, buffers, None, [flight])
            self._pending[id(work)] = work
            if self._is_over:
                work.collect()
        self._calls.pop(id(flight), None)

    def _start(self, work, title, calls):
        """calls: (function, arguments...), which the work takes in turn. It is kept from before the first one."""
        if len(self._pending) >= _PENDING_MAX:
            for other in list(self._pending.values())[:_PENDING_MAX // 2]:
                other.is_completed()
        try:
            with work.turn:
                self._pending[id(work)] = work
                for call in calls:
                    status = work.start(*call)
                    if status != _capi.OK:
                        raise self.failure(status, _full(title))
        finally:
            if not work.is_in_flight():
                self.forget(work)
        return work

    def _run_group(self, title, calls, tensors, opts, buffers, inputs=None):
        """Several operations at once; more than the library takes in one group are several groups."""
        self._check_open(title)
        if not calls:
            return self._done
        parts = [calls[start:start + _capi.GROUP_MAX] for start in range(0, len(calls), _capi.GROUP_MAX)]
        work = TributaryWork(self, _full(title), tensors, buffers, self._limit_of(opts))
        calls = [(self.lib.trib_group_start, (_capi.Call * len(part))(*part), len(part)) for part in parts]
        if _events.is_on():
            return self._start_seen(work, title, calls, tensors if inputs is None else inputs)
        return self._start(work, title, calls)

    def _say_gloo(self, what):
        if what not in _said:
            _said.add(what)
            if self._rank == 0:
                _log.warning("%s is not for in-network aggregation: gloo does it", what)

    # ---- reductions ----

    def allreduce(self, tensors, opts=None, timeout=None):
        tensors, opts = _listed(tensors), _options(c10d.AllreduceOptions, opts, timeout)
        if len(tensors) != 1:
            return self.allreduce_coalesced(tensors, opts)
        tensor = tensors[0]
        how = summed_as(tensor, opts.reduceOp) if check(tensor) else None
        if how is None:
            return self._by_gloo("all_reduce", _cause(tensor, opts), tensors, self._gloo.allreduce, tensors, opts)
        if is_plain(tensor):
            place = tensor.data_ptr()
            return self._run("allreduce", (place, place, tensor.numel(), *how), tensors, opts)
        buffers = Buffers()
        place = buffers.both(tensor).data_ptr()
        return self._run("allreduce", (place, place, tensor.numel(), *how), tensors, opts, buffers)

    def allreduce_coalesced(self, tensors, opts=None):
        tensors, opts = _listed(tensors), _options(c10d.AllreduceCoalescedOptions, opts)
        buffers, calls = Buffers(), []
        for tensor in tensors:
            how = summed_as(tensor, opts.reduceOp) if check(tensor) else None
            if how is None:
                return self._by_gloo("all_reduce", _cause(tensor, opts), tensors, self._gloo.allreduce_coalesced, tensors, opts)
            place = buffers.both(tensor).data_ptr()
            calls.append(_capi.Call(_ALLREDUCE, *how, 0, place, place, tensor.numel(), None))
        return self._run_group("all_reduce_coalesced", calls, tensors, opts, buffers)

    def reduce(self, tensors, opts=None, op=None, timeout=None):
        tensors = _listed(tensors)
        if isinstance(opts, int):  # reduce(tensor, root, op)
            root, opts = opts, _options(c10d.ReduceOptions, op, timeout)
            opts.rootRank = root
        opts = _options(c10d.ReduceOptions, opts, timeout)
        tensor = in_parts(tensors[0], opts.reduceOp)
        how = summed_as(tensor, opts.reduceOp) if check(tensor) else None
        if how is None:
            return self._by_gloo("reduce", _cause(tensor, opts), tensors, self._gloo.reduce, tensors, opts)
        buffers = Buffers()
        is_root = opts.rootRank == self._rank
        send = buffers.both(tensor) if is_root else buffers.source(tensor)
        recv = send.data_ptr() if is_root else None
        return self._run("reduce", (send.data_ptr(), recv, tensor.numel(), *how, opts.rootRank), tensors, opts, buffers)

    def reduce_scatter(self, outputs, inputs, opts=None, timeout=None):
        outputs, inputs = _listed(outputs), _listed(inputs)
        parts = inputs[0] if isinstance(inputs[0], list) else inputs
        opts = _options(c10d.ReduceScatterOptions, opts, timeout)
        self._check_parts("reduce_scatter", outputs[0], parts)
        output = in_parts(outputs[0], opts.reduceOp)
        how = summed_as(output, opts.reduceOp) if _check_all(output, *parts) else None
        if how is None:
            return self._by_gloo("reduce_scatter", _cause(output, opts), parts, self._gloo.reduce_scatter, outputs, [parts], opts)
        buffers = Buffers()
        sources = [in_parts(part, opts.reduceOp, is_source=True) for part in parts]
        counts = [part.numel() for part in sources]
        send = buffers.sources(sources)
        recv = buffers.target_beside(output, send, *self._place(output, counts)).data_ptr()
        if len(set(counts)) == 1:
            return self._run("reduce_scatter", (send.data_ptr(), recv, counts[0], *how), outputs, opts, buffers, parts)
        return self._run("reduce_scatter_uneven", (send.data_ptr(), recv, _counts(counts), *how), outputs, opts, buffers, parts)

    def reduce_scatter_single(self, output, source, opts=None):
        output, source, opts = held(output), held(source), _options(c10d.ReduceScatterOptions, opts)
        self._check_whole("reduce_scatter_tensor", source, output)
        share = in_parts(output, opts.reduceOp)
        how = summed_as(share, opts.reduceOp) if _check_all(output, source) else None
        if how is None:
            return self._by_gloo("reduce_scatter", _cause(output, opts), [source], self._gloo._reduce_scatter_base, output, source, opts)
        buffers = Buffers()
        send = buffers.source(in_parts(source, opts.reduceOp, is_source=True))
        recv = buffers.target_beside(share, send, *self._place(share)).data_ptr()
        return self._run("reduce_scatter", (send.data_ptr(), recv, share.numel(), *how), [output], opts, buffers, [source])

    _reduce_scatter_base = reduce_scatter_single

    def reduce_scatter_single_coalesced(self, outputs, inputs, opts=None):
        outputs, inputs, opts = _listed(outputs), _listed(inputs), _options(c10d.ReduceScatterOptions, opts)
        buffers, calls = Buffers(), []
        for output, source in zip(outputs, inputs, strict=True):
            self._check_whole("reduce_scatter_tensor_coalesced", source, output)
            share = in_parts(output, opts.reduceOp)
            how = summed_as(share, opts.reduceOp) if _check_all(output, source) else None
            if how is None:
                return AllOf([self._by_gloo("reduce_scatter", _cause(output, opts), [one[1]], self._gloo._reduce_scatter_base, *one, opts)
                              for one in zip(outputs, inputs, strict=True)])
            send = buffers.source(in_parts(source, opts.reduceOp, is_source=True))
            recv = buffers.target_beside(share, send, *self._place(share)).data_ptr()
            calls.append(_capi.Call(_REDUCE_SCATTER, *how, 0, send.data_ptr(), recv, share.numel(), None))
        return self._run_group("reduce_scatter_coalesced", calls, outputs, opts, buffers, inputs)

    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    # ---- what is only moved ----

    def broadcast(self, tensors, opts=None, timeout=None):
        tensors = _listed(tensors)
        if isinstance(opts, int):  # broadcast(tensor, root)
            root, opts = opts, _options(c10d.BroadcastOptions, None, timeout)
            opts.rootRank = root
        opts = _options(c10d.BroadcastOptions, opts, timeout)
        tensor = tensors[0]
        if len(tensors) != 1 or not check(tensor):
            return self._by_gloo("broadcast", f" of {tensor.layout}", tensors, self._gloo.broadcast, tensors, opts)
        buffers = Buffers()
        memory = buffers.source(tensor) if opts.rootRank == self._rank else buffers.target(tensor)
        kind, count = moved_as(tensor)
        return self._run("broadcast", (memory.data_ptr(), count, kind, opts.rootRank), tensors, opts, buffers)

    def allgather(self, outputs, inputs, opts=None, timeout=None):
        outputs, inputs, opts = held(outputs), _listed(inputs), _options(c10d.AllgatherOptions, opts, timeout)
        parts = outputs[0] if isinstance(outputs[0], list) else outputs
        source = inputs[0]
        if not _check_all(source, *parts):
            return self._by_gloo("all_gather", f" of {source.layout}", inputs, self._gloo.allgather, [parts], inputs, opts)
        self._check_parts("all_gather", source, parts)
        buffers = Buffers()
        counts = [moved_as(part)[1] for part in parts]
        recv = buffers.targets(parts)
        send = buffers.source_beside(source, recv, *self._place(source, [part.numel() for part in parts]))
        kind = moved_as(source)[0]
        if len(set(counts)) == 1:
            return self._run("allgather", (send.data_ptr(), recv.data_ptr(), counts[0], kind), parts, opts, buffers, inputs)
        return self._run("allgather_uneven", (send.data_ptr(), recv.data_ptr(), _counts(counts), kind), parts, opts, buffers, inputs)

    def all_gather_single(self, output, source, opts=None):
        output, source, opts = held(output), held(source), _options(c10d.AllgatherOptions, opts)
        self._check_whole("all_gather_into_tensor", output, source)
        if not _check_all(source, output):
            return self._by_gloo("all_gather", f" of {source.layout}", [source], self._gloo._allgather_base, output, source, opts)
        buffers = Buffers()
        recv = buffers.target(output)
        send = buffers.source_beside(source, recv, *self._place(source))
        kind, count = moved_as(source)
        return self._run("allgather", (send.data_ptr(), recv.data_ptr(), count, kind), [output], opts, buffers, [source])

    _allgather_base = all_gather_single

    def all_gather_single_coalesced(self, outputs, inputs, opts=None):
        outputs, inputs, opts = _listed(outputs), _listed(inputs), _options(c10d.AllgatherOptions, opts)
        buffers, calls = Buffers(), []
        for output, source in zip(outputs, inputs, strict=True):
            self._check_whole("all_gather_into_tensor_coalesced", output, source)
            _check_all(source, output)
            kind, count = moved_as(source)
            recv = buffers.target(output)
            send = buffers.source_beside(source, recv, *self._place(source)).data_ptr()
            calls.append(_capi.Call(_ALLGATHER, kind, 0, 0, send, recv.data_ptr(), count, None))
        return self._run_group("all_gather_coalesced", calls, outputs, opts, buffers, inputs)

    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def allgather_coalesced(self, output_lists, inputs, opts=None):
        """output_lists[rank][i] is what rank gives as inputs[i]."""
        output_lists, inputs, opts = held(output_lists), _listed(inputs), _options(c10d.AllgatherOptions, opts)
        buffers, calls, results = Buffers(), [], []
        for place, source in enumerate(inputs):
            parts = [outputs[place] for outputs in output_lists]
            self._check_parts("all_gather_coalesced", source, parts)
            _check_all(source, *parts)
            kind, count = moved_as(source)
            recv = buffers.targets(parts)
            send = buffers.source_beside(source, recv, *self._place(source)).data_ptr()
            calls.append(_capi.Call(_ALLGATHER, kind, 0, 0, send, recv.data_ptr(), count, None))
            results += parts
        return self._run_group("all_gather_coalesced", calls, results, opts, buffers, inputs)

    def barrier(self, opts=None, timeout=None):
        return self._run("barrier", (), [], _options(c10d.BarrierOptions, opts, timeout))

    # ---- gloo's ----

    def monitored_barrier(self, timeout=None, wait_all_ranks=False):
        if isinstance(timeout, float):  # torch takes these with a warning
            timeout = datetime.timedelta(seconds=timeout)
        self._monitored.run(timeout if timeout is not None else self._timeout, wait_all_ranks)

    def gather(self, outputs, inputs, opts=None):
        outputs, inputs = held(outputs), _listed(inputs)
        return self._by_gloo("gather", "", inputs, self._gloo.gather, outputs, inputs, _options(c10d.GatherOptions, opts))

    def scatter(self, outputs, inputs, opts=None):
        outputs, inputs = _listed(outputs), held(inputs)
        return self._by_gloo("scatter", "", _flat(inputs), self._gloo.scatter, outputs, inputs, _options(c10d.ScatterOptions, opts))

    def alltoall(self, outputs, inputs, opts=None):
        outputs, inputs = _listed(outputs), _listed(inputs)
        return self._by_gloo("all_to_all", "", inputs, self._gloo.alltoall, outputs, inputs, _options(c10d.AllToAllOptions, opts))

    def all_to_all_single(self, output, source, output_sizes=(), input_sizes=(), opts=None):
        output, source = held(output), held(source)
        return self._by_gloo("all_to_all", "", [source], self._gloo.alltoall_base, output, source, list(output_sizes), list(input_sizes),
                             _options(c10d.AllToAllOptions, opts))

    alltoall_base = all_to_all_single

    def send(self, tensors, dst, tag=0):
        tensors = _listed(tensors)
        self._say_gloo("send")
        return recorded("send", tensors, self._gloo.send, tensors, dst, tag, has_future=False)

    def recv(self, tensors, src, tag=0):
        tensors = _listed(tensors)
        self._say_gloo("recv")
        return recorded("recv", tensors, self._gloo.recv, tensors, src, tag, has_future=False)

    def recv_anysource(self, tensors, tag=0):
        tensors = _listed(tensors)
        self._say_gloo("recv")
        return recorded("recvAnySource", tensors, self._gloo.recv_anysource, tensors, tag, has_future=False)

    def _by_gloo(self, title, cause, inputs, function, *arguments):
        """cause: of what kind it is, if the library does others; " of torch.complex64"."""
        for tensor in inputs or arguments[0]:  # a scatter's ranks give nothing but its root
            if tensor.dtype not in TYPES:
                raise ValueError(f"{title}: neither {NAME} nor gloo has {tensor.dtype} there: give tensor.view(torch.uint8) to move it, or a "
                                 "tensor of another type, as tensor.to(torch.int32), to sum it")
        self._say_gloo(title + cause)
        return recorded(title, inputs, function, *arguments)

    # ---- checks ----

    def _place(self, share, counts=None):
        """Of this rank's share in the whole: (bytes of the whole, its byte there). counts: the shares' elements, if they differ."""
        size = share.element_size()
        if counts is None:
            return share.numel() * self._size * size, share.numel() * self._rank * size
        return sum(counts) * size, sum(counts[:self._rank]) * size

    def _check_parts(self, title, one, parts):
        if len(parts) != self._size:
            raise ValueError(f"{title}: {len(parts)} tensors for {self._size} ranks")
        if parts[self._rank].numel() != one.numel() or any(part.dtype != one.dtype for part in parts):
            raise ValueError(f"{title}: the tensor of rank {self._rank} is not as large, or a type differs")

    def _check_whole(self, title, whole, share):
        if whole.numel() != share.numel() * self._size or whole.dtype != share.dtype:
            raise ValueError(f"{title}: {whole.numel()} elements of {whole.dtype} are not {self._size} times {share.numel()} of {share.dtype}")


# What of the library's operations torch asks for one by one.
_TITLES = ("allreduce", "broadcast", "barrier", "reduce", "allgather", "allgather_uneven", "reduce_scatter", "reduce_scatter_uneven")
# torch's names of them, where they are others.
_NAMES = {"allreduce": "all_reduce", "allgather": "all_gather", "allgather_uneven": "all_gather", "reduce_scatter_uneven": "reduce_scatter"}
_ALLREDUCE = _capi.COLLECTIVE["ALLREDUCE"]
_ALLGATHER = _capi.COLLECTIVE["ALLGATHER"]
_REDUCE_SCATTER = _capi.COLLECTIVE["REDUCE_SCATTER"]


def _full(title):
    """An operation's name, for messages."""
    return f"{NAME}:{_NAMES.get(title, title)}"


def _listed(tensors):
    """A list of our own, of memory: the caller may change his while the operation is under way."""
    if type(tensors) is list and len(tensors) == 1 and is_memory(tensors[0]):  # most lists
        return [tensors[0]]
    return held([tensors] if isinstance(tensors, torch.Tensor) else tensors)


def _flat(lists):
    """The tensors of lists of tensors."""
    return [tensor for one in lists for tensor in _listed(one)]


def _check_all(*tensors):
    """check() of each: none is elsewhere, and whether all are strided."""
    return all([check(tensor) for tensor in tensors])


def _options(kind, opts, timeout=None):
    """torch's options, whether they were given, or only the reduction, or nothing."""
    if isinstance(opts, kind):
        pass
    elif isinstance(opts, (dist.ReduceOp, c10d.ReduceOp.RedOpType)):
        reduction, opts = opts, kind()
        opts.reduceOp = reduction
    elif opts is None:
        opts = kind()
    if timeout is not None:
        opts.timeout = timeout
    return opts


def _counts(counts):
    return (ctypes.c_uint64 * len(counts))(*counts)


def _cause(tensor, opts):
    """What of a reduction the library does not have, for messages."""
    if tensor.layout is not torch.strided:
        return f" of {tensor.layout}"
    if tensor.dtype not in TYPES:
        return f" of {tensor.dtype}"
    return f" with {c10d.ReduceOp.RedOpType(hash(opts.reduceOp)).name}"
