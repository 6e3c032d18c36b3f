# SPDX-License-Identifier: Apache-2.0
"""One rank of what bench/training.py measures: synchronous allreduces of a few bytes from Python.

    calls_torch.py BYTES CALLS WARMUPS        environment as torchrun's; rank 0 prints JSON
"""
import json
import statistics
import sys
import time

import torch
import torch.distributed as dist


BATCH = 100  # calls whose values are made before the first and looked at after the last, so that the others wait for calls alone


def batch(size, count):
    """Times of so many calls in us, and wrong elements."""
    tensors, times = torch.ones(count, size // 4), []
    dist.barrier()
    for tensor in tensors.unbind():
        start = time.perf_counter_ns()
        dist.all_reduce(tensor)
        times.append((time.perf_counter_ns() - start) / 1000)
    return times, int((tensors != dist.get_world_size()).sum())


def main():
    size, calls, warmups = map(int, sys.argv[1:])
    torch.set_num_threads(1)
    dist.init_process_group("tributary")
    wrong, times = 0, []
    while len(times) < warmups + calls:
        some, bad = batch(size, min(BATCH, warmups + calls - len(times)))
        times += some
        wrong += bad
    slowest = torch.tensor([statistics.median(times[warmups:]), float(wrong)])
    dist.all_reduce(slowest, op=dist.ReduceOp.MAX)
    if dist.get_rank() == 0:
        print(json.dumps({"median_us": slowest[0].item(), "wrong": int(slowest[1].item())}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
