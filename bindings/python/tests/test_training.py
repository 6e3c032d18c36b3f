# SPDX-License-Identifier: Apache-2.0
"""DistributedDataParallel, FSDP2, ZeRO, Join, hooks, DataLoader and the profiler, against gloo."""
import pytest
from conftest import Switch


@pytest.mark.parametrize("case", ["ddp", "ddp_options", "overlaps", "checkpointed", "fsdp", "hsdp", "zero", "join", "hooks", "staged", "loader"])
def test_training(world, case):
    world.run(f"cases_training.{case}", seconds=120)


def test_profile(world):
    """Events are torch's: names, shapes of inputs, asynchronous, from an operation's start until its end whoever waits for it."""
    shapes = {"all_reduce": [[1000]], "broadcast": [[10, 7]], "barrier": [], "all_gather": [[5]], "reduce_scatter": [[4]],
              "gather": [[3, 2]], "all_to_all": [[4]]}
    names = ["all_reduce", "broadcast", "barrier", "all_gather", "reduce_scatter", "all_reduce", "all_reduce", "gather", "all_to_all"]
    for rank, events in enumerate(world.run("cases_training.profile")):
        assert [name for name, _, _, _ in events] == [f"tributary:{name}" for name in names + ["send", "recv"][rank:rank + 1]], events
        assert all(is_async for _, is_async, _, _ in events), events
        want = [shapes[name] for name in names] + ([[[3, 2]]] if rank < 2 else [])
        want[5:7] = [[2], [4]], [[1]]
        assert [got for _, _, got, _ in events] == want, events
        assert rank == 0 or events[0][3] > 0.2
        assert events[1][3] < 0.3


def test_profiler_stops_early(world):
    world.run("cases_training.profile_stops_early")


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


def test_atp(fresh, switch):
    """By a combiner to a server: as gloo. The same bits in two runs, in one of which the combiner dies in the middle."""
    combiner = Switch("--combine", "--parent", switch.address, "--pool", "64KiB")
    try:
        world = fresh(environment={"TRIB_SWITCH": combiner.address, "TRIB_SCHEME": "atp", "TRIB_LEVEL0": "0"})
        world.run("cases_training.ddp", seconds=120)
        whole = [weights for weights, _ in world.run("cases_training.ddp_hash", 40)]
        world.start("cases_training.ddp_hash", 40)
        combiner.restart()
        again = world.results()
        assert [weights for weights, _ in again] == whole and len(set(whole)) == 1
        assert all(stats["reregistrations"] > 0 for _, stats in again)
    finally:
        combiner.close()


@pytest.mark.parametrize("options, cause", [({"scheme": "panama:9/8"}, "a quorum is M/N"), ({"scheme": "panama:7/8"}, "name a switch"),
                                            ({"scheme": "panama:7/8", "wire": "int32", "switch": "127.0.0.1:9"}, "wire int32 needs exponents")])
def test_no_quorum(fresh, options, cause):
    with pytest.raises(AssertionError, match=cause):
        fresh(ranks=2, options=options)


def test_compiled(fresh):
    world = fresh(ranks=2)
    world.run("cases_training.compiled", seconds=120)
    world.run("cases_training.compiled_calls", seconds=120)


def test_frameworks(fresh):
    """What torch builds on a process group, in one world: most of it is Python above the same few collectives."""
    world = fresh(ranks=2)
    for case in ("hooks", "averaged", "sharded", "parallel", "piped"):
        world.run("cases_frameworks.compared", case, seconds=60)


def test_in_detail(fresh):
    fresh(environment={"TORCH_DISTRIBUTED_DEBUG": "DETAIL"}).run("cases_training.in_detail")
