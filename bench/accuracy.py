#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a scheme or a number format costs a model in accuracy: the digits of examples/digits, trained with each and the same seeds.

  bench/accuracy.py                          float32, bfloat16 and int32 on the wire
  bench/accuracy.py SCHEME[,WIRE[,MS]] ...   others, against the first; MS: the last rank waits so long before each exchange
  bench/accuracy.py --ranks 8 panama panama:7/8 panama:7/8,float32,5       what a quorum costs
  bench/accuracy.py --seeds 10 --ranks 8 --json

Every run's ranks must end with the same weights. Differences are paired: per seed, in images of the test set. Of a quorum it says which part of
the sums lacked ranks, and which part of the last rank's gradients was left out. Not a benchmark of time.
Needs a build (BUILD_DIR, else build/). Reads: examples/digits/train.h.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile

BUILD = os.environ.get("BUILD_DIR", os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "build"))
TRIBUTARY, DIGITS = (os.path.join(BUILD, "bin", name) for name in ("tributary", "digits"))
DEFAULT = ["switchml,float32", "switchml,bfloat16", "switchml,int32"]
TEST_IMAGES = 297
LIMIT_S = 300


def train(setting, seed, options):
    """Accuracy, the hash of the weights, and what part of all sums, and of the last rank's gradients, was left out, of one training."""
    scheme, wire, late = (setting.split(",") + ["", ""])[:3]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TRIB_")}
    environment.update(TRIB_SCHEME=scheme, TRIB_WIRE=wire or "float32")
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report")
        command = [TRIBUTARY, "run", "-n", str(options.ranks), "--", DIGITS, "--seed", str(seed), "--epochs", str(options.epochs), "--late", late or "0",
                   "--report", report]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        if done.returncode != 0:
            sys.exit(f"{setting}, seed {seed}: exit status {done.returncode}: {(done.stderr or done.stdout).strip()}")
        kinds = {}
        for rank in range(options.ranks):
            with open(f"{report}.{rank}", encoding="utf-8") as file:
                for line in map(json.loads, file):
                    kinds.setdefault(line["kind"], []).append(line)
    hashes = {line["hash"] for line in kinds["end"]}
    if len(kinds["end"]) != options.ranks or len(hashes) != 1:
        sys.exit(f"{setting}, seed {seed}: ranks ended with different weights")
    return kinds["epoch"][-1]["accuracy"], hashes.pop(), kinds["end"][0]["results_lacking"] / sums(kinds["end"][0]), kinds["end"][-1]["late"] / sums(kinds["end"][-1])


def sums(end):
    return max(end["fragments"], 1)  # none in the memory of a host


def arguments():
    parser = argparse.ArgumentParser(prog="bench/accuracy.py", description="Accuracy of the digits by scheme and number format.")
    parser.add_argument("settings", metavar="SCHEME[,WIRE[,MS]]", nargs="*", default=DEFAULT, help="the first is what the others are compared with")
    parser.add_argument("--seeds", type=int, default=5, help="trainings of each [5]")
    parser.add_argument("--ranks", type=int, default=4, help="[4]")
    parser.add_argument("--epochs", type=int, default=20, help="[20]")
    parser.add_argument("--json", action="store_true", help="one JSON object")
    options = parser.parse_args()
    if min(options.seeds, options.ranks, options.epochs) < 1:
        parser.error("--seeds, --ranks and --epochs are 1 at least")
    return options


def summary(setting, results, reference):
    accuracies = [result[0] for result in results]
    images = [round((accuracy - other[0]) * TEST_IMAGES) for accuracy, other in zip(accuracies, reference)]
    return {"setting": setting, "mean": statistics.mean(accuracies), "least": min(accuracies), "most": max(accuracies),
            "images_by_seed": images, "images_mean": statistics.mean(images), "equal_weights": sum(a[1] == b[1] for a, b in zip(results, reference)),
            "lacking": statistics.mean(result[2] for result in results), "last_late": statistics.mean(result[3] for result in results)}


def main():
    options = arguments()
    results = [[] for _ in options.settings]
    for seed in range(1, options.seeds + 1):
        for setting, some in zip(options.settings, results):
            some.append(train(setting, seed, options))
            print(f"seed {seed} {setting}: {some[-1][0]:.4f}", file=sys.stderr, flush=True)
    rows = [summary(setting, some, results[0]) for setting, some in zip(options.settings, results)]
    if options.json:
        print(json.dumps({"seeds": options.seeds, "ranks": options.ranks, "epochs": options.epochs, "rows": rows}))
        return
    print(f"accuracy on {TEST_IMAGES} test images, {options.ranks} ranks, {options.epochs} epochs, {options.seeds} seeds; images: against {options.settings[0]}")
    for row in rows:
        by_seed = " ".join(f"{images:+d}" for images in row["images_by_seed"])
        quorum = f"  sums lacking ranks {row['lacking']:.1%}, the last rank {row['last_late']:.1%}" if ":" in row["setting"] else ""
        print(f"{row['setting']:<24} mean {row['mean']:.4f} ({row['least']:.4f} to {row['most']:.4f})  images {row['images_mean']:+.1f}  by seed {by_seed}{quorum}")


if __name__ == "__main__":
    main()
