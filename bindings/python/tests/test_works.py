# SPDX-License-Identifier: Apache-2.0
"""Works and futures in less usual ways (cases_works.py)."""
import pytest
from conftest import PATIENCE


@pytest.mark.parametrize("case", ["callback_waits", "callbacks_in_order", "callback_waits_for_later_works", "polled", "interrupted",
                                  "interrupted_anywhere", "interrupted_behind_start", "interrupted_in_backward", "interrupted_behind_refusal", "nothing_to_do",
                                  "same_name", "lazy", "complex_sums", "overlapping",
                                  "changed_lists", "elsewhere", "expanded", "received_early", "waiting", "without_values", "inference", "mixed"])
def test_works(world, case):
    world.run(f"cases_works.{case}", seconds=30)


@pytest.mark.parametrize("case", ["destroyed_within_a_call", "destroyed_within_a_lock", "destroyed_anywhere"])
def test_ends(world, case):
    world.run(f"cases_ends.{case}", seconds=30)


def test_nobody_comes(world):
    """recv, a gather's root and monitored_barrier end with the group's timeout, as other operations do, though gloo does them."""
    said = world.run("cases_works.nobody_comes", PATIENCE)
    assert "Ranks 1, 2, 3 failed to pass monitoredBarrier" in said[0][0]
    assert max(took for _, took in said) < 2.5 * PATIENCE, said


def test_power_sgd(fresh):
    fresh(ranks=2).run("cases_works.power_sgd")


@pytest.mark.parametrize("late", [0, 1])
def test_callback_that_waits_for_ever(fresh, late):
    """The group ends at its timeout, with a word of the cause: for each future, for what comes then, and on the other ranks. So it is as
    well where another rank's timeout comes first."""
    (said, took), (others, others_took) = fresh(ranks=2, timeout=3).run("cases_works.callback_waits_for_ever", late * PATIENCE)
    assert len(said) == 5 and all("a callback of a future has not come back for" in text for text in said), said
    assert "rank 0 is gone" in others[0] or "rank 0 is missing" in others[0], others
    assert max(took, others_took) < 15 * PATIENCE
