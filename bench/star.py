# SPDX-License-Identifier: Apache-2.0
"""Network namespaces to measure in: a star of workers around a bridge, each link as slow as asked; or a loopback of its own.

Both give places (a prefix that runs a command there) and count the bytes that were really on the wire. Names carry the id of
this process; everything is removed at the end, and what a killed run has left is removed at the next start.
"""
import json
import os
import re

from processes import BenchError, run

PREFIX = "tribbench"
SUBNET = "10.98.0"
SWITCH_ADDRESS = f"{SUBNET}.254"
# Longest burst at full speed, and what may wait: a train of 64 KB must fit whole.
TBF = ["burst", "256k", "limit", "4m"]


def namespaces():
    return [line.split()[0] for line in run(["ip", "netns", "list"]).splitlines() if line]


def remove_left_over():
    for name in namespaces():
        match = re.fullmatch(rf"{PREFIX}(\d+)-\w+", name)
        if match and not os.path.exists(f"/proc/{match[1]}"):
            run(["ip", "netns", "del", name])


def remove_own():
    """What is left of this process: a signal may come while a `with` block removes its namespaces."""
    for name in namespaces():
        if name.startswith(f"{PREFIX}{os.getpid()}-"):
            run(["ip", "netns", "del", name])


def make_namespace(name):
    """An empty namespace whose TCP is reno: what its host uses may be tuned for other links."""
    run(["ip", "netns", "add", name])
    run(["ip", "-n", name, "link", "set", "lo", "up"])
    run(inside(name) + ["sh", "-c", "echo reno >/proc/sys/net/ipv4/tcp_congestion_control"])


def inside(name):
    return ["ip", "netns", "exec", name]


def link_counters(name, device):
    stats = json.loads(run(["ip", "-n", name, "-s", "-j", "link", "show", "dev", device]))[0]["stats64"]
    return {"out": stats["tx"]["bytes"], "in": stats["rx"]["bytes"]}


def shaper_counters(name, device):
    """What passed the shaper, with the headers of every frame; an interface counts the headers of a train once."""
    for qdisc in json.loads(run(["tc", "-n", name, "-s", "-j", "qdisc", "show", "dev", device])):
        if qdisc["kind"] == "tbf":
            return {"bytes": qdisc["bytes"], "frames": qdisc["packets"], "drops": qdisc["drops"]}
    raise BenchError(f"no shaper on {device} in {name}")


class Network:
    """Namespaces that vanish with the `with` block."""

    def __init__(self):
        self.names = []

    def __enter__(self):
        try:
            self.build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        for name in self.names:
            run(["ip", "netns", "del", name])
        self.names = []

    def add(self, part):
        name = f"{PREFIX}{os.getpid()}-{part}"
        self.names.append(name)
        try:
            make_namespace(name)
        except BaseException:
            if name not in namespaces():
                self.names.remove(name)
            raise
        return name


class Star(Network):
    """Workers w0, w1 ... and a switch s; every link has the same rate in both directions. A worker's frames are counted where
    they leave it and where they leave the bridge towards it."""

    kind = "star"
    nics = "each worker's"

    def __init__(self, workers, mtu, rate):
        super().__init__()
        self.workers, self.mtu, self.rate = workers, mtu, rate

    def build(self):
        self.switch_name = self.add("s")
        self.worker_names = [self.add(f"w{i}") for i in range(self.workers)]
        switch = ["ip", "-n", self.switch_name]
        run(switch + ["link", "add", "br0", "type", "bridge", "mcast_snooping", "0"])
        for i, name in enumerate(self.worker_names):
            self.plug_in(name, f"p{i}", f"{SUBNET}.{i + 1}/24")
        run(switch + ["link", "set", "br0", "mtu", str(self.mtu), "up"])
        run(switch + ["addr", "add", f"{SWITCH_ADDRESS}/24", "dev", "br0"])

    def plug_in(self, name, port, address):
        run(["ip", "link", "add", "eth0", "netns", name, "type", "veth", "peer", "name", port, "netns", self.switch_name])
        run(["ip", "-n", self.switch_name, "link", "set", port, "mtu", str(self.mtu), "master", "br0", "up"])
        run(["ip", "-n", name, "link", "set", "eth0", "mtu", str(self.mtu), "up"])
        run(["ip", "-n", name, "addr", "add", address, "dev", "eth0"])
        run(["tc", "-n", name, "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", self.rate] + TBF)
        run(["tc", "-n", self.switch_name, "qdisc", "add", "dev", port, "root", "tbf", "rate", self.rate] + TBF)

    def worker_place(self, rank):
        return inside(self.worker_names[rank])

    def switch_place(self):
        return inside(self.switch_name)

    def switch_address(self):
        return SWITCH_ADDRESS

    def worker_address(self, rank):
        return f"{SUBNET}.{rank + 1}"

    def counters(self):
        """Per worker: bytes on its interface, and frames with their headers through its shapers, both directions."""
        result = []
        for i, name in enumerate(self.worker_names):
            nic = link_counters(name, "eth0")
            up, down = shaper_counters(name, "eth0"), shaper_counters(self.switch_name, f"p{i}")
            result.append({"nic_out": nic["out"], "nic_in": nic["in"], "wire_out": up["bytes"], "wire_in": down["bytes"],
                           "frames_out": up["frames"], "frames_in": down["frames"], "shaper_drops": up["drops"] + down["drops"]})
        return result


class Loop(Network):
    """One namespace for all; its loopback has the MTU of a jumbo frame (Gloo stalls on the default one of 65536)."""

    kind = "loopback"
    nics = "the loopback's"
    rate = None

    def __init__(self, workers, mtu):
        super().__init__()
        self.workers, self.mtu = workers, mtu

    def build(self):
        self.name = self.add("lo")
        run(["ip", "-n", self.name, "link", "set", "lo", "mtu", str(self.mtu)])

    def worker_place(self, _rank):
        return inside(self.name)

    def switch_place(self):
        return inside(self.name)

    def switch_address(self):
        return "127.0.0.1"

    def worker_address(self, _rank):
        return "127.0.0.1"

    def counters(self):
        nic = link_counters(self.name, "lo")
        return [{"nic_out": nic["out"], "nic_in": nic["in"]}]
