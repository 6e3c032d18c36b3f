# SPDX-License-Identifier: Apache-2.0
"""The tests' own tools (conftest.py)."""
import pytest
from conftest import PATIENCE, Worlds


@pytest.fixture
def worlds():
    made = Worlds("switch", ranks=2)
    yield made
    made.close()


def test_late_rank(worlds, capsys):
    """It is shown where a late rank is and what the switch has said, and the next test has another world."""
    first = worlds.whole()
    assert first.run("one") == [2.0, 2.0] and worlds.whole() is first
    first.start("late_alone", 1)
    first.results(60, ranks=(0,))
    with pytest.raises(AssertionError, match="rank 1 says nothing"):
        first.results(0.1, ranks=(1,))
    said = capsys.readouterr().out
    assert "rank 1 says nothing within" in said and "in late_alone" in said and "in _rank" in said, said
    assert "the switch has said:" in said and "job" in said.split("the switch has said:")[1], said
    second = worlds.whole()
    assert second is not first and second.run("one") == [2.0, 2.0]
    assert not any(process.is_alive() for process in first.processes)


def test_patience_reaches_ranks(worlds):
    assert worlds.whole().run("patience_here") == [PATIENCE] * 2


def test_dead_rank(worlds, capsys):
    """Of a rank that has died its exit status is shown."""
    first = worlds.whole()
    first.start("ends_alone", 1)
    with pytest.raises(AssertionError, match="rank 1 says nothing"):
        first.results(30)
    assert "it has ended with 3" in capsys.readouterr().out
