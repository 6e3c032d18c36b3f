#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""times.py COUNTS FILE...: where the time went: a line for each step, from what tools/steps.sh has written to COUNTS, and the twenty slowest
tests of all JUnit files of ctest and pytest."""
import os
import sys
import xml.etree.ElementTree as ElementTree

SLOWEST = 20


def cases(paths):
    """Seconds, the file that knows them, name."""
    for path in paths:
        try:
            root = ElementTree.parse(path).getroot()
        except (OSError, ElementTree.ParseError):
            continue
        for case in root.iter("testcase"):
            yield float(case.get("time") or 0), os.path.splitext(os.path.basename(path))[0], case.get("name")


def main(counts, paths):
    with open(counts, encoding="utf-8") as file:
        steps = [line.split() for line in file]
    print("seconds   CPU  step")
    for _, failed, name, seconds, cpu in sorted(steps, key=lambda step: -int(step[3])):
        print(f"{seconds:>7} {cpu:>5}  {name}{' (failed)' if failed != '0' else ''}")
    print(f"{'':>7} {sum(int(step[4]) for step in steps):>5}  all")
    print(f"\nThe {SLOWEST} slowest tests:")
    for seconds, step, name in sorted(cases(paths), reverse=True)[:SLOWEST]:
        print(f"{seconds:>7.1f}  {step}: {name}")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
