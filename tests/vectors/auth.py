#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/vectors/auth.txt from docs/PROTOCOL.md, "Authenticator", with the package cryptography (pip):
tests/vectors/auth.py > tests/vectors/auth.txt"""
import struct

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.poly1305 import Poly1305

KEY = bytes(range(0x80, 0xA0))
ROW = 8


def one_time_key(key, sender, number):
    counter = struct.pack("<I", number % ROW)
    nonce = struct.pack(">HHQ", 0, sender, number // ROW)
    block = Cipher(algorithms.ChaCha20(key, counter + nonce), mode=None).encryptor().update(bytes(64))
    return block[:32]


def authenticator(key, packet, sender, receiver, number):
    names = struct.pack(">HHQ", sender, receiver, number)
    return names + Poly1305.generate_tag(one_time_key(key, sender, number), packet + names)


def encrypted(key, payload, sender, number):
    nonce = struct.pack(">HHQ", 1, sender, number)
    return Cipher(algorithms.ChaCha20(key, bytes(4) + nonce), mode=None).encryptor().update(payload)


def main():
    print("# Made by tests/vectors/auth.py: packet key, packets and their authenticators (docs/PROTOCOL.md).")
    print("key", KEY.hex())
    cases = [(0, 0x8000, 0, 0), (3, 0x8002, 7, 0), (3, 0x8002, 8, 64), (0x8012, 0xFFFF, 5, 1344),
             (0x8000, 1023, 2**40 + 3, 8192), (1023, 0x8000, 2**64 - 1, 4)]
    for sender, receiver, number, payload in cases:
        packet = bytes((3 * i + payload) % 251 for i in range(64 + payload))
        print("packet sender", sender, "receiver", receiver, "number", number, "payload", payload, "is",
              authenticator(KEY, packet, sender, receiver, number).hex())
    for sender, number, payload in [(0, 0, 4), (3, 9, 100)]:
        plain = bytes((3 * (64 + i) + payload) % 251 for i in range(payload))
        print("payload sender", sender, "number", number, "bytes", payload, "is", encrypted(KEY, plain, sender, number).hex())


main()
