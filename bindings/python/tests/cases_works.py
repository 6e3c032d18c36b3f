# SPDX-License-Identifier: Apache-2.0
"""Works and futures in less usual ways, on the ranks of a world (conftest.py)."""
import datetime

import cases_training
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel


def callback_waits():
    """A future's callback sums again, and waits for that: for the future, for the work, with a limit, and not at all."""
    ranks = dist.get_world_size()

    def future(one):
        return dist.all_reduce(one, async_op=True).get_future().wait()[0]

    def work(one):
        dist.all_reduce(one, async_op=True).wait()
        return one

    def in_time(one):
        dist.all_reduce(one, async_op=True).wait(datetime.timedelta(seconds=50))
        return one

    def at_once(one):
        dist.all_reduce(one)
        return one

    for again in (future, work, in_time, at_once):
        first = dist.all_reduce(torch.ones(10), async_op=True).get_future()
        twice = first.then(lambda done, again=again: again(done.value()[0])).then(lambda done, again=again: again(done.value()))
        assert torch.equal(twice.wait(), torch.full((10,), float(ranks ** 3))), again


def power_sgd():
    """torch's own hook that waits for one future in another's callback."""
    from torch.distributed.algorithms.ddp_comm_hooks import powerSGD_hook
    model = DistributedDataParallel(cases_training.model_of())
    model.register_comm_hook(powerSGD_hook.PowerSGDState(None, matrix_approximation_rank=1, start_powerSGD_iter=2), powerSGD_hook.powerSGD_hook)
    cases_training.steps_of(model, torch.optim.SGD(model.parameters(), lr=0.05), 0, 5)
    assert bool(torch.isfinite(cases_training.parameters_of(model)).all())
