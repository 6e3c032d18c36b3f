#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Packets that lie, from addresses that are not the sender's own: for forged.net.sh, as root of its namespace.

    forged.py WHAT COUNT FROM TO COMMUNICATOR BOOT [OTHERS]

Sends COUNT packets from FROM to TO (ADDRESS:PORT), some thousand a second. COMMUNICATOR and BOOT are a running job's.
OTHERS: numbers of members that are not behind FROM, or TO. Every packet is one of which the receiver can know that it is a
lie; WHAT says which lie.
"""
import random
import socket
import struct
import sys
import time

from independent_worker import (ASK, BOOT, CONTRIBUTION, FLOAT32, HELD, INT32, OFFER, PATH, PROBE, RESEND, RESULT, UNWANTED,
                                Packet)

LAST = (1 << 48) - 1
FAR = (1 << 31) - 1
FLOW, ALL = 9, 0xFFFF


def some(packet):
    """Values for the fields that no lie is about: any that a right packet may have."""
    packet.sequence = random.choice((0, random.getrandbits(8), random.getrandbits(14), random.getrandbits(18), LAST))
    packet.mark = -min(packet.sequence, random.choice((0, random.getrandbits(10), FAR)))
    packet.flags = random.choice((0, 0, RESEND, UNWANTED))
    packet.bitmap = random.choice((0, random.getrandbits(64)))
    packet.lane, packet.digest = random.getrandbits(64), random.getrandbits(32)
    if packet.kind in (CONTRIBUTION, RESULT, OFFER) and not packet.flags & UNWANTED:
        packet.type, packet.reduction, packet.contributors = random.choice((FLOAT32, INT32)), 1, 1
        packet.payload = random.randbytes(4 * random.randrange(1, 64))
    return packet


def far(packet):
    """The highest mark that a packet may tell: "I have all results", or "all have theirs"."""
    packet.mark = min(FAR, LAST + 1 - packet.sequence)
    return packet


def stranger(right, _):
    return some(Packet(kind=random.randrange(CONTRIBUTION, FLOW), node=random.randrange(4), **right))


def combiner(right, others):
    """Speaks for members that are not behind it: alone, with some that are, and of numbers that nobody has."""
    packet = some(Packet(kind=random.choice((CONTRIBUTION, CONTRIBUTION, PROBE, OFFER)), **right))
    packet.node = random.choice(others + [63, 64, 1000, ALL])
    if packet.kind == CONTRIBUTION:
        named = 1 << random.choice(others + [63])
        packet.bitmap = random.choice((0, named, named | random.getrandbits(64)))
    return random.choice((packet, far(packet)))


def unknown(right, _):
    """Another communicator."""
    return some(Packet(kind=random.randrange(CONTRIBUTION, PATH), **{**right, "communicator": random.getrandbits(32)}))


def generation(right, _):
    packet = some(Packet(kind=random.choice((CONTRIBUTION, PROBE, RESULT, HELD, ASK)),
                         **{**right, "generation": random.randrange(2, 1 << 16)}))
    packet.bitmap = 0
    return far(packet)


def boot(right, _):
    return far(some(Packet(kind=CONTRIBUTION, node=ALL, **{**right, "boot": random.getrandbits(32)})))


def parent(right, others):
    """For members that are not behind the receiver."""
    return far(some(Packet(kind=random.choice((RESULT, ASK, HELD, BOOT)), node=random.choice(others + [63, 64, 1000]), **right)))


def mark(right, _):
    """From the parent, but of another boot: all behind have all results. Ranks drop it, a combiner has no reason to."""
    return far(Packet(kind=HELD, node=ALL, **{**right, "boot": random.getrandbits(32)}))


def impossible(right, _):
    """A mark above the sequence that the packet lacks."""
    packet = some(Packet(kind=random.choice((CONTRIBUTION, PROBE)), **right))
    packet.sequence, packet.mark = random.getrandbits(20), random.choice((1, 1000, FAR))
    return packet


def down(right, _):
    """What a rank never sends."""
    packet = some(Packet(kind=random.choice((RESULT, ASK, HELD, BOOT, FLOW)), **right))
    packet.mark = -min(packet.sequence, FAR)
    return packet


def garbage(right, _):
    data = bytearray(some(Packet(kind=random.randrange(CONTRIBUTION, FLOW), **right)).encode())
    for _ in range(random.randrange(1, 9)):
        data[random.randrange(len(data))] ^= random.randrange(1, 256)
    return random.choice((bytes(data), bytes(data[:random.randrange(len(data))]), random.randbytes(random.randrange(200))))


def place(text):
    address, port = text.rsplit(":", 1)
    return socket.inet_aton(address), int(port)


def main():
    what, count, (source, source_port), (target, target_port) = sys.argv[1], int(sys.argv[2]), place(sys.argv[3]), place(sys.argv[4])
    right = {"communicator": int(sys.argv[5], 16), "boot": int(sys.argv[6], 16), "generation": 1}
    others = [int(number) for number in sys.argv[7:]]
    wire = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    for number in range(count):
        packet = globals()[what](right, others)
        data = packet if isinstance(packet, bytes) else packet.encode()
        udp = struct.pack(">HHHH", source_port, target_port, 8 + len(data), 0) + data
        header = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(udp), 0, 0, 64, socket.IPPROTO_UDP, 0, source, target)
        wire.sendto(header + udp, (socket.inet_ntoa(target), 0))
        if number % 16 == 15:
            time.sleep(0.002)


main()
