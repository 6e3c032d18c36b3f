# SPDX-License-Identifier: Apache-2.0
"""The rows of the table, as data. A scenario is what runs interleaved in one network; a row is one figure out of it.

To add a row: name a scenario (or add one), say which figure of ours is compared with which of whom, and what must be reached.
"""
import dataclasses

from star import Loop, Star
from training import CNN, RESNET50

MIB = 1 << 20


@dataclasses.dataclass(frozen=True)
class Contestant:
    """One side of a comparison. runner: ours, many, grouped, gloo, mpi, torch or torch calls; the rest as the command line has it."""

    name: str
    runner: str = "ours"
    payload: int = 1408
    wire: str = "float32"
    multicast: bool = True
    trains: bool = True
    loss: str = ""
    algorithm: str = "ring"
    collective: str = ""  # the scenario's, unless it says another
    level0: bool = False  # no switch and no packet: ranks meet in the memory of one host; of a peer, its shared memory
    shared: bool = False  # level 0: send from memory that ranks share
    no_box: bool = False  # no switch: each rank is a host, and a root
    scheme: str = "switchml"
    backend: str = "tributary"  # of torch.distributed
    each: int = 1  # ranks of a host; more than one are summed in its memory first


@dataclasses.dataclass(frozen=True)
class Scenario:
    """Contestants that run one after another, round after round, in one network."""

    name: str
    network: type
    workers: int
    mtu: int
    size: int
    iterations: int
    warmups: int
    rounds: int
    contestants: tuple
    rate: str = ""
    limit_s: float = 120
    collective: str = "allreduce"  # sizes are those of the whole tensor, all ranks' shares together

    def open(self):
        return Star(self.workers, self.mtu, self.rate) if self.network is Star else Loop(self.workers, self.mtu)

    def quick(self):
        """Small enough to show that everything works; too small to judge."""
        return dataclasses.replace(self, size=min(self.size, MIB), iterations=min(self.iterations, 3), warmups=1, rounds=1)


@dataclasses.dataclass(frozen=True)
class Training(Scenario):
    """A model's gradients are the tensor, so there are as many sizes as models."""

    def quick(self):
        return dataclasses.replace(self, size=CNN, iterations=2, rounds=1)


@dataclasses.dataclass(frozen=True)
class Row:
    """figure: what is compared, see FIGURES. peer: None compares the figure itself with the target."""

    name: str
    what: str
    scenario: str
    figure: str
    ours: str
    peer: str
    sense: str
    target: float
    peer_figure: str = ""


# Figure: unit and how it follows from a measurement. Goodput counts bytes of the tensor per worker; under loss every call counts.
FIGURES = {
    "goodput": ("MB/s", lambda m: m["size"] / m["median_us"]),
    "goodput_mean": ("MB/s", lambda m: m["size"] / m["mean_us"]),
    "cpu_all": ("ns/B", lambda m: m["cpu_all"]),
    "cpu_workers": ("ns/B", lambda m: m["cpu_workers"]),
    "median_us": ("us", lambda m: m["median_us"]),
    "over_single": ("of single", lambda m: m["over_single"]),
    "share": ("of one", lambda m: m["share"]),
    "memory": ("MB", lambda m: m["memory_mb"]),
    "payload": ("B/B", lambda m: m["payload_per_byte"]),
    "wire": ("B/B", lambda m: m["wire_per_byte"]),
    "make": ("ms", lambda m: m["make_ms"]),
    "communication": ("ms", lambda m: m["communication_ms"]),
    "over_c": ("us", lambda m: m["over_c_us"]),
}

GLOO, MPI = Contestant("gloo ring", "gloo"), Contestant("openmpi tcp", "mpi")
HOST = (Contestant("ours", level0=True), Contestant("shared buffers", level0=True, shared=True),
        Contestant("openmpi shm", "mpi", level0=True))


def star(workers, mtu, payload):
    return Scenario(f"star-{workers}-{mtu}", Star, workers, mtu, 64 * MIB, 5, 1, 3, (Contestant("ours", payload=payload), GLOO),
                    rate="1gbit")


def shares(collective, mtu, payload, *peers):
    return Scenario(f"{collective}-4-{mtu}", Star, 4, mtu, 64 * MIB, 5, 1, 3, (Contestant("ours", payload=payload),) + peers,
                    rate="1gbit", collective=collective)


# Gloo has no ring for a reduce-scatter. A ring's would move, step by step, what Gloo's allgather moves, so that is the stricter measure.
GLOO_HALVING, GLOO_GATHER = Contestant("gloo halving", "gloo"), Contestant("gloo ring", "gloo", collective="allgather")

def ring(mtu, payload):
    return Scenario(f"ring-{mtu}", Star, 4, mtu, 64 * MIB, 5, 1, 3,
                    (Contestant("our ring", payload=payload, no_box=True, scheme="ring"), GLOO), rate="1gbit")


def panama(network, mtu, payload, size, rate=""):
    return Scenario(f"panama-{network.__name__.lower()}", network, 4, mtu, size, 5, 1, 5,
                    (Contestant("panama", payload=payload, scheme="panama"), Contestant("switchml", payload=payload)), rate=rate)


def no_box(mtu, payload):
    return Scenario(f"nobox-{mtu}", Star, 4, mtu, 64 * MIB, 5, 1, 3, (Contestant("ours", payload=payload, no_box=True), GLOO),
                    rate="1gbit")


SCENARIOS = {scenario.name: scenario for scenario in (
    star(4, 1500, 1408),
    star(8, 1500, 1408),
    star(4, 9000, 8192),
    star(8, 9000, 8192),
    shares("allgather", 1500, 1408, GLOO),
    shares("allgather", 9000, 8192, GLOO),
    shares("reduce-scatter", 1500, 1408, GLOO_HALVING, GLOO_GATHER),
    shares("reduce-scatter", 9000, 8192, GLOO_HALVING, GLOO_GATHER),
    Scenario("star-loss", Star, 4, 1500, 64 * MIB, 5, 1, 3,
             (Contestant("lossless"), Contestant("loss 0.1%", loss="0.1%"), Contestant("loss 1%", loss="1%")), rate="1gbit"),
    Scenario("loop-100m", Loop, 4, 9000, 100 * MIB, 5, 1, 5, (Contestant("ours", payload=8192), GLOO, MPI)),
    Scenario("loop-4k", Loop, 4, 9000, 4096, 2000, 200, 7,
             (Contestant("ours 1408"), Contestant("ours 8192", payload=8192), MPI)),
    no_box(1500, 1408),
    no_box(9000, 8192),
    Scenario("two-by-four", Star, 2, 9000, 64 * MIB, 5, 1, 3,
             (Contestant("1408", each=4, multicast=False), Contestant("8192", payload=8192, each=4, multicast=False)), rate="1gbit"),
    ring(1500, 1408),
    ring(9000, 8192),
    panama(Loop, 9000, 8192, 100 * MIB),
    panama(Star, 1500, 1408, 64 * MIB, rate="1gbit"),
    Scenario("nobox-64k", Loop, 4, 9000, 64 << 10, 1000, 100, 7,
             (Contestant("ours", payload=8192, no_box=True), Contestant("ours 1408", no_box=True), MPI)),
    Scenario("many", Loop, 4, 9000, MIB, 5, 0, 3, (Contestant("ours", "many"),)),
    Scenario("grouped", Loop, 4, 9000, MIB // 4, 40, 0, 5, (Contestant("ours", "grouped"),)),
    Scenario("host-100m", Loop, 4, 9000, 100 * MIB, 5, 1, 5, HOST),
    Scenario("host-4k", Loop, 4, 9000, 4096, 2000, 200, 7, HOST),
    Training("torch-resnet50", Star, 4, 1500, RESNET50, 4, 1, 3, (Contestant("ours", "torch"), Contestant("gloo", "torch", backend="gloo")),
             rate="1gbit"),
    Scenario("torch-64", Loop, 4, 9000, 64, 20000, 5000, 5, (Contestant("ours", "torch calls", level0=True),)),
    Scenario("loop-trains", Loop, 4, 1500, 16 * MIB, 4, 1, 5, (Contestant("ours"), Contestant("no trains", trains=False))),
)}

ROWS = [
    Row("star-gloo-4-1500", "1 Gbit/s star, 4 workers, 64 MiB, against Gloo's ring", "star-4-1500", "goodput", "ours", "gloo ring",
        ">=", 1.42),
    Row("star-gloo-8-1500", "same, 8 workers", "star-8-1500", "goodput", "ours", "gloo ring", ">=", 1.66),
    Row("star-gloo-4-9000", "same, 4 workers, jumbo frames", "star-4-9000", "goodput", "ours", "gloo ring", ">=", 1.45),
    Row("star-gloo-8-9000", "same, 8 workers, jumbo frames", "star-8-9000", "goodput", "ours", "gloo ring", ">=", 1.70),
    Row("goodput-4-1500", "goodput per worker on that star, 4 workers", "star-4-1500", "goodput", "ours", "", ">=", 114),
    Row("goodput-8-1500", "same, 8 workers", "star-8-1500", "goodput", "ours", "", ">=", 114),
    Row("goodput-4-9000", "same, 4 workers, jumbo frames", "star-4-9000", "goodput", "ours", "", ">=", 121),
    Row("goodput-8-9000", "same, 8 workers, jumbo frames", "star-8-9000", "goodput", "ours", "", ">=", 121),
    Row("allgather-4-1500", "allgather over that star, 4 workers, 64 MiB in all, against Gloo's ring", "allgather-4-1500", "goodput", "ours",
        "gloo ring", ">=", 0.95),
    Row("allgather-4-9000", "same, jumbo frames", "allgather-4-9000", "goodput", "ours", "gloo ring", ">=", 0.97),
    Row("scatter-4-1500", "reduce-scatter, against Gloo's halving and doubling", "reduce-scatter-4-1500", "goodput", "ours", "gloo halving",
        ">=", 0.95),
    Row("scatter-4-9000", "same, jumbo frames", "reduce-scatter-4-9000", "goodput", "ours", "gloo halving", ">=", 0.97),
    Row("scatter-ring-4-1500", "reduce-scatter, against the bytes of a ring: Gloo's allgather", "reduce-scatter-4-1500", "goodput", "ours",
        "gloo ring", ">=", 0.95),
    Row("scatter-ring-4-9000", "same, jumbo frames", "reduce-scatter-4-9000", "goodput", "ours", "gloo ring", ">=", 0.97),
    Row("loss-0.1", "same star, 0.1 % loss at switch and workers, of lossless", "star-loss", "goodput_mean", "loss 0.1%",
        "lossless", ">=", 0.95),
    Row("loss-1", "same, 1 % loss", "star-loss", "goodput_mean", "loss 1%", "lossless", ">=", 0.70),
    Row("cpu-all", "loopback, 4 workers, 100 MiB: CPU of all processes, against Gloo's ring", "loop-100m", "cpu_all", "ours",
        "gloo ring", "<=", 0.9),
    Row("cpu-workers", "same, CPU of our workers alone", "loop-100m", "cpu_workers", "ours", "gloo ring", "<=", 0.6, "cpu_all"),
    *(Row(f"cpu-star-{n}-{mtu}", f"star of 1 Gbit/s, {n} workers, allreduce: CPU of all processes, against Gloo's ring", f"star-{n}-{mtu}", "cpu_all",
          "ours", "gloo ring", "<=", {4: 1.0, 8: 0.9}[n]) for n in (4, 8) for mtu in (1500, 9000)),
    *(Row(f"cpu-gather-{mtu}", "same, 4 workers, allgather", f"allgather-4-{mtu}", "cpu_all", "ours", "gloo ring", "<=", 1.2)
      for mtu in (1500, 9000)),
    *(Row(f"cpu-scatter-{mtu}", "same, reduce-scatter, against the bytes of a ring: Gloo's allgather", f"reduce-scatter-4-{mtu}", "cpu_all", "ours",
          "gloo ring", "<=", 1.2) for mtu in (1500, 9000)),
    *(Row(f"cpu-nobox-{mtu}", "same, allreduce, no box, 4 hosts", f"nobox-{mtu}", "cpu_all", "ours", "gloo ring", "<=", 1.2) for mtu in (1500, 9000)),
    *(Row(f"cpu-ring-{mtu}", "same, our ring", f"ring-{mtu}", "cpu_all", "our ring", "gloo ring", "<=", 1.2) for mtu in (1500, 9000)),
    Row("wall-mpi", "same, wall throughput against Open MPI over TCP", "loop-100m", "goodput", "ours", "openmpi tcp", ">=", 1.5),
    Row("latency-4k", "loopback, 4 workers, 4 KiB, p50 against Open MPI over TCP", "loop-4k", "median_us", "ours 1408",
        "openmpi tcp", "<=", 0.8),
    Row("latency-4k-jumbo", "same, one fragment", "loop-4k", "median_us", "ours 8192", "openmpi tcp", "<=", 0.8),
    Row("nobox-gloo-9000", "no box, 1 Gbit/s star, 4 hosts, 64 MiB, jumbo frames, against Gloo's ring", "nobox-9000", "goodput", "ours",
        "gloo ring", ">=", 0.97),
    Row("nobox-gloo-1500", "same, frames of 1500", "nobox-1500", "goodput", "ours", "gloo ring", ">=", 0.94),
    Row("two-by-four", "2 hosts x 4 ranks, a switch: bytes of payload per network card, direction and byte of the tensor", "two-by-four",
        "payload", "1408", "", "<=", 1.0),
    Row("two-by-four-1408", "same, all bytes on the wire", "two-by-four", "wire", "1408", "", "<=", 1.08),
    Row("two-by-four-8192", "same, payload 8192", "two-by-four", "wire", "8192", "", "<=", 1.02),
    Row("ring-gloo-9000", "our ring, same star, jumbo frames, against Gloo's ring", "ring-9000", "goodput", "our ring", "gloo ring", ">=",
        0.98),
    Row("ring-gloo-1500", "same, frames of 1500", "ring-1500", "goodput", "our ring", "gloo ring", ">=", 0.95),
    Row("nobox-64k", "no box, loopback, 4 ranks that are hosts of their own, 64 KiB, p50 against Open MPI over TCP", "nobox-64k",
        "median_us", "ours", "openmpi tcp", "<=", 1.0),
    Row("panama-loop", "scheme panama, loopback, 4 workers, 100 MiB: throughput, of switchml's", "panama-loop", "goodput", "panama", "switchml",
        ">=", 0.9),
    Row("panama-star", "same, 1 Gbit/s star, 64 MiB", "panama-star", "goodput", "panama", "switchml", ">=", 0.97),
    Row("host-100m", "one host, shared memory, 4 ranks, 100 MiB: throughput against Open MPI's", "host-100m", "goodput", "ours",
        "openmpi shm", ">=", 4),
    Row("host-100m-shared", "same, sent from memory that ranks share", "host-100m", "goodput", "shared buffers", "openmpi shm",
        ">=", 5),
    Row("host-4k", "same, 4 KiB, p50", "host-4k", "median_us", "ours", "openmpi shm", "<=", 1.2),
    Row("trains", "loopback, 4 workers, 16 MiB: CPU of all against one packet a call", "loop-trains", "cpu_all", "ours",
        "no trains", "<=", 0.125),
    Row("communicators", "loopback, 4 ranks, 256 communicators open, 8 busy, 1 MiB each: throughput, of one and nothing else open",
        "many", "share", "ours", "", ">=", 0.9),
    Row("communicators-memory", "same, most memory of a process at any time", "many", "memory", "ours", "", "<=", 64),
    Row("communicators-made", "same, time to make all 256 by split", "many", "make", "ours", "", "<=", 2000),
    Row("torch-resnet50", "PyTorch, 1 Gbit/s star, 4 workers, DDP with 25.6 M parameters: communication time of a step, of gloo's",
        "torch-resnet50", "communication", "ours", "gloo", "<=", 0.7407),
    Row("torch-64", "PyTorch, one host, shared memory, 4 ranks: allreduce of 64 bytes, p50, over the C API's", "torch-64", "over_c", "ours", "",
        "<=", 25),
    Row("grouped", "loopback, 4 ranks, 64 tensors of 4 KiB: throughput in one group, of one call for each", "grouped", "over_single",
        "ours", "", ">=", 2),
]
