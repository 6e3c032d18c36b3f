#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Connections to a switch by somebody without a key, for tests/integration/flood.net.sh.

    flood.py ADDRESS:PORT COUNT KINDS SECONDS SOURCE...

    flood.py ADDRESS:PORT churn SECONDS SOURCE...
    flood.py ADDRESS:PORT shout COUNT SOURCE

Opens COUNT connections from these addresses in turn, and holds them. Of 5 KINDS: silent ones, slow ones that say a byte now and then,
some that say anything, and halves and wholes of TLS handshakes; of 1: silent ones. Prints "in" when all are there; after SECONDS, how many were answered what.

churn: opens one after another, says the whole beginning of a handshake and half of one in turn, reads the answer, and closes. Prints "in", and
after SECONDS how many there were, and the longest answer. shout: COUNT datagrams, of every kind of packet and of noise; prints the answers.
"""
import random
import select
import socket
import ssl
import sys
import time

NO_ROOM = b"\x15\x03\x03\x00\x02\x02\x50"
GAP = 0.1  # between bytes of the slow ones


def hello():
    """What a client of TLS 1.3 without our key says first."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode, context.minimum_version = False, ssl.CERT_NONE, ssl.TLSVersion.TLSv1_3
    said = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), said).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return said.read()


HELLO = hello()


class Peer:
    def __init__(self, kind, place, source):
        self.kind, self.heard, self.is_closed, self.said = kind, b"", False, 1
        self.socket = socket.socket()
        self.socket.bind((source, 0))
        self.socket.settimeout(10)
        self.socket.connect(place)
        self.socket.setblocking(False)
        self.say((b"", HELLO[:1], random.randbytes(random.randrange(1, 300)), HELLO[:random.randrange(1, len(HELLO))], HELLO)[self.kind])

    def say(self, data):
        try:
            if data:
                self.socket.send(data)
        except OSError:
            self.is_closed = True

    def go_on(self):
        if self.kind == 1 and self.said < len(HELLO) and not self.is_closed:
            self.say(HELLO[self.said:self.said + 1])
            self.said += 1

    def hear(self):
        try:
            data = self.socket.recv(4096)
        except OSError:
            data = b""
        self.heard += data
        self.is_closed |= not data


def churn(place, seconds, sources):
    print("in", flush=True)
    begin, count, longest = time.monotonic(), 0, 0
    while time.monotonic() < begin + seconds:
        with socket.socket() as peer:
            peer.bind((sources[count % len(sources)], 0))
            peer.settimeout(10)
            peer.connect(place)
            is_whole = count % 2 == 0
            peer.sendall(HELLO if is_whole else HELLO[:len(HELLO) // 2])
            heard = 0
            try:
                while is_whole and (data := peer.recv(4096)):
                    heard += len(data)
            except ConnectionError:
                pass
            longest = max(longest, heard)
        count += 1
    print(f"{count / (time.monotonic() - begin):.0f} handshakes a second, {len(HELLO)} bytes said, {longest} bytes answered at most, "
          f"{'not more' if longest <= len(HELLO) else 'more'}")


def shout(place, count, source):
    peer = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    peer.bind((source, 0))
    peer.setblocking(False)
    answers = 0
    for number in range(count + 1):
        data = bytearray(random.randbytes(random.choice((0, 40, 64, 92, 1000, 1436))))
        if len(data) >= 64 and number % 4 != 0:
            data[0], data[1] = 1 + number % 2, 1 + number // 2 % 10  # version and kind of a header
            data[30:32] = (len(data) - (64 if data[0] == 1 else 92)).to_bytes(2, "big", signed=True)
        if number < count:
            peer.sendto(data, place)
        if number % 64 == 0 or number == count:
            time.sleep(0.3 if number == count else 0.001)
            try:
                while peer.recv(65536):
                    answers += 1
            except BlockingIOError:
                pass
    print(f"{count} datagrams, {answers} answers")


def main():
    address, port = sys.argv[1].rsplit(":", 1)
    if sys.argv[2] == "churn":
        churn((address, int(port)), float(sys.argv[3]), sys.argv[4:])
        return
    if sys.argv[2] == "shout":
        shout((address, int(port)), int(sys.argv[3]), sys.argv[4])
        return
    count, kinds, seconds, sources = int(sys.argv[2]), int(sys.argv[3]), float(sys.argv[4]), sys.argv[5:]
    peers, poll = {}, select.epoll()
    for number in range(count):
        peer = Peer(number % kinds, (address, int(port)), sources[number % len(sources)])
        peers[peer.socket.fileno()] = peer
        poll.register(peer.socket, select.EPOLLIN)
    print("in", flush=True)
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for fd, _ in poll.poll(GAP):
            peers[fd].hear()
            if peers[fd].is_closed:
                poll.unregister(fd)
        for peer in peers.values():
            peer.go_on()
    alone = sum(peer.heard == NO_ROOM for peer in peers.values())
    words = sum(peer.heard != NO_ROOM and peer.heard != b"" for peer in peers.values())
    print(f"{count} connections: {alone} heard of no room, {words} heard more, {sum(peer.is_closed for peer in peers.values())} were ended")


main()
