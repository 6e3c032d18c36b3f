# SPDX-License-Identifier: Apache-2.0
"""What torch builds on a process group, on the ranks of a world (conftest.py): the same program with this backend and with gloo. Each
function here takes a group and returns tensors; compared() runs it with both."""
import tempfile

import cases
import cases_training
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def _model():
    torch.manual_seed(1)
    return nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 5))


def _trained(model, steps=3):
    cases_training.steps_of(model, torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9), 0, steps)
    return cases_training.parameters_of(model)


def hooks(group):
    """DDP's hooks that torch has and that work on a CPU with gloo, each with a model of its own."""
    from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, post_localSGD_hook, powerSGD_hook
    alone = [dist.new_group([rank], backend=dist.get_backend(group)) for rank in range(dist.get_world_size())][dist.get_rank()]
    for state, hook in ((group, default_hooks.fp16_compress_hook),
                        (powerSGD_hook.PowerSGDState(group, start_powerSGD_iter=2), powerSGD_hook.powerSGD_hook),
                        (post_localSGD_hook.PostLocalSGDState(group, alone, 2), post_localSGD_hook.post_localSGD_hook)):
        model = DistributedDataParallel(_model(), process_group=group)
        model.register_comm_hook(state, hook)
        yield _trained(model, 4)


def averaged(group):
    """Local steps, and averages of the parameters between them."""
    from torch.distributed.algorithms.model_averaging.averagers import PeriodicModelAverager
    model, averager = _model(), PeriodicModelAverager(period=2, warmup_steps=1, process_group=group)
    for _ in range(3):
        _trained(model, 1)
        averager.average_parameters(model.parameters())
    yield cases_training.parameters_of(model)


def sharded(group):
    """FSDP's first version, with its norm of the gradients and the whole state of the model."""
    from torch.distributed.fsdp import FullyShardedDataParallel, ShardingStrategy
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy
    for strategy in (ShardingStrategy.FULL_SHARD, ShardingStrategy.SHARD_GRAD_OP):
        model = FullyShardedDataParallel(_model(), process_group=group, device_id=torch.device("cpu"), sharding_strategy=strategy,
                                         auto_wrap_policy=ModuleWrapPolicy({nn.Linear}))
        _trained(model)
        yield model.clip_grad_norm_(1.0)
        yield from model.state_dict().values()


def parallel(group):
    """Tensor parallelism, and DTensors between layouts; a part of their state saved and loaded into another layout."""
    import torch.distributed.checkpoint as checkpoint
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    mesh, whole = DeviceMesh.from_group(group, "cpu"), torch.arange(70.0).view(7, 10)
    model = parallelize_module(_model(), mesh, {"0": ColwiseParallel(), "2": RowwiseParallel()})
    model(torch.arange(160.0).view(8, 20) / 160).pow(2).sum().backward()
    yield from (parameter.grad.full_tensor() for parameter in model.parameters())
    for first, second in ((Shard(0), Shard(1)), (Shard(1), Replicate()), (Replicate(), Shard(0))):
        moved = distribute_tensor(whole.clone(), mesh, [first]).redistribute(mesh, [second])
        yield moved.to_local()
        yield moved.full_tensor()
    folder = [tempfile.mkdtemp()]
    dist.broadcast_object_list(folder, 0)
    checkpoint.save({"whole": distribute_tensor(whole, mesh, [Shard(0)])}, checkpoint_id=folder[0], process_group=group)
    state = {"whole": distribute_tensor(torch.zeros(7, 10), mesh, [Shard(1)])}
    checkpoint.load(state, checkpoint_id=folder[0], process_group=group)
    yield state["whole"].full_tensor()


def piped(group):
    """A pipeline of two stages on the first two ranks, in micro-batches."""
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B
    rank = dist.get_rank()
    pair = dist.new_group([0, 1], backend=dist.get_backend(group))
    if rank > 1:
        return
    torch.manual_seed(rank)
    layer, losses = nn.Linear(8, 8), []
    schedule = Schedule1F1B(PipelineStage(layer, rank, 2, torch.device("cpu"), group=pair), 4, loss_fn=nn.functional.mse_loss)
    values = torch.arange(64.0).view(8, 8) / 64
    schedule.step(values) if rank == 0 else schedule.step(target=values, losses=losses)
    yield layer.weight.grad
    yield torch.tensor([loss.item() for loss in losses])


def compared(name):
    ours, theirs = (list(globals()[name](group)) for group in (dist.group.WORLD, cases.gloo()))
    assert len(ours) == len(theirs) and (len(ours) > 0 or name == "piped" and dist.get_rank() > 1)
    for place, (one, other) in enumerate(zip(ours, theirs, strict=True)):
        one, other = one.detach(), other.detach()
        assert torch.allclose(one, other, rtol=1e-3, atol=1e-3), f"{name}, {place}: {one.view(-1)[:8]} is not near {other.view(-1)[:8]}"
