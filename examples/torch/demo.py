#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`make demo-torch`: train_digits.py on four workers, each in a network namespace behind a link of 100 Mbit/s, twice: over a switch of this
tree (--no-switch: none), and over gloo. Shows what changes with that one word (time, bytes on every link) and what does not (the losses).

Runs in namespaces of its own, also for an ordinary user where Linux allows that. The network and the ranks are those of bench/
(star.py, training.py); tools/torch.sh install makes the Python.
"""
import argparse
import os
import pathlib
import signal
import statistics
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "bench"))
sys.dont_write_bytecode = True

import ours  # noqa: E402
import training  # noqa: E402
from processes import BenchError, kill_all, say  # noqa: E402
from rows import Contestant, Scenario  # noqa: E402
from star import Star, remove_left_over  # noqa: E402

WORKERS = 4
COMPARED = 5  # steps with and without communication
BAR = 40


def become_root():
    """Root in user, network and mount namespaces of our own, if we are not root."""
    if os.geteuid() == 0:
        return
    enter = ["unshare", "--user", "--map-root-user", "--net", "--mount", "sh", "-c", 'mount -t tmpfs none /run && exec "$0" "$@"']
    os.execvp(enter[0], enter + [sys.executable, str(HERE / "demo.py"), *sys.argv[1:]])


def run(options, backend):
    """(report of the training, bytes that a worker's link carried in the busier direction)."""
    contestant = Contestant(backend, "torch", backend=backend, no_box=options.no_switch)
    scenario = Scenario("demo", Star, WORKERS, 1500, training.CNN, 0, 0, 1, (contestant,), rate=options.rate, limit_s=300)
    say(f"{backend}: {WORKERS} workers, {options.rate} links, {options.epochs} epochs" + (", no switch" if options.no_switch else ""))
    with scenario.open() as network:
        report, wire = training.train(network, scenario, contestant, ["--epochs", str(options.epochs), "--compare", str(COMPARED)])
    report["moved"] = len(report["step_ms"]) + COMPARED
    report["wire"] = max(max(part["wire_out"], part["wire_in"]) for part in wire)
    return report


def epochs_of(report, epochs):
    length = len(report["losses"]) // epochs
    return [statistics.mean(report["losses"][start:start + length]) for start in range(0, length * epochs, length)]


def show(ours_report, theirs, options):
    steps = len(theirs["losses"])
    print(f"\n{theirs['parameters']:,} parameters, {steps} steps on {WORKERS} workers behind links of {options.rate}\n")
    print("loss        tributary      gloo")
    for epoch, (a, b) in enumerate(zip(epochs_of(ours_report, options.epochs), epochs_of(theirs, options.epochs), strict=True), 1):
        print(f"  epoch {epoch:<3} {a:10.4f} {b:10.4f}  {'#' * max(1, round(BAR * a / ours_report['losses'][0]))}")
    difference = max(abs(a - b) for a, b in zip(ours_report["losses"], theirs["losses"], strict=True))
    print(f"  largest difference at any step {difference:.6f} (the order of additions differs)\n")
    print("                                    tributary       gloo")
    for text, figure, unit in (
            ("test images right", lambda r: 100 * r["accuracy"], "%"),
            ("time of a step", lambda r: statistics.median(r["step_ms"]), "ms"),
            ("  without communication", lambda r: statistics.median(r["without_ms"]), "ms"),
            ("bytes on a worker's link per step", lambda r: r["wire"] / r["moved"] / 1e6, "MB")):
        print(f"{text:<34} {figure(ours_report):10.2f} {figure(theirs):10.2f} {unit}")
    print(f"\nOn every rank of a backend the same weights: {ours_report['hash']} and {theirs['hash']}.")
    return difference


def main():
    parser = argparse.ArgumentParser(description="Trains over a switch and over gloo, in namespaces with slow links.")
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--rate", default="100mbit", help="of every link [100mbit]")
    parser.add_argument("--no-switch", action="store_true", help="the workers sum themselves, each its part")
    options = parser.parse_args()
    become_root()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda came, _: sys.exit(128 + came))
    try:
        remove_left_over()
        ours.keep_program()
        difference = show(run(options, "tributary"), run(options, "gloo"), options)
    except BenchError as error:
        print(f"demo-torch: {error}", file=sys.stderr)
        return 1
    finally:
        kill_all()
        ours.forget_program()
    return 0 if difference < 0.05 else 1


if __name__ == "__main__":
    sys.exit(main())
