#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""failures.py FILE...: what the tests that failed have printed, by JUnit files of ctest and pytest; the end of each.

.ci/run prints it last, since thousands of lines lie between a failure and the end of its log.
"""
import sys
import xml.etree.ElementTree as ElementTree

LINES = 40


def has_failed(case):
    return case.get("status") == "fail" or case.find("failure") is not None or case.find("error") is not None


def texts(case):
    for part in case:
        if part.tag in ("failure", "error", "system-out", "system-err"):
            yield part.text or part.get("message") or ""


def main(paths):
    for path in paths:
        try:
            root = ElementTree.parse(path).getroot()
        except (OSError, ElementTree.ParseError) as error:
            print(f"{path}: {error}")
            continue
        for case in filter(has_failed, root.iter("testcase")):
            lines = "\n".join(texts(case)).splitlines()
            print(f"---- {case.get('name')} ({path}), the last of {len(lines)} lines")
            print("\n".join(lines[-LINES:]))


if __name__ == "__main__":
    main(sys.argv[1:])
