# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel, FSDP2, ZeRO, Join, hooks, DataLoader and the profiler, against gloo."""
import pytest


@pytest.mark.parametrize("case", ["ddp", "ddp_options", "overlaps", "fsdp", "hsdp", "zero", "join", "hooks", "staged", "loader"])
def test_training(world, case):
    world.run(f"cases_training.{case}", seconds=120)


def test_profile(world):
    for events in world.run("cases_training.profile"):
        assert events == [("tributary:allreduce", 4000, [[1000]]), ("tributary:broadcast", 280, [[10, 7]]),
                          ("tributary:broadcast wait", None, None), ("tributary:barrier", 0, None)], events


def test_compiled(fresh):
    world = fresh(ranks=2)
    world.run("cases_training.compiled", seconds=120)
    world.run("cases_training.compiled_calls", seconds=120)


def test_in_detail(fresh):
    fresh(environment={"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}).run("cases_training.in_detail")
