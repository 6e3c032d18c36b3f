# SPDX-License-Identifier: Apache-2.0
"""The table, and the same as JSON."""
import functools
import json
import os
import statistics
import time

import machines
import peers
from ours import ROOT, commit
from rows import FIGURES

EXCESS = 1.10  # of the bytes that lossless frames need: more than this is said beside the row
NEAR = 1e-3    # of a target: what the table's four digits may not show
COLUMNS = "{:<17} {:>10} {:>10} {:>5} {:>7} {:>8}  {:<8} {}"


def way_of(contestant):
    """How results came."""
    if contestant.level0:
        return "memory"
    return "no switch" if contestant.no_box else "multicast" if contestant.multicast else "unicast"


def read_text(path):
    """What a file says, or "unknown"."""
    try:
        with open(path, encoding="utf-8") as file:
            return file.read().strip()
    except OSError:
        return "unknown"


@functools.cache
def machine():
    """Rows that the CPU limits depend on its kind, and on what the kernel does against its weaknesses."""
    lines = (line.split(":", 1) for line in read_text("/proc/cpuinfo").splitlines() if ":" in line)
    cpu = {name.strip(): value.strip() for name, value in lines}  # of the last core
    kind = ", ".join(f"{key} {cpu[name]}" for key, name in (("family", "cpu family"), ("model", "model")) if name in cpu)
    return {"cpu": cpu.get("model name", "unknown"), "kind": kind, "cores": os.cpu_count(), "kernel": os.uname().release,
            "branches": read_text("/sys/devices/system/cpu/vulnerabilities/spectre_v2"), **peers.versions()}


def about_machine(about):
    m = about["machine"]
    return (f"machine: {m['cpu']}{m['kind'] and ' (' + m['kind'] + ')'}, {m['cores']} cores, load {about['load']}, Linux {m['kernel']}, "
            f"spectre_v2: {m['branches']}")


def judge(row, scenario, runs):
    """The entry of a row from all rounds of its scenario."""
    unit, figure = FIGURES[row.figure]
    ours = [figure(m) for m in runs[row.ours]]
    middle = statistics.median(ours)
    entry = {"ours": round(middle, 4), "peer": None, "unit": unit, "ratio": None, "rounds_ours": rounded(ours)}
    compared = middle
    if row.peer:
        theirs = [FIGURES[row.peer_figure or row.figure][1](m) for m in runs[row.peer]]
        entry["peer"] = round(statistics.median(theirs), 4)
        compared = middle / statistics.median(theirs)
        entry.update(ratio=round(compared, 4), rounds_peer=rounded(theirs))
    entry["met"] = compared >= row.target if row.sense == ">=" else compared <= row.target
    if not entry["met"]:
        entry["beyond"] = abs(compared - row.target)  # not rounded: nor is what the verdict compares
    entry["bound"] = machines.bound(machine()["kind"], row)
    if entry["bound"]:
        entry["worse"] = compared < entry["bound"] if row.sense == ">=" else compared > entry["bound"]
    entry["setup"] = setup(row, scenario)
    entry["medians"] = {name: medians(measurements) for name, measurements in runs.items()}
    return entry


def rounded(values):
    return [round(value, 4) for value in values]


def setup(row, scenario):
    mine = next(c for c in scenario.contestants if c.name == row.ours)
    return {"scenario": scenario.name, "network": scenario.network.__name__.lower(), "workers": scenario.workers,
            "rate": scenario.rate or None, "mtu": scenario.mtu, "payload": mine.payload, "wire": mine.wire,
            "results": way_of(mine), "level0": mine.level0, "size": scenario.size,
            "iterations": scenario.iterations, "rounds": scenario.rounds, "loss": mine.loss or None}


def medians(measurements):
    """Middle of every number over the rounds, element by element."""
    first = measurements[0]
    if isinstance(first, dict):
        return {key: medians([m[key] for m in measurements]) for key in first}
    if isinstance(first, list):
        return [medians(list(parts)) for parts in zip(*measurements)]
    if isinstance(first, (int, float)) and not isinstance(first, bool) and None not in measurements:
        return round(statistics.median(measurements), 4)
    return first


def entry_of(row, about, result):
    """result: what judge() gave, or {"reason": why there is none}."""
    nothing = {"ours": None, "peer": None, "unit": FIGURES[row.figure][0], "ratio": None, "met": None}
    return {"name": row.name, "what": row.what, "peer_name": row.peer or None, "target": row.target, "sense": row.sense,
            **nothing, **result, **about}


def about_run(quick):
    return {"commit": commit(), "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), "quick": quick,
            "load": round(os.getloadavg()[0], 2), "machine": machine()}


def head():
    return COLUMNS.format("row", "ours", "peer", "unit", "ratio", "target", "verdict", "what")


def line(entry):
    def number(value):
        return "-" if value is None else f"{value:.4g}"
    verdict = entry.get("reason") and ("not run" if entry.get("skipped") else "FAILED")
    if not verdict:
        verdict = "(quick)" if entry["quick"] else "met" if entry["met"] else "MISSED"
    text = COLUMNS.format(entry["name"], number(entry["ours"]), number(entry["peer"]), entry["unit"], number(entry["ratio"]),
                          f"{entry['sense']} {entry['target']:g}", verdict, entry["what"])
    return text + details(entry)


def details(entry):
    if entry.get("reason"):
        return f"\n    {entry['reason']}"
    s = entry["setup"]
    text = f" [MTU {s['mtu']}, payload {s['payload']}, {s['wire']}, {s['results']}]"
    excess = max(m.get("wire_over_needed", 1) for m in entry["medians"].values())
    if entry["met"] is False and entry["beyond"] < NEAR * entry["target"]:
        text += f" !! beyond the target by {entry['beyond']:.2g}"
    if entry.get("worse"):
        text += f" !! beyond the bound of this kind of machine, {entry['bound']:.3g}"
    return text + (f" !! up to {excess:.2f} times the needed bytes were on the wire" if excess > EXCESS else "")


def write(path, entries):
    """Entries replace those of the same name; what earlier runs have left of other rows stays, each with its commit and time."""
    kept = []
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            kept = json.load(file)
    names = {entry["name"] for entry in entries}
    kept = [entry for entry in kept if entry["name"] not in names]
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path + ".new", "w", encoding="utf-8") as file:
        json.dump(kept + entries, file, indent=1)
        file.write("\n")
    os.replace(path + ".new", path)
    return os.path.relpath(path, ROOT)
