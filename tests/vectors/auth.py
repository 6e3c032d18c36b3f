#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes tests/vectors/auth.txt from docs/PROTOCOL.md, "Authenticator", with the package cryptography (pip):
tests/vectors/auth.py > tests/vectors/auth.txt"""
import struct

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

KEY = bytes(range(0x80, 0xA0))
HEADER = 64
TAG = 16


def nonce(sender, number):
    return struct.pack(">HHQ", 0, sender, number)


def encrypted(key, payload, sender, number):
    return Cipher(algorithms.AES(key), modes.CTR(nonce(sender, number) + bytes([0, 0, 0, 2]))).encryptor().update(payload)


def authenticator(key, packet, sender, receiver, number):
    """The tag of AES-256-GCM whose ciphertext is the payload of this packet, be that encrypted or not."""
    names = struct.pack(">HHQ", sender, receiver, number)
    payload = packet[HEADER:]
    text = encrypted(key, payload, sender, number)
    sealed = AESGCM(key).encrypt(nonce(sender, number), text, packet[:HEADER] + names)
    assert sealed[:-TAG] == payload
    return names + sealed[-TAG:]


def sender_key(key, identity):
    """Half a block of ChaCha20 (RFC 8439) with counter 0; the nonce is the sender, little-endian, then zeros."""
    start = struct.pack("<IIII", 0, identity, 0, 0)
    return Cipher(algorithms.ChaCha20(key, start), mode=None).encryptor().update(bytes(32))


def main():
    print("# Made by tests/vectors/auth.py: packet key, packets and their authenticators (docs/PROTOCOL.md).")
    print("key", KEY.hex())
    cases = [(0, 0x8000, 0, 0), (3, 0x8002, 7, 0), (3, 0x8002, 8, 64), (0x8012, 0xFFFF, 5, 1344),
             (0x8000, 1023, 2**40 + 3, 8192), (1023, 0x8000, 2**64 - 1, 4)]
    for sender, receiver, number, payload in cases:
        packet = bytes((3 * i + payload) % 251 for i in range(HEADER + payload))
        print("packet sender", sender, "receiver", receiver, "number", number, "payload", payload, "is",
              authenticator(KEY, packet, sender, receiver, number).hex())
    for sender, number, payload in [(0, 0, 4), (3, 9, 100)]:
        plain = bytes((3 * (HEADER + i) + payload) % 251 for i in range(payload))
        print("payload sender", sender, "number", number, "bytes", payload, "is", encrypted(KEY, plain, sender, number).hex())

    for identity, made in [(0, 0), (5, 5), (0x1000, 0x1000), (0x1000 + 32 * 7 + 3, 0x1000 + 32 * 7), (0xFFFF, 0xFFFF),
                           (0x11000 + 32 * 7 + 3, 0x11000 + 32 * 7)]:
        print("sender key id", identity, "is", sender_key(KEY, made).hex())


main()
