# SPDX-License-Identifier: Apache-2.0
"""Under torchrun: rank 1 dies in its first life, and the second goes on (test_failures.py)."""
import os
import pathlib
import signal
import sys

import torch
import torch.distributed as dist
from script_say import say

life = int(os.environ["TORCHELASTIC_RESTART_COUNT"])
died = pathlib.Path(sys.argv[1]) / "died"
dist.init_process_group("tributary")
rank, ranks = dist.get_rank(), dist.get_world_size()
assert dist.group.WORLD.job() == "elastic"
for step in range(300):
    tensor = torch.full((3001,), float(1000 * life + step + rank))
    dist.all_reduce(tensor)
    want = ranks * (1000 * life + step) + ranks * (ranks - 1) / 2
    assert torch.equal(tensor, torch.full((3001,), want)), (life, step, tensor)
    if life == 0 and rank == 1 and step == 100:
        died.touch()
        dist.all_reduce(torch.full((100000,), 7.0), async_op=True)  # is on its way when it dies
        os.kill(os.getpid(), signal.SIGKILL)
say(f"life {life}: 300 steps, all right")
dist.destroy_process_group()
