# SPDX-License-Identifier: Apache-2.0
"""`make demo-torch`, shorter: over links of its own, with gloo beside it."""
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

DEMO = pathlib.Path(__file__).resolve().parents[3] / "examples/torch/demo.py"
ENTER = ["unshare", "--user", "--map-root-user", "--net", "--mount", "sh", "-c"]


def test_demo():
    if not shutil.which("tc") or subprocess.run([*ENTER, "mount -t tmpfs none /run && ip netns add a"], capture_output=True, check=False).returncode:
        pytest.skip("no iproute2, or no namespaces for ordinary users here")
    # As an ordinary user would have it: root only in namespaces of its own.
    got = subprocess.run([*ENTER, f"mount -t tmpfs none /run && exec {sys.executable} {DEMO} --epochs 1"], capture_output=True, text=True,
                         timeout=200, check=False)
    assert got.returncode == 0, got.stdout + got.stderr
    figures = {name: (float(a), float(b)) for name, a, b in re.findall(r"^ *(\S.*?)  +([\d.]+) +([\d.]+) (?:ms|MB|%)$", got.stdout, flags=re.M)}
    ours, theirs = figures["bytes on a worker's link per step"]
    assert 0.6 < ours < theirs, figures  # the model's gradients are 0.61 MB, which gloo moves 1.5 times
    assert min(figures["time of a step"]) > 0, figures
    assert figures["test images right"][0] > 80, figures
