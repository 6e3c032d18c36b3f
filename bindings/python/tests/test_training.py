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


def test_quorum(fresh, switch):
    """All ranks have the same weights, though sums lacked ranks, and the slow one among them."""
    world = fresh(ranks=8, options={"switch": switch.address, "scheme": "panama:7/8"})
    said = world.run("cases_training.quorum", 60, 5, seconds=120)
    assert len({weights for weights, _ in said}) == 1
    counts = [stats for _, stats in said]
    assert len({stats["results_lacking"] for stats in counts}) == 1 and counts[0]["results_lacking"] > 0
    assert sum(stats["late"] for stats in counts) == counts[0]["results_lacking"]
    assert counts[5]["late"] > 0
    assert not any(stats["level0"] for stats in counts)


@pytest.mark.parametrize("options, cause", [({"scheme": "panama:9/8"}, "a quorum is M/N"), ({"scheme": "panama:7/8"}, "name a switch"),
                                            ({"scheme": "panama:7/8", "wire": "int32", "switch": "127.0.0.1:9"}, "wire int32 needs exponents")])
def test_no_quorum(fresh, options, cause):
    with pytest.raises(AssertionError, match=cause):
        fresh(ranks=2, options=options)


def test_compiled(fresh):
    world = fresh(ranks=2)
    world.run("cases_training.compiled", seconds=120)
    world.run("cases_training.compiled_calls", seconds=120)


def test_in_detail(fresh):
    fresh(environment={"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}).run("cases_training.in_detail")
