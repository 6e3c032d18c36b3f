#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One rank made of independent_worker.py: values that every rank can compute for every other, compared bit by bit.

Read next: independent.user.sh, which runs several of these, with ranks of the library and without.
"""
import argparse
import math
import sys
from array import array

from independent_worker import (ALLREDUCE, BARRIER, BROADCAST, FLOAT32, INT32, NONE, RAW, Trouble, Worker, block_exponent,
                                dequantize, from_wire, quantize, shift_of, to_wire)


def values(operation, rank, count, kind):
    out = []
    for i in range(count):
        x = (operation * 0x9E3779B1 + rank * 0x85EBCA77 + i * 0xC2B2AE3D + 0x27D4EB2F) & 0xFFFFFFFF
        x = ((x ^ x >> 15) * 0x2C1B3C6D) & 0xFFFFFFFF
        x ^= x >> 12
        signed = x - (x >> 31 << 32)
        out.append(signed if kind == INT32 else math.ldexp(signed, -(i // 64 % 64) - (x & 15)))
    if kind == FLOAT32 and operation % 2 == 0:
        out[100:400] = [0.0] * len(out[100:400])  # blocks of zeros, and one whose sum is no number
        out[-1] = math.inf if rank == 1 else -math.inf
    return array("i" if kind == INT32 else "f", out)


def tree(leaves):
    """Pairs of neighbours, then pairs of pairs; every addition rounded to the type."""
    while len(leaves) > 1:
        code = leaves[0].typecode
        sums = [[a + b for a, b in zip(*leaves[k:k + 2])] for k in range(0, len(leaves) - 1, 2)]
        if code == "i":
            sums = [[(x + 0x80000000 & 0xFFFFFFFF) - 0x80000000 for x in added] for added in sums]
        sums = [[x if x == x else math.nan for x in added] for added in sums]
        leaves = [array(code, added) for added in sums] + leaves[len(leaves) & ~1:]
    return to_wire(leaves[0])


def expected_sum(leaves, wire, step):
    if leaves[0].typecode == "i" or wire == FLOAT32:
        return tree(leaves)
    out, parts = b"", [to_wire(leaf) for leaf in leaves]
    for at in range(0, len(parts[0]), step):
        blocks = [part[at:at + step] for part in parts]
        e = max(map(block_exponent, blocks))
        shift = shift_of(e, len(leaves))
        if e == RAW:
            out += tree([from_wire("f", block) for block in blocks])
        else:
            out += dequantize(tree([from_wire("i", quantize(block, shift)) for block in blocks]), shift)
    return out


def rounds(worker, deaf):
    """Rounds of all collectives, started together; in the second one the deaf rank takes no result until the switch was lost."""
    for number in range(3):
        worker.ignored = set() if number == 1 and deaf == worker.rank else None
        waiting = []
        for kind, count in ((FLOAT32, 4003), (INT32, 2001), (FLOAT32, 1), (INT32, 0), (FLOAT32, 1500)):
            leaves = [values(worker.number, rank, count, kind) for rank in range(worker.ranks)]
            operation = worker.start(ALLREDUCE, to_wire(leaves[worker.rank]), kind, count)
            waiting.append((operation, expected_sum(leaves, worker.wire, worker.payload)))
            sent = to_wire(values(worker.number, 0, count, INT32))
            given = sent if number == worker.rank else bytes(len(sent))
            waiting.append((worker.start(BROADCAST, given, INT32, count, number), sent))
            waiting.append((worker.start(BARRIER, b"", NONE, 0), b""))
        for operation, expected in waiting:
            if worker.wait(operation) != expected:
                raise Trouble("round %d: wrong values" % number)


def example(worker, deaf):
    """The part of one rank in examples/02_udp_allreduce.c."""
    worker.ignored = set() if deaf == worker.rank else None
    count, total = 1000000, worker.ranks * (worker.ranks + 1) // 2
    given, expected = (to_wire(array("f", [factor * i for i in range(1000)] * (count // 1000)))
                       for factor in (worker.rank + 1, total))
    if worker.wait(worker.start(ALLREDUCE, given, FLOAT32, count)) != expected:
        raise Trouble("wrong values")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, kind, default in (("switch", str, ""), ("job", str, "independent"), ("rank", int, 0), ("ranks", int, 1),
                                ("payload", int, 256), ("wire", int, FLOAT32), ("deaf", int, -1), ("run", str, "rounds")):
        parser.add_argument("--" + name, type=kind, default=default)
    args = parser.parse_args()
    host, port = args.switch.rsplit(":", 1)
    worker = Worker((host, int(port)), args.job, args.rank, args.ranks, args.payload, args.wire)
    {"rounds": rounds, "example": example}[args.run](worker, args.deaf)
    worker.close()
    print("rank %d: all right; %s" % (args.rank, ", ".join("%s %d" % item for item in worker.counts.items())))


if __name__ == "__main__":
    try:
        main()
    except (Trouble, OSError) as trouble:
        sys.exit("independent_check: %s" % trouble)
