# SPDX-License-Identifier: Apache-2.0
"""Training with a key, at a switch that takes no other jobs and without one: the weights of a run without a key."""
import os
import subprocess

import pytest
from conftest import TRIBUTARY, Switch, environment_of
from test_weights import hash_of


def has_keys():
    """False without a program, too."""
    if not TRIBUTARY:
        return False
    return b'"keys":true' in subprocess.run([TRIBUTARY, "info", "--json"], capture_output=True, check=True).stdout


pytestmark = pytest.mark.skipif(not has_keys(), reason="no program, or a build without OpenSSL")


@pytest.fixture(name="keyed")
def keyed_switch(tmp_path):
    """A switch with the key of a job: its environment."""
    file, folder = tmp_path / "job.key", tmp_path / "keys"
    folder.mkdir()
    subprocess.run([TRIBUTARY, "key", "new", file], check=True, capture_output=True)
    subprocess.run([TRIBUTARY, "key", "tenant", file, folder], check=True, capture_output=True)
    switch = Switch("--keys", os.fspath(folder))
    yield {**environment_of("switch", switch), "TRIB_KEY_FILE": os.fspath(file)}
    switch.close()


def test_same_weights_with_a_key(fresh, switch, keyed):
    """By TRIB_KEY_FILE, and encrypted or sampled by an option."""
    clean = hash_of(fresh(environment=environment_of("switch", switch)).run("cases_training.ddp_hash", 50))
    assert hash_of(fresh(environment=keyed).run("cases_training.ddp_hash", 50)) == clean
    assert hash_of(fresh(options={"encrypt": True}, environment=keyed).run("cases_training.ddp_hash", 50)) == clean
    assert hash_of(fresh(options={"sample": 10}, environment=keyed).run("cases_training.ddp_hash", 50)) == clean


def test_same_weights_with_a_key_and_no_switch(fresh, switch):
    """By an option, where ranks have the roots."""
    clean = hash_of(fresh(environment=environment_of("switch", switch)).run("cases_training.ddp_hash", 50))
    world = fresh(options={"key": b"k" * 32, "encrypt": True}, environment=environment_of("nobox", switch))
    assert hash_of(world.run("cases_training.ddp_hash", 50)) == clean
