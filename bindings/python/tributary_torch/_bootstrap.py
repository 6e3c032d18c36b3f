# SPDX-License-Identifier: Apache-2.0
"""How the ranks of a group meet: what each says of itself in torch's Store, what rank 0 decides, and the communicator that comes of it.

A group inside a default group of ours is a subset of its communicator: it shares sockets and works wherever that one does. Any
other meets under a job name of its own: at a switch, if a rank names one; in the memory of the host, if all are on one; else at rank 0.
Read next: _group.py (what is done with it).
"""
import atexit
import ctypes
import dataclasses
import datetime
import hashlib
import json
import operator
import os
import secrets
import socket
import sys
import threading
import weakref
import zlib
from ctypes import byref

from torch.distributed import PrefixStore

from . import _capi

_FOREVER_NS = 2**62  # timedelta.max is more than the library's 64 bits hold
_LAST_CALLBACKS_S = 5  # what is left of futures when Python ends has so long
_SPIN_US = 1000  # between two calls Python takes longer than the library's default is made for


@dataclasses.dataclass
class Options:
    """pg_options of init_process_group and new_group. What is None comes from TRIB_* variables, then from the library's defaults.
    The names are those of struct trib_config (include/tributary/comm.h); times are seconds or timedelta."""
    switch: str | None = None
    server: str | None = None
    rendezvous: str | None = None
    job: str | None = None
    run: str | None = None
    host_id: str | None = None
    nics: str | None = None
    root_weight: int | None = None
    scheme: str | None = None
    wire: str | None = None
    payload: int | None = None
    window: int | None = None
    gradient_bytes: int | None = None
    priority: int | None = None
    level0: bool | None = None
    multicast: bool | None = None
    spin_us: int | None = None
    dscp: int | None = None
    backlog: int | None = None
    join_timeout: float | datetime.timedelta | None = None
    switch_timeout: float | datetime.timedelta | None = None
    fallback: bool | None = None
    linger: float | datetime.timedelta | None = None
    key: bytes | str | None = dataclasses.field(default=None, repr=False)
    encrypt: bool | None = None
    sample: int | None = None

    def apply(self, config):
        """Writes what is not None into a struct trib_config."""
        for field in dataclasses.fields(self):
            value = getattr(self, field.name)
            if value is None:
                continue
            if field.name == "wire":
                if str(value).upper() not in _capi.WIRE:
                    raise ValueError(f"wire {value!r}: there are {', '.join(_capi.WIRE).lower()}")
                config.wire = _capi.WIRE[str(value).upper()]
            elif field.name in ("join_timeout", "switch_timeout", "linger"):
                set_time(config, field.name, value)
            elif field.name in ("switch", "server", "rendezvous", "job", "run", "host_id", "nics", "scheme"):
                set_text(config, field.name + "_address" if field.name in ("switch", "server") else field.name, value)
            elif field.name == "key":
                set_key(config, value)
            else:
                set_number(config, field.name, value)


def nanoseconds(time):
    seconds = time.total_seconds() if isinstance(time, datetime.timedelta) else float(time)
    return max(1, int(min(seconds * 1e9, _FOREVER_NS)))


def set_number(config, name, value):
    """What ctypes would cut to the field's size, or take as true, is a mistake of the program."""
    kind = dict(_capi.Config._fields_)[name]
    if kind is ctypes.c_bool:
        if not isinstance(value, bool):
            raise ValueError(f"{name} {value!r}: give True or False")
    elif not hasattr(value, "__index__") or not 0 <= operator.index(value) < 1 << 8 * ctypes.sizeof(kind):
        raise ValueError(f"{name} {value!r}: give a whole number from 0 to {(1 << 8 * ctypes.sizeof(kind)) - 1}")
    setattr(config, name, value)


def set_time(config, name, value):
    if not isinstance(value, (int, float, datetime.timedelta)) or value != abs(value):
        raise ValueError(f"{name} {value!r}: give seconds or a timedelta, and no negative ones")
    setattr(config, name + "_ns", nanoseconds(value))


def set_text(config, name, text):
    if not isinstance(text, str):
        raise ValueError(f"{name.removesuffix('_address')} {text!r}: give a string")
    data = text.encode()
    if len(data) >= getattr(_capi.Config, name).size:
        raise ValueError(f"{name} {text!r} is longer than {getattr(_capi.Config, name).size - 1} bytes")
    setattr(config, name, data)


def set_key(config, key):
    data = key.encode() if isinstance(key, str) else bytes(key)
    if not 32 <= len(data) <= _capi.Config.key.size:
        raise ValueError(f"key of {len(data)} bytes: a key has 32 to {_capi.Config.key.size}")
    ctypes.memmove(config.key, data, len(data))
    config.key_len = len(data)


class Communicator:
    """A struct trib_comm, open until close(). If calls of it are under way, on other threads or where a signal's handler interrupts them, the
    last of them closes it."""

    def __init__(self, handle):
        self.lib = _capi.library()
        self.handle = handle
        self.pid = os.getpid()
        self.failed = False
        self._calls = 0  # under way
        self._is_closing = False
        self._lock = threading.RLock()
        with _open_lock:
            _open.add(self)

    def is_open(self):
        return not self._is_closing

    def call(self, function, *arguments, closed=_capi.ERR_CLOSED):
        """function(handle, *arguments) of the library; closed, if it is."""
        self._calls += 1
        try:
            return closed if self._is_closing else function(self.handle, *arguments)
        finally:
            self._calls -= 1
            if self._is_closing:
                self._close()

    def error(self):
        """Why it failed, in the library's words; while it has not, why this thread's last refused call was so, or ""."""
        return self.call(self.lib.trib_comm_error, closed=b"").decode()

    def job(self):
        return self.call(self.lib.trib_comm_job, closed=b"").decode()

    def scheme(self):
        """What it is summed by: as asked, or "ring" where the switch wanted it so."""
        return self.call(self.lib.trib_comm_scheme, closed=b"").decode()

    def stats(self):
        stats = _capi.Stats()
        self.call(self.lib.trib_comm_stats, byref(stats))
        return stats.as_dict()

    def abort(self):
        self.failed = self.failed or self.is_open()
        self.call(self.lib.trib_comm_abort)

    def close(self):
        self._is_closing = True
        self._close()

    def _close(self):
        """Of who has seen that it is closing: once, when no call is under way."""
        with self._lock:
            if self._calls > 0:
                return
            handle, self.handle = self.handle, None
        with _open_lock:
            _open.discard(self)
        if handle and self.pid == os.getpid():
            self.lib.trib_comm_close(handle)


_open = set()
_open_lock = threading.RLock()
_collectors = weakref.WeakSet()


def stop_at_end(collector):
    """Its thread may run callbacks: Python may not end under it."""
    _collectors.add(collector)


@atexit.register
def _close_all():
    """A process that ends without destroy_process_group is not a dead rank, unless an exception ends it: then the others hear at once."""
    died = getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)
    with _open_lock:
        still_open = [comm for comm in _open if comm.pid == os.getpid()]
    for comm in still_open:
        if died is not None:
            comm.abort()
        comm.close()
    for collector in list(_collectors):
        collector.stop(_LAST_CALLBACKS_S)


# ---- what each rank says, and what rank 0 makes of it ----

def host_identity(config):
    """Ranks that say the same can share memory as the library does without switch and rendezvous (src/host/rendezvous.c)."""
    named = config.host_id.decode()
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        boot = file.read().strip()
    return f"{named}|{boot}|{os.stat('/proc/self/ns/net').st_ino}|{os.getuid()}"


def _underlying(store):
    while hasattr(store, "underlying_store"):
        store = store.underlying_store
    return store


def reachable_address(store):
    """How the others reach this process: MASTER_ADDR, or the store's host, if that is this machine; else the address that leads there.
    None if neither is known."""
    master = os.environ.get("MASTER_ADDR") or getattr(_underlying(store), "host", None)
    if not master:
        return None
    family, _, _, _, target = socket.getaddrinfo(master, 9, type=socket.SOCK_DGRAM)[0]
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        probe.connect(target)
        local = probe.getsockname()[0]
    return master if local == target[0] else local


def free_port(address):
    family, kind, _, _, target = socket.getaddrinfo(address, 0, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind) as probe:
        probe.bind(target)
        return probe.getsockname()[1]


def _free_rendezvous(store):
    address = reachable_address(store) or "127.0.0.1"
    port = free_port(address)
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def _first(said, key):
    return next((one[key] for one in said if one[key]), "")


def decide(said, store):
    """Of rank 0. said: what each rank said of itself. Where and under which name all of them meet."""
    if all(one["subset"] for one in said):
        return {"subset": True}
    decision = {"subset": False, "job": _first(said, "job") or f"torch-{secrets.token_hex(8)}",
                "switch": _first(said, "switch"), "rendezvous": ""}
    decision["run"] = said[0]["run"]  # ranks that met in one store are of one run, whatever their launchers say
    if not decision["switch"]:
        decision["rendezvous"] = _first(said, "rendezvous")
        together = len({one["host"] for one in said}) == 1 and all(one["local"] for one in said)
        if not decision["rendezvous"] and not together:
            decision["rendezvous"] = _free_rendezvous(store)
    return decision


def life_of(store, rank):
    """The part of the store that this group has for itself. torch gives a group that is made again, under the name of one that was
    destroyed, the same keys: what is there may be of a life before. Each rank counts its lives; they are as many on all."""
    return PrefixStore(f"tributary/{store.add(f'tributary/lives/{rank}', 1)}", store)


def _get(store, key, size):
    """Waits for it, as long as the store does. Raises RuntimeError that names the ranks that have said nothing."""
    try:
        return store.get(key)
    except RuntimeError:
        if store.check([key]):  # a store that is gone says so here
            return store.get(key)
        missing = [str(rank) for rank in range(size) if not store.check([f"rank/{rank}"])] or ["0"]
        raise RuntimeError(
            f"rank{'s' if len(missing) > 1 else ''} {', '.join(missing)} did not come within {store.timeout.total_seconds():g} s: every rank "
            "of a group must call init_process_group, or new_group with the same ranks and in the same order. A process may have "
            "died, or two may have one rank") from None


def exchange(store, rank, size, own):
    """What rank 0 decides of what all say. Every rank gets the same, or an error."""
    store.set(f"rank/{rank}", json.dumps(own))
    if rank == 0:
        try:
            said = [json.loads(_get(store, f"rank/{other}", size)) for other in range(size)]
            for other, one in enumerate(said):
                if "error" in one:
                    raise RuntimeError(f"rank {other}: {one['error']}")
            decision = decide(said, store)
        except Exception as error:
            store.set("decision", json.dumps({"error": f"{type(error).__name__}: {error}"}))
            raise
        store.set("decision", json.dumps(decision))
    decision = json.loads(_get(store, "decision", size))
    if "error" in decision:
        raise RuntimeError(f"rank 0 could not decide where to meet: {decision['error']}")
    return decision


def _give_up(store, rank, error):
    """The others hear of it at once, instead of waiting for what this rank says of itself."""
    text = json.dumps({"error": f"{type(error).__name__}: {error}"})
    store.set(f"rank/{rank}", text)
    if rank == 0:
        store.set("decision", text)


# ---- the communicator ----

def _config(rank, size, timeout, options):
    config = _capi.config_from_environment(rank, size)
    if "TRIB_SPIN_US" not in os.environ:
        config.spin_us = _SPIN_US
    named_rendezvous = bool(os.environ.get("TRIB_RENDEZVOUS")) or bool(options and options.rendezvous)
    if not named_rendezvous:
        config.rendezvous = b""
    config.timeout_ns = nanoseconds(timeout)
    if "TRIB_JOIN_TIMEOUT" not in os.environ:
        config.join_timeout_ns = min(config.join_timeout_ns, config.timeout_ns)
    if options is not None:
        options.apply(config)
    config.rank, config.ranks = rank, size
    return config


def job_of_group(job, name):
    """The job's name for a group that joins by itself. The digest is of both names as a whole, as in src/comm/split.c:
    groups of two jobs whose names begin alike must not meet."""
    digest = hashlib.blake2b(f"{job}/{name}".encode(), digest_size=8).hexdigest()
    return f"{job.encode()[:_capi.NAME_MAX - 17].decode(errors='ignore')}/{digest}"


def open_communicator(store, rank, size, timeout, options, parent, ranks, name):
    """parent: the default group's communicator, or None.
    ranks: of the group in the parent. name: the group's, the same on all of its ranks."""
    try:
        config = _config(rank, size, timeout, options)
    except Exception as error:
        _give_up(store, rank, error)
        raise
    own_job = (options.job if options is not None else None) or os.environ.get("TRIB_JOB") or ""
    if own_job and ranks:
        own_job = job_of_group(own_job, name)
    decision = exchange(store, rank, size, {
        "host": host_identity(config),
        "local": bool(config.level0) and config.scheme in (b"switchml", b"panama"),
        "switch": config.switch_address.decode(),
        "rendezvous": config.rendezvous.decode(),
        "job": own_job,
        "run": config.run.decode(),
        "subset": parent is not None and parent.is_open() and not parent.failed and options is None,
    })
    if decision["subset"]:
        return _subset(parent, ranks, name, config.timeout_ns)
    set_text(config, "job", decision["job"])
    set_text(config, "run", decision["run"])
    if not config.switch_address:
        set_text(config, "switch_address", decision["switch"])
    if not config.rendezvous:
        set_text(config, "rendezvous", decision["rendezvous"])
    return _create(config)


def _create(config):
    handle = ctypes.c_void_p()
    error = ctypes.create_string_buffer(_capi.ERROR_TEXT_MAX)
    status = _capi.library().trib_comm_create(byref(config), byref(handle), error)
    return _made(status, handle, error)


def _subset(parent, ranks, name, timeout_ns):
    handle = ctypes.c_void_p()
    error = ctypes.create_string_buffer(_capi.ERROR_TEXT_MAX)
    members = (ctypes.c_uint32 * len(ranks))(*ranks)
    status = parent.call(parent.lib.trib_comm_subset, members, len(ranks), zlib.crc32(name.encode()), byref(handle), error)
    comm = _made(status, handle, error)
    comm.call(comm.lib.trib_comm_set_timeout, timeout_ns)  # it has the parent's
    return comm


def _made(status, handle, error):
    if status != _capi.OK:
        raise RuntimeError(error.value.decode() or _capi.status_text(status))
    return Communicator(handle.value)
