#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that the tests would notice:  tests/canary/run.py [--first] [--only NAME,...] [--seconds N] [--build FOLDER] [--markdown FILE]
                                       tests/canary/run.py --check | --list

A canary is one defect put into a copy of src (the tables are canaries.py, drivers.py, combiners.py, tags.py, auths.py and authworlds.py). The worlds and the search of every state, built against that copy,
must each catch it by the check that the table names, within a minute. Where one of them cannot, by the nature of the defect, the table says
why, and a unit or property test must: so it is for all of src/host. The product's sources hold no trace of any of this.

--first asks one finder after another, until one has caught it: what CI has time for. Each must be caught; by whom else, the long form says.

--check only looks whether every defect still applies: its old text must occur exactly once, and what comes out must compile. That is a test
of its own, of a few seconds, so that who changes a line hears at once which canary to change with it.
Read next: canaries.py, drivers.py.
"""
import argparse
import concurrent.futures
import math
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from auths import AUTHS
from authworlds import AUTHWORLDS
from canaries import CANARIES as NODES, Canary, Never
from combiners import COMBINERS
from drivers import DRIVERS
from tags import TAGS

CANARIES = NODES + DRIVERS + COMBINERS + TAGS + AUTHS + AUTHWORLDS

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
COPIED = ("cmake/flags.cmake", "cmake/sources.cmake", "cmake/keys.cmake", "include", "src", "tests/world", "tests/model", "tests/unit", "tests/property",
          "tests/vectors")
WORLD_FIRST_SEEDS = 2000  # at once: from so many on, worlds notice paths that were never taken
SEARCH_SHARES = 6         # no scenario gets more than this part of the time
FIRST_SHARES = 3          # but the one that the table names, which gets so many
SEARCH_STATES = "1000000"  # nor more of each than this
TESTS_AT_ONCE = 2 * (os.cpu_count() or 1)  # most wait
HEADERS_ARE_FOR = "src/protocol/switch.c"  # --check compiles this where a canary changes a header alone
PATIENCE = 6              # by the clock, this many times the CPU time is waited for
ASIDE = concurrent.futures.ThreadPoolExecutor(TESTS_AT_ONCE)
CAUGHT = re.compile(r"caught by (\w+)|VIOLATED (\w+)")
SEED = re.compile(r"^seed (\d+)\b.*caught by", re.M)


class Finding:
    """What one finder made of one canary: the check that caught it, where, after how many CPU seconds; or why it was not asked."""

    def __init__(self, word="", where="", seconds=0.0, why="", output=""):
        self.word, self.where, self.seconds, self.others, self.why, self.output = word, where, seconds, [], why, output

    def is_caught(self, word, where):
        self.word, self.where = word, where
        return self

    def text(self):
        if self.why:
            return "(cannot)"
        if not self.word:
            others = f"; other checks: {', '.join(sorted(set(self.others)))}" if self.others else ""
            return f"NOT CAUGHT in {self.seconds:.0f} s{others}"
        return f"{self.word} {self.where} {self.seconds:.1f} s"


# ---- the copy ----

def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def applied(canary, root):
    """The files that the canary changes, as {path: text}. Raises ValueError when a text is not there exactly once."""
    texts = {}
    for path, old, new in canary.edits:
        text = texts.get(path) or read(os.path.join(root, path))
        count = text.count(old)
        if count != 1:
            raise ValueError(f"{canary.name}: this occurs {count} times in {path}, not once:\n{old}")
        texts[path] = text.replace(old, new)
    return texts


def names_below(paths):
    """Files of the tree, as paths relative to its top."""
    names = set()
    for path in paths:
        top = os.path.join(ROOT, path)
        found = [top] if os.path.isfile(top) else [os.path.join(folder, name) for folder, _, files in os.walk(top) for name in files]
        names |= {os.path.relpath(name, ROOT) for name in found if re.search(r"\.(c|h|cmake|txt)$", name)}
    return names


class Tree:
    """A copy of the tree, with a build folder in which only what a defect touches is compiled again."""

    def __init__(self, folder):
        self.root, self.build = os.path.join(folder, "tree"), os.path.join(folder, "build")
        self.log = os.path.join(folder, "build.log")
        names = names_below(COPIED)
        for folder_name, _, files in os.walk(self.root):
            for name in files:
                path = os.path.join(folder_name, name)
                if os.path.relpath(path, self.root) not in names | {"CMakeLists.txt"}:
                    os.remove(path)
        for name in names:
            self.restore(name)
        self.restore("tests/canary/CMakeLists.txt", "CMakeLists.txt")

    def restore(self, name, to=None):
        source, copy = os.path.join(ROOT, name), os.path.join(self.root, to or name)
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        with open(source, "rb") as file:
            wanted = file.read()
        if os.path.exists(copy):
            with open(copy, "rb") as file:
                if file.read() == wanted:
                    return
        with open(copy, "wb") as file:  # a new time, so that it is compiled again
            file.write(wanted)

    def configure(self):
        launcher = ["-D", "CMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        is_new = not os.path.exists(os.path.join(self.build, "CMakeCache.txt"))
        quick = ["-G", "Ninja"] if is_new and shutil.which("ninja") else []
        self.call(["cmake", *quick, "-S", self.root, "-B", self.build, "-D", "CMAKE_BUILD_TYPE=Checked", "-D", "CMAKE_C_FLAGS=-w", *launcher])

    def make(self, *targets):
        self.call(["cmake", "--build", self.build, "-j", "2", "--target", *targets])

    def call(self, command):
        with open(self.log, "w", encoding="utf-8") as log:
            if subprocess.run(command, stdout=log, stderr=subprocess.STDOUT, check=False).returncode != 0:
                raise RuntimeError(f"{' '.join(command)} failed:\n{read(self.log)[-3000:]}")

    def program(self, name):
        return os.path.join(self.build, "bin", name)


# ---- the finders ----

def run(command, seconds):
    """Output, status (None when the time was up), and CPU seconds: other work on the machine must not decide what is found in time. A test
    program ends at its first failure."""
    deadline = time.monotonic() + PATIENCE * seconds
    with tempfile.TemporaryFile() as output:
        limited = ["bash", "-c", 'ulimit -t "$0"; exec "$@"', str(math.ceil(seconds)), *command]
        process = subprocess.Popen(limited, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, "CMOCKA_TEST_ABORT": "1"})
        status, spent = None, seconds
        while time.monotonic() < deadline:
            pid, code, usage = os.wait4(process.pid, os.WNOHANG)
            if pid:
                status, spent = os.waitstatus_to_exitcode(code), usage.ru_utime + usage.ru_stime
                break
            time.sleep(0.02)
        else:
            process.kill()  # which may find it ended, and take its status
            if process.returncode is None:
                os.wait4(process.pid, 0)
        process.returncode = status if status is not None else -signal.SIGKILL  # it was waited for here
        output.seek(0)
        text = output.read().decode(errors="replace")
    return text, None if status in (-signal.SIGXCPU, -signal.SIGKILL) else status, spent


def word_in(output):
    """The check that caught it, in one word; "" when none is named."""
    found = CAUGHT.search(output)
    if found:
        return found.group(1) or found.group(2)
    if "were never taken" in output:
        return "path"
    return ""


def world_arguments(canary):
    """The published rules know no trees, and what is no matter of trees is found sooner without. Combiners are below a server."""
    levels = () if canary.scheme == "atp" else ("--depth", "0")
    return () if canary.scheme == "switchml" else ("--scheme", canary.scheme, *levels)


def ask_world(tree, canary, finding, seconds, *arguments):
    """Whether one world shows it by a wanted check."""
    output, _, spent = run([tree.program("world"), "--seed", *arguments], seconds - finding.seconds)
    finding.seconds += spent
    word = word_in(output)
    if word in canary.world:
        finding.is_caught(word, f"seed {arguments[0]}")
        return True
    finding.others += [word] if word else []
    return False


def ask_worlds_one_by_one(tree, canary, finding, seconds):
    """When the first check that found something was not the wanted one: other worlds will show that one."""
    seed = 1
    while finding.seconds < seconds and not ask_world(tree, canary, finding, seconds, str(seed), *world_arguments(canary)):
        seed += 1
    return finding


def ask_worlds(tree, canary, seconds):
    """Seed after seed; the one that the table names and those of old bugs come first."""
    finding, first, seeds = Finding(), 1, WORLD_FIRST_SEEDS
    if canary.seed and ask_world(tree, canary, finding, seconds, str(canary.seed), "--scheme", canary.scheme):
        return finding
    while finding.seconds < seconds:
        command = [tree.program("world"), "--first", str(first), "--seeds", str(seeds), *world_arguments(canary)]
        output, status, spent = run(command, seconds - finding.seconds)
        finding.seconds += spent
        word, seed = word_in(output), SEED.search(output)
        if word in canary.world:
            return finding.is_caught(word, f"seed {seed.group(1)}" if seed else f"{seeds} seeds")
        if word:
            finding.others.append(word)
            return ask_worlds_one_by_one(tree, canary, finding, seconds)
        if status is None:
            break
        if status != 0:
            raise RuntimeError(f"{canary.name}: world says nothing that is known:\n{output[-2000:]}")
        first, seeds = first + seeds, 1000000
    return finding


def ask_search(tree, canary, seconds):
    """Scenario after scenario, the one that the table names and the quick ones first. What breadth-first finds, it finds early: none gets
    all of the time, though what takes too long to end is known at the end of the search alone. A copy of each packet is tried at every step,
    which is sooner than what most defects do: only where it is wanted. A defect may treat ranks differently: numbers matter (--apart)."""
    model, finding = tree.program("model"), Finding()
    listed = [line.split() for line in run([model, "--list"], seconds)[0].splitlines()]
    listed.sort(key=lambda words: (words[0] != canary.first, words[-1] != "(quick)"))
    if canary.first and listed[0][0] != canary.first:
        raise RuntimeError(f"{canary.name}: the search has no scenario {canary.first}")
    for words in listed:
        scenario = words[0]
        share = min(seconds - finding.seconds, seconds / SEARCH_SHARES * (FIRST_SHARES if scenario == canary.first else 1))
        if share <= 0:
            break
        command = [model, "--apart", "--scenario", scenario, "--states", SEARCH_STATES, "--scheme", canary.scheme]
        output, status, spent = run(command + ([] if "repeat" in canary.search else ["--forgive", "repeat"]), share)
        finding.seconds += spent
        word = word_in(output)
        if word in canary.search:
            return finding.is_caught(word, scenario)
        if status not in (0, None) and not word:
            raise RuntimeError(f"{canary.name}: model says nothing that is known:\n{output[-2000:]}")
        finding.others += [word] if word else []
    return finding


def ask_built(program, canary, seconds):
    output, status, spent = run([program], seconds)
    return Finding("failed" if status not in (0, None) else "", canary.test, spent, output=output)


def ask_test(tree, canary, seconds):
    name = canary.test.split("/")[1]
    tree.make(name)
    return ask_built(tree.program(name), canary, seconds)


def ask_test_aside(tree, canary, seconds):
    """The same of a copy of the program, which is asked while others are built: its Finding, later."""
    name = canary.test.split("/")[1]
    tree.make(name)
    program = tree.program(f"{canary.name}-{name}")
    shutil.copy(tree.program(name), program)

    def asked():
        try:
            return ask_built(program, canary, seconds)
        finally:
            os.remove(program)
    return ASIDE.submit(asked)


# ---- a canary ----

class Result:
    def __init__(self, canary):
        self.canary, self.findings, self.problem, self.aside = canary, {}, "", None

    def settled(self):
        """Itself, after the test that is asked aside has ended."""
        if self.aside:
            self.findings["test"] = self.aside.result()
        print(f"{self.canary.name}: " + "; ".join(f"{name} {f.text()}" for name, f in sorted(self.findings.items())) + self.problem, flush=True)
        return self

    def is_caught(self):
        return not self.problem and any(f.word for f in self.findings.values()) and all(f.word or f.why for f in self.findings.values())


def hear(tree, canary, seconds, ask_finders):
    """Applies the canary, asks who is to find it, and leaves the tree as it was."""
    result = Result(canary)
    texts = applied(canary, ROOT)
    try:
        for path, text in texts.items():
            write(os.path.join(tree.root, path), text)
        ask_finders(tree, result, seconds)
    except RuntimeError as error:
        result.problem = str(error)
    finally:
        for path in texts:
            tree.restore(path)
    return result


def finders(canary):
    """Name, program, what it may say, how it is asked."""
    return (("world", "world", canary.world, ask_worlds), ("search", "model", canary.search, ask_search))


def hear_all(options, chosen, ask_finders):
    """As many canaries at once as there are cores, each in a copy of its own. Their results, in the order of the table."""
    if shutil.which("ccache"):  # which finds what another copy has compiled
        os.environ.update(CCACHE_BASEDIR=os.path.abspath(options.build), CCACHE_NOHASHDIR="1")
    trees = queue.SimpleQueue()
    first = Tree(os.path.join(options.build, "0"))
    first.configure()
    control(first, chosen)
    for number in range(1, min(os.cpu_count() or 1, len(chosen))):
        tree = Tree(os.path.join(options.build, str(number)))
        tree.configure()
        trees.put(tree)
    trees.put(first)

    def heard(canary):
        tree = trees.get()
        try:
            return hear(tree, canary, options.seconds, ask_finders)
        finally:
            trees.put(tree)
    with concurrent.futures.ThreadPoolExecutor(trees.qsize()) as pool:
        results = [later.result().settled() for later in [pool.submit(heard, canary) for canary in chosen]]
    return results


def ask_all(tree, result, seconds):
    """Worlds and search at once, then the test."""
    canary = result.canary
    asked = [program for _, program, wanted, _ in finders(canary) if not isinstance(wanted, Never)]
    if asked:
        tree.make(*asked)
    threads = []
    for name, _, wanted, ask in finders(canary):
        if isinstance(wanted, Never):
            result.findings[name] = Finding(why=wanted.why)
        else:
            threads.append(threading.Thread(target=listen, args=(result, name, ask, tree, seconds)))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if canary.test:
        result.findings["test"] = ask_test(tree, canary, seconds)


def ask_first(tree, result, seconds):
    """One after another, each built when it is asked, until one has caught it: the test, where the table names one, is soonest. Of a header's
    defect the search is asked before the worlds, for which most of the library would be compiled."""
    canary = result.canary
    if canary.test:
        result.aside = ask_test_aside(tree, canary, seconds)
        return
    asked = [finder for finder in finders(canary) if not isinstance(finder[2], Never)]
    if any(path.endswith(".h") for path, _, _ in canary.edits):
        asked.reverse()
    for name, program, _, ask in asked:
        tree.make(program)
        finding = ask(tree, canary, seconds)
        if finding.word or name == asked[-1][0]:
            result.findings[name] = finding
            return


def listen(result, name, ask, tree, seconds):
    try:
        result.findings[name] = ask(tree, result.canary, seconds)
    except RuntimeError as error:
        result.problem = str(error)


def control(tree, canaries):
    """Without a defect nothing may be caught, or the table would prove nothing."""
    tree.make("world", "model")
    for command in ([tree.program("world"), "--seeds", "200"], [tree.program("model"), "--quick", "--states", "100000"]):
        output, status, _ = run(command, 300)
        if status != 0:
            raise RuntimeError(f"without any defect, {' '.join(command)} fails:\n{output[-2000:]}")
    tests = {canary.test: canary for canary in canaries if canary.test}
    if tests:
        tree.make(*(test.split("/")[1] for test in tests))
    asked = [ask_test_aside(tree, canary, 60) for canary in tests.values()]
    for finding in [later.result() for later in asked]:
        if finding.word:
            raise RuntimeError(f"without any defect, {finding.where} fails:\n{finding.output[-2000:]}")


# ---- what is printed ----

def print_table(results):
    width = max(len(r.canary.name) for r in results)
    print(f"\n{'canary':{width}}  inv  {'worlds':28}  {'search':28}  test")
    for r in results:
        columns = [r.findings[name].text() if name in r.findings else "" for name in ("world", "search", "test")]
        verdict = "" if r.is_caught() else "   <- MISSED"
        print(f"{r.canary.name:{width}}  {r.canary.invariant:3}  {columns[0]:28}  {columns[1]:28}  {columns[2]}{verdict}".rstrip())
    for why in sorted({f.why for r in results for f in r.findings.values() if f.why}):
        unseen = [f"{r.canary.name} ({name})" for r in results for name, f in r.findings.items() if f.why == why]
        print(f"cannot, since {why}: {', '.join(unseen)}")
    for r in results:
        if r.problem:
            print(f"{r.canary.name}: {r.problem}")


def in_markdown(results):
    """For docs/TESTING.md."""
    lines = ["| canary | breaks | the defect | worlds | search | unit test |", "|---|---|---|---|---|---|"]
    for r in results:
        cells = []
        for name in ("world", "search", "test"):
            f = r.findings.get(name, Finding())
            cells.append(f"never: {f.why}" if f.why else f"`{f.word}`, {f.where}, {f.seconds:.1f} s" if f.word and name != "test"
                         else f"`{f.where}`" if f.word else "**missed**" if name in r.findings else "")
        lines.append(f"| `{r.canary.name}` | {r.canary.invariant} | {r.canary.about} | {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def complaint(canary, texts, root):
    """Of the compiler about the canary in a copy of src, of which nothing is built; "" if there is none. A header is looked at with the
    files that the canary changes, and with who includes most of src/core."""
    for path, text in texts.items():
        write(os.path.join(root, path), text)
    units = {path for path in texts if path.endswith(".c")} or {HEADERS_ARE_FOR}
    command = ["cc", "-std=c11", "-fsyntax-only", "-Werror=implicit", "-D_GNU_SOURCE=", '-DTRIB_VERSION=""', f"-I{ROOT}/include", f"-I{root}/src"]
    got = subprocess.run([*command, *(os.path.join(root, unit) for unit in sorted(units))], capture_output=True, text=True, check=False)
    for path in texts:
        shutil.copy(os.path.join(ROOT, path), os.path.join(root, path))
    return got.stderr if got.returncode != 0 else ""


def check_table():
    """Prints what does not hold of the table itself; returns how many."""
    problems = []
    names = [canary.name for canary in CANARIES]
    problems += [f"{name} is there twice" for name in sorted(set(names)) if names.count(name) > 1]
    wanted = {f"I{i}" for i in range(1, 13)} | {f"C-{i}" for i in range(1, 23)}
    missing = wanted - {canary.invariant for canary in CANARIES}
    problems += [f"no canary of {invariant}" for invariant in sorted(missing)]
    with tempfile.TemporaryDirectory() as copy:
        shutil.copytree(os.path.join(ROOT, "src"), os.path.join(copy, "src"))
        for canary in CANARIES:
            try:
                said = complaint(canary, applied(canary, ROOT), copy)
                text = f"{canary.name}: {said}" if said else ""
            except (ValueError, OSError) as error:
                text = str(error)
            if text:
                problems.append(f"{text}\n(change the canary with the code: tests/canary/canaries.py, drivers.py, combiners.py, tags.py, auths.py)")
    for canary in CANARIES:
        if not canary.test and (isinstance(canary.world, Never) or isinstance(canary.search, Never)):
            problems.append(f"{canary.name}: a finder cannot catch it, so the table must name a test that does")
        if canary.test and not os.path.exists(os.path.join(ROOT, "tests", canary.test + ".c")):
            problems.append(f"{canary.name}: there is no test {canary.test}")
    for text in problems:
        print(text)
    print(f"{len(CANARIES)} canaries, {len(problems)} problems")
    return len(problems)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", help="these canaries, by name, separated by commas")
    parser.add_argument("--first", action="store_true", help="ask no finder more about a canary that one has caught")
    parser.add_argument("--seconds", type=float, default=60, help="CPU time of each finder for each canary [60]")
    parser.add_argument("--build", default=os.path.join(ROOT, "build-canary"), help="folder for the copies [build-canary]")
    parser.add_argument("--markdown", help="write the table of docs/TESTING.md to this file")
    parser.add_argument("--check", action="store_true", help="only look whether every defect still applies, and compiles")
    parser.add_argument("--list", action="store_true", help="names and what they are about")
    return parser.parse_args()


def main():
    options = arguments()
    if options.check:
        return 1 if check_table() else 0
    if options.list:
        for canary in CANARIES:
            print(f"{canary.name:24} {canary.invariant:3} {canary.about}")
        return 0
    wanted = options.only.split(",") if options.only else [canary.name for canary in CANARIES]
    unknown = set(wanted) - {canary.name for canary in CANARIES}
    if unknown:
        print(f"no canary is called {', '.join(sorted(unknown))}; --list names them", file=sys.stderr)
        return 2
    chosen = [canary for canary in CANARIES if canary.name in wanted]
    try:
        results = hear_all(options, chosen, ask_first if options.first else ask_all)
    except (RuntimeError, ValueError) as error:
        print(error)
        return 1
    print_table(results)
    if options.markdown:
        write(options.markdown, in_markdown(results))
    caught = sum(result.is_caught() for result in results)
    print(f"{caught} caught, {len(results) - caught} missed")
    return 0 if caught == len(results) else 1


if __name__ == "__main__":
    sys.exit(main())
