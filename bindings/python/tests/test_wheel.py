# SPDX-License-Identifier: Apache-2.0
"""The package as it is installed, and as a user builds it."""
import importlib.metadata
import os
import pathlib
import subprocess
import sys
import zipfile

import pytest
from conftest import PATIENCE


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


def test_built_by_a_user(wheel, tmp_path):
    """The library is compiled from the tree, and works."""
    output, _ = wheel.process.communicate(timeout=600 * PATIENCE)
    assert wheel.process.returncode == 0, output
    (path,) = pathlib.Path(wheel.folder.name).glob("*.whl")
    assert path.name.startswith("tributary_torch-") and "-py3-none-linux_" in path.name
    zipfile.ZipFile(path).extractall(tmp_path)
    got = subprocess.run([sys.executable, "-c", "import tributary_torch; print(tributary_torch.__file__, tributary_torch.version())"],
                         env={**wheel.environment, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True)
    assert got.stdout.startswith(str(tmp_path)) and got.stdout.endswith(" 0.1.0\n")
