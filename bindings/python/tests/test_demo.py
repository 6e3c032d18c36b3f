# SPDX-License-Identifier: Apache-2.0
"""`make demo-torch`, shorter: over links of its own, with gloo beside it; with a switch, and without."""
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
from conftest import PATIENCE

TREE = pathlib.Path(__file__).resolve().parents[3]
DEMO = TREE / "examples/torch/demo.py"
ENTER = ["unshare", "--user", "--map-root-user", "--net", "--mount", "sh", "-c"]


def demo(*options):
    """{line: (ours, gloo's)}"""
    if not shutil.which("tc") or subprocess.run([*ENTER, "mount -t tmpfs none /run && ip netns add a"], capture_output=True, check=False).returncode:
        pytest.skip("no iproute2, or no namespaces for ordinary users here")
    # As an ordinary user would have it: root only in namespaces of its own.
    got = subprocess.run([*ENTER, f"mount -t tmpfs none /run && exec {sys.executable} {DEMO} --epochs 1 {' '.join(options)}"],
                         env={**os.environ, "TORCH_VENV": sys.prefix}, capture_output=True, text=True, timeout=300 * PATIENCE, check=False)
    assert got.returncode == 0, got.stdout + got.stderr
    figures = {name: (float(a), float(b)) for name, a, b in re.findall(r"^ *(\S.*?)  +([\d.]+) +([\d.]+) (?:ms|MB|%)$", got.stdout, flags=re.M)}
    assert min(figures["time of a step"]) > 0 and figures["test images right"][0] > 80, figures
    difference = float(re.search(r"largest difference at any step ([\d.]+)", got.stdout).group(1))
    assert difference < 1e-3, got.stdout
    return figures


def test_demo():
    ours, theirs = demo()["bytes on a worker's link per step"]
    assert 0.6 < ours < 0.8 * theirs  # the model's gradients are 0.61 MB, which gloo moves 1.5 times


def test_hosts_without_a_switch():
    """Nothing is said but torchrun's variables: the ranks see that they are on different hosts, and meet at rank 0's."""
    ours, theirs = demo("--no-switch")["bytes on a worker's link per step"]
    assert 1.4 * 0.6 < ours < 1.2 * theirs  # as on a ring


def test_another_trees_package_is_refused(monkeypatch, tmp_path):
    """Neither the demo nor the benchmark runs what was installed from another tree, or before a change."""
    monkeypatch.syspath_prepend(TREE / "bench")
    import processes
    import training
    for path in pathlib.Path(training.PACKAGE).glob("*.py"):
        shutil.copy(path, tmp_path)
    shutil.copy(training.LIBRARY, tmp_path)
    assert training.another_trees(tmp_path) is None
    (tmp_path / "hooks.py").write_text("")
    assert training.another_trees(tmp_path) == "hooks.py"
    (tmp_path / "libtributary.so.0").unlink()
    shutil.copy(pathlib.Path(training.PACKAGE) / "hooks.py", tmp_path)
    assert training.another_trees(tmp_path) == "libtributary.so.0"
    monkeypatch.setattr(training, "LIBRARY", str(tmp_path / "build/lib/libtributary.so.0"))  # a tree without a build
    (tmp_path / "libtributary.so.0").write_text("")
    assert training.another_trees(tmp_path) == "libtributary.so.0"
    monkeypatch.setattr(training, "PYTHON", sys.executable)
    monkeypatch.setattr(training, "run", lambda command: f"{tmp_path}/__init__.py\n")
    with pytest.raises(processes.BenchError, match="is not this tree's .libtributary.so.0.: `tools/torch.sh install`"):
        training.check_python()
