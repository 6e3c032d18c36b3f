# SPDX-License-Identifier: Apache-2.0
"""tcp_flow.py: one TCP flow of the kernel, for tests of how others share a link with it. Ends with SIGTERM.

receive ADDRESS PORT FILE   takes one connection; writes lines of "milliseconds bytes", 50 a second, into FILE: the clock, and the sum so far
send ADDRESS PORT           sends zeros, as fast as TCP lets it
"""
import socket
import sys
import time


def receive(address, port, name):
    with socket.create_server((address, port)) as server, open(name, "w", buffering=1, encoding="ascii") as out:
        connection, _ = server.accept()
        total, said = 0, 0
        while got := len(connection.recv(1 << 18)):
            total += got
            now = time.time_ns() // 1000000
            if now - said >= 20:
                out.write(f"{now} {total}\n")
                said = now


def send(address, port):
    with socket.create_connection((address, port)) as connection:
        zeros = bytes(1 << 16)
        while True:
            connection.sendall(zeros)


if __name__ == "__main__":
    if sys.argv[1] == "receive":
        receive(sys.argv[2], int(sys.argv[3]), sys.argv[4])
    else:
        send(sys.argv[2], int(sys.argv[3]))
