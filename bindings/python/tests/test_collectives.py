# SPDX-License-Identifier: Apache-2.0
"""Every collective, reduction, type, size, layout and way of waiting, against gloo, over every transport."""
import cases
import pytest
import torch
from tributary_torch._buffers import Buffers

REDUCTIONS = list(cases.OPS)


@pytest.mark.parametrize("op", REDUCTIONS)
@pytest.mark.parametrize("collective", ["all_reduce", "reduce", "reduce_scatter"])
def test_reductions(world, collective, op):
    for dtype in cases.DTYPES:
        counts = world.run(collective, dtype, op, seconds=120)
        assert min(counts) > 0 or (dtype == "bool" and op == "AVG")


@pytest.mark.parametrize("collective", ["broadcast", "all_gather"])
def test_moves(world, collective):
    for dtype in cases.DTYPES:
        assert min(world.run(collective, dtype, seconds=120)) > 0


@pytest.mark.parametrize("case", ["coalesced", "functional", "objects", "of_gloo", "said_once", "new_groups", "destroyed_groups", "refused", "reasons"])
def test_case(world, case):
    world.run(case)


def test_many_in_flight(world):
    left = world.run("many_in_flight", 300)
    assert max(left) <= 100  # works that nobody waits for are let go


def test_packets(world):
    """The transports are what they say: packets, or none."""
    for stats in world.run("stats"):
        assert (stats["packets_sent"] == 0) == (world.transport == "host")
        assert stats["no_box"] == (world.transport == "nobox")
        assert stats["operations"] > 100 and stats["lane_failures"] == 0


def test_what_is_contiguous_is_not_copied():
    """It goes by pointer; what is not is copied, and back."""
    tensor, buffers = torch.ones(6, 5), Buffers()
    for memory in (buffers.source(tensor), buffers.target(tensor), buffers.both(tensor), buffers.targets(list(tensor)), buffers.sources(list(tensor))):
        assert memory.data_ptr() == tensor.data_ptr()
    assert not buffers._copies  # nothing is to be copied back
    buffers.both(tensor.t()).fill_(3)
    assert tensor[0, 0] == 1
    buffers.copy_back()
    assert torch.equal(tensor, torch.full((6, 5), 3.0))
