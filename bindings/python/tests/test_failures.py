# SPDX-License-Identifier: Apache-2.0
"""What does not go well: ranks that die, are late, leave or raise; groups that are aborted, destroyed and made anew."""
import os
import re
import signal
import time

import pytest
from conftest import PATIENCE, Switch, after_step, environment_of, run_script

TRANSPORTS = ["host", "switch", "nobox"]
@pytest.mark.parametrize("transport", TRANSPORTS)
def test_rank_killed(fresh, switch, transport):
    """In the midst of operations: every other rank has an error within seconds, which names it."""
    world = fresh(environment=environment_of(transport, switch))
    world.start("forever")
    time.sleep(0.5 * PATIENCE)
    os.kill(world.pids[2], signal.SIGKILL)
    start = time.monotonic()
    for rank, outcome in zip((0, 1, 3), world.outcomes(20, (0, 1, 3)), strict=True):
        assert outcome is not None, f"rank {rank} hangs"
        assert not outcome[0] and "DistBackendError" in outcome[1] and re.search(r"rank 2\b", outcome[1]), outcome
    assert time.monotonic() - start < 10 * PATIENCE
    # The group is at its end, and says so again; leaving it does not hang.
    world.start("one", ranks=(0, 1, 3))
    assert all(one is not None and not one[0] and "rank 2" in one[1] for one in world.outcomes(10, (0, 1, 3)))
    world.start("leave", ranks=(0, 1, 3))
    world.results(20, (0, 1, 3))


@pytest.mark.parametrize("hook", [None, "allreduce_hook", "bfloat16_hook"])
def test_rank_killed_in_backward(fresh, hook):
    """DDP's reducer waits in C++, and knows no type of error: backward() raises what the next call raises."""
    world = fresh()
    world.start("cases_training.killed_in_backward", hook, 2)
    for outcome in world.outcomes(60, (0, 1, 3)):
        assert outcome is not None and outcome[0], outcome
        assert [kind for kind, _ in outcome[1]] == ["DistBackendError"] * 2, outcome
        assert all(re.search(r"rank 2\b", text) for _, text in outcome[1]), outcome
    world.start("leave", ranks=(0, 1, 3))
    world.results(20, (0, 1, 3))


def test_timeout_in_backward(fresh):
    """A rank that does not come: backward() of the others raises, and names it."""
    world = fresh(timeout=5)
    for _ in range(2):  # the forward pass of the second has a broadcast of DDP's
        world.run("cases_training.trained_once")
    world.start("cases_training.trained_once", ranks=(0, 1, 2))
    for outcome in world.outcomes(30, (0, 1, 2)):
        assert outcome is not None and not outcome[0] and re.search(r"\n[\w.]*DistBackendError: .*rank 3", outcome[1]), outcome


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_rank_0_killed(fresh, switch, transport):
    """Rank 0's process has the store, and without a switch the control plane."""
    world = fresh(environment=environment_of(transport, switch))
    world.start("forever")
    time.sleep(0.5 * PATIENCE)
    os.kill(world.pids[0], signal.SIGKILL)
    for outcome in world.outcomes(20, (1, 2, 3)):
        assert outcome is not None and not outcome[0] and re.search(r"rank 0\b", outcome[1]), outcome


def test_killed_in_a_subgroup(fresh):
    """The error has the rank in the group, and the global ranks of the group."""
    world = fresh()
    world.run("subgroup_of", [1, 3])
    world.start("forever_in_subgroup", ranks=(1, 3))
    time.sleep(0.3 * PATIENCE)
    os.kill(world.pids[3], signal.SIGKILL)
    (outcome,) = world.outcomes(20, (1,))
    assert not outcome[0] and re.search(r"rank 1\b.*group \w+ \(global ranks 1, 3\)", outcome[1]), outcome


@pytest.mark.parametrize("transport", TRANSPORTS)
def test_rank_missing(fresh, switch, transport):
    """A rank that does not call: the others' operation ends with the group's timeout, and says who is missing."""
    world = fresh(environment=environment_of(transport, switch), timeout=3)
    world.start("one", ranks=(0, 1, 2))
    outcomes = world.outcomes(20, (0, 1, 2))
    for outcome in outcomes:
        assert outcome is not None and not outcome[0] and "rank 3" in outcome[1], outcome
    assert any(f"Timed out after {3 * PATIENCE:g} s: " in outcome[1] for outcome in outcomes), outcomes


def test_shorter_timeouts(fresh):
    """Of one wait, of one operation, and set for the group; before and after the operation goes on."""
    world = fresh()
    world.start("late", ranks=(0, 1, 2))
    time.sleep(1.5 * PATIENCE)
    world.start("on_time", ranks=(3,))
    world.results(30)
    world.run("all_reduce", "float32", "SUM")


def test_timeouts_of_groups(fresh):
    """A group's own timeout is neither cut to that of the default group, nor stretched to it; and one that is set later is longer as well."""
    world = fresh(ranks=3, timeout=40)
    world.run("group_with_timeout", 2.0 * PATIENCE)
    world.start("in_group", ranks=(0, 1))
    for outcome in world.outcomes(20, (0, 1)):
        assert outcome is not None and not outcome[0] and f"within {2 * PATIENCE:g} s: rank 2 is missing" in outcome[1], outcome
    longer = fresh(ranks=3, timeout=2)
    longer.run("group_with_timeout", 60.0 * PATIENCE)
    longer.run("set_timeout", 60.0 * PATIENCE)
    longer.start("in_both", ranks=(0, 1))
    time.sleep(3.5 * PATIENCE)
    longer.start("in_both", ranks=(2,))
    assert longer.results(20) == [6.0] * 3


@pytest.mark.parametrize("missing", [0, 1])
def test_group_without_a_rank(fresh, missing):
    """The others hear which rank did not make the group, not the key in a store that they have waited for."""
    said = fresh(ranks=3, timeout=3).run("makes_group_without", missing)
    for rank, text in enumerate(said):
        assert text is True if rank == missing else f"rank {missing} did not come within " in text, said


def test_abort(fresh):
    """Ends what is under way here, and on the others with this rank's name."""
    world = fresh()
    world.start("one", ranks=(0, 2, 3))
    time.sleep(0.3 * PATIENCE)
    world.start("abort", ranks=(1,))
    (outcome,) = world.outcomes(20, (1,))
    assert outcome == (True, None), outcome
    for outcome in world.outcomes(20, (0, 2, 3)):
        assert outcome is not None and not outcome[0] and "rank 1" in outcome[1], outcome


def test_destroyed_and_made_anew(fresh, switch):
    for environment in ({}, environment_of("switch", switch), {**environment_of("switch", switch), "TRIB_JOB": "again"}):
        world = fresh(environment=environment)
        jobs = world.run("again", 3)
        assert len({tuple(one) for one in jobs}) == 1
        assert len(set(jobs[0])) == (1 if "TRIB_JOB" in environment else 3)


def test_options(fresh, switch):
    world = fresh(options={"switch": switch.address, "job": "by-options", "level0": False, "payload": 512, "wire": "bfloat16"})
    for stats, job in zip(world.run("stats"), world.run("job"), strict=True):
        assert stats["payload"] == 512 and not stats["level0"] and job == "by-options"
    world.run("rounded_to_bfloat16")


def test_uncaught_exception(tmp_path):
    """A rank that raises is named on the others at once, though it has not been killed."""
    status, output = run_script("script_ends.py", 3, "raise", str(tmp_path))
    assert status != 0 and output.count("rank 1 of 3 saw: ") == 1 and output.count("rank 2 of 3 saw: ") == 1, output
    assert len(re.findall(r"saw: tributary:all_reduce: .*rank 0", output)) == 2, output


def test_end_without_destroy():
    """Not destroying the group is no crash, though some ranks end earlier than others."""
    status, output = run_script("script_ends.py", 3, "leave")
    assert status == 0 and output.count("ended well") == 3, output


def test_end_with_futures():
    """Nor are futures whose callbacks run when Python ends."""
    status, output = run_script("script_ends.py", 2, "pending", TRIB_LEVEL0="0", GLOO_SOCKET_IFNAME="")
    assert status == 0 and output.count("ended well") == 2 and "terminate called" not in output, output


def test_made_again():
    """The default group destroyed and made again in one process, with one store of torchrun's for all of its lives."""
    status, output = run_script("script_ends.py", 2, "again")
    assert status == 0 and output.count("ended well") == 2, output


def test_mistaken_variable(tmp_path):
    """A TRIB_* variable that one rank cannot read: the others are told at once, by name."""
    status, output = run_script("script_ends.py", 3, "mistaken", str(tmp_path))
    assert status != 0 and len(re.findall(r"rank [02] is told: .*rank 1: .*TRIB_PAYLOAD.*much", output)) == 2, output


def test_restart(tmp_path):
    """torchrun starts all ranks again after one has died amid operations: the same job, its next generation. Packets of the first life
    are still on their way then: receivers hold them back, copied and out of order, for as long as they like."""
    switch = Switch()
    try:
        status, output = run_script(
            "script_restart.py", 3, "--max-restarts=1", str(tmp_path), TRIB_SWITCH=switch.address, TRIB_LEVEL0="0", TRIB_JOB="elastic",
            TRIB_FAULTS="loss=2%,duplicate=20%,reorder=20%,seed=5")
        said = switch.said()
    finally:
        switch.close()
    assert status == 0 and output.count("life 1: 300 steps, all right") == 3, output + said
    assert (tmp_path / "died").exists()
    # The same name both times, and nothing of the first life in the second.
    assert len(re.findall(r"job elastic runs", said)) == 2, said


def test_gloo_does_not_connect(fresh):
    """The group is not made, and the error says what gloo is for and what to set."""
    with pytest.raises(AssertionError, match=r"gloo, which does send, .* does not connect: .*nowhere0.*; name the interface .*GLOO_SOCKET_IFNAME"):
        fresh(ranks=2, environment={"GLOO_SOCKET_IFNAME": "nowhere0"})
