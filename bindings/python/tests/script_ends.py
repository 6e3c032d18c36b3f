# SPDX-License-Identifier: Apache-2.0
"""Under torchrun: ranks that end in different ways, without destroy_process_group (test_failures.py)."""
import atexit
import os
import pathlib
import sys
import time


def wait_for(others):
    """Until they have said theirs, in the folder that the test names: torchrun ends all ranks when one has ended."""
    end = time.monotonic() + 60 * float(os.environ["TEST_PATIENCE"])
    while not all((pathlib.Path(sys.argv[2]) / str(other)).exists() for other in others) and time.monotonic() < end:
        time.sleep(0.01)


if sys.argv[1] == "raise" and os.environ["RANK"] == "0":
    atexit.register(wait_for, [1, 2])  # behind what the package does there: what is registered later runs earlier

import torch  # noqa: E402
import torch.distributed as dist  # noqa: E402
from script_say import say  # noqa: E402


def say_with(others, text):
    say(text)
    (pathlib.Path(sys.argv[2]) / os.environ["RANK"]).touch()
    wait_for(others)


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
    say_with(range(int(os.environ["WORLD_SIZE"])), f"rank {os.environ['RANK']} is told: {error}")
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
        say_with(range(1, ranks), f"rank {rank} of {ranks} saw: {error}")
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
