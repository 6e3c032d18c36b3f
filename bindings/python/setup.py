# SPDX-License-Identifier: Apache-2.0
"""Builds the wheel py3-none-<platform>: the Python files, and libtributary built from the tree that this folder is in.

TRIBUTARY_BUILD_DIR names a CMake build folder whose library is taken instead of building one.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

HERE = pathlib.Path(__file__).resolve().parent
TREE = HERE.parent.parent
LIBRARY = "libtributary.so.0"
# The libraries of glibc, which each manylinux platform has.
ALLOWED = r"(libc|libm|libpthread|librt|libdl|ld-linux[-a-z0-9_]*)\.so\.[0-9]+"


def version():
    match = re.search(r"project\(tributary VERSION ([0-9.]+)", (TREE / "CMakeLists.txt").read_text())
    return match.group(1)


def build_library():
    """The path of the shared library, built if no build folder is named."""
    named = os.environ.get("TRIBUTARY_BUILD_DIR")
    if named:
        return pathlib.Path(named) / "lib" / LIBRARY
    folder = HERE / "build" / "cmake"
    subprocess.run(["cmake", "-S", TREE, "-B", folder, "--log-level=NOTICE", "-D", "CMAKE_BUILD_TYPE=Release", "-D", "TRIB_TESTS=OFF",
                    "-D", "TRIB_EXAMPLES=OFF", "-D", "TRIB_BENCH=OFF", "-D", "TRIB_HTTP=OFF", "-D", "TRIB_PLAN=OFF"], check=True)
    subprocess.run(["cmake", "--build", folder, "--target", "tributary_shared", "-j", str(os.cpu_count() or 1)], check=True)
    return folder / "lib" / LIBRARY


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        target = pathlib.Path(self.build_lib) / "tributary_torch"
        target.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(build_library(), target / LIBRARY)
        if shutil.which("strip"):
            subprocess.run(["strip", "--strip-unneeded", target / LIBRARY], check=True)


def oldest_glibc(library):
    """The minor version N of the oldest glibc 2.N that has all symbols which the library takes from it. None if that is not known, or if
    the library needs others besides glibc's."""
    if not shutil.which("readelf") or not library.is_file():
        return None
    said = subprocess.run(["readelf", "--wide", "--dynamic", "--version-info", library], check=True, capture_output=True, text=True,
                          env={**os.environ, "LC_ALL": "C"}).stdout
    needed = re.findall(r"\(NEEDED\).*\[(.+)\]", said)
    versions = [int(minor) for minor in re.findall(r"Name: GLIBC_2\.(\d+)", said)]
    if not versions or not all(re.fullmatch(ALLOWED, name) for name in needed):
        return None
    return max(versions)


class PlatformWheel(bdist_wheel):
    """Any Python 3, this platform: the library is reached by ctypes, and nothing is compiled against Python or torch. The tag names the
    oldest glibc with which the library works: manylinux_2_N; where that cannot be told, it is for machines like this one: linux."""

    def get_tag(self):
        platform = super().get_tag()[2]
        minor = oldest_glibc(pathlib.Path(self.get_finalized_command("build_py").build_lib) / "tributary_torch" / LIBRARY)
        if minor is not None and platform.startswith("linux_"):
            platform = f"manylinux_2_{minor}_{platform.removeprefix('linux_')}"
        return "py3", "none", platform


class WithLibrary(Distribution):
    """Not for every platform, though nothing is compiled by setuptools."""

    def has_ext_modules(self):
        return True


if not (TREE / "CMakeLists.txt").is_file():
    sys.exit("tributary-torch is built inside Tributary's tree: pip install ./bindings/python from there")
setup(version=version(), distclass=WithLibrary, cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel})
