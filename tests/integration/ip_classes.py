# SPDX-License-Identifier: Apache-2.0
"""ip_classes.py DEVICE PORT: says that it listens, and does so on a device until it has seen a hundred UDP packets over IPv4 of this port in
each direction, for 20 s at most; then says which traffic classes they have."""
import select
import socket
import sys
import time

ECN = ("no ECN", "ECT(1)", "ECT(0)", "CE")


def main(device, port):
    seen = {"in": {}, "out": {}}
    end = time.monotonic() + 20
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(3)) as link:  # every protocol
        link.bind((device, 0))
        print("listening", flush=True)
        while time.monotonic() < end and any(sum(classes.values()) < 100 for classes in seen.values()):
            if not select.select([link], [], [], 0.2)[0]:
                continue
            data = link.recv(128)
            if len(data) < 28 or data[0] >> 4 != 4 or data[9] != socket.IPPROTO_UDP:
                continue
            head = 4 * (data[0] & 15)
            ends = int.from_bytes(data[head:head + 2], "big"), int.from_bytes(data[head + 2:head + 4], "big")
            if port in ends:
                classes = seen["out" if ends[1] == port else "in"]
                classes[data[1]] = classes.get(data[1], 0) + 1
    for way, classes in seen.items():
        for value in classes:
            print(f"{way}: DSCP {value >> 2} {ECN[value & 3]}")
    print(sum(sum(classes.values()) for classes in seen.values()), "packets")
    return 0 if all(len(classes) == 1 for classes in seen.values()) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2])))
