# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel, FSDP2, Join, hooks and the profiler, against gloo."""
import pytest


@pytest.mark.parametrize("case", ["ddp", "ddp_options", "fsdp", "join", "hooks", "staged"])
def test_training(world, case):
    world.run(f"cases_training.{case}", seconds=120)


def test_profile(world):
    for events in world.run("cases_training.profile"):
        assert events == [("tributary:allreduce", 4000, [[1000]]), ("tributary:broadcast", 280, [[10, 7]]),
                          ("tributary:broadcast wait", None, None), ("tributary:barrier", 0, None)], events
