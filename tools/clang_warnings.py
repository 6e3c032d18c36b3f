#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""clang_warnings.py BUILD_FOLDER: clang's warnings about every file that a build with gcc compiles, as errors, without code. Prints them;
exits 1 if there are any. Of src and examples clang-tidy says the same (`make lint`)."""
import concurrent.futures
import json
import os
import shlex
import subprocess
import sys

NOT_CLANGS = {"-Wduplicated-cond"}
TIDYS = ("src/", "examples/")
FALSE_ALARMS = ["-Wno-string-conversion", "-Wno-unused-command-line-argument"]  # as cmake/flags.cmake


def complaint(entry):
    """Of clang about one file; "" if there is none."""
    arguments = shlex.split(entry["command"])
    while os.path.basename(arguments[0]) == "ccache" or "=" in arguments[0]:
        arguments.pop(0)
    output = arguments.index("-o")
    kept = [argument for i, argument in enumerate(arguments[1:], 1) if i not in (output, output + 1) and argument not in NOT_CLANGS | {"-c"}]
    got = subprocess.run(["clang", *kept, *FALSE_ALARMS, "-Werror", "-fsyntax-only"], cwd=entry["directory"], capture_output=True, text=True,
                         check=False)
    return got.stderr if got.returncode != 0 else ""


def main(build):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = {entry["file"]: entry for entry in json.load(file) if not os.path.relpath(entry["file"]).startswith(TIDYS)}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        complaints = [text for text in pool.map(complaint, entries.values()) if text]
    for text in complaints:
        print(text)
    print(f"{len(entries)} files, of which clang complains about {len(complaints)}")
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
