# SPDX-License-Identifier: Apache-2.0
"""The same training gives the same weights, bit by bit: on every rank, in every run, over every transport, whatever the network does."""
import json
import os
import pathlib
import re

import pytest
from conftest import PATIENCE, Switch, after_step, environment_of, run_script

EXAMPLE = pathlib.Path(os.environ.get("SOURCE_DIR", pathlib.Path(__file__).resolve().parents[3])) / "examples/torch/train_digits.py"
FAULTS = {"loss": "5%", "duplicate": "2%", "reorder": "10%"}


def hash_of(results):
    hashes = {digest for digest, _ in results}
    assert len(hashes) == 1
    return hashes.pop()


def test_same_weights_in_every_run(fresh, switch):
    """Five runs through the switch, one in the host's memory and one without a switch."""
    hashes = [hash_of(fresh(environment=environment_of(transport, switch)).run("cases_training.ddp_hash", 50))
              for transport in ["switch"] * 5 + ["host", "nobox"]]
    assert len(set(hashes)) == 1, hashes


def test_same_weights_under_faults(fresh, switch, tmp_path):
    """200 steps with 5 % loss, 2 % duplication and 10 % reordering at every rank and in the switch, which is killed and started again
    twice in their midst: the weights of the run without."""
    clean = hash_of(fresh(environment=environment_of("switch", switch)).run("cases_training.ddp_hash", 200))
    options = [word for name, rate in FAULTS.items() for word in (f"--{name}", rate)]
    bad = Switch(*options, "--seed", "11")
    try:
        world = fresh(environment={**environment_of("switch", bad), "TRIB_FAULTS": ",".join(f"{name}={rate}" for name, rate in FAULTS.items())
                                   + ",seed=12"}, timeout=120)
        world.start("cases_training.ddp_hash", 200, tmp_path)
        for step in (30, 110):
            after_step(tmp_path, step)
            bad.restart()
        results = world.results(120)
    finally:
        bad.close()
    assert hash_of(results) == clean
    for rank, (_, stats) in enumerate(results):
        assert stats["reregistrations"] >= 2, f"rank {rank} did not come back from both restarts"
        for name in ("injected_loss", "injected_duplicate", "injected_reorder", "contributions_resent"):
            assert stats[name] > 0, f"rank {rank}: {name}"
        assert stats["lane_failures"] == 0


def test_same_weights_when_the_switch_is_gone_for_good(fresh, switch, tmp_path):
    """With fallback the ranks' processes go on, and sum as the switch did."""
    clean = hash_of(fresh(environment=environment_of("switch", switch)).run("cases_training.ddp_hash", 200))
    world = fresh(options={"fallback": True, "switch_timeout": 0.5 * PATIENCE}, environment=environment_of("switch", switch))
    world.start("cases_training.ddp_hash", 200, tmp_path)
    after_step(tmp_path, 50)
    switch.kill()
    results = world.results(60)
    assert hash_of(results) == clean
    assert all(stats["moved"] == 1 for _, stats in results)


def test_small_job_is_a_ring(fresh, tmp_path):
    """Below the switch's threshold it is one, by option or by environment, and so is a group inside it; the switch may start anew."""
    kept = Switch("--threshold", "40MB")
    place = environment_of("switch", kept)
    try:
        world = fresh(options={"gradient_bytes": 4_000_000}, environment=place)
        world.start("cases_training.ddp_hash", 200, tmp_path)
        after_step(tmp_path, 50)
        kept.restart()
        results = world.results(60)
        assert set(world.run("schemes")) == {("ring", "ring")}
        small = fresh(environment={**place, "TRIB_GRADIENT_BYTES": "4MB"})
        assert hash_of(small.run("cases_training.ddp_hash", 200)) == hash_of(results)
        assert set(small.run("schemes")) == {("ring", "ring")}
        for said in ({"TRIB_GRADIENT_BYTES": "40MB"}, {}):
            assert set(fresh(environment={**place, **said}).run("schemes")) == {("switchml", "switchml")}
    finally:
        kept.close()
    assert all(stats["reregistrations"] == 1 and stats["roots"] == 0 and not stats["no_box"] for _, stats in results)


@pytest.mark.parametrize("backend", ["tributary", "gloo"])
def test_example(tmp_path, backend):
    """Learns the digits, on 4 ranks, with one word of difference."""
    reports = []
    for turn in range(2 if backend == "tributary" else 1):
        status, output = run_script(EXAMPLE, 4, "--backend", backend, "--epochs", "2", "--compare", "3", "--json", str(tmp_path / "report"))
        assert status == 0, output
        reports.append(json.loads((tmp_path / "report").read_text()))
        assert re.search(r"hash of the final weights [0-9a-f]{16}, the same on all ranks", output), turn
    report = reports[0]
    assert report["backend"] == backend and report["accuracy"] > 0.9 and report["losses"][-1] < 0.3 * report["losses"][0]
    assert len(report["step_ms"]) == len(report["losses"]) and len(report["with_ms"]) == len(report["without_ms"]) == 3
    assert all(one["hash"] == report["hash"] and one["losses"] == report["losses"] for one in reports)


def test_resnet50_is_as_large_as_it_says(monkeypatch):
    monkeypatch.syspath_prepend(str(EXAMPLE.parent))
    import torch
    import train_digits
    model = train_digits.resnet50()
    assert sum(parameter.numel() for parameter in model.parameters()) == 25_557_032 - 2 * 7 * 7 * 64
    assert model(torch.zeros(2, 1, 8, 8)).shape == (2, 1000)
