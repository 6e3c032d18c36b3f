# SPDX-License-Identifier: Apache-2.0
"""What the ranks of a world run (conftest.py): each function is called on every rank, and compares what it gets with gloo.

float32 and float64: every rank has the same bits, within ranks * eps * sum(|x|) of gloo's. float16 and bfloat16, which the library
adds in float32 and rounds once: within that of their own eps, as gloo rounds after every addition. Integers and bool: equal.
"""
import ctypes
import datetime
import functools
import gc
import logging
import os
import time

import torch
import torch.distributed as dist
from conftest import PATIENCE
from torch._C import _distributed_c10d as c10d
from tributary_torch import _group

OPS = {"SUM": dist.ReduceOp.SUM, "AVG": dist.ReduceOp.AVG, "MIN": dist.ReduceOp.MIN, "MAX": dist.ReduceOp.MAX,
       "PRODUCT": dist.ReduceOp.PRODUCT}
DTYPES = {name: getattr(torch, name) for name in (
    "float32", "float16", "bfloat16", "float64", "int32", "int64", "int8", "uint8", "bool")}
SIZES = (0, 1, 7, 64, 1000, 70001)
LAYOUTS = ("contiguous", "transposed", "strided")
WAYS = ("sync", "wait", "future")


@functools.cache
def gloo():
    return dist.new_group(backend="gloo")


def schemes():
    """What sums the default group, and one that is made inside it."""
    inner = dist.new_group(list(range(dist.get_world_size())))
    dist.all_reduce(torch.ones(1), group=inner)
    return dist.group.WORLD.scheme(), inner.scheme()


def made(dtype, size, seed):
    """Values of this rank."""
    generator = torch.Generator().manual_seed(1000 * seed + dist.get_rank() + 1)
    if dtype is torch.bool:
        return torch.randint(0, 2, (size,), generator=generator).bool()
    if not dtype.is_floating_point:
        return torch.randint(0 if dtype is torch.uint8 else -50, 50, (size,), generator=generator).to(dtype)
    return torch.randn(size, generator=generator, dtype=torch.float64).to(dtype)


def laid(values, layout):
    """A tensor with these values in that layout."""
    size = values.numel()
    if layout == "transposed" and size % 7 == 0:
        tensor = torch.empty(size // 7, 7, dtype=values.dtype).t()
    elif layout == "strided":
        tensor = torch.zeros(2 * size + 1, dtype=values.dtype)[1::2]
    else:
        tensor = torch.empty(size, dtype=values.dtype)
    tensor.copy_(values.view(tensor.shape))
    return tensor


def call(way, function, *args, **kwargs):
    if way == "sync":
        function(*args, **kwargs)
        return
    work = function(*args, async_op=True, **kwargs)
    if way == "future":
        work.get_future().wait()
        assert work.is_completed()
    assert work.wait()
    assert work.is_success() and work.exception() is None


def whole(tensor):
    return tensor.clone(memory_format=torch.contiguous_format).view(-1)


def check_same_everywhere(tensor, what):
    """The same bits on every rank."""
    bits = whole(tensor).view(torch.uint8) if tensor.dtype is not torch.bool else whole(tensor).to(torch.uint8)
    first = bits.clone()
    dist.broadcast(first, 0, group=gloo())
    assert torch.equal(bits, first), f"{what}: rank {dist.get_rank()} has other bits than rank 0"


def check_near(got, want, magnitude, what):
    if not got.dtype.is_floating_point:
        assert torch.equal(got, want), f"{what}: {got.view(-1)[:8]} is not {want.view(-1)[:8]}"
        return
    bound = dist.get_world_size() * torch.finfo(got.dtype).eps * magnitude + torch.finfo(got.dtype).tiny
    assert bool(((got.double() - want.double()).abs() <= bound).all()), f"{what}: {got.view(-1)[:8]} is not near {want.view(-1)[:8]}"


def expected(values, op, dtype):
    """What gloo makes of it; (values, magnitude for the bound). gloo has no average, and adds bools as bytes."""
    ranks = dist.get_world_size()
    if dtype is torch.bool:
        want = values.to(torch.uint8)
        dist.all_reduce(want, op={"SUM": OPS["MAX"], "PRODUCT": OPS["MIN"]}.get(op, OPS[op]), group=gloo())
        return want.bool(), None
    want = values.clone()
    dist.all_reduce(want, op=OPS["SUM" if op == "AVG" else op], group=gloo())
    magnitude = values.to(torch.float64, copy=True).abs()
    dist.all_reduce(magnitude, op=OPS["PRODUCT" if op == "PRODUCT" else "SUM"], group=gloo())
    if op == "AVG":
        if not dtype.is_floating_point:  # sums wrap in their own type before they are divided, towards zero
            return torch.div(want, ranks, rounding_mode="trunc"), None
        wide = values.to(torch.float64, copy=True)
        dist.all_reduce(wide, group=gloo())
        return (wide / ranks).to(dtype), magnitude / ranks
    return want, magnitude


def refuses(dtype, op):
    return dtype is torch.bool and op == "AVG"


def all_reduce(dtype_name, op):
    """Every size, layout and way."""
    dtype, seed, count = DTYPES[dtype_name], 0, 0
    for size in SIZES:
        seed += 1
        values = made(dtype, size, seed)
        if refuses(dtype, op):
            try:
                dist.all_reduce(values, op=OPS[op])
            except ValueError:
                continue
            raise AssertionError("an average of bools")
        want, magnitude = expected(values, op, dtype)
        for layout in LAYOUTS:
            for way in WAYS:
                what = f"all_reduce {op} of {size} {dtype_name}, {layout}, {way}"
                tensor = laid(values, layout)
                call(way, dist.all_reduce, tensor, op=OPS[op])
                check_near(whole(tensor), want, magnitude, what)
                check_same_everywhere(tensor, what)
                count += 1
    return count


def reduce(dtype_name, op):
    dtype, count = DTYPES[dtype_name], 0
    if refuses(dtype, op):
        return 0
    for size in SIZES:
        values = made(dtype, size, size)
        want, magnitude = expected(values, op, dtype)
        for layout, way in zip(LAYOUTS, WAYS, strict=True):
            root = count % dist.get_world_size()
            what = f"reduce {op} of {size} {dtype_name} to {root}, {layout}, {way}"
            tensor = laid(values, layout)
            call(way, dist.reduce, tensor, root, op=OPS[op])
            if dist.get_rank() == root:
                check_near(whole(tensor), want, magnitude, what)
            else:
                assert torch.equal(whole(tensor), values), f"{what}: rank {dist.get_rank()} is no root, and was written to"
            count += 1
    return count


def reduce_scatter(dtype_name, op):
    """Both forms, and shares that differ."""
    dtype, ranks, rank, count = DTYPES[dtype_name], dist.get_world_size(), dist.get_rank(), 0
    if refuses(dtype, op):
        return 0
    for size in SIZES:
        values = made(dtype, size * ranks, size)
        want, magnitude = expected(values, op, dtype)
        mine = slice(rank * size, (rank + 1) * size)
        magnitude = magnitude[mine] if magnitude is not None else None
        for layout, way in zip(LAYOUTS, WAYS, strict=True):
            what = f"reduce_scatter {op} of {size} {dtype_name}, {layout}, {way}"
            output = laid(torch.zeros(size, dtype=dtype), layout)
            call(way, dist.reduce_scatter, output, [laid(part, layout) for part in values.chunk(ranks)] if size else [output] * ranks,
                 op=OPS[op])
            check_near(whole(output), want[mine], magnitude, what)
            output = laid(torch.zeros(size, dtype=dtype), layout)
            call(way, dist.reduce_scatter_tensor, output, laid(values, layout), op=OPS[op])
            check_near(whole(output), want[mine], magnitude, what + ", one tensor")
            count += 2
    if op == "SUM":
        sizes = [5 * other for other in range(ranks)]
        values = made(dtype, sum(sizes), 5)
        want, magnitude = expected(values, op, dtype)
        output = torch.zeros(sizes[rank], dtype=dtype)
        dist.reduce_scatter(output, list(values.split(sizes)), op=OPS[op])
        start = sum(sizes[:rank])
        mine = slice(start, start + sizes[rank])
        check_near(output, want[mine], magnitude[mine] if magnitude is not None else None, "reduce_scatter of shares that differ")
    return count


def broadcast(dtype_name):
    dtype, count = DTYPES[dtype_name], 0
    for size in SIZES:
        for layout in LAYOUTS:
            for way in WAYS:
                root = count % dist.get_world_size()
                values = made(dtype, size, count)
                want = values.clone()
                dist.broadcast(want, root, group=gloo())
                tensor = laid(values, layout)
                call(way, dist.broadcast, tensor, root)
                assert torch.equal(whole(tensor), want), f"broadcast of {size} {dtype_name}, {layout}, {way}"
                count += 1
    return count


def all_gather(dtype_name):
    """Both forms, lists whose tensors lie in turn, and shares that differ."""
    dtype, ranks, count = DTYPES[dtype_name], dist.get_world_size(), 0
    for size in SIZES:
        values = made(dtype, size, size)
        want = [torch.zeros_like(values) for _ in range(ranks)]
        dist.all_gather(want, values, group=gloo())
        want = torch.cat(want)
        for layout in LAYOUTS:
            for way in WAYS:
                what = f"all_gather of {size} {dtype_name}, {layout}, {way}"
                outputs = [laid(torch.zeros(size, dtype=dtype), layout) for _ in range(ranks)]
                call(way, dist.all_gather, outputs, laid(values, layout))
                assert torch.equal(torch.cat([whole(one) for one in outputs]), want), what
                output = laid(torch.zeros(size * ranks, dtype=dtype), layout)
                call(way, dist.all_gather_into_tensor, output, laid(values, layout))
                assert torch.equal(whole(output), want), what + ", one tensor"
                count += 2
        output = torch.zeros(size * ranks, dtype=dtype)
        dist.all_gather(list(output.chunk(ranks)) if size else [output] * ranks, values)
        assert torch.equal(output, want), "all_gather into views of one tensor"
    sizes = [3 * other for other in range(ranks)]
    outputs = [torch.zeros(other, dtype=torch.int64) for other in sizes]
    dist.all_gather(outputs, torch.full((sizes[dist.get_rank()],), dist.get_rank()))
    assert all(torch.equal(one, torch.full((sizes[other],), other)) for other, one in enumerate(outputs)), "shares that differ"
    return count


def coalesced():
    """The forms with lists of tensors, and torch's own manager of them."""
    ranks, rank = dist.get_world_size(), dist.get_rank()
    tensors = [torch.full((size,), float(rank + size)) for size in (1, 5000, 0, 70000)]
    tensors.append(torch.full((6, 5), float(rank)).t())
    with dist.distributed_c10d._coalescing_manager():
        for tensor in tensors:
            dist.all_reduce(tensor)
    total = ranks * (ranks - 1) / 2
    for size, tensor in zip((1, 5000, 0, 70000), tensors, strict=False):
        assert torch.equal(tensor, torch.full((size,), total + ranks * size))
    assert torch.equal(tensors[-1], torch.full((5, 6), total))
    many = [torch.tensor([float(rank + index)]) for index in range(5000)]  # more than the library takes at once
    with dist.distributed_c10d._coalescing_manager(async_ops=True) as manager:
        for tensor in many:
            dist.all_reduce(tensor)
    manager.wait()
    assert all(tensor.item() == total + ranks * index for index, tensor in enumerate(many))
    outputs = [torch.zeros(size * ranks) for size in (3, 9)]
    with dist.distributed_c10d._coalescing_manager():
        for output in outputs:
            dist.all_gather_into_tensor(output, torch.full((output.numel() // ranks,), float(rank)))
    assert all(torch.equal(output, torch.arange(float(ranks)).repeat_interleave(output.numel() // ranks)) for output in outputs)
    shares = [torch.zeros(size) for size in (4, 11)]
    with dist.distributed_c10d._coalescing_manager():
        for share in shares:
            dist.reduce_scatter_tensor(share, torch.ones(share.numel() * ranks))
    assert all(torch.equal(share, torch.full_like(share, float(ranks))) for share in shares)


def functional():
    """What DTensor and torch.compile use: called from C++, through the group's name."""
    import torch.distributed._functional_collectives as functions
    ranks, rank = dist.get_world_size(), dist.get_rank()
    summed = functions.all_reduce(torch.full((7,), float(rank)), "sum", dist.group.WORLD)
    assert torch.equal(summed + 0, torch.full((7,), ranks * (ranks - 1) / 2))
    gathered = functions.all_gather_tensor(torch.full((3,), float(rank)), 0, dist.group.WORLD)
    assert torch.equal(gathered + 0, torch.arange(float(ranks)).repeat_interleave(3))
    share = functions.reduce_scatter_tensor(torch.ones(5 * ranks), "avg", 0, dist.group.WORLD)
    assert torch.equal(share + 0, torch.ones(5))
    moved = functions.all_to_all_single(torch.full((ranks,), float(rank)), None, None, dist.group.WORLD)
    assert torch.equal(moved + 0, torch.arange(float(ranks)))
    given = functions.broadcast(torch.full((4,), float(rank)), 1, dist.group.WORLD)
    assert torch.equal(given + 0, torch.ones(4))


def objects():
    rank, ranks = dist.get_rank(), dist.get_world_size()
    got = [None] * ranks
    dist.all_gather_object(got, {"rank": rank, "text": "x" * rank})
    assert [one["rank"] for one in got] == list(range(ranks))
    listed = [{"from": rank}, "second"] if rank == 2 else [None, None]
    dist.broadcast_object_list(listed, src=2)
    assert listed == [{"from": 2}, "second"]
    gathered = [None] * ranks if rank == 1 else None
    dist.gather_object(rank * 10, gathered, dst=1)
    assert gathered is None or gathered == [10 * other for other in range(ranks)]
    scattered = [None]
    dist.scatter_object_list(scattered, [f"for {other}" for other in range(ranks)] if rank == 0 else None, src=0)
    assert scattered == [f"for {rank}"]


def of_gloo():
    """What goes to gloo."""
    rank, ranks = dist.get_rank(), dist.get_world_size()
    if rank == 1:
        dist.send(torch.arange(5.0), 3)
        assert dist.recv(torch.zeros(2), 3) == 3
    elif rank == 3:
        tensor = torch.zeros(5)
        dist.recv(tensor, 1)
        assert torch.equal(tensor, torch.arange(5.0))
        dist.send(torch.ones(2), 1)
    output = torch.zeros(ranks)
    dist.all_to_all_single(output, torch.full((ranks,), float(rank)))
    assert torch.equal(output, torch.arange(float(ranks)))
    outputs = [torch.zeros(1) for _ in range(ranks)]
    dist.all_to_all(outputs, [torch.tensor([float(rank)])] * ranks)
    assert [one.item() for one in outputs] == list(range(ranks))
    parts = [torch.zeros(2) for _ in range(ranks)] if rank == 0 else None
    dist.gather(torch.full((2,), float(rank)), parts, dst=0)
    assert parts is None or [part[0].item() for part in parts] == list(range(ranks))
    mine = torch.zeros(2)
    dist.scatter(mine, [torch.full((2,), float(other)) for other in range(ranks)] if rank == 2 else None, src=2)
    assert torch.equal(mine, torch.full((2,), float(rank)))
    bits = torch.tensor([1 << rank])
    dist.all_reduce(bits, op=dist.ReduceOp.BOR)
    assert bits.item() == (1 << ranks) - 1
    shares = [torch.zeros(1, dtype=torch.int32) for _ in range(2)]
    dist.group.WORLD.reduce_scatter_tensor_coalesced(shares, [torch.full((ranks,), 1 << rank, dtype=torch.int32)] * 2, dist.ReduceOp.BOR).wait()
    assert [one.item() for one in shares] == [(1 << ranks) - 1] * 2
    requests = dist.batch_isend_irecv([
        dist.P2POp(dist.isend, torch.tensor([float(rank)]), (rank + 1) % ranks),
        dist.P2POp(dist.irecv, output[:1], (rank - 1) % ranks)])
    for request in requests:
        request.wait()
    assert output[0].item() == (rank - 1) % ranks
    dist.monitored_barrier(timeout=datetime.timedelta(seconds=30 * PATIENCE))
    dist.monitored_barrier(dist.group.WORLD, datetime.timedelta(seconds=30 * PATIENCE), wait_all_ranks=True)


def said_once():
    """The log has a line for what goes to gloo, from one rank, the first time, with its cause."""
    lines, group = [], dist.group.WORLD
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    log = logging.getLogger("tributary_torch")
    log.addHandler(handler)
    _group._said.clear()
    for _ in range(2):
        output = torch.zeros(dist.get_world_size())
        dist.all_to_all_single(output, torch.ones(dist.get_world_size()), group=group)
        dist.all_reduce(torch.ones(1, dtype=torch.int32), op=dist.ReduceOp.BAND, group=group)
    log.removeHandler(handler)
    named = ["all_to_all", "all_reduce with BAND"] if dist.get_rank() == 0 else []
    assert lines == [f"{name} is not for in-network aggregation: gloo does it" for name in named], lines


def new_groups():
    """Subsets, overlapping ones, one rank alone, an order that is not that of the ranks; all in use at once."""
    rank = dist.get_rank()
    members = [[0, 1], [2, 3], [1, 2, 3], [3, 0], [rank], list(range(dist.get_world_size()))]
    groups = [dist.new_group(ranks, use_local_synchronization=len(ranks) == 1) for ranks in members]
    works = []
    for ranks, group in zip(members, groups, strict=True):
        if rank in ranks:
            tensor = torch.full((5000,), float(rank + 1))
            works.append((dist.all_reduce(tensor, group=group, async_op=True), tensor, ranks))
    for work, tensor, ranks in works:
        work.wait()
        assert torch.equal(tensor, torch.full((5000,), float(sum(ranks) + len(ranks)))), ranks
    if rank in (1, 2, 3):
        tensor = torch.tensor([rank])
        dist.broadcast(tensor, 2, group=groups[2])
        assert tensor.item() == 2
    for group in groups:
        if group != dist.GroupMember.NON_GROUP_MEMBER:
            dist.destroy_process_group(group)
    dist.barrier()


def _use_and_destroy_group():
    group = dist.new_group(list(range(dist.get_world_size())))
    tensors = [torch.ones(100) for _ in range(4)]
    works = [dist.all_reduce(tensor, group=group, async_op=True) for tensor in tensors]
    works[0].get_future().wait()
    works[-1].get_future().then(lambda _: time.sleep(0.05))  # the group's end waits for it, on the watcher's thread as well
    for work in works[:-1]:
        work.wait()
    dist.all_reduce(tensors[0], group=group)
    dist.destroy_process_group(group)


def destroyed_groups():
    """Their sockets and threads go with them, and do not wait for Python's search for circles."""
    gc.collect()
    gc.disable()
    try:
        left = []
        for _ in range(4):
            _use_and_destroy_group()
            left.append([len(os.listdir(f"/proc/self/{kind}")) for kind in ("fd", "task")])
    finally:
        gc.enable()
    dist.barrier()
    assert left[-1][0] <= left[0][0] and left[-1][1] <= left[0][1], left


def many_in_flight(count):
    """Started in one order, waited for in another; some by nobody."""
    ranks, rank = dist.get_world_size(), dist.get_rank()
    tensors = [torch.full((1000,), float(rank + index)) for index in range(count)]
    works = [dist.all_reduce(tensor, async_op=True) for tensor in tensors]
    futures = [work.get_future() for work in works[::3]]
    for work in reversed(works[1::3]):
        work.wait()
    torch.futures.wait_all(futures)
    del works
    dist.barrier()
    total = ranks * (ranks - 1) / 2
    for index, tensor in enumerate(tensors):
        assert tensor[-1].item() == total + ranks * index, index
    gc.collect()
    return len(dist.group.WORLD._pending)


def refused():
    """Mistakes are errors at once, and the group goes on."""
    ranks = dist.get_world_size()
    for function, args in ((dist.all_gather, ([torch.zeros(2)] * (ranks + 1), torch.zeros(2))),
                           (dist.all_gather_into_tensor, (torch.zeros(5), torch.zeros(2))),
                           (dist.reduce_scatter_tensor, (torch.zeros(2), torch.zeros(5))),
                           (dist.all_reduce, (torch.zeros(2, device="meta"),))):
        try:
            function(*args)
        except ValueError:
            continue
        raise AssertionError(f"{function.__name__} took wrong tensors")
    tensor = torch.ones(3)
    dist.all_reduce(tensor)
    assert torch.equal(tensor, torch.full((3,), float(ranks)))


def _huge(elements):
    """A tensor of bytes that nobody may read: the library refuses more than 2 ** 46 of them before it looks."""
    tensor = torch.frombuffer((ctypes.c_uint8 * elements).from_address(torch.empty(64).data_ptr()), dtype=torch.uint8)
    assert tensor.numel() == elements
    return tensor


def reasons():
    """What the library refuses says why in the exception, whichever way the operation is asked for; and the group goes on."""
    group, ranks, one = dist.group.WORLD, dist.get_world_size(), torch.ones(1)
    much = (1 << 46) // ranks + 8
    whole = _huge(much * ranks)
    share = whole.chunk(ranks)[dist.get_rank()]
    sizes = [much + (1 if rank == 0 else 0) for rank in range(ranks)]
    uneven = list(_huge(sum(sizes)).split(sizes))
    calls = {
        "broadcast": ("the root is no rank of the communicator", lambda opts: group.broadcast([one], opts(c10d.BroadcastOptions, rootRank=ranks))),
        "reduce": ("the root is no rank of the communicator", lambda opts: group.reduce([one], opts(c10d.ReduceOptions, rootRank=ranks))),
        "all_reduce": ("more than 64 TiB", lambda opts: group.allreduce([whole], opts(c10d.AllreduceOptions))),
        "all_gather": ("more than 64 TiB", lambda opts: group.all_gather_single(whole, share, opts(c10d.AllgatherOptions))),
        "all_gather ": ("more than 64 TiB", lambda opts: group.allgather([uneven], [uneven[dist.get_rank()]], opts(c10d.AllgatherOptions))),
        "reduce_scatter": ("more than 64 TiB", lambda opts: group.reduce_scatter_single(share, whole, opts(c10d.ReduceScatterOptions))),
        "reduce_scatter ": ("more than 64 TiB", lambda opts: group.reduce_scatter([uneven[dist.get_rank()]], [uneven], opts(c10d.ReduceScatterOptions))),
        "all_reduce_coalesced": ("more than 64 TiB", lambda opts: group.allreduce_coalesced([one, whole], opts(c10d.AllreduceCoalescedOptions))),
        "all_gather_coalesced": ("more than 64 TiB", lambda opts: group.all_gather_single_coalesced([whole], [share], opts(c10d.AllgatherOptions))),
        "reduce_scatter_coalesced": ("more than 64 TiB", lambda opts: group.reduce_scatter_single_coalesced([share], [whole], opts(c10d.ReduceScatterOptions))),
    }
    for name, (reason, call) in calls.items():
        for is_asynchronous in (False, True):
            def opts(kind, rootRank=None, is_asynchronous=is_asynchronous):
                made = kind()
                made.asyncOp = is_asynchronous
                if rootRank is not None:
                    made.rootRank = rootRank
                return made
            try:
                call(opts)
            except dist.DistBackendError as error:
                text = str(error)
            else:
                raise AssertionError(f"{name} was taken")
            assert text.startswith(f"tributary:{name.strip()}: ") and reason in text and f"[rank {dist.get_rank()} of " in text, text
    assert not group.communicator.failed
    dist.all_reduce(one)
    assert one.item() == ranks


def stats():
    return dist.group.WORLD.stats()


# ---- for test_worlds.py ----

def patience_here():
    return PATIENCE


def late_alone(rank):
    dist.barrier()
    while dist.get_rank() == rank:
        time.sleep(1)


def ends_alone(rank):
    if dist.get_rank() == rank:
        os._exit(3)


# ---- for test_failures.py ----

_subgroups = {}


def one():
    tensor = torch.ones(5000)
    dist.all_reduce(tensor)
    return tensor[0].item()


def forever(group=None):
    """Asynchronous ones, with futures, and synchronous ones; until they fail."""
    while True:
        works = [dist.all_reduce(torch.ones(5000), group=group, async_op=True) for _ in range(4)]
        future = works[0].get_future()
        dist.all_reduce(torch.ones(70000), group=group)
        for work in works[1:]:
            work.wait()
        future.wait()


def subgroup_of(ranks):
    _subgroups[tuple(ranks)] = dist.new_group(ranks)


def group_with_timeout(seconds):
    _subgroups["timeout"] = dist.new_group(timeout=datetime.timedelta(seconds=seconds))
    in_group()


def in_group():
    tensor = torch.ones(100)
    dist.all_reduce(tensor, group=_subgroups["timeout"])
    return tensor[0].item()


def set_timeout(seconds):
    dist.distributed_c10d._set_pg_timeout(datetime.timedelta(seconds=seconds))


def in_both():
    """In the group with a timeout of its own, and in the default group."""
    tensors = [torch.ones(100), torch.ones(100)]
    works = [dist.all_reduce(tensor, group=group, async_op=True) for tensor, group in zip(tensors, (_subgroups["timeout"], None), strict=True)]
    for work in works:
        work.wait()
    return tensors[0][0].item() + tensors[1][0].item()


def makes_group_without(rank):
    """What ranks hear that make a group which one rank does not make."""
    try:
        return dist.get_rank() == rank or dist.new_group()
    except dist.DistBackendError as error:
        return str(error)


def forever_in_subgroup():
    (group,) = _subgroups.values()
    forever(group)


def _times_out(function):
    try:
        function()
    except dist.DistBackendError as error:
        assert "Timed out after 0.2 s" in str(error), error
        return
    raise AssertionError("no timeout")


def late():
    """Three ranks wait for rank 3, in three ways; then it comes."""
    tensors = [torch.ones(100) for _ in range(3)]
    work = dist.all_reduce(tensors[0], async_op=True)
    _times_out(lambda: work.wait(datetime.timedelta(seconds=0.2)))
    opts = torch._C._distributed_c10d.AllreduceOptions()
    opts.timeout = datetime.timedelta(seconds=0.2)
    _times_out(lambda: dist.group.WORLD.allreduce([tensors[1]], opts).wait())
    dist.distributed_c10d._set_pg_timeout(datetime.timedelta(seconds=0.2))
    _times_out(lambda: dist.all_reduce(tensors[2]))
    dist.distributed_c10d._set_pg_timeout(datetime.timedelta(seconds=60 * PATIENCE))
    assert work.wait()
    dist.barrier()
    assert all(torch.equal(tensor, torch.full((100,), float(dist.get_world_size()))) for tensor in tensors)


def on_time():
    for _ in range(3):
        dist.all_reduce(torch.ones(100))
    dist.barrier()


def abort():
    dist.group.WORLD.abort()


def again(times):
    """Destroys the default group and makes a new one; the names of their jobs."""
    import tempfile
    jobs = [dist.group.WORLD.job()]
    for turn in range(times - 1):
        folder = [tempfile.mkdtemp()]
        dist.broadcast_object_list(folder, 0)
        rank, ranks = dist.get_rank(), dist.get_world_size()
        dist.destroy_process_group()
        dist.init_process_group("tributary", init_method=f"file://{folder[0]}/store", rank=rank, world_size=ranks)
        assert one() == ranks, turn
        jobs.append(dist.group.WORLD.job())
    return jobs


def job():
    return dist.group.WORLD.job()


def rounded_to_bfloat16():
    """What wire bfloat16 makes of a float32 tensor."""
    tensor = torch.full((100,), 1.0 + 2.0 ** -12)
    dist.all_reduce(tensor)
    assert torch.equal(tensor, torch.full((100,), float(dist.get_world_size())))
