# SPDX-License-Identifier: Apache-2.0
"""Bounds of the rows that depend on the machine, for each kind of CPU that was measured (docs/PERF.md, "Where it stands").

A target says what is to be reached on whatever machine. A bound says what was reached on machines of this kind, with room for the
differences between runs: beyond it, something became worse.
"""
ROOM = 1.15

# As report.machine() names the kind: row -> the figure that was compared with the target, of two quiet cores.
SEEN = {
    "family 26, model 2": {  # AMD EPYC, Zen 5
        "cpu-all": 0.78, "cpu-workers": 0.53, "wall-mpi": 2.08, "host-100m": 4.9, "torch-64": 24.7, "nobox-64k": 1.14, "latency-4k": 0.54,
        "latency-4k-jumbo": 0.48, "cpu-star-8-9000": 0.74, "cpu-star-8-1500": 0.99, "cpu-star-4-1500": 1.23, "cpu-star-4-9000": 1.0,
        "cpu-gather-1500": 4.07, "cpu-gather-9000": 2.5, "cpu-scatter-1500": 3.63, "cpu-scatter-9000": 2.15, "cpu-nobox-1500": 2.4,
        "cpu-nobox-9000": 1.88, "cpu-ring-1500": 2.18, "cpu-ring-9000": 1.68, "trains": 0.14},
    "family 25, model 1": {  # AMD EPYC, Zen 3
        "cpu-all": 1.58, "cpu-workers": 1.05, "wall-mpi": 1.07, "host-100m": 3.2, "torch-64": 120, "nobox-64k": 0.97, "latency-4k": 0.75,
        "latency-4k-jumbo": 0.62, "cpu-star-8-9000": 0.93, "cpu-star-8-1500": 1.15, "cpu-star-4-1500": 1.79, "cpu-star-4-9000": 1.12,
        "cpu-gather-1500": 4.53, "cpu-gather-9000": 2.73, "cpu-scatter-1500": 3.28, "cpu-scatter-9000": 2.58, "cpu-nobox-1500": 2.16,
        "cpu-nobox-9000": 2.02, "cpu-ring-1500": 2.1, "cpu-ring-9000": 1.59, "trains": 0.2},
    "family 25, model 17": {  # AMD EPYC, Zen 4
        "cpu-all": 1.154, "cpu-workers": 0.789, "wall-mpi": 1.38, "nobox-64k": 1.03, "latency-4k": 1.46, "latency-4k-jumbo": 1.45,
        "cpu-star-4-1500": 1.542, "cpu-star-4-9000": 1.004, "cpu-gather-1500": 4.49, "cpu-gather-9000": 3.0, "cpu-scatter-1500": 3.37,
        "cpu-nobox-1500": 2.32, "cpu-nobox-9000": 2.02, "cpu-ring-1500": 2.33, "cpu-ring-9000": 1.68},
    "family 6, model 167": {  # Intel Xeon with AVX-512
        "cpu-all": 1.16, "cpu-workers": 0.85, "wall-mpi": 1.03, "nobox-64k": 2.4, "latency-4k": 2.1, "cpu-star-4-1500": 1.39,
        "cpu-star-4-9000": 1.03, "cpu-gather-9000": 1.88, "cpu-nobox-9000": 1.61, "cpu-ring-9000": 1.25, "trains": 0.31},
}


def bound(kind, row):
    """None where this kind of machine, or the row on it, was not measured."""
    seen = SEEN.get(kind, {}).get(row.name)
    if seen is None:
        return None
    return seen * ROOM if row.sense == "<=" else seen / ROOM
