# SPDX-License-Identifier: Apache-2.0
"""Works and futures in less usual ways (cases_works.py)."""
import pytest


@pytest.mark.parametrize("case", ["callback_waits", "callback_waits_for_later", "polled", "interrupted", "nothing_to_do", "same_name", "lazy", "overlapping", "changed_lists", "elsewhere"])
def test_works(world, case):
    world.run(f"cases_works.{case}", seconds=30)


def test_power_sgd(fresh):
    fresh(ranks=2).run("cases_works.power_sgd")
