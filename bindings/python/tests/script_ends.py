# SPDX-License-Identifier: Apache-2.0
"""Under torchrun: ranks that end in different ways, without destroy_process_group (test_failures.py)."""
import os
import sys
import time

import torch
import torch.distributed as dist
from script_say import say

if sys.argv[1] == "again":
    for turn in range(2):
        if os.environ["RANK"] == "0":
            time.sleep(0.3 * turn)  # the others would find what it said in the life before
        dist.init_process_group("tributary")
        dist.all_reduce(torch.ones(100))
        dist.destroy_process_group()
if sys.argv[1] == "mistaken" and os.environ["RANK"] == "1":
    os.environ["TRIB_PAYLOAD"] = "much"
try:
    dist.init_process_group("tributary")
except (ValueError, dist.DistBackendError) as error:
    say(f"rank {os.environ['RANK']} is told: {error}")
    time.sleep(2)  # or torchrun may end this rank before the others have printed
    raise
rank, ranks = dist.get_rank(), dist.get_world_size()
dist.all_reduce(torch.ones(100))
if sys.argv[1] == "raise":
    if rank == 0:
        time.sleep(0.5)
        raise RuntimeError("rank 0 had enough")
    try:
        dist.all_reduce(torch.ones(100))
    except dist.DistBackendError as error:
        say(f"rank {rank} of {ranks} saw: {error}")
        time.sleep(2)  # or torchrun may end this rank before the other has printed
        raise
elif sys.argv[1] == "pending":
    futures = [dist.all_reduce(torch.ones(300000), async_op=True).get_future().then(lambda done: done.value()[0].sum()) for _ in range(50)]
    store = dist.distributed_c10d._get_default_store()
    store.set(f"made/{rank}", "")
    store.wait([f"made/{other}" for other in range(ranks)])  # who leaves ends what is under way
    say("ended well")
else:
    tensor = torch.ones(200000)
    dist.all_reduce(tensor)
    time.sleep(0.2 * rank)
    assert tensor[-1].item() == ranks
    say("ended well")
