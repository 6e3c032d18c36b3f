# SPDX-License-Identifier: Apache-2.0
"""DDP communication hooks: gradients are summed by Tributary, while the model's process group keeps its backend for all else.

    group = dist.new_group(backend="tributary")
    model.register_comm_hook(tributary_torch.HookState(group), tributary_torch.allreduce_hook)

Read next: torch's "DDP Communication Hooks"; _group.py for what happens to a bucket.
"""
import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d


class HookState:
    """group: of backend tributary, with all ranks of the model; None is the default group. by_bucket: the buckets of an iteration have
    priorities 1, 2 and so on, in their order: the front layers come last, and are needed first (schemes atp and goat; trib_comm_set_priority)."""

    def __init__(self, group=None, by_bucket=False):
        self.by_bucket = by_bucket
        self.group = group if group is not None else dist.distributed_c10d._get_default_group()
        if not getattr(self.group, "is_tributary", False):
            raise TypeError("HookState needs a group of backend tributary: dist.new_group(backend=\"tributary\")")


def _average(state, buffer, index=0):
    """A future of the average over the ranks. What is not in this machine's memory makes a detour over it. index: of the bucket."""
    if state.by_bucket:
        state.group.set_priority(1 + index)
    staged = buffer if buffer.device.type == "cpu" else buffer.cpu()
    opts = c10d.AllreduceOptions()
    opts.reduceOp = dist.ReduceOp.AVG
    future = state.group.allreduce([staged], opts).get_future()
    return future.then(lambda done: done.value()[0]) if staged is buffer else future.then(lambda done: buffer.copy_(done.value()[0]))


def allreduce_hook(state, bucket):
    """The average of the gradients, in their own type."""
    return _average(state, bucket.buffer(), bucket.index())


def bfloat16_hook(state, bucket):
    """As allreduce_hook, rounded to bfloat16 on the way: half the bytes."""
    buffer = bucket.buffer()
    return _average(state, buffer.to(torch.bfloat16), bucket.index()).then(lambda done: buffer.copy_(done.value()))
