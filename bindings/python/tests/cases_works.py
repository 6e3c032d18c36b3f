# SPDX-License-Identifier: Apache-2.0
"""Works and futures in less usual ways, on the ranks of a world (conftest.py)."""
import datetime
import gc
import os
import random
import re
import signal
import threading
import time
import weakref

import cases_training
import torch
import torch.distributed as dist
from conftest import PATIENCE
from torch.nn.parallel import DistributedDataParallel
from tributary_torch import _work


def callback_waits():
    """A future's callback sums again, and waits for that: for the future, for the work, with a limit, and not at all."""
    ranks = dist.get_world_size()

    def future(one):
        return dist.all_reduce(one, async_op=True).get_future().wait()[0]

    def work(one):
        dist.all_reduce(one, async_op=True).wait()
        return one

    def in_time(one):
        dist.all_reduce(one, async_op=True).wait(datetime.timedelta(seconds=50 * PATIENCE))
        return one

    def at_once(one):
        dist.all_reduce(one)
        return one

    for again in (future, work, in_time, at_once):
        first = dist.all_reduce(torch.ones(10), async_op=True).get_future()
        twice = first.then(lambda done, again=again: again(done.value()[0])).then(lambda done, again=again: again(done.value()))
        assert torch.equal(twice.wait(), torch.full((10,), float(ranks ** 3))), again


def callbacks_in_order():
    """They start operations in the same order on every rank, though one takes its time on rank 0, and though others wait for their works."""
    ranks = dist.get_world_size()

    def again(index):
        if index == 0 and dist.get_rank() == 0:
            time.sleep(0.5)
        summed = torch.full((8,), 10.0 ** index)
        dist.all_reduce(summed, async_op=True).wait()
        return summed[0].item()

    works = [dist.all_reduce(torch.ones(8), async_op=True) for _ in range(3)]
    futures = [work.get_future().then(lambda done, index=index: again(index)) for index, work in enumerate(works)]
    if dist.get_rank() == 1:
        works[2].wait()  # its callbacks have to wait for the others'
    assert [future.wait() for future in futures] == [ranks * 10.0 ** index for index in range(3)]


def _when_rank_0_is_ready(tensors, prepare):
    """Rank 0 prepares with works in flight, what it returns; the others sum then."""
    store = dist.distributed_c10d._get_default_store()
    key = f"rank 0 is ready {store.add(f'ready/{dist.get_rank()}', 1)}"
    if dist.get_rank() == 0:
        got = prepare([dist.all_reduce(tensor, async_op=True) for tensor in tensors])
        store.set(key, "")
        return got
    store.wait([key])
    for tensor in tensors:
        dist.all_reduce(tensor)
    return []


def callback_waits_for_later_works():
    """A callback waits for works behind it that have futures: their callbacks come after it."""
    tensors, ranks, said = [torch.full((8,), float(index)) for index in range(3)], dist.get_world_size(), []

    def prepare(works):
        def first(_):
            works[2].wait()
            works[1].wait(datetime.timedelta(seconds=50 * PATIENCE))
            said.append([tensor[0].item() for tensor in tensors])
        return [works[0].get_future().then(first),
                *[work.get_future().then(lambda done: said.append(done.value()[0][0].item())) for work in works[1:]]]
    torch.futures.wait_all(_when_rank_0_is_ready(tensors, prepare))
    assert said == ([[0, ranks, 2 * ranks], ranks, 2 * ranks] if dist.get_rank() == 0 else [])


def callback_waits_for_ever(late):
    """For a future of a later operation, and so for its own thread: all that is pending gets an error that says so. Text and seconds.
    late: seconds after which the callbacks begin, while the other ranks wait for rank 0 already."""
    futures, begin = [], time.monotonic()

    def prepare(works):
        works[0].get_future().then(lambda _: time.sleep(late))
        futures.append(works[1].get_future().then(lambda _: futures[2].wait()))
        futures.append(works[2].get_future().then(lambda _: futures[3].wait()))
        futures.extend(work.get_future().then(lambda done: done.value()) for work in works[3:])
        return [future.wait for future in futures]
    said = []
    for wait in [*_when_rank_0_is_ready([torch.ones(8) for _ in range(5)], prepare), lambda: dist.all_reduce(torch.ones(8))]:
        try:
            wait()
            said.append("")
        except RuntimeError as error:
            said.append(str(error))
    return said, time.monotonic() - begin


def power_sgd():
    """torch's own hook that waits for one future in another's callback."""
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
    model = DistributedDataParallel(cases_training.model_of())
    model.register_comm_hook(powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2), powerSGD_hook.powerSGD_hook)
    cases_training.steps_of(model, torch.optim.SGD(model.parameters(), lr=0.05), 0, 5)
    assert bool(torch.isfinite(cases_training.parameters_of(model)).all())


def polled():
    """is_completed() alone sees the end of works, also of those that are several groups for the library."""
    tensors = [torch.ones(1) for _ in range(5000)]
    with dist.distributed_c10d._coalescing_manager(async_ops=True) as manager:
        for tensor in tensors:
            dist.all_reduce(tensor)
    (work,) = manager.works
    end = time.monotonic() + 20 * PATIENCE
    while not work.is_completed():
        assert time.monotonic() < end
        time.sleep(0.01)
    assert all(tensor.item() == dist.get_world_size() for tensor in tensors) and work.wait() and work.is_success()


def _interrupts(wait):
    """Ctrl-C while nobody else has come: wait() raises, though the operation goes on."""
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        wait()
        time.sleep(10 * PATIENCE)
    except KeyboardInterrupt:
        timer.join()
        return
    raise AssertionError("no KeyboardInterrupt")


def interrupted():
    """Of waits of all kinds, and of synchronous calls: it comes before the operation ends, which can be waited for again."""
    ranks, store = dist.get_world_size(), dist.distributed_c10d._get_default_store()
    tensors = [torch.ones(10), torch.ones(10), torch.ones(10, 3).t(), torch.ones(10)]
    key = f"interrupted again/{store.add(f'interrupted/{dist.get_rank()}', 1)}"
    if dist.get_rank() == 0:
        works = [dist.all_reduce(tensors[0], async_op=True)]
        _interrupts(works[0].wait)
        _interrupts(works[0].wait)
        _interrupts(lambda: works[0].wait(datetime.timedelta(seconds=30 * PATIENCE)))
        works.append(dist.group.WORLD.allreduce_coalesced([tensors[1]]))
        _interrupts(works[1].wait)
        works.append(dist.all_reduce(tensors[2], async_op=True))
        assert not works[2].is_completed()
        _interrupts(lambda: dist.all_reduce(tensors[3]))
        store.set(key, "")
        for work in reversed(works):
            assert work.wait() and work.is_completed() and work.is_success()
    else:
        store.wait([key])
        dist.all_reduce(tensors[0])
        dist.group.WORLD.allreduce_coalesced([tensors[1]]).wait()
        dist.all_reduce(tensors[2])
        dist.all_reduce(tensors[3])
    dist.barrier()
    for tensor in tensors:
        assert torch.equal(tensor, torch.full(tensor.shape, float(ranks)))


def interrupted_in_backward():
    """Ctrl-C while DDP's backward pass waits for the other ranks: it raises, and the operations go on."""
    model = DistributedDataParallel(cases_training.model_of(), bucket_cap_mb=0.05)
    cases_training.steps_of(model, torch.optim.SGD(model.parameters(), lr=0.05), 0, 2)
    store = dist.distributed_c10d._get_default_store()
    key = f"interrupted in backward/{store.add(f'in backward/{dist.get_rank()}', 1)}"
    values, labels = cases_training.batch_of(2)
    loss = torch.nn.functional.cross_entropy(model(values), labels)
    if dist.get_rank() == 0:
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        loss.register_hook(lambda _: torch.autograd.Variable._execution_engine.queue_callback(timer.start))  # all buckets have left then
        try:
            loss.backward()
        except KeyboardInterrupt:
            store.set(key, "")
            timer.join()
        else:
            raise AssertionError("no KeyboardInterrupt")
    else:
        store.wait([key])
        loss.backward()
    dist.barrier()


class _Hit(Exception):
    pass


def _hit(*_):
    raise _Hit


def _hits(calls, seconds):
    """Signals whose handler raises, at any point of calls() that comes up."""
    hits, end = 0, time.monotonic() + seconds
    before = signal.signal(signal.SIGALRM, _hit)
    try:
        while time.monotonic() < end:
            try:
                signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 120e-6))
                calls()
                signal.setitimer(signal.ITIMER_REAL, 0)
            except _Hit:
                hits += 1
    finally:
        while True:
            try:
                signal.setitimer(signal.ITIMER_REAL, 0)
                signal.signal(signal.SIGALRM, before)
                break
            except _Hit:
                pass
    return hits


def interrupted_anywhere():
    """Signals at every point of a wait: another wait works. And of one that is waited for with a limit, or looked at."""
    store = dist.distributed_c10d._get_default_store()
    key = f"interrupted anywhere/{store.add(f'anywhere/{dist.get_rank()}', 1)}"
    tensors = [torch.ones(1000), torch.ones(70, 10).t()]
    if dist.get_rank() == 0:
        works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
        look_ns, _work.LOOK_NS = _work.LOOK_NS, 20_000  # within a call of the library they have to wait
        try:
            hits = [_hits(wait, 0.3 * PATIENCE) for wait in (works[0].wait, lambda: works[1].wait(datetime.timedelta(seconds=20 * PATIENCE)), works[1].is_completed)]
        finally:
            _work.LOOK_NS = look_ns
        assert hits[0] > 10 and hits[1] > 10, hits
        store.set(key, "")
        for work in works:
            assert work.wait()
    else:
        store.wait([key])
        for tensor in tensors:
            dist.all_reduce(tensor)
    assert all((tensor == dist.get_world_size()).all() for tensor in tensors)


def interrupted_behind_start():
    """What a signal's handler raises just behind the library's start: the group keeps the memory until the operation has ended."""
    group, store = dist.group.WORLD, dist.distributed_c10d._get_default_store()
    key = f"interrupted start/{store.add(f'start/{dist.get_rank()}', 1)}"
    calls = [lambda one: dist.all_reduce(one), lambda one: dist.all_reduce(one, async_op=True), lambda one: group.allreduce_coalesced([one])]
    if dist.get_rank() == 0:
        real, lib = dict(group._starts), group.lib
        kept = []
        try:
            for title, start in real.items():
                group._starts[title] = _raising(start)
            group.lib = _RaisingLibrary(lib)
            for call in calls:
                memory = torch.ones(1000)
                try:
                    call(memory)
                except _Hit:
                    kept.append(weakref.ref(memory))
                del memory
        finally:
            group._starts.update(real)
            group.lib = lib
        gc.collect()
        alive = [one() is not None for one in kept]
        store.set(key, "")
        assert alive == [True] * 3, alive
        end = time.monotonic() + 20 * PATIENCE
        while any(one() is not None for one in kept):
            for work in list(group._pending.values()):
                work.is_completed()
            work = None
            assert time.monotonic() < end
    else:
        store.wait([key])
        for call in calls:
            one = torch.ones(1000)
            work = call(one)
            if work is not None:
                work.wait()
            assert one[0].item() == dist.get_world_size()
    dist.barrier()
    assert not group._calls


def interrupted_behind_refusal():
    """A signal within the library's call that sees the operation end, on a thread that has had a call refused: its status is the operation's."""
    store, group = dist.distributed_c10d._get_default_store(), dist.group.WORLD
    key = f"interrupted refusal/{store.add(f'refusal/{dist.get_rank()}', 1)}"
    tensor = torch.ones(1000)
    if dist.get_rank() == 0:
        try:
            group.broadcast([tensor], 99)
        except dist.DistBackendError:
            assert group.communicator.error()
        work = dist.all_reduce(tensor, async_op=True)
        look_ns, _work.LOOK_NS = _work.LOOK_NS, 20_000_000_000  # one call until the others come
        before = signal.signal(signal.SIGALRM, _hit)

        def end():
            os.kill(os.getpid(), signal.SIGALRM)
            store.set(key, "")

        timer = threading.Timer(0.3, end)
        try:
            timer.start()
            work.wait()
            raise AssertionError("no signal")
        except _Hit:
            pass
        finally:
            timer.join()
            signal.signal(signal.SIGALRM, before)
            _work.LOOK_NS = look_ns
        assert work.wait() and work.is_success()
    else:
        store.wait([key])
        dist.all_reduce(tensor)
    assert torch.equal(tensor, torch.full((1000,), float(dist.get_world_size())))
    dist.barrier()


def _raising(start):
    def start_and_raise(*arguments):
        assert start(*arguments) == 0
        raise _Hit
    return start_and_raise


class _RaisingLibrary:
    def __init__(self, lib):
        self._lib = lib

    def __getattr__(self, name):
        return _raising(self._lib.trib_group_start) if name == "trib_group_start" else getattr(self._lib, name)


def nothing_to_do():
    """No tensors: the work has ended, and is not kept."""
    before = len(dist.group.WORLD._pending)
    for _ in range(100):
        dist.group.WORLD.allreduce_coalesced([]).wait()
    assert len(dist.group.WORLD._pending) <= before


def same_name():
    """Groups made again under one name find nothing of those before; rank 0, which says where to meet, is last."""
    import tributary_torch
    for _ in range(3):
        if dist.get_rank() == 0:
            time.sleep(0.2)
        group = dist.new_group(list(range(dist.get_world_size())), use_local_synchronization=True, pg_options=tributary_torch.Options(payload=512))
        tensor = torch.ones(10)
        dist.all_reduce(tensor, group=group)
        bits = torch.tensor([1 << dist.get_rank()])
        dist.all_reduce(bits, op=dist.ReduceOp.BOR, group=group)  # gloo meets there too
        assert tensor[0].item() == dist.get_world_size() and bits.item() == (1 << dist.get_world_size()) - 1
        dist.destroy_process_group(group)


def lazy():
    """Tensors that are negated or conjugated only when somebody looks: what they say counts, not what their memory holds."""
    ranks, rank = dist.get_world_size(), dist.get_rank()

    def negated():
        return torch._neg_view(torch.tensor([1.0, 2.0]))

    def conjugated():
        return torch.tensor([rank + 2j, 3 - 1j]).conj()

    minus = torch.tensor([-1.0, -2.0])
    summed = negated()
    dist.all_reduce(summed)
    assert torch.equal(summed, ranks * minus)
    summed = negated()
    dist.reduce(summed, 1)
    assert torch.equal(summed, ranks * minus if rank == 1 else minus)
    coalesced = [negated(), negated()]
    dist.group.WORLD.allreduce_coalesced(coalesced).wait()
    assert torch.equal(torch.cat(coalesced), ranks * minus.repeat(2))
    given = negated() if rank == 0 else torch._neg_view(torch.zeros(2))
    dist.broadcast(given, 0)
    assert torch.equal(given, minus)
    whole = torch._neg_view(torch.zeros(2 * ranks))
    dist.all_gather_into_tensor(whole, negated())
    assert torch.equal(whole, minus.repeat(ranks))
    parts = [torch._neg_view(torch.zeros(2)) for _ in range(ranks)]
    dist.all_gather(parts, negated())
    assert torch.equal(torch.cat(parts), minus.repeat(ranks))
    share = torch._neg_view(torch.zeros(2))
    dist.reduce_scatter_tensor(share, torch._neg_view(torch.ones(2 * ranks)))
    assert torch.equal(share, torch.full((2,), -float(ranks)))
    dist.reduce_scatter(share, list(torch._neg_view(torch.ones(2 * ranks)).chunk(ranks)))
    assert torch.equal(share, torch.full((2,), -float(ranks)))
    whole = torch.zeros(2 * ranks, dtype=torch.complex64)
    dist.group.WORLD.all_gather_single(whole, conjugated()).wait()  # torch's functions refuse these
    assert torch.equal(whole, torch.tensor([one for other in range(ranks) for one in (other - 2j, 3 + 1j)]))
    given = conjugated() if rank == 0 else torch.zeros(2, dtype=torch.complex64).conj()
    dist.group.WORLD.broadcast([given], 0).wait()
    assert torch.equal(given, torch.tensor([-2j, 3 + 1j]))


def complex_sums():
    """Sums of complex numbers, which torch turns into sums of parts for all_reduce alone."""
    ranks, rank = dist.get_world_size(), dist.get_rank()
    mine = torch.complex(torch.arange(4.0), torch.full((4,), float(rank)))
    of_all = torch.complex(ranks * torch.arange(4.0), torch.full((4,), float(sum(range(ranks)))))
    for op, wanted in ((dist.ReduceOp.SUM, of_all), (dist.ReduceOp.AVG, of_all / ranks)):
        for root in range(ranks):
            given = mine.clone()
            dist.reduce(given, root, op)
            assert torch.equal(given, wanted if rank == root else mine)
        share = torch.zeros(8, dtype=torch.complex64)[::2]
        dist.reduce_scatter_tensor(share, mine.repeat(ranks), op)
        assert torch.equal(share, wanted)
        dist.reduce_scatter(share, [mine.conj() for other in range(ranks)], op)
        assert torch.equal(share, wanted.conj())
        sizes = [1 + other % 2 for other in range(ranks)]
        share = torch.zeros(sizes[rank], dtype=torch.complex128)
        dist.reduce_scatter(share, [mine[:size].to(torch.complex128) for size in sizes], op)
        assert torch.equal(share, wanted[:sizes[rank]].to(torch.complex128))
        shares = [torch.zeros(4, dtype=torch.complex64) for one in range(2)]
        opts = dist.ReduceScatterOptions()
        opts.reduceOp = op
        dist.group.WORLD.reduce_scatter_tensor_coalesced(shares, [mine.repeat(ranks), mine.conj().repeat(ranks)], opts).wait()
        assert torch.equal(shares[0], wanted) and torch.equal(shares[1], wanted.conj())


def overlapping():
    """An output that lies in the input, at any rank's place there, and the other way round."""
    ranks, rank = dist.get_world_size(), dist.get_rank()
    for place in range(ranks):
        mine = ranks * torch.arange(4.0 * rank, 4 * rank + 4)
        whole = torch.arange(4.0 * ranks)
        parts = list(whole.chunk(ranks))
        dist.reduce_scatter(parts[place], parts)
        assert torch.equal(parts[place], mine), place
        whole = torch.arange(4.0 * ranks)
        dist.reduce_scatter_tensor(whole[4 * place:4 * place + 4], whole)
        assert torch.equal(whole[4 * place:4 * place + 4], mine), place
        whole = torch.arange(4.0 * ranks)
        dist.group.WORLD.reduce_scatter_tensor_coalesced([whole[4 * place:4 * place + 4]], [whole]).wait()
        assert torch.equal(whole[4 * place:4 * place + 4], mine), place
        want = torch.arange(1.0, ranks + 1).repeat_interleave(2)
        whole = torch.zeros(2 * ranks)
        whole[2 * place:2 * place + 2] = rank + 1.0
        dist.all_gather_into_tensor(whole, whole[2 * place:2 * place + 2])
        assert torch.equal(whole, want), place
        whole = torch.zeros(2 * ranks)
        whole[2 * place:2 * place + 2] = rank + 1.0
        dist.all_gather(list(whole.chunk(ranks)), whole[2 * place:2 * place + 2])
        assert torch.equal(whole, want), place
    sizes = [other + 1 for other in range(ranks)]  # shares that differ, the output one element beside its place
    whole = torch.ones(sum(sizes) + 1)
    dist.reduce_scatter(whole[sum(sizes[:rank]) + 1:][:sizes[rank]], list(whole[:-1].split(sizes)))
    assert torch.equal(whole[sum(sizes[:rank]) + 1:][:sizes[rank]], torch.full((sizes[rank],), float(ranks)))


def changed_lists():
    """The caller's list is his own again at once; memory that no longer is in it lives until the operation has ended."""
    ranks, rank = dist.get_world_size(), dist.get_rank()
    size = 1 << 18
    works = []
    for _ in range(4):
        outputs = [torch.empty(size) for _ in range(ranks)]
        whole = torch.empty(size * ranks)
        views = list(whole.chunk(ranks))
        works.append(dist.all_gather(outputs, torch.full((size,), rank + 1.0), async_op=True))
        works.append(dist.all_gather(views, torch.full((size,), rank + 1.0), async_op=True))
        tensors = [torch.ones(size)]
        works.append(dist.group.WORLD.allreduce(tensors))
        for given in (outputs, views, tensors):
            given.clear()
        del whole
    for gathered, in_turn, summed in zip(works[::3], works[1::3], works[2::3], strict=True):
        for work in (gathered, in_turn):
            work.wait()
            assert [one[-1].item() for one in work.result()] == [other + 1.0 for other in range(ranks)]
        summed.wait()
        assert summed.result()[0][-1].item() == ranks


def elsewhere():
    """One tensor that is not in this machine's memory is enough to refuse, whichever side it is on."""
    ranks = dist.get_world_size()
    here, there = torch.zeros(2), torch.zeros(2, device="meta")
    all_here, all_there = torch.zeros(2 * ranks), torch.zeros(2 * ranks, device="meta")
    group = dist.group.WORLD
    for function, args in ((dist.all_gather_into_tensor, (all_there, here)), (dist.all_gather_into_tensor, (all_here, there)),
                           (dist.all_gather, ([there] * ranks, here)), (dist.all_gather, ([here] * ranks, there)),
                           (dist.reduce_scatter_tensor, (there, all_here)), (dist.reduce_scatter_tensor, (here, all_there)),
                           (dist.reduce_scatter, (here, [there] * ranks)), (dist.reduce_scatter, (there, [here] * ranks)),
                           (group.allgather_into_tensor_coalesced, ([all_there], [here])),
                           (group.allgather_coalesced, ([[there]] * ranks, [here])),
                           (group.reduce_scatter_tensor_coalesced, ([here], [all_there]))):
        try:
            function(*args)
        except ValueError as error:
            assert "meta" in str(error), error
            continue
        raise AssertionError(f"{function.__name__} took {args}")
    dist.barrier()


def received_early():
    """irecv returns before the sender has come, in a group that has sent nothing yet: the operation between is not held up. Of each two
    ranks the lower one receives in one group, the higher one in another: one of both connects to the other."""
    rank, other = dist.get_rank(), dist.get_rank() ^ 1
    for is_lower in (True, False):
        group = dist.new_group(timeout=datetime.timedelta(seconds=20 * PATIENCE))
        tensor, summed, work = torch.zeros(3), torch.ones(1), None
        if (rank < other) == is_lower:
            work = dist.irecv(tensor, src=other, group=group)
        dist.all_reduce(summed, group=group)
        assert summed.item() == dist.get_world_size()
        if work is None:
            dist.send(torch.arange(3.0), dst=other, group=group)
        else:
            work.wait()
            assert torch.equal(tensor, torch.arange(3.0))


def nobody_comes(seconds):
    """Each rank waits in a way of its own, in a group of its own that has sent nothing yet, for ranks that do not come. What is said, and
    after how long."""
    rank, ranks = dist.get_rank(), list(range(dist.get_world_size()))
    timeout = datetime.timedelta(seconds=seconds)
    groups = [dist.new_group(ranks, timeout=timeout) for _ in range(4)]
    parts = [torch.zeros(1) for _ in ranks]
    calls = (lambda group: dist.monitored_barrier(group, wait_all_ranks=True),
             lambda group: dist.recv(torch.zeros(1), src=0, group=group),
             lambda group: dist.gather(torch.zeros(1), parts, dst=2, group=group),
             lambda group: dist.irecv(torch.zeros(1), src=0, group=group).wait())
    start = time.monotonic()
    try:
        calls[rank](groups[rank])
    except RuntimeError as error:
        return str(error), time.monotonic() - start
    raise AssertionError("it came to an end")


def expanded():
    """A result cannot be written into a tensor whose elements share memory: it is refused before the operation begins, on every rank."""
    ranks, group = dist.get_world_size(), dist.group.WORLD

    def one():
        return torch.ones(1).expand(4)

    calls = [lambda: dist.all_reduce(one()), lambda: dist.reduce(one(), dist.get_rank()), lambda: dist.all_gather([one()] * ranks, torch.ones(4)),
             lambda: dist.all_gather_into_tensor(torch.ones(1).expand(4 * ranks), torch.ones(4)),
             lambda: dist.reduce_scatter_tensor(one(), torch.ones(4 * ranks)), lambda: group.allreduce_coalesced([one()]),
             lambda: dist.broadcast(one(), (dist.get_rank() + 1) % ranks)]
    for call in calls:
        try:
            call()
        except ValueError as error:
            assert "share memory" in str(error), error
        else:
            raise AssertionError("an expanded tensor was taken")
    whole = torch.zeros(4 * ranks)
    dist.all_gather_into_tensor(whole, one())  # which is only read
    assert torch.equal(whole, torch.ones(4 * ranks))


def waiting():
    """Results of functional collectives that nobody has waited for are tensors like others, on either side of an operation."""
    import torch.distributed._functional_collectives as functions
    rank, ranks = dist.get_rank(), dist.get_world_size()

    def made(*shape):
        result = functions.all_reduce(torch.full(shape, float(rank)), "sum", dist.group.WORLD)  # ranks * (ranks - 1) / 2 everywhere
        assert isinstance(result, functions.AsyncCollectiveTensor)
        return result

    total, sums = ranks * (ranks - 1) / 2.0, {}
    sums["all_reduce"] = made(3, 2)
    dist.all_reduce(sums["all_reduce"])
    sums["transposed"] = made(3, 2).t()
    dist.all_reduce(sums["transposed"])
    sums["reduce_scatter"] = torch.zeros(2)
    dist.reduce_scatter_tensor(sums["reduce_scatter"], made(2 * ranks))
    sums["list"] = torch.zeros(2)
    dist.reduce_scatter(sums["list"], [made(2) for _ in range(ranks)])
    tensors = [made(2), made(3)]
    with dist.distributed_c10d._coalescing_manager():
        for tensor in tensors:
            dist.all_reduce(tensor)
    sums.update(enumerate(tensors))
    moved = {"broadcast": made(4), "output": made(2 * ranks), "gathered": torch.zeros(2 * ranks), "all_to_all": torch.zeros(ranks)}
    dist.broadcast(moved["broadcast"], 1)
    dist.all_gather_into_tensor(moved["output"], torch.full((2,), total))
    dist.all_gather_into_tensor(moved["gathered"], made(2))
    dist.all_to_all_single(moved["all_to_all"], made(ranks))
    moved["sent"] = made(2)
    if rank == 0:
        dist.send(moved["sent"], 1)
    elif rank == 1:
        dist.recv(moved["sent"], 0)
    for name, tensor in [*sums.items(), *moved.items()]:
        tensor = tensor.trigger_wait() if isinstance(tensor, functions.AsyncCollectiveTensor) else tensor
        want = total * (ranks if name in sums else 1)
        assert torch.equal(tensor, torch.full(tensor.shape, want)), (name, tensor)


def _refusal(call):
    try:
        call()
    except ValueError as error:
        return str(error)
    raise AssertionError("it is taken")


def without_values():
    """Tensors whose memory is not their values are refused before the operation begins, and the group goes on."""
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.tensor import Replicate, distribute_tensor

    with FakeTensorMode():
        fake = torch.ones(4)
    parts = [torch.ones(2), torch.ones(3)]
    given = {"DTensor": distribute_tensor(torch.ones(4), init_device_mesh("cpu", (dist.get_world_size(),)), [Replicate()]), "FakeTensor": fake,
             "nested": torch.nested.nested_tensor(parts), "nested ": torch.nested.nested_tensor(parts, layout=torch.jagged),
             "quantized": torch.quantize_per_tensor(torch.ones(4), 0.1, 0, torch.qint8)}
    for kind, tensor in given.items():
        for call in (lambda tensor: dist.all_reduce(tensor), lambda tensor: dist.broadcast(tensor, 0), lambda tensor: dist.all_gather([tensor] * 4, tensor),
                     lambda tensor: dist.send(tensor, 1) if dist.get_rank() == 0 else dist.recv(tensor, 0)):
            text = _refusal(lambda call=call, tensor=tensor: call(tensor))
            assert text.startswith(f"the memory of a {kind.strip()} tensor is not its values"), text
    _not_known()
    tensor = torch.ones(3)
    dist.all_reduce(tensor)
    assert tensor[0].item() == dist.get_world_size()


def _not_known():
    """A type that neither has: the error names it, and says what to do."""
    tensor, rank = torch.ones(4, dtype=torch.int16), dist.get_rank()
    for call in (lambda: dist.all_reduce(tensor), lambda: dist.all_to_all_single(tensor.clone(), tensor),
                 lambda: dist.scatter(tensor, [tensor] * dist.get_world_size() if rank == 0 else None, src=0)):
        text = _refusal(call)
        assert "torch.int16" in text and "tensor.to(torch.int32)" in text, text


def inference():
    """Results that are copied back, to tensors made in inference mode: there, by the thread that tells futures, and outside of it."""
    ranks = dist.get_world_size()
    with torch.inference_mode():
        tensor, outputs = torch.ones(4, 4).t()[:, :2], [torch.zeros(3) for _ in range(ranks)]
        dist.all_reduce(tensor, async_op=True).get_future().wait()
        dist.all_gather(outputs, torch.ones(3), async_op=True).get_future().wait()
    dist.all_reduce(tensor)
    assert torch.equal(tensor, torch.full((4, 2), float(ranks * ranks))) and all(bool((one == 1).all()) for one in outputs)
    dist.all_gather(outputs, torch.full((3,), 2.0))
    assert all(bool((one == 2).all()) for one in outputs)


def mixed():
    """A group of several backends: tensors of each device go to the backend that was asked for, in either order; those of the CPU to ours."""
    from torch.testing._internal.distributed import fake_pg  # registers "fake", a backend that only pretends
    assert fake_pg
    ranks, rank = dist.get_world_size(), dist.get_rank()
    for backend in ("cpu:tributary,meta:fake", "meta:fake,cpu:tributary", "cpu:tributary,meta:gloo"):
        group = dist.new_group(backend=backend)
        kind = type(group._get_backend(torch.device("meta"))).__name__
        assert group.is_tributary and kind == ("Gloo" if "gloo" in backend else "FakeProcessGroup"), kind
        assert {device.type for device in group._device_types} == {"cpu", "meta"} and dist.get_backend(group) == backend
        here = torch.full((3,), float(rank))
        dist.all_reduce(here, group=group)
        assert here[0].item() == ranks * (ranks - 1) / 2 and group.stats()["operations"] > 0
        said = [None] * ranks
        dist.all_gather_object(said, rank, group=group)
        assert said == list(range(ranks))
        dist.send(here, rank ^ 1, group=group) if rank & 1 else dist.recv(here, rank ^ 1, group=group)
        if kind != "Gloo":
            _on_meta(group, ranks)
        dist.barrier(group)
        dist.destroy_process_group(group)
    # Ours first: torch makes the backends in turn, and a rank that is refused drops those before ours, which others may be connecting.
    for backend, text in (("meta:tributary,cpu:gloo", "meta:tributary: backend tributary sums tensors in CPU memory, not on meta"),
                          ("cuda:tributary", "cuda:tributary: .* as in \"cpu:tributary,cuda:nccl\""),
                          ("cpu:tributary,meta:ucc", "meta:ucc: backend tributary makes no group with ucc")):
        try:
            dist.new_group(backend=backend)
        except ValueError as error:
            assert re.search(text, str(error)), error
        else:
            raise AssertionError(f"{backend} was made")
    dist.barrier()


def _on_meta(group, ranks):
    """The pretending backend takes all of these, and moves nothing."""
    one, whole = torch.zeros(2, device="meta"), torch.zeros(2 * ranks, device="meta")
    operations = group.stats()["operations"]
    dist.all_reduce(one, group=group)
    dist.reduce(one, 0, group=group)
    dist.broadcast(one, 0, group=group)
    dist.all_gather([one] * ranks, one, group=group)
    dist.all_gather_into_tensor(whole, one, group=group)
    dist.reduce_scatter(one, [one] * ranks, group=group)
    dist.reduce_scatter_tensor(one, whole, group=group)
    dist.all_to_all_single(whole, whole, group=group)
    dist.all_reduce(one, group=group, async_op=True).wait()
    group.allgather_into_tensor_coalesced([whole], [one]).wait()
    group.reduce_scatter_tensor_coalesced([one], [whole]).wait()
    assert group.stats()["operations"] == operations
