#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""No files of src may need each other in a circle:  tools/check_calls.py BUILD_FOLDER

An arrow goes from a file to each file whose functions or data it names, as the object files say; calls by pointer are none. Files from
which arrows lead back to themselves must be read, changed and tested together. Prints for each folder of src how many files and arrows it
has, and the files of each circle. Exits 1 if there is a circle.
The same for includes, where a file and the header of its name are one: a header that all files of a folder include is of data alone,
and the functions of each file are in the header of its own name.
Exits 1 too if no other file, test or header of include/ names a function: then it is static; or if the deciding part of the control plane calls the system (C-20): it has its output queue for that, and is told the time.
"""
import collections
import glob
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# C-20: messages and time in, messages out. These files may call nothing else, nor may addresses, which they hold.
PURE = re.compile(r"control/(jobs|agents|roots)/|net/address\.c")
PURE_MAY_NAME = re.compile(r"(inet_(ntop|pton)|mem|str|v?snprintf|calloc|realloc|free|bcmp|__\w+_chk|__stack_chk|_GLOBAL_OFFSET_TABLE_)")
PURE_MAY_CALL = re.compile(r"control/((jobs|agents|roots)/|words/(fields|items|words)\.c|server/shards\.c)"
                           r"|core/|fabric/|schemes/|net/(address|scope)\.c|io/(assert|explain|units)\.c|keys/sender\.c")


def symbols(path):
    """Names that an object file defines, and those that it needs."""
    defined, needed = set(), set()
    for line in subprocess.run(["nm", "-g", path], capture_output=True, text=True, check=True).stdout.splitlines():
        words = line.split()
        (needed if words[-2] in "Uw" else defined).add(words[-1])
    return defined, needed


def arrows_of(build):
    """{file: files that it names something of}, as "control/jobs/join.c", and {file: names that no file of src has}."""
    defined_in, needs = {}, {}
    for path in glob.glob(os.path.join(build, "CMakeFiles/*.dir/src/**/*.c.o"), recursive=True):
        name = path.split(".dir/src/")[1][:-2]
        if os.path.exists(os.path.join(ROOT, "src", name)):  # not what an older tree has left
            defined, needs[name] = symbols(path)
            defined_in.update(dict.fromkeys(defined, name))
    arrows = {name: {defined_in[symbol] for symbol in needed if symbol in defined_in} - {name} for name, needed in needs.items()}
    return arrows, {name: needed - set(defined_in) for name, needed in needs.items()}


def includes():
    """{name without .c or .h: names that either of the two includes}."""
    arrows = collections.defaultdict(set)
    for path in glob.glob(os.path.join(ROOT, "src/**/*.[ch]"), recursive=True):
        name = os.path.relpath(path, os.path.join(ROOT, "src"))[:-2]
        with open(path, encoding="utf-8") as file:
            arrows[name] |= set(re.findall(r'^#include "([^"]+)\.h"', file.read(), flags=re.M)) - {name}
    return {name: others & set(arrows) for name, others in arrows.items()}


def impure(arrows, outside):
    """What a file of the deciding part of the control plane must not call, as lines."""
    lines = []
    for name in sorted(filter(PURE.match, arrows)):
        called = {symbol for symbol in outside[name] if not PURE_MAY_NAME.match(symbol)}
        called |= {other for other in arrows[name] if not PURE_MAY_CALL.match(other)}
        lines += [f"{name} calls {other} (C-20): let its driver do that (struct trib_jobs_output)" for other in sorted(called)]
    return lines


def lonely(build):
    """Functions that only their own file names. None if the tests, which may be the others, were not built."""
    defined_in, needed = {}, set()
    paths = glob.glob(os.path.join(build, "CMakeFiles/**/*.o"), recursive=True)
    if not any(".dir/tests/unit/" in path for path in paths):
        return []
    for line in subprocess.run(["nm", "-gA", *paths], capture_output=True, text=True, check=True).stdout.splitlines():
        path, words = line.split(":")[0], line.split()
        name = path.split(".dir/src/")[-1][:-2]
        if words[-2] in "Uw":
            needed.add(words[-1])
        elif words[-2] == "T" and ".dir/src/" in path and os.path.exists(os.path.join(ROOT, "src", name)):
            defined_in[words[-1]] = name
    headers = "".join(open(path, encoding="utf-8").read() for path in glob.glob(os.path.join(ROOT, "include/tributary/*.h")))
    public = set(re.findall(r"\w+", headers)) | {"main"}
    return [f"{name}: make {symbol} static" for symbol, name in sorted(defined_in.items()) if symbol not in needed | public]


def circles_in(arrows):
    """Strongly connected files, more than one of them (Tarjan, SIAM J. Comput. 1(2), 1972)."""
    number, low, stack, found = {}, {}, [], []

    def visit(name):
        number[name] = low[name] = len(number)
        stack.append(name)
        for other in sorted(arrows[name]):
            if other not in number:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == number[name]:
            found.append(stack[stack.index(name):])
            del stack[stack.index(name):]
    for name in sorted(arrows):
        if name not in number:
            visit(name)
    return sorted((sorted(circle) for circle in found if len(circle) > 1), key=len, reverse=True)


def judge(kind, arrows):
    """Prints the numbers of each folder, and all circles; 1 if there is one."""
    for folder in sorted({name.split("/")[0] for name in arrows}):
        inside = [name for name in arrows if name.split("/")[0] == folder]
        count = sum(len([other for other in arrows[name] if other in inside]) for name in inside)
        print(f"{folder}, {kind}: {len(inside)} files, {count} arrows between them")
    circles = circles_in(arrows)
    for circle in circles:
        print(f"a circle of {kind}, take an arrow out: {' '.join(circle)}")
    return 1 if circles else 0


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    arrows, outside = arrows_of(sys.argv[1])
    if not arrows:
        print(f"{sys.argv[1]}: no object files of src")
        return 1
    lines = impure(arrows, outside) + lonely(sys.argv[1])
    bad = 1 if lines else 0
    print(*lines, sep="\n", end="\n" if lines else "")
    bad |= judge("calls", arrows)
    bad |= judge("includes", includes())
    return bad


if __name__ == "__main__":
    sys.exit(main())
