# SPDX-License-Identifier: Apache-2.0
"""_capi.py against the headers: what the C compiler says of sizes, offsets and values, and the functions as they are declared."""
import ctypes
import os
import pathlib
import re
import subprocess
import sys

import pytest
from tributary_torch import _capi

TREE = pathlib.Path(os.environ.get("SOURCE_DIR", pathlib.Path(__file__).resolve().parents[3]))
HEADERS = sorted((TREE / "include/tributary").glob("*.h"))
STRUCTURES = {"trib_faults": _capi.Faults, "trib_config": _capi.Config, "trib_comm_stats": _capi.Stats, "trib_call": _capi.Call}
ENUMS = {
    "": {"TRIB_NAME_MAX": _capi.NAME_MAX, "TRIB_ERROR_TEXT_MAX": _capi.ERROR_TEXT_MAX, "TRIB_GROUP_MAX": _capi.GROUP_MAX,
         "TRIB_DEFAULT_PORT": _capi.DEFAULT_PORT},
    "STATUS": _capi.STATUS, "TYPE": _capi.TYPE, "REDUCTION": _capi.REDUCTION, "COLLECTIVE": _capi.COLLECTIVE, "WIRE_": _capi.WIRE,
}


def constants():
    """C's name and our value."""
    for kind, values in ENUMS.items():
        for name, value in values.items():
            yield (name if kind == "" else f"TRIB_{'WIRE_' if kind == 'WIRE_' else ''}{name}"), value


@pytest.fixture(scope="module")
def seen_by_c(tmp_path_factory):
    """{expression: value} of everything that is compared."""
    asked = [name for name, _ in constants()]
    asked += ["TRIB_TYPE_COUNT", "TRIB_REDUCTION_COUNT", "TRIB_COLLECTIVE_COUNT"]
    for struct, ours in STRUCTURES.items():
        asked.append(f"sizeof(struct {struct})")
        for name, _ in ours._fields_:
            asked += [f"offsetof(struct {struct}, {name})", f"sizeof(((struct {struct} *)0)->{name})"]
    folder = tmp_path_factory.mktemp("capi")
    lines = "".join(f'    printf("%lld\\n", (long long)({one}));\n' for one in asked)
    (folder / "ask.c").write_text(f"#include <stddef.h>\n#include <stdio.h>\n#include <tributary/tributary.h>\nint main(void)\n{{\n{lines}}}\n")
    subprocess.run(["cc", "-std=c11", f"-I{TREE / 'include'}", "-o", folder / "ask", folder / "ask.c"], check=True)
    answers = subprocess.run([folder / "ask"], check=True, capture_output=True, text=True).stdout.split()
    return dict(zip(asked, map(int, answers), strict=True))


def test_constants(seen_by_c):
    for name, value in constants():
        assert seen_by_c[name] == value, name
    assert seen_by_c["TRIB_TYPE_COUNT"] == len(_capi.TYPE) + 1
    assert seen_by_c["TRIB_REDUCTION_COUNT"] == len(_capi.REDUCTION) + 1
    assert seen_by_c["TRIB_COLLECTIVE_COUNT"] == len(_capi.COLLECTIVE) + 1
    text = (TREE / "include/tributary/status.h").read_text()
    assert set(re.findall(r"X\((OK|ERR_\w+),", text)) == set(_capi.STATUS)


@pytest.mark.parametrize("struct", STRUCTURES)
def test_structure(seen_by_c, struct):
    ours = STRUCTURES[struct]
    assert seen_by_c[f"sizeof(struct {struct})"] == ctypes.sizeof(ours)
    for name, _ in ours._fields_:
        field = getattr(ours, name)
        assert seen_by_c[f"offsetof(struct {struct}, {name})"] == field.offset, name
        assert seen_by_c[f"sizeof(((struct {struct} *)0)->{name})"] == field.size, name


def declarations():
    """name: (result, [parameters]) as the headers have them."""
    found = {}
    for header in HEADERS:
        code = re.sub(r"/\*.*?\*/", " ", header.read_text(), flags=re.S)
        code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", "", code, flags=re.M)
        for result, name, parameters in re.findall(r"([\w\s*]+?)\b(trib_\w+)\s*\(([^()]*)\)\s*;", code):
            parts = [] if parameters.strip() == "void" else [part.strip() for part in parameters.split(",")]
            found[name] = (result.replace("TRIB_MUST_USE", "").strip(), parts)
    return found


def matches(text, ours):
    """Whether a C type, perhaps with the parameter's name behind it, is the one that ctypes passes."""
    if "*" in text:
        return ours in (ctypes.c_void_p, ctypes.c_char_p) or isinstance(ours, type) and issubclass(ours, ctypes._Pointer)
    words = text.replace("const ", "").split()
    if words[0] == "enum":
        return ours is ctypes.c_int
    scalars = {"uint32_t": ctypes.c_uint32, "int32_t": ctypes.c_int32, "uint64_t": ctypes.c_uint64, "size_t": ctypes.c_size_t, "void": None}
    return scalars[words[0]] is ours


def test_functions():
    declared = declarations()
    assert set(declared) == set(_capi.FUNCTIONS)
    for name, (result, parameters) in declared.items():
        ours_result, ours_parameters = _capi.FUNCTIONS[name]
        assert matches(result, ours_result), name
        assert len(parameters) == len(ours_parameters), name
        for text, ours in zip(parameters, ours_parameters, strict=True):
            assert matches(text, ours), f"{name}: {text}"


def test_a_function_that_differs_is_noticed():
    assert not matches("uint32_t count", ctypes.c_uint64)
    assert not matches("const void *send", ctypes.c_int)


def test_library():
    lib = _capi.library()
    assert lib.trib_version() == b"0.1.0"
    assert lib.trib_status_text(-12) == b"the switch is gone"
    for name, value in _capi.TYPE.items():
        assert lib.trib_type_name(value).decode() == name.lower()


def test_config(monkeypatch):
    monkeypatch.setenv("TRIB_JOB", "some-job")
    monkeypatch.setenv("TRIB_TIMEOUT", "5s")
    config = _capi.config_from_environment()
    assert config.job == b"some-job" and config.timeout_ns == 5_000_000_000 and config.multicast and config.scheme == b"switchml"
    monkeypatch.setenv("WORLD_SIZE", "7")  # and no RANK: the process group says both
    monkeypatch.setenv("TRIB_RANKS", "9")
    config = _capi.config_from_environment(2, 4)
    assert (config.rank, config.ranks) == (2, 4)
    assert os.environ["TRIB_RANKS"] == "9" and "TRIB_RANK" not in os.environ
    monkeypatch.setenv("TRIB_TIMEOUT", "soon")
    with pytest.raises(ValueError, match="TRIB_TIMEOUT.*soon"):
        _capi.config_from_environment()


def test_library_of_another_version(tmp_path):
    (tmp_path / "old.c").write_text("const char *trib_version(void);\nconst char *trib_version(void)\n{\n    return \"0.0.9\";\n}\n")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "old.so", tmp_path / "old.c"], check=True)
    got = subprocess.run([sys.executable, "-c", "from tributary_torch import _capi; _capi.library()"], capture_output=True, text=True,
                         env={**os.environ, "TRIBUTARY_LIBRARY": str(tmp_path / "old.so")}, check=False)
    assert got.returncode != 0 and "old.so is of another version: it has no trib_status_name" in got.stderr


def test_no_library():
    code = "from tributary_torch import _capi; _capi.library()"
    got = subprocess.run([sys.executable, "-c", code], env={**os.environ, "TRIBUTARY_LIBRARY": "/nowhere/lib.so"}, capture_output=True,
                         text=True, check=False)
    assert got.returncode != 0 and "libtributary is not there: /nowhere/lib.so" in got.stderr
