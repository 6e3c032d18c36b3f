#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the rules of this tree that no compiler knows:  tools/check_tree.py [BUILD_FOLDER]

Sizes, layers, purity of the folders in PURE, words that must not appear, ports of scripts, exported symbols, files named in
documents.
With a build folder it also looks at the object files. Prints one line per violation; exits 1 if there is any.
"""
import glob
import importlib.util
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FILE_LINES, HEADER_LINES, FUNCTION_LINES, PARAMETERS = 800, 400, 70, 6

# What others may include of net: addresses and ports, no carrier.
NET = {"net/address.h", "net/identity.h", "net/resolve.h", "net/nics.h", "net/port.h"}
# What a folder of src may include, besides <tributary/...> and the system's headers. Of schemes drivers know the table
# alone: what one of them is, its row says.
LAYERS = {
    "core": {"core"},
    "protocol": {"core", "protocol"},
    "schemes": {"core", "protocol", "schemes"},
    "published": {"core", "protocol", "schemes", "published"},
    "io": {"core", "io"},
    "keys": {"core", "io", "keys"},
    "net": {"core", "io", "keys/auth.h", "net"},
    "host": {"core", "io", "host"},
    "fabric": {"core", "protocol/pieces.h", "io", "fabric"} | NET,
    "control": {"core", "protocol/combiner.h", "protocol/pieces.h", "schemes/schemes.h", "io", "keys", "fabric", "control"} | NET,
    "comm": {"core", "schemes/schemes.h", "io", "keys", "host", "control", "comm", "switchd/plane.h"} | NET,
    "switchd": {"core", "protocol/combiner.h", "protocol/combining.h", "schemes/schemes.h", "io", "keys", "fabric", "control", "switchd"} | NET,
    "report": {"report"},
    "sim": {"core", "protocol/combiner.h", "protocol/pieces.h", "schemes/schemes.h", "published/published.h", "io", "fabric", "report", "sim"},
    "plan": {"core", "protocol/pieces.h", "io", "fabric", "report", "sim", "plan"} | NET,
    "reproduce": {"core", "protocol/combiner.h", "schemes", "published", "io", "sim", "plan", "report", "demo", "reproduce"},
    "demo": {"core", "protocol/combiner.h", "schemes/schemes.h", "published", "demo"},
    "cli": {"core", "schemes/schemes.h", "published/published.h", "io", "keys", "fabric", "control", "comm", "switchd", "report", "sim", "plan", "reproduce",
            "demo", "cli", "net/socket.h"} | NET,  # doctor reads raw packets
}
# What a folder inside one of these may include of its own layer, by folders and files.
INNER = {
    "control": {
        "words": {"words"},
        "agents": {"words", "agents"},
    },
    "sim": {
        "network": {"network"},
        "traffic": {"network", "traffic"},
        "jobs": {"network", "traffic", "jobs"},
        "results": {"network", "traffic", "jobs", "run.h", "results"},
        "scenario": {"network", "traffic", "jobs", "run.h", "results", "scenario"},
        "sweep": {"scenario", "results", "sweep"},
    },
}
PURE = ("core", "protocol", "schemes", "published")
PURE_HEADERS = {"arm_acle.h", "arm_neon.h", "assert.h", "cpuid.h", "float.h", "immintrin.h", "limits.h", "stdalign.h", "stdarg.h", "stdbool.h", "stddef.h",
                "stdint.h", "stdnoreturn.h", "string.h", "sys/auxv.h", "xmmintrin.h"}
FORBIDDEN_CALLS = re.compile(
    r"\b(malloc|calloc|realloc|free|alloca|mmap|f?printf|v?snprintf|sprintf|puts|fopen|open|read|write|close|socket|"
    r"send|sendto|sendm?msg|recv|recvfrom|recvm?msg|bind|connect|poll|epoll_\w+|clock_gettime|gettimeofday|time|sleep|usleep|nanosleep|getenv|rand|"
    r"random|pthread_\w+|mtx_\w+|thrd_\w+|abort|exit|syslog)\s*\(")
# What decides in the control plane says, draws and tells the time through its driver (struct trib_jobs_output).
DECIDES = ("src/fabric/", "src/control/agents/", "src/control/jobs/", "src/control/roots/")
DRIVER_CALLS = re.compile(r"\b(trib_log|trib_draw|trib_draw_id|trib_clock_ns|clock_gettime|getenv)\s*\(")
# A port hides the carriers of its packets, also if a declaration is copied.
CARRIER_NAMES = re.compile(r"\btrib_udp_\w+")
PURE_UNDEFINED = re.compile(r"mem(cpy|set|move|cmp)|trib_\w+|__cpu_(model|indicator_init|features2)|_GLOBAL_OFFSET_TABLE_")
MARKERS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")

problems = []


def problem(path, line, text):
    problems.append(f"{path}:{line}: {text}" if line else f"{path}: {text}")


def tree_files():
    """Files that git tracks or would track; without git, all but build folders."""
    try:
        command = ["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"]
        names = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        names = [os.path.relpath(os.path.join(folder, name), ROOT) for folder, _, files in os.walk(ROOT)
                 for name in files if not os.path.relpath(folder, ROOT).startswith(("build", ".git"))]
    return sorted(name for name in set(names) if os.path.isfile(os.path.join(ROOT, name)))


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8", errors="replace") as file:
        return file.read()


def without_comments(text):
    """The same text with comments and the insides of literals blanked; line numbers stay."""
    def blank(match):
        token = match.group(0)
        if token.startswith(("/*", "//")):
            return re.sub(r"[^\n]", " ", token)
        return token[0] + " " * (len(token) - 2) + token[-1]
    return re.sub(r"/\*.*?\*/|//[^\n]*|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", blank, text, flags=re.S)


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def check_empty(path):
    """An empty file says nothing, but that a folder is a package, or as an input to be read."""
    if os.path.getsize(os.path.join(ROOT, path)) == 0 and not re.search(r"(^|/)__init__\.py$|^tests/fuzz/corpus/", path):
        problem(path, 0, "empty")


def check_text(path, text):
    lines = text.splitlines()
    if re.search(r"\.(c|h|py|sh)$", path):
        limit = HEADER_LINES if path.startswith("include/") else FILE_LINES
        if len(lines) > limit:
            problem(path, 0, f"{len(lines)} lines; the limit is {limit}")
    if re.search(r"(\.(c|h|py|sh|cmake|map|in)|/CMakeLists\.txt|^CMakeLists\.txt|^Makefile|\.ci/run|bench/run)$", path):
        if not path.endswith(".pc.in") and not any("SPDX-License-Identifier: Apache-2.0" in l for l in lines[:3]):
            problem(path, 1, "no SPDX line")
    if path not in ("CHANGELOG.md", "LICENSE") and not path.startswith("examples/data/"):
        for number, line in enumerate(lines, 1):
            if MARKERS.search(line):
                problem(path, number, "a marker for unfinished work")


def check_functions(path, text, code):
    """House style puts a function's braces alone in column 0, which makes functions easy to find.
    A comment on or above the head that says "8 parameters: WHY" permits them."""
    lines = text.splitlines()
    for match in re.finditer(r"^([A-Za-z_][^;{}#]*\([^;{}]*\))[^;{}()=]*\n\{\n(.*?)^\}", code, flags=re.M | re.S):
        head, body = match.group(1), match.group(2)
        name = re.search(r"(\w+)\s*\(", head)
        start = line_of(code, match.start(1))
        length = body.count("\n") + 2
        if length > FUNCTION_LINES:
            problem(path, start, f"{name.group(1)} has {length} lines; the limit is {FUNCTION_LINES}")
        count = parameter_count(head[name.end():])
        reason = rf"\b{count} parameters: \w"
        if count > PARAMETERS and not re.search(reason, "\n".join(lines[max(0, start - 3):start + 3])):
            problem(path, start, f"{name.group(1)} has {count} parameters; the limit is {PARAMETERS}")


def parameter_count(text):
    depth, commas = 1, 0
    for character in text:
        depth += {"(": 1, ")": -1}.get(character, 0)
        commas += character == "," and depth == 1
        if depth == 0:
            break
    return commas + 1


def check_layers(path, text):
    layer = path.split("/")[1]
    allowed = LAYERS.get(layer)
    if allowed is None:
        problem(path, 0, f"src/{layer} is in no layer (tools/check_tree.py, LAYERS)")
        return
    for match in re.finditer(r"^\s*#\s*include\s*([<\"])([^>\"]+)[>\"]", text, flags=re.M):
        kind, name = match.groups()
        if kind == '"' and name.split("/")[0] not in allowed and name not in allowed:
            problem(path, line_of(text, match.start()), f"{layer} may not include \"{name}\"")
        inner = INNER.get(layer, {}).get(path.split("/")[2])
        if kind == '"' and inner is not None and name.split("/")[0] == layer and name.split("/")[1] not in inner:
            problem(path, line_of(text, match.start()), f"{layer}/{path.split('/')[2]} may not include \"{name}\"")
        if kind == "<" and layer in PURE and not name.startswith("tributary/") and name not in PURE_HEADERS:
            problem(path, line_of(text, match.start()), f"{layer} may not include <{name}>")


def check_source(path, code):
    for match in re.finditer(r"\btypedef\b", code):
        problem(path, line_of(code, match.start()), "typedef")
    if path.startswith("src/") and path.split("/")[1] in PURE:
        for match in FORBIDDEN_CALLS.finditer(code):
            problem(path, line_of(code, match.start()), f"{match.group(1)}() in {path.split('/')[1]}")
    if not path.startswith("src/net/"):
        for match in CARRIER_NAMES.finditer(code):
            problem(path, line_of(code, match.start()), f"{match.group(0)} outside src/net: use trib_port_* (net/port.h)")
    if path.startswith(DECIDES):
        for match in DRIVER_CALLS.finditer(code):
            problem(path, line_of(code, match.start()), f"{match.group(1)}() in what decides; the driver has it (struct trib_jobs_output)")


def check_ports(path, text):
    """A script that shares the machine's network with others takes no port of its own choice (quiet_port of common.sh, or 0), but
    where nothing is bound."""
    own = re.compile(r"(--listen|--rendezvous|RENDEZVOUS=)[ '\"]*(127\.|0\.0\.|\[?::)[^ ]*:[1-5]?[0-9]{3,4}\b|\$\$ *%")
    for number, line in enumerate(text.splitlines(), 1):
        if own.search(line) and "--check-config" not in line:
            problem(path, number, "a port that the kernel did not give: quiet_port of tests/integration/common.sh has some")


def check_document(path, text):
    """A backticked path below one of our folders must exist; * may stand in it."""
    tops = tuple(name + "/" for name in os.listdir(ROOT) if os.path.isdir(os.path.join(ROOT, name))
                 and name != ".git" and not name.startswith("build"))
    for match in re.finditer(r"`([^`\n]+)`", text):
        name = re.split(r"[\s:#]", match.group(1))[0]
        if not name.startswith(tops) or re.search(r"[<>{}$\[\]]", name):
            continue
        if not glob.glob(os.path.join(ROOT, name)):
            problem(path, line_of(text, match.start()), f"names {name}, which does not exist")


def declared_functions():
    names = set()
    for path in glob.glob(os.path.join(ROOT, "include/tributary/*.h")):
        code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", without_comments(read(path)), flags=re.M)
        names |= set(re.findall(r"\b(trib_\w+)\s*\(", code))
    return names


def check_exports(build):
    declared = declared_functions()
    listed = set(re.findall(r"^\s+(trib_\w+);", read("cmake/libtributary.map"), flags=re.M))
    for name in sorted(declared ^ listed):
        problem("cmake/libtributary.map", 0, f"{name} is " + ("missing" if name in declared else "in no public header"))
    library = os.path.join(build, "lib/libtributary.so")
    output = subprocess.run(["nm", "-D", "--defined-only", library], capture_output=True, text=True, check=True).stdout
    exported = {line.split()[2].split("@")[0] for line in output.splitlines() if line.split()[1] != "A"}
    for name in sorted(declared ^ exported):
        problem("libtributary.so", 0, f"{name} is declared but not exported" if name in declared
                else f"{name} is exported but not declared")


def fields_of(struct):
    """Names of the fields of a struct of comm.h, in order."""
    code = without_comments(read("include/tributary/comm.h"))
    body = re.search(rf"struct {struct}\s*\{{(.*?)\n\}};", code, flags=re.S).group(1)
    names = []
    for declaration in body.split(";"):
        for part in re.sub(r"\[[^\]]*\]", "", declaration).split(","):
            names += re.findall(r"(\w+)\s*$", part.strip())
    return names


def check_mirror():
    """The C API by ctypes has the same functions and fields (its own test compares types, sizes and offsets as well)."""
    path = "bindings/python/tributary_torch/_capi.py"
    spec = importlib.util.spec_from_file_location("capi", os.path.join(ROOT, path))
    mirror = importlib.util.module_from_spec(spec)
    sys.dont_write_bytecode = True
    spec.loader.exec_module(mirror)
    for name in sorted(declared_functions() ^ set(mirror.FUNCTIONS)):
        problem(path, 0, f"{name} is missing here, or in the headers")
    for struct, ours in (("trib_faults", mirror.Faults), ("trib_config", mirror.Config), ("trib_comm_stats", mirror.Stats),
                         ("trib_call", mirror.Call)):
        declared, listed = fields_of(struct), [field[0] for field in ours._fields_]
        for place, name in enumerate(declared):
            if place >= len(listed) or listed[place] != name:
                problem(path, 0, f"struct {struct}: {name} is missing, or not in its place")
                break
        else:
            if len(listed) > len(declared):
                problem(path, 0, f"struct {struct}: {listed[len(declared)]} is not in comm.h")


def check_published(build):
    """libtributary and its headers hold no name of src/published: no function, no data, no scheme."""
    objects = glob.glob(os.path.join(build, "CMakeFiles/tributary_published.dir/src/published/**/*.o"), recursive=True)
    names = set()
    for path in objects:
        output = subprocess.run(["nm", "-g", "--defined-only", path], capture_output=True, text=True, check=True).stdout
        names |= {line.split()[2] for line in output.splitlines()}
    schemes = set()
    for path in tree_files():
        if path.startswith("src/published/") and path.endswith(".c"):
            schemes |= set(re.findall(r'\.name = "([\w-]+)"', read(path)))
    if not names or not schemes:
        problem(build, 0, "no object files, or no scheme, of src/published")
    for library in ("lib/libtributary.a", "lib/libtributary.so"):
        path = os.path.join(build, library)
        output = subprocess.run(["nm", path], capture_output=True, text=True, check=True).stdout
        for name in sorted(names & set(re.findall(r"\btrib_\w+", output))):
            problem(library, 0, f"has {name} of src/published")
        with open(path, "rb") as file:
            content = file.read()
        for name in sorted(name for name in schemes if name.encode() in content):
            problem(library, 0, f"names {name}, a scheme of src/published")
    for path in glob.glob(os.path.join(ROOT, "include/tributary/*.h")):
        for name in sorted(name for name in names | schemes if re.search(rf"\b{name}\b", read(path))):
            problem(os.path.relpath(path, ROOT), 0, f"names {name} of src/published")


def check_objects(build):
    """What is PURE calls nothing but such files and mem*, and has no writable data. All names begin with trib_."""
    everything = [path for target in ("objects", "published") for path in
                  glob.glob(os.path.join(build, f"CMakeFiles/tributary_{target}.dir/src/**/*.o"), recursive=True)]
    defined = set()
    for path in everything:
        output = subprocess.run(["nm", "-g", "--defined-only", path], capture_output=True, text=True, check=True).stdout
        names = {line.split()[2] for line in output.splitlines()}
        defined |= names
        for name in sorted(name for name in names if not name.startswith("trib_")):
            problem(path.split(".dir/")[1][:-2], 0, f"{name} is visible to users of the static library; begin it with trib_")
    objects = [path for path in everything if path.split(".dir/src/")[1].split("/")[0] in PURE]
    if not objects:
        problem(build, 0, "no object files of what is pure")
    for path in objects:
        source = path.split(".dir/")[1][:-2]
        if not os.path.exists(os.path.join(ROOT, source)):
            continue
        output = subprocess.run(["nm", "-u", path], capture_output=True, text=True, check=True).stdout
        for name in output.replace(" U ", " ").split():
            if name not in defined and not PURE_UNDEFINED.fullmatch(name):
                problem(source, 0, f"the object needs {name}")
        output = subprocess.run(["size", "-A", path], capture_output=True, text=True, check=True).stdout
        for name, size in re.findall(r"^(\.(?:data|bss|tdata|tbss)\S*)\s+(\d+)", output, flags=re.M):
            if int(size) > 0 and not name.startswith(".data.rel.ro"):
                problem(source, 0, f"{size} bytes of writable data in {name}")


def main():
    for path in tree_files():
        check_empty(path)
        if re.search(r"\.(png|gz|bin|idx|csv|html|svg)$|(^|/)(corpus|data)/", path):
            continue
        text = read(path)
        check_text(path, text)
        if path.endswith((".c", ".h")):
            code = without_comments(text)
            check_functions(path, text, code)
            if path.startswith(("src/", "include/")):
                check_source(path, code)
            if path.startswith("src/"):
                check_layers(path, text)
        if path.startswith("tests/integration/") and path.endswith(".user.sh"):
            check_ports(path, text)
        if path.endswith(".md"):
            check_document(path, text)
    check_mirror()
    if len(sys.argv) > 1:
        build = os.path.abspath(sys.argv[1])
        check_exports(build)
        check_objects(build)
        check_published(build)
    for text in problems:
        print(text)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
