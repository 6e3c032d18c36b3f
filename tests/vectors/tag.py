#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Computes the vectors of the tag and of samples (docs/PROTOCOL.md, "Tag", "Samples") from the text of the protocol, with Python's integers.

Prints tests/vectors/tag.txt; --check compares the file with the computation, and ChaCha20 with the package
`cryptography` where that is installed.
"""
import os
import struct
import sys

P = 2**52 - 47
HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "tag.txt")


def chacha20(key, words):
    """The block function of RFC 8439 for four words of input: 16 words."""
    start = list(struct.unpack("<4I", b"expand 32-byte k")) + list(struct.unpack("<8I", key)) + list(words)
    x = list(start)

    def turn(a, b, by):
        value = x[a] ^ x[b]
        x[a] = (value << by | value >> (32 - by)) & 0xFFFFFFFF

    def quarter(a, b, c, d):
        for to, plus, turned, by in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
            x[to] = (x[to] + x[plus]) & 0xFFFFFFFF
            turn(turned, to, by)

    for _ in range(10):
        for column in range(4):
            quarter(column, 4 + column, 8 + column, 12 + column)
        for column in range(4):
            quarter(column, 4 + (column + 1) % 4, 8 + (column + 2) % 4, 12 + (column + 3) % 4)
    return [(a + b) & 0xFFFFFFFF for a, b in zip(x, start)]


def numbers(words):
    return [(words[i + 1] << 32 | words[i]) % 2**52 % P for i in range(0, 16, 2)]


def derive(key, words):
    return struct.pack("<8I", *chacha20(key, words)[:8])


def communicator_key(job, communicator, generation, nonces):
    key = derive(job, (communicator, generation, len(nonces), 3 << 24))
    for rank, nonce in enumerate(nonces):
        key = derive(key, (nonce & 0xFFFFFFFF, nonce >> 32, rank, 4 << 24))
    return key


class Tag:
    """The numbers of a communicator."""

    def __init__(self, key, ranks):
        stream = [n for i in range(69) for n in numbers(chacha20(key, (i, 0, 0, 2 << 24)))]
        self.key, self.ranks = key, ranks
        self.g, self.u = stream[264:544], stream[544] or 1
        self.r = [stream[i % 256] * stream[256 + i // 256] % P for i in range(2048)]

    def prf(self, sequence, digest, attempt, rank):
        batch = sequence // 8
        words = (batch & 0xFFFFFFFF, batch >> 32 << 8 | attempt, digest, 1 << 24 | rank)
        return numbers(chacha20(self.key, words))[sequence % 8]

    def mask(self, sequence, digest, rank):
        mask = self.prf(sequence, digest, 0, rank) - self.prf(sequence, digest, 0, (rank + 1) % self.ranks)
        return (mask + (self.prf(sequence, digest, 0, self.ranks) if rank == 0 else 0)) % P

    def hash(self, payload):
        payload += bytes(-len(payload) % 4)
        return sum(a * b for a, b in zip(self.r, struct.unpack(f"<{len(payload) // 4}i", payload))) % P

    def exponent(self, e):
        return self.g[{-1000: 278, 1000: 279}.get(e, e + 149)]


def vectors():
    """Lines of `name number`, in hexadecimal."""
    job = bytes(range(32))
    nonces = [0x1111111111111111 * (rank + 1) for rank in range(4)]
    key = communicator_key(job, 0xC0FFEE, 3, nonces)
    tag = Tag(key, 4)
    sequence, digest = 0x0102030405, 0xD16E57AA
    yield "key", int.from_bytes(key, "big")
    yield "key-without-nonces", int.from_bytes(communicator_key(job, 0xC0FFEE, 3, []), "big")
    yield "r-0", tag.r[0]
    yield "r-2047", tag.r[2047]
    yield "g-of-0", tag.exponent(0)
    yield "g-of-zeros", tag.exponent(-1000)
    yield "u", tag.u
    total = 0
    for rank in range(4):
        part = struct.pack("<6i", rank, -rank, 2**29 - 1, -(2**29) + rank, 7 * rank, -1)
        lane = (tag.hash(part) + tag.exponent(5) + (rank != 2) * tag.u + tag.mask(sequence, digest, rank)) % P
        total += lane
        yield f"mask-{rank}", tag.mask(sequence, digest, rank)
        yield f"lane-{rank}", lane
    yield "lane-of-the-sum", total
    yield "mask-of-all", tag.prf(sequence, digest, 0, 4)
    yield "lone-mask-2", tag.prf(sequence, digest, 0, 2)
    yield "hash-of-5-bytes", tag.hash(b"\x01\x02\x03\x84\xff")
    yield "hash-of-8192-bytes", tag.hash(bytes((i * 151 + 7) % 256 for i in range(8192)))
    whole = [4 * 0 + 6, -6, 4 * (2**29 - 1), -4 * 2**29 + 6, 42, -4]
    rest = total - tag.hash(struct.pack("<6i", *whole)) - 4 * tag.exponent(5) - tag.prf(sequence, digest, 0, 4)
    assert rest % P == 3 * tag.u % P
    yield from sample_vectors(key)


def sample_vectors(key):
    """Of the sampled operation 0x100000007, with 1,500 elements and one run in ten: 94 runs, the last stratum of 4."""
    key = derive(key, (7, 1, 0, 5 << 24))
    yield "sample-key", int.from_bytes(key, "big")
    for stratum in range(10):
        words = chacha20(key, (stratum // 8, 0, 0, 0))
        number = words[stratum % 8 * 2 + 1] << 32 | words[stratum % 8 * 2]
        yield f"sample-{stratum}", 16 * (10 * stratum + number % min(10, 94 - 10 * stratum))
    for block in range(2):
        stream = struct.pack("<16I", *chacha20(key, (block, 0, 3, 1)))
        yield f"sample-stream-{block}", int.from_bytes(stream[:8], "big")


def check():
    with open(HERE, encoding="ascii") as file:
        pinned = [line.split() for line in file if not line.startswith("#")]
    if [[name, f"{value:x}"] for name, value in vectors()] != pinned:
        sys.exit("tests/vectors/tag.txt differs from the computation")
    try:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
    except ImportError:
        return
    key, words = bytes(range(7, 39)), (1, 2, 3, 4)
    cipher = Cipher(algorithms.ChaCha20(key, struct.pack("<4I", *words)), None).encryptor()
    if cipher.update(bytes(64)) != struct.pack("<16I", *chacha20(key, words)):
        sys.exit("ChaCha20 differs from that of the package cryptography")


if __name__ == "__main__":
    if sys.argv[1:] == ["--check"]:
        check()
    else:
        print("# Vectors of the tag, hexadecimal; computed by tests/vectors/tag.py, read by test_tag.c and test_sample.c.")
        for name, value in vectors():
            print(name, f"{value:x}")
