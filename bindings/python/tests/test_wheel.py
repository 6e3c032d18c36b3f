# SPDX-License-Identifier: Apache-2.0
"""The package as it is installed, and as a user builds it."""
import importlib.metadata
import os
import pathlib
import subprocess
import sys
import zipfile

import pytest

FOLDER = pathlib.Path(__file__).resolve().parents[1]


def test_installed():
    """What tools/torch.sh has installed: no dependency, the entry point, the library beside the Python files."""
    if os.environ.get("TRIBUTARY_LIBRARY"):
        pytest.skip("not installed: TRIBUTARY_LIBRARY is set")
    package = importlib.metadata.distribution("tributary-torch")
    assert [line for line in package.requires or [] if "extra ==" not in line] == []
    assert [(entry.name, entry.group) for entry in package.entry_points] == [("tributary", "torch.backends")]
    assert "Tag: py3-none-linux_" in package.read_text("WHEEL")
    import tributary_torch
    from tributary_torch import _capi
    assert os.path.samefile(_capi.library()._name, pathlib.Path(tributary_torch.__file__).parent / "libtributary.so.0")
    assert tributary_torch.version() == package.version


def test_built_by_a_user(tmp_path):
    """pip wheel, without torch's help and without a network: the library is compiled from the tree, and works."""
    environment = {name: value for name, value in os.environ.items() if name not in ("TRIBUTARY_BUILD_DIR", "TRIBUTARY_LIBRARY", "PYTHONPATH")}
    subprocess.run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--no-index", "-w", tmp_path, FOLDER],
                   check=True, env=environment)
    (wheel,) = tmp_path.glob("*.whl")
    assert wheel.name.startswith("tributary_torch-") and "-py3-none-linux_" in wheel.name
    zipfile.ZipFile(wheel).extractall(tmp_path / "unpacked")
    got = subprocess.run([sys.executable, "-c", "import tributary_torch; print(tributary_torch.__file__, tributary_torch.version())"],
                         env={**environment, "PYTHONPATH": str(tmp_path / "unpacked")}, capture_output=True, text=True, check=True)
    assert got.stdout.startswith(str(tmp_path / "unpacked")) and got.stdout.endswith(" 0.1.0\n")
