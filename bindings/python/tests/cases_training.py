# SPDX-License-Identifier: Apache-2.0
"""Training on the ranks of a world (conftest.py): the same model, seeds and data with this backend and with gloo."""
import hashlib
import os
import pathlib
import signal
import time

import cases
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def model_of(seed=1):
    torch.manual_seed(seed)
    return nn.Sequential(nn.Linear(20, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 300), nn.ReLU(), nn.Linear(300, 5))


def batch_of(step, size=16):
    generator = torch.Generator().manual_seed(1000 * step + dist.get_rank())
    values = torch.randn(size, 20, generator=generator)
    return values, values[:, :5].argmax(1)


def steps_of(model, optimizer, first, last, size=16, marks=None):
    """marks: a folder in which rank 0 touches a file named after each step that it has done."""
    losses = []
    for step in range(first, last):
        values, labels = batch_of(step, size)
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(values), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        if marks is not None and dist.get_rank() == 0:
            (pathlib.Path(marks) / str(step)).touch()
    return losses


def parameters_of(model):
    return torch.cat([parameter.detach().reshape(-1) for parameter in model.parameters()])


def hash_of(model):
    """Of the parameters: a rank's statistics of BatchNorm are its own until the next step."""
    return hashlib.sha256(parameters_of(model).view(torch.uint8).numpy().tobytes()).hexdigest()


def trained(group, steps, marks=None, **options):
    model = DistributedDataParallel(model_of(), process_group=group, bucket_cap_mb=0.05, **options)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    return model, steps_of(model, optimizer, 0, steps, marks=marks)


def ddp(steps=50):
    """Parameters after these steps: the same bits on all ranks, and near gloo's, whose sums have another order."""
    ours, losses = trained(None, steps)
    theirs, their_losses = trained(cases.gloo(), steps)
    cases.check_same_everywhere(parameters_of(ours), "parameters")
    difference = (parameters_of(ours) - parameters_of(theirs)).abs().max().item()
    assert difference < 1e-4, f"parameters differ by {difference} from gloo's after {steps} steps"
    assert all(abs(a - b) < 1e-3 for a, b in zip(losses, their_losses, strict=True))
    assert losses[-1] < losses[0]
    return difference


def quorum(steps, slow):
    """Sums that lack ranks: one rank is slow from step to step. The parameters' hash, and what the group counted."""
    model = DistributedDataParallel(model_of(), bucket_cap_mb=0.05)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    losses = []
    for step in range(steps):
        time.sleep(0.01 if dist.get_rank() == slow else 0)
        losses += steps_of(model, optimizer, step, step + 1)
    assert losses[-1] < losses[0]
    return hash_of(model), dist.group.WORLD.stats()


def ddp_options():
    """Ways that DDP uses the group in other orders and with other tensors."""
    for options in ({"find_unused_parameters": True}, {"gradient_as_bucket_view": True}, {"static_graph": True},
                    {"broadcast_buffers": False}):
        ours, _ = trained(None, 3, **options)
        theirs, _ = trained(cases.gloo(), 3, **options)
        assert torch.allclose(parameters_of(ours), parameters_of(theirs), atol=1e-6), options


def overlaps():
    """Buckets are on their way before the last gradient is there."""
    model, _ = trained(None, 3)
    group, seen = dist.group.WORLD, []

    def started():
        return len(group._pending) + group.stats()["operations"]

    model.module[0].weight.register_hook(lambda _: seen.append(started()))
    before = started()
    steps_of(model, torch.optim.SGD(model.parameters(), lr=0.05), 3, 4)
    assert len(seen) == 1 and seen[0] > before, (before, seen)


def ddp_hash(steps, marks=None):
    """A digest of the weights, and the library's counts."""
    return hash_of(trained(None, steps, marks)[0]), dist.group.WORLD.stats()


def _sharded(steps, shape, names):
    """FSDP2 on a mesh of that shape, against one model with the gradients of all ranks averaged by gloo."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    mesh = init_device_mesh("cpu", shape, mesh_dim_names=names)
    for name in names:
        assert dist.get_backend(mesh.get_group(name)) == "tributary"
    model = model_of()
    model[1] = nn.LayerNorm(64)  # what a rank's own batch decides is not for a model that is compared
    reference = model_of()
    reference[1] = nn.LayerNorm(64)
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    steps_of(model, torch.optim.SGD(model.parameters(), lr=0.05), 0, steps)
    reference = DistributedDataParallel(reference, process_group=cases.gloo())
    steps_of(reference, torch.optim.SGD(reference.parameters(), lr=0.05), 0, steps)
    got = torch.cat([parameter.full_tensor().reshape(-1) for parameter in model.parameters()])
    cases.check_same_everywhere(got, "parameters")
    assert torch.allclose(got, parameters_of(reference), atol=1e-5), (got - parameters_of(reference)).abs().max()


def fsdp():
    _sharded(10, (dist.get_world_size(),), ("shard",))


def hsdp():
    """Copies of sharded models: each rank has a group to shard in, and one to sum with the same shard's others."""
    _sharded(3, (2, dist.get_world_size() // 2), ("copies", "shard"))


def zero():
    """ZeroRedundancyOptimizer: each rank has a part of the optimizer's state, and broadcasts what it makes of its parameters."""
    from torch.distributed.optim import ZeroRedundancyOptimizer

    def run(group):
        model = DistributedDataParallel(model_of(), process_group=group)
        optimizer = ZeroRedundancyOptimizer(model.parameters(), torch.optim.SGD, process_group=group, lr=0.05, momentum=0.9)
        steps_of(model, optimizer, 0, 5)
        optimizer.consolidate_state_dict(1)
        state = optimizer.state_dict()["state"].values() if dist.get_rank() == 1 else []
        return parameters_of(model), [entry["momentum_buffer"] for entry in state]

    (ours, our_state), (theirs, their_state) = run(None), run(cases.gloo())
    cases.check_same_everywhere(ours, "parameters")
    assert torch.allclose(ours, theirs, atol=1e-5), (ours - theirs).abs().max()
    assert len(our_state) == (8 if dist.get_rank() == 1 else 0)
    assert all(torch.allclose(one, other, atol=1e-5) for one, other in zip(our_state, their_state, strict=True))


class Numbers(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, place):
        assert torch.utils.data.get_worker_info() is not None
        return torch.full((20,), float(place)), place % 5


def loader():
    """DataLoader's workers are forked while operations are under way, and end while the group goes on; DistributedSampler deals."""
    import multiprocessing
    multiprocessing.current_process()._config["daemon"] = False  # a rank of a world may have no children else
    sampler = torch.utils.data.DistributedSampler(Numbers(), shuffle=False)
    seen = torch.zeros(64)
    for _ in range(2):
        tensor = torch.ones(200_000)
        work = dist.all_reduce(tensor, async_op=True)
        for values, _ in torch.utils.data.DataLoader(Numbers(), batch_size=4, sampler=sampler, num_workers=2, multiprocessing_context="fork"):
            seen[values[:, 0].long()] += 1
            dist.all_reduce(values)
        work.wait()
        assert tensor[-1].item() == dist.get_world_size()
    dist.all_reduce(seen)
    assert torch.equal(seen, torch.full((64,), 2.0))


def compiled():
    """torch.compile of a DDP model runs what it finds in Python while the model runs, our calls too."""
    ours, theirs = (DistributedDataParallel(model_of(), process_group=group) for group in (None, cases.gloo()))
    fast = torch.compile(ours, backend="aot_eager")
    before = dist.group.WORLD.stats()["operations"]
    steps_of(fast, torch.optim.SGD(ours.parameters(), lr=0.05), 0, 3)
    assert dist.group.WORLD.stats()["operations"] >= before + 3
    steps_of(theirs, torch.optim.SGD(theirs.parameters(), lr=0.05), 0, 3)
    cases.check_same_everywhere(parameters_of(ours), "parameters")
    assert torch.allclose(parameters_of(ours), parameters_of(theirs), atol=1e-5)


def compiled_calls():
    """Collectives in a compiled function are part of its graph."""
    def reduce(tensor):
        doubled = tensor * 2
        dist.all_reduce(doubled)
        return doubled + 1

    def gather(tensor):
        output = torch.empty(dist.get_world_size() * tensor.numel())
        dist.all_gather_into_tensor(output, tensor)
        return output * 2

    ranks = dist.get_world_size()
    for function, want in ((reduce, torch.full((3,), 2.0 * ranks + 1)), (gather, torch.full((3 * ranks,), 2.0))):
        assert torch.equal(torch.compile(function, backend="aot_eager", fullgraph=True)(torch.ones(3)), want), function.__name__


def in_detail():
    """What TORCH_DISTRIBUTED_DEBUG=DETAIL adds: checks of a model's parameters and buckets among the ranks, and words in the log. There is
    no model on gloo beside: with that torch 2.13 itself ends by SIGSEGV."""
    assert dist.get_debug_level() == dist.DebugLevel.DETAIL
    model, losses = trained(None, 20)
    cases.check_same_everywhere(parameters_of(model), "parameters")
    assert losses[-1] < losses[0]
    cases.coalesced()
    cases.objects()
    cases.new_groups()


def checkpointed():
    """A backward pass within another does not wait for the buckets that leave in it: rank 0 has none on its way until the others are behind
    theirs."""
    from torch.utils.checkpoint import checkpoint
    first, rest = nn.Linear(20, 64), nn.Sequential(nn.Linear(64, 300), nn.ReLU(), nn.Linear(300, 5))

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.rest = first, rest

        def forward(self, values):
            return checkpoint(self.rest, self.first(values), use_reentrant=True)

    model = DistributedDataParallel(Model(), bucket_cap_mb=0.01)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    steps_of(model, optimizer, 0, 2)
    store, seen = dist.distributed_c10d._get_default_store(), []
    turn = store.add(f"checkpointed/{dist.get_rank()}", 1)
    keys = [f"checkpointed/{turn}/{rank}" for rank in range(dist.get_world_size())]
    loss = nn.functional.cross_entropy(model(batch_of(2)[0]), batch_of(2)[1])
    if dist.get_rank() == 0:
        loss.register_hook(lambda _: store.wait(keys[1:]))
    else:
        first.weight.register_hook(lambda _: seen.append(len(dist.group.WORLD._pending)) or store.set(keys[dist.get_rank()], ""))
    loss.backward()
    assert dist.get_rank() == 0 or seen[0] > 0
    cases.check_same_everywhere(torch.cat([parameter.grad.reshape(-1) for parameter in model.parameters()]), "gradients")


def join():
    """Inputs that end at different steps, in torch's Join context."""
    from torch.distributed.algorithms.join import Join

    def run(group):
        model = DistributedDataParallel(model_of(), process_group=group)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
        with Join([model]):
            steps_of(model, optimizer, 0, 3 + 2 * dist.get_rank())
        return model

    ours, theirs = run(None), run(cases.gloo())
    cases.check_same_everywhere(parameters_of(ours), "parameters")
    assert torch.allclose(parameters_of(ours), parameters_of(theirs), atol=1e-5)


_model = []


def trained_once():
    """One more step of the same model."""
    if not _model:
        _model.append(DistributedDataParallel(nn.Linear(20, 5)))
    steps_of(_model[0], torch.optim.SGD(_model[0].parameters(), lr=0.05), 0, 1)


def killed_in_backward(hook, victim):
    """One rank dies in the midst of backward(), when its last gradient is there. What backward() of the others raises, and their next
    call: (type, text) of each."""
    import tributary_torch
    model = DistributedDataParallel(nn.Sequential(*[layer for layer in model_of() if not isinstance(layer, nn.BatchNorm1d)]), bucket_cap_mb=0.05)
    if hook is not None:
        model.register_comm_hook(tributary_torch.HookState(), getattr(tributary_torch, hook))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    steps_of(model, optimizer, 0, 5)
    if dist.get_rank() == victim:
        model.module[0].weight.register_hook(lambda _: os.kill(os.getpid(), signal.SIGKILL))
    values, labels = batch_of(5)
    loss = nn.functional.cross_entropy(model(values), labels)
    said = []
    for call in (loss.backward, dist.barrier):
        try:
            call()
        except RuntimeError as error:
            said.append((type(error).__name__, str(error)))
    return said


def hooks():
    """The model's group is gloo's; gradients are ours."""
    import tributary_torch
    group = dist.new_group(backend="tributary")
    parameters = []
    for hook in (None, tributary_torch.allreduce_hook, tributary_torch.bfloat16_hook):
        model = DistributedDataParallel(model_of(), process_group=cases.gloo(), bucket_cap_mb=0.05)
        before = group.stats()["operations"]
        if hook is not None:
            model.register_comm_hook(tributary_torch.HookState(group), hook)
        steps_of(model, torch.optim.SGD(model.parameters(), lr=0.05), 0, 5)
        assert (group.stats()["operations"] > before) == (hook is not None)
        cases.check_same_everywhere(parameters_of(model), "parameters")
        parameters.append(parameters_of(model))
    assert torch.allclose(parameters[0], parameters[1], atol=1e-6)
    assert torch.allclose(parameters[0], parameters[2], atol=1e-2)
    _orders_buckets(group)
    try:
        tributary_torch.HookState(cases.gloo())
    except TypeError:
        return
    raise AssertionError("a hook over gloo")


def _orders_buckets(group):
    """Later buckets have higher priorities, in each iteration."""
    import tributary_torch
    said = []
    set_priority = group.set_priority
    group.set_priority = lambda priority: said.append(priority) or set_priority(priority)
    model = DistributedDataParallel(model_of(), process_group=cases.gloo(), bucket_cap_mb=0.05)
    model.register_comm_hook(tributary_torch.HookState(group, by_bucket=True), tributary_torch.allreduce_hook)
    steps_of(model, torch.optim.SGD(model.parameters(), lr=0.05), 0, 3)
    buckets = max(said)
    assert buckets > 1 and said[-buckets:] == list(range(1, buckets + 1)), said
    del group.set_priority


def staged():
    """A hook's buffer that is not in CPU memory, as far as a machine without a GPU can have it: the detour over the CPU is taken."""
    import tributary_torch.hooks as hooks

    class Elsewhere:
        def __init__(self, tensor):
            self.tensor = tensor
            self.device = torch.device("cuda")

        def cpu(self):
            return self.tensor.clone()

        def copy_(self, other):
            return self.tensor.copy_(other)

    buffer = torch.full((9,), float(dist.get_rank()))
    done = hooks._average(hooks.HookState(), Elsewhere(buffer)).wait()
    assert torch.equal(done, torch.full((9,), (dist.get_world_size() - 1) / 2)) and torch.equal(done, buffer)


def profile():
    """Of each event of ours in the trace: name, whether it is asynchronous, shapes, seconds. Rank 0 comes late to the first operation, and
    every rank waits late for the second."""
    rank, ranks, tensor = dist.get_rank(), dist.get_world_size(), torch.ones(3, 2)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profiler:
        if rank == 0:
            time.sleep(0.3)
        dist.all_reduce(torch.ones(1000))
        work = dist.broadcast(torch.ones(10, 7), 0, async_op=True)
        time.sleep(0.3)
        work.wait()
        dist.barrier()
        dist.all_gather([torch.zeros(5) for _ in range(ranks)], torch.ones(5))
        dist.reduce_scatter_tensor(torch.zeros(1), torch.ones(ranks))
        dist.group.WORLD.allreduce_coalesced([torch.ones(2), torch.ones(4)]).wait()
        dist.all_reduce(torch.ones(1, dtype=torch.int32), op=dist.ReduceOp.BOR)
        dist.gather(tensor, [torch.zeros(3, 2) for _ in range(ranks)] if rank == 0 else None, dst=0)
        dist.all_to_all_single(torch.zeros(ranks), torch.ones(ranks))
        dist.send(tensor, 1) if rank == 0 else dist.recv(tensor, 0) if rank == 1 else None
    return [(event.name, event.is_async, event.input_shapes, event.cpu_time_total / 1e6)
            for event in profiler.events() if event.name.startswith("tributary:")]


def profile_stops_early():
    """Operations that are under way when the profiler stops: they are in its trace, and end well."""
    rank = dist.get_rank()
    store = dist.distributed_c10d._get_default_store()
    for turn in range(3):
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], record_shapes=True) as profiler:
            works = [dist.all_reduce(torch.ones(10), async_op=True) for _ in range(50 if rank else 0)]
            futures = [work.get_future() for work in works]
        seen = [event.name for event in profiler.events() if event.name.startswith("tributary:")]
        del profiler
        if rank:
            assert seen == ["tributary:all_reduce"] * 50, seen
            store.add(f"stopped/{turn}", 1)
        else:
            while store.add(f"stopped/{turn}", 0) < dist.get_world_size() - 1:
                time.sleep(0.01)
            works = [dist.all_reduce(torch.ones(10), async_op=True) for _ in range(50)]
            futures = [work.get_future() for work in works]
        for work, future in zip(works, futures, strict=True):
            work.wait()
            future.wait()
