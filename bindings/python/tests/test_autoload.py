# SPDX-License-Identifier: Apache-2.0
"""`import torch` with this package there: it knows the backend, it takes no longer for it, and nothing here can break it."""
import os
import pathlib
import shutil
import subprocess
import sys

import pytest
import tributary_torch


def python(code, **environment):
    return subprocess.run([sys.executable, "-c", code], env={**os.environ, **environment}, capture_output=True, text=True, check=False)


KNOWN = "import torch, torch.distributed as dist; print('tributary' in dist.Backend.backend_list, dist.Backend.backend_capability)"


def test_known_after_import_torch():
    got = python(KNOWN)
    assert got.returncode == 0 and got.stderr == "" and got.stdout.startswith("True") and "'tributary': ['cpu']" in got.stdout


def test_switched_off():
    got = python(KNOWN, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert got.returncode == 0 and got.stdout.startswith("False")
    by_hand = python("import tributary_torch;" + KNOWN, TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert by_hand.returncode == 0 and by_hand.stdout.startswith("True")


def test_c_library_is_loaded_at_first_use():
    got = python("import torch; print('tributary' in open('/proc/self/maps').read().replace('tributary_torch', ''))",
                 TRIBUTARY_LIBRARY="/nowhere/lib.so")
    assert got.returncode == 0 and got.stdout == "False\n" and got.stderr == ""


@pytest.mark.parametrize("defect", ["def register():\n    raise RuntimeError('no such luck')\n", "import no_such_luck\n"])
def test_a_failure_is_a_warning(tmp_path, defect):
    """A copy of the package that fails when it registers: by itself, or by what it needs."""
    copy = shutil.copytree(pathlib.Path(tributary_torch.__file__).parent, tmp_path / "tributary_torch")
    text = (copy / "_autoload.py").read_text()
    if defect.startswith("import"):
        text = text.replace("    import torch.distributed as dist\n", "    " + defect)
    else:
        text += defect
    (copy / "_autoload.py").write_text(text)
    got = python("import torch; print(torch.ones(2).sum().item())", PYTHONPATH=str(tmp_path))
    assert got.returncode == 0 and got.stdout == "2.0\n"
    assert "backend \"tributary\" is not available" in got.stderr and "luck" in got.stderr


def test_a_failure_is_no_exception(tmp_path):
    """Also where warnings are errors."""
    copy = shutil.copytree(pathlib.Path(tributary_torch.__file__).parent, tmp_path / "tributary_torch")
    with open(copy / "_autoload.py", "a", encoding="utf-8") as file:
        file.write("def register():\n    raise RuntimeError('no such luck')\n")
    got = python("import warnings; warnings.simplefilter('error', UserWarning); import tributary_torch; print('goes on')",
                 PYTHONPATH=str(tmp_path), TORCH_DEVICE_BACKEND_AUTOLOAD="0")
    assert got.returncode == 0 and got.stdout == "goes on\n" and "no such luck" in got.stderr


def test_twice():
    got = python("import torch, tributary_torch; tributary_torch.register(); tributary_torch.register(); print(tributary_torch.version())")
    assert got.returncode == 0 and got.stdout == "0.1.0\n"


def test_no_library_names_what_was_tried():
    code = ("import torch.distributed as dist\n"
            "dist.init_process_group('tributary', init_method='tcp://127.0.0.1:0', rank=0, world_size=1)")
    got = python(code, TRIBUTARY_LIBRARY="/nowhere/lib.so")
    assert got.returncode != 0 and "libtributary is not there: /nowhere/lib.so" in got.stderr
