# SPDX-License-Identifier: Apache-2.0
"""The package as it is installed, and as a user builds it."""
import importlib.metadata
import os
import pathlib
import re
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
    assert "Tag: py3-none-manylinux_2_" in package.read_text("WHEEL")
    assert "Apache License" in next(file for file in package.files if file.name == "LICENSE").read_text()
    import tributary_torch
    from tributary_torch import _capi
    assert os.path.samefile(_capi.library()._name, pathlib.Path(tributary_torch.__file__).parent / "libtributary.so.0")
    assert tributary_torch.version() == package.version


def test_built_by_a_user(wheel, tmp_path):
    """The library is compiled from the tree, and works; the wheel has no symbols for debuggers, a licence, and a tag that is true."""
    output, _ = wheel.process.communicate(timeout=600 * PATIENCE)
    assert wheel.process.returncode == 0, output
    (path,) = pathlib.Path(wheel.folder.name).glob("*.whl")
    (minor,) = re.findall(r"^tributary_torch-.*-py3-none-manylinux_2_(\d+)_\w+\.whl$", path.name)
    zipfile.ZipFile(path).extractall(tmp_path)
    library = (tmp_path / "tributary_torch/libtributary.so.0").read_bytes()
    assert max(int(found) for found in re.findall(rb"\0GLIBC_2\.(\d+)", library)) == int(minor)
    assert b".symtab" not in library and b".debug_info" not in library
    assert len(list(tmp_path.glob("*.dist-info/**/LICENSE"))) == 1
    got = subprocess.run([sys.executable, "-c", "import tributary_torch; print(tributary_torch.__file__, tributary_torch.version())"],
                         env={**wheel.environment, "PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True)
    assert got.stdout.startswith(str(tmp_path)) and got.stdout.endswith(" 0.1.0\n")
