# SPDX-License-Identifier: Apache-2.0
"""pg_options: every field reaches struct trib_config, and every setting of that has one."""
import dataclasses
import datetime

import pytest
from tributary_torch import Options, _bootstrap, _capi

# What the group itself says, or a test, or what exists for comparison.
NOT_OPTIONS = {"rank", "ranks", "timeout_ns", "faults", "progress_thread", "trains", "key_len"}
NAMES = {"switch": "switch_address", "server": "server_address", "join_timeout": "join_timeout_ns", "switch_timeout": "switch_timeout_ns", "linger": "linger_ns"}


def test_every_setting_has_an_option():
    options = {NAMES.get(field.name, field.name) for field in dataclasses.fields(Options)}
    assert options == {name for name, _ in _capi.Config._fields_} - NOT_OPTIONS


def test_values():
    config = _capi.Config()
    Options(switch="10.0.0.1:7", server="10.0.0.9:7", rendezvous="a:1", job="j", run="r", host_id="h", nics="eth0", root_weight=3, scheme="ring", wire="bfloat16", payload=640,
            window=9, gradient_bytes=4_000_000, priority=8, level0=True, multicast=True, spin_us=5, dscp=6, backlog=7, join_timeout=1.5, switch_timeout=datetime.timedelta(seconds=2), fallback=True,
            linger=0.25, key="k" * 32, encrypt=True, sample=900).apply(config)
    got = {name: getattr(config, name) for name, _ in _capi.Config._fields_ if name not in NOT_OPTIONS}
    assert bytes(got.pop("key"))[:config.key_len] == b"k" * 32
    assert got == {"switch_address": b"10.0.0.1:7", "server_address": b"10.0.0.9:7", "rendezvous": b"a:1", "host_id": b"h", "nics": b"eth0", "root_weight": 3, "job": b"j", "run": b"r",
                   "scheme": b"ring", "wire": 3, "payload": 640, "window": 9, "gradient_bytes": 4_000_000, "priority": 8, "level0": True, "multicast": True, "spin_us": 5, "dscp": 6, "backlog": 7,
                   "join_timeout_ns": 1_500_000_000, "switch_timeout_ns": 2_000_000_000, "fallback": True, "linger_ns": 250_000_000, "encrypt": True, "sample": 900}


def test_mistakes():
    with pytest.raises(ValueError, match="wire 'float8'"):
        Options(wire="float8").apply(_capi.Config())
    with pytest.raises(ValueError, match="key of 31 bytes: a key has 32 to 128"):
        Options(key=b"k" * 31).apply(_capi.Config())
    with pytest.raises(ValueError, match="job .* is longer than 64 bytes"):
        Options(job="x" * 65).apply(_capi.Config())
    for name, value, cause in (("switch", 7, "give a string"), ("level0", "no", "give True or False"), ("priority", -1, "from 0 to 4294967295"),
                               ("window", 1 << 32, "from 0 to 4294967295"), ("spin_us", 5.5, "a whole number"), ("payload", "x", "a whole number"),
                               ("linger", -1, "no negative ones"), ("join_timeout", float("nan"), "seconds or a timedelta"),
                               ("join_timeout", "5s", "seconds or a timedelta")):
        with pytest.raises(ValueError, match=f"{name} {value!r}: .*{cause}"):
            Options(**{name: value}).apply(_capi.Config())


def test_jobs_of_groups_differ_where_names_begin_alike():
    """They had the first 50 bytes of the job's name, so groups of two jobs met, and added up both."""
    jobs = ["a" * 50 + "-A", "a" * 50 + "-B", "a" * _capi.NAME_MAX, "b", "\u00e4" * 32]
    names = [_bootstrap.job_of_group(job, name) for job in jobs for name in ("1", "2", "pp/1")]
    assert len(set(names)) == len(names) and max(len(name.encode()) for name in names) <= _capi.NAME_MAX
    assert _bootstrap.job_of_group("b", "1").startswith("b/")


def test_longest_time():
    """More than 64 bits of nanoseconds hold."""
    config = _bootstrap._config(0, 2, datetime.timedelta.max, Options(linger=datetime.timedelta.max))
    assert 10**9 * 86400 * 365 * 100 < config.timeout_ns < 2**63 and config.linger_ns == config.timeout_ns


def test_time_to_join(monkeypatch):
    """That of init_process_group bounds it, but for who names one."""
    short, long = datetime.timedelta(seconds=3), datetime.timedelta(minutes=30)
    assert _bootstrap._config(0, 2, short, None).join_timeout_ns == 3_000_000_000
    assert _bootstrap._config(0, 2, long, None).join_timeout_ns == 30_000_000_000
    assert _bootstrap._config(0, 2, short, Options(join_timeout=9)).join_timeout_ns == 9_000_000_000
    monkeypatch.setenv("TRIB_JOIN_TIMEOUT", "7s")
    assert _bootstrap._config(0, 2, short, None).join_timeout_ns == 7_000_000_000
