# SPDX-License-Identifier: Apache-2.0
"""Under torchrun: ranks that end in different ways, without destroy_process_group (test_failures.py)."""
import sys
import time

import torch
import torch.distributed as dist

dist.init_process_group("tributary")
rank, ranks = dist.get_rank(), dist.get_world_size()
dist.all_reduce(torch.ones(100))
if sys.argv[1] == "raise":
    if rank == 0:
        time.sleep(0.5)
        raise RuntimeError("rank 0 had enough")
    try:
        dist.all_reduce(torch.ones(100))
    except dist.DistBackendError as error:
        print(f"rank {rank} of {ranks} saw: {error}", flush=True)
        time.sleep(2)  # or torchrun may end this rank before the other has printed
        raise
else:
    tensor = torch.ones(200000)
    dist.all_reduce(tensor)
    time.sleep(0.2 * rank)
    assert tensor[-1].item() == ranks
    print("ended well", flush=True)
