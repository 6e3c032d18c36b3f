# SPDX-License-Identifier: Apache-2.0
"""What a measurement must satisfy to count: right values, and at least the bytes on the wire that the method needs.

All bounds are computed from tensor, payload and headers; nothing here knows how fast anything was.
"""
import math

from ours import collective_of
from processes import BenchError

HEADER = 64             # of a Tributary packet
FRAME = 14 + 20 + 8     # Ethernet, IPv4, UDP, as a shaper counts them
TRAIN = 64              # packets, at most
FEW = 20                # of an expected number of lost packets: less than this proves nothing


def expect(condition, text):
    if not condition:
        raise BenchError(text)


def at_least(what, value, bound):
    expect(value >= bound, f"{what}: {value:.0f}, but at least {bound:.0f} must have been on the wire")


def check(network, scenario, contestant, measurement):
    """Raises BenchError unless the measurement counts; else notes the bytes on the wire per byte of the tensor."""
    expect(measurement["wrong"] == 0, f"{measurement['wrong']} wrong elements")
    expect(measurement["size"] == scenario.size, "another size was measured")
    tensor = measurement["calls"] * scenario.size
    if contestant.level0:
        check_memory(contestant, measurement, tensor)
    elif contestant.runner == "torch" and contestant.backend == "gloo":
        check_ring(network, scenario, contestant, measurement, tensor)
    elif contestant.runner == "torch":
        check_ours_star(scenario, contestant, measurement, tensor)
        del measurement["wire_over_needed"]  # the weights that rank 0 gives to all at the start are no step's
    elif contestant.runner in ("many", "grouped"):
        check_ours_loop(scenario, contestant, measurement, tensor)
    elif contestant.runner == "ours":
        (check_ours_star if network.kind == "star" else check_ours_loop)(scenario, contestant, measurement, tensor)
        check_faults(scenario, contestant, measurement)
    else:
        check_ring(network, scenario, contestant, measurement, tensor)
    worst = {key: min(part[key] for part in measurement["wire"]) for key in ("nic_out", "nic_in")}
    measurement["wire_asserted"] = {f"{key}_per_byte": round(value / tensor, 4) for key, value in worst.items()}


def check_memory(contestant, measurement, tensor):
    """Nothing of the tensor was on the wire. Start-up of a peer may be."""
    if contestant.runner == "ours":
        expect(sum(measurement["ranks"]["bytes_sent"]) == 0, "packets were sent")
    moved = max(part["nic_out"] for part in measurement["wire"])
    expect(moved < max(tensor / 100, 1 << 20), f"{moved} bytes on the wire of what was to stay in memory")


def shares_of(scenario, contestant):
    """Parts of the tensor that a worker must send and receive: of shares, the own does not travel to its owner. Without a switch the
    workers sum themselves: on a ring, and each as the root of its part, the same."""
    collective, own = collective_of(scenario, contestant), 1 / scenario.workers
    if contestant.no_box:
        return {"allreduce": {"out": 2 - 2 * own, "in": 2 - 2 * own}}[collective]
    return {"allreduce": {"out": 1, "in": 1}, "allgather": {"out": own, "in": 1 - own},
            "reduce-scatter": {"out": 1 - own, "in": own}}[collective]


def check_ours_star(scenario, contestant, measurement, tensor):
    """Every worker sent and received in each call what it must, in frames with all their headers, and a frame for every fragment, if only
    with a header; what it sent or received beyond that (probes, resends, repeated results) is noted."""
    parts = shares_of(scenario, contestant)
    fragments = measurement["calls"] * math.ceil(scenario.size / contestant.payload) * max(1, parts["out"])
    needed = {way: tensor * part + fragments * (HEADER + FRAME) for way, part in parts.items()}
    # Whole trains are dealt to roots: of a tensor one may get a train less than its part, and then answers N - 2 times fewer others.
    spare = measurement["calls"] * TRAIN * (scenario.workers - 2) if contestant.no_box else 0
    for worker, part in enumerate(measurement["wire"]):
        for way in ("out", "in"):
            at_least(f"worker {worker}'s interface, {way}", part[f"nic_{way}"], tensor * parts[way] - spare * contestant.payload)
            at_least(f"worker {worker}'s frames, {way}", part[f"frames_{way}"], fragments - spare)
            at_least(f"worker {worker}'s bytes in frames, {way}", part[f"wire_{way}"],
                     needed[way] - spare * (contestant.payload + HEADER + FRAME))
    measurement["wire_per_byte"] = max(part[f"wire_{way}"] / tensor for part in measurement["wire"] for way in needed)
    if contestant.each > 1:
        measurement["payload_per_byte"] = payload_per_byte(scenario, contestant, measurement["ranks"])
    measurement["wire_over_needed"] = max(part[f"wire_{way}"] / needed[way] for part in measurement["wire"] for way in needed)


def payload_per_byte(scenario, contestant, ranks):
    """The largest of all hosts and directions: payload in packets that the host's ranks sent or received in the timed calls, of a byte of
    the tensor. A card counts the sessions' bytes as well; that it counted the tensor and its headers at least is checked above."""
    moved = scenario.size * scenario.iterations
    shares = []
    for first in range(0, len(ranks["wrong"]), contestant.each):
        for way in ("sent", "received"):
            host = slice(first, first + contestant.each)
            payload = sum(ranks[f"bytes_{way}"][host]) - HEADER * sum(ranks[f"packets_{way}"][host])
            at_least(f"payload that ranks {first} to {first + contestant.each - 1} {way}", payload, moved)
            shares.append(payload / moved)
    return max(shares)


def check_ours_loop(scenario, contestant, measurement, tensor):
    """One interface for all: every worker's contributions, and the result once (multicast) or once for each."""
    copies = scenario.workers + (1 if contestant.multicast else scenario.workers)
    at_least("loopback", measurement["wire"][0]["nic_out"], copies * tensor)


def check_ring(network, scenario, contestant, measurement, tensor):
    """No allreduce without a switch moves less than 2(N-1)/N of the tensor through each worker, no other of these less than (N-1)/N."""
    times = 2 if collective_of(scenario, contestant) == "allreduce" else 1
    least = tensor * times * (scenario.workers - 1) / scenario.workers
    for part in measurement["wire"]:
        for way in ("out", "in"):
            at_least(f"interface, {way}", part[f"nic_{way}"], least * (1 if network.kind == "star" else scenario.workers))


def check_faults(scenario, contestant, measurement):
    """Losses at every worker are counted there; losses at the switch show as contributions that were asked for again."""
    if not contestant.loss:
        expect(sum(measurement["ranks"]["injected_loss"]) == 0, "faults in a run without")
        return
    packets = scenario.iterations * scenario.size / contestant.payload
    expected = packets * float(contestant.loss.rstrip("%")) / 100
    if expected < FEW:
        return
    for key, where in (("injected_loss", "at worker"), ("resent", "at the switch, of worker")):
        for worker, count in enumerate(measurement["ranks"][key]):
            expect(count >= expected / 2, f"loss {where} {worker}: {count} packets, expected about {expected:.0f}")
