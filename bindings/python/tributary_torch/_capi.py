# SPDX-License-Identifier: Apache-2.0
"""The C library as include/tributary declares it, by ctypes: constants, structures, functions. Nothing of torch.

tests/test_capi.py compares every value, size, offset and function here with what the C compiler sees in the headers.
Calls release Python's global lock. Read next: include/tributary/comm.h, which says what each function does.
"""
import ctypes
import os
import threading
from ctypes import POINTER, byref, c_bool, c_char, c_char_p, c_double, c_int, c_int32, c_uint32, c_uint64, c_size_t, c_uint8, c_void_p

NAME_MAX = 64
ERROR_TEXT_MAX = 512
GROUP_MAX = 4096
DEFAULT_PORT = 7470

# enum trib_status
STATUS = {
    "OK": 0, "ERR_INVALID": -1, "ERR_UNSUPPORTED": -2, "ERR_MEMORY": -3, "ERR_SYSTEM": -4, "ERR_UNREACHABLE": -5,
    "ERR_REFUSED": -6, "ERR_VERSION": -7, "ERR_SETTINGS": -8, "ERR_MISMATCH": -9, "ERR_TIMEOUT": -10, "ERR_PEER": -11,
    "ERR_SWITCH": -12, "ERR_ABORTED": -13, "ERR_CLOSED": -14, "ERR_CHECK": -15,
}
OK = 0
ERR_TIMEOUT = -10
ERR_ABORTED = -13
ERR_CLOSED = -14

# enum trib_type
TYPE = {"FLOAT32": 1, "FLOAT16": 2, "BFLOAT16": 3, "INT32": 4, "INT64": 5, "BYTES": 6, "FLOAT64": 7, "INT8": 8, "UINT8": 9}
# enum trib_reduction
REDUCTION = {"SUM": 1, "AVERAGE": 2, "MINIMUM": 3, "MAXIMUM": 4, "PRODUCT": 5}
# enum trib_collective
COLLECTIVE = {"ALLREDUCE": 1, "BROADCAST": 2, "BARRIER": 3, "REDUCE": 4, "ALLGATHER": 5, "REDUCE_SCATTER": 6}
# enum trib_wire
WIRE = {"FLOAT32": 1, "BFLOAT16": 3, "INT32": 4}


class Faults(ctypes.Structure):
    """struct trib_faults"""
    _fields_ = [("loss", c_double), ("duplicate", c_double), ("reorder", c_double), ("corrupt", c_double), ("seed", c_uint64)]


class Config(ctypes.Structure):
    """struct trib_config"""
    _fields_ = [
        ("switch_address", c_char * (NAME_MAX + 1)), ("server_address", c_char * (NAME_MAX + 1)), ("rendezvous", c_char * (NAME_MAX + 1)),
        ("host_id", c_char * (NAME_MAX + 1)), ("nics", c_char * 256), ("root_weight", c_uint32), ("job", c_char * (NAME_MAX + 1)),
        ("run", c_char * (NAME_MAX + 1)),
        ("rank", c_uint32), ("ranks", c_uint32), ("scheme", c_char * 32), ("wire", c_int), ("payload", c_uint32),
        ("window", c_uint32), ("gradient_bytes", c_uint64), ("priority", c_uint32), ("level0", c_bool), ("multicast", c_bool), ("progress_thread", c_bool), ("trains", c_bool),
        ("spin_us", c_uint32), ("dscp", c_uint32), ("backlog", c_uint32), ("join_timeout_ns", c_uint64), ("switch_timeout_ns", c_uint64),
        ("fallback", c_bool), ("timeout_ns", c_uint64), ("linger_ns", c_uint64), ("faults", Faults),
        ("key", c_uint8 * 128), ("key_len", c_uint32), ("encrypt", c_bool), ("sample", c_uint32),
    ]


class Stats(ctypes.Structure):
    """struct trib_comm_stats"""
    _fields_ = [(name, c_uint64) for name in (
        "bytes_sent", "bytes_received", "packets_sent", "packets_received", "send_dropped", "send_calls", "receive_calls",
        "fragments", "operations", "contributions_resent", "probes_sent", "asks_received", "held_received", "offers_sent",
        "results_repeated", "contributions_again", "results_marked", "results_lacking", "late", "reregistrations", "moved", "multicast_received", "dropped",
        "dropped_corrupt", "dropped_duplicate", "lane_failures", "injected_loss", "injected_duplicate", "injected_reorder", "injected_corrupt")]
    _fields_ += [("payload", c_uint32), ("multicast", c_bool), ("level0", c_bool), ("hosts", c_uint32), ("no_box", c_bool),
                 ("roots", c_uint32)]
    _fields_ += [(name, c_uint64) for name in (
        "root_bytes_sent", "root_bytes_received", "root_packets_sent", "root_packets_received",
        "bytes_handed", "packets_handed")]

    def as_dict(self):
        return {name: getattr(self, name) for name, _ in self._fields_}


class Call(ctypes.Structure):
    """struct trib_call"""
    _fields_ = [("collective", c_int), ("type", c_int), ("reduction", c_int), ("root", c_uint32), ("send", c_void_p),
                ("recv", c_void_p), ("count", c_uint64), ("counts", POINTER(c_uint64))]


_REDUCING = [c_void_p, c_void_p, c_void_p, c_uint64, c_int, c_int]
_UNEVEN = [c_void_p, c_void_p, c_void_p, POINTER(c_uint64), c_int]
_REQUEST = [POINTER(c_void_p)]

# name: (result, arguments)
FUNCTIONS = {
    "trib_status_name": (c_char_p, [c_int]),
    "trib_status_text": (c_char_p, [c_int]),
    "trib_type_size": (c_size_t, [c_int]),
    "trib_type_name": (c_char_p, [c_int]),
    "trib_reduction_name": (c_char_p, [c_int]),
    "trib_collective_name": (c_char_p, [c_int]),
    "trib_config_init": (None, [POINTER(Config)]),
    "trib_config_from_environment": (c_int, [POINTER(Config), c_char_p]),
    "trib_comm_create": (c_int, [POINTER(Config), POINTER(c_void_p), c_char_p]),
    "trib_comm_split": (c_int, [c_void_p, c_int32, c_int32, POINTER(c_void_p), c_char_p]),
    "trib_comm_subset": (c_int, [c_void_p, POINTER(c_uint32), c_uint32, c_uint32, POINTER(c_void_p), c_char_p]),
    "trib_comm_rank": (c_uint32, [c_void_p]),
    "trib_comm_ranks": (c_uint32, [c_void_p]),
    "trib_comm_job": (c_char_p, [c_void_p]),
    "trib_comm_scheme": (c_char_p, [c_void_p]),
    "trib_comm_scheme_cause": (c_char_p, [c_void_p]),
    "trib_comm_error": (c_char_p, [c_void_p]),
    "trib_comm_stats": (None, [c_void_p, POINTER(Stats)]),
    "trib_shared_alloc": (c_void_p, [c_size_t]),
    "trib_shared_free": (None, [c_void_p]),
    "trib_allreduce": (c_int, _REDUCING),
    "trib_broadcast": (c_int, [c_void_p, c_void_p, c_uint64, c_int, c_uint32]),
    "trib_barrier": (c_int, [c_void_p]),
    "trib_reduce": (c_int, _REDUCING + [c_uint32]),
    "trib_allgather": (c_int, [c_void_p, c_void_p, c_void_p, c_uint64, c_int]),
    "trib_reduce_scatter": (c_int, _REDUCING),
    "trib_allgather_uneven": (c_int, _UNEVEN),
    "trib_reduce_scatter_uneven": (c_int, _UNEVEN + [c_int]),
    "trib_group": (c_int, [c_void_p, POINTER(Call), c_uint32]),
    "trib_allreduce_start": (c_int, _REDUCING + _REQUEST),
    "trib_broadcast_start": (c_int, [c_void_p, c_void_p, c_uint64, c_int, c_uint32] + _REQUEST),
    "trib_barrier_start": (c_int, [c_void_p] + _REQUEST),
    "trib_reduce_start": (c_int, _REDUCING + [c_uint32] + _REQUEST),
    "trib_allgather_start": (c_int, [c_void_p, c_void_p, c_void_p, c_uint64, c_int] + _REQUEST),
    "trib_reduce_scatter_start": (c_int, _REDUCING + _REQUEST),
    "trib_allgather_uneven_start": (c_int, _UNEVEN + _REQUEST),
    "trib_reduce_scatter_uneven_start": (c_int, _UNEVEN + [c_int] + _REQUEST),
    "trib_group_start": (c_int, [c_void_p, POINTER(Call), c_uint32] + _REQUEST),
    "trib_request_wait": (c_int, [c_void_p]),
    "trib_request_wait_for": (c_int, [c_void_p, c_uint64, POINTER(c_bool)]),
    "trib_request_test": (c_int, [c_void_p, POINTER(c_bool)]),
    "trib_comm_set_timeout": (None, [c_void_p, c_uint64]),
    "trib_comm_set_priority": (c_int, [c_void_p, c_uint32]),
    "trib_comm_progress": (None, [c_void_p]),
    "trib_comm_abort": (None, [c_void_p]),
    "trib_comm_close": (c_int, [c_void_p]),
    "trib_version": (c_char_p, []),
}

_lock = threading.Lock()
_library = None


def _candidates():
    """TRIBUTARY_LIBRARY alone if it is set; else the wheel's own, else the system's."""
    named = os.environ.get("TRIBUTARY_LIBRARY")
    if named:
        return [named]
    own = os.path.join(os.path.dirname(os.path.abspath(__file__)), "libtributary.so.0")
    return [own, "libtributary.so.0"] if os.path.exists(own) else ["libtributary.so.0"]


def library():
    """The loaded library with typed functions; loaded at the first call. Raises OSError with all that was tried."""
    global _library
    with _lock:
        if _library is None:
            _library = _load()
        return _library


def _load():
    causes = []
    for path in _candidates():
        try:
            loaded = ctypes.CDLL(path)
        except OSError as error:
            causes.append(str(error))
            continue
        missing = [name for name in FUNCTIONS if not hasattr(loaded, name)]
        if missing:
            causes.append(f"{path} is of another version: it has no {missing[0]}")
            continue
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(loaded, name)
            function.restype, function.argtypes = result, arguments
        return loaded
    raise OSError("libtributary is not there: " + "; ".join(causes))


def config_from_environment(rank=0, size=1):
    """TRIB_* variables and the launcher's over the defaults, for this rank, which the process group says: half of a
    launcher's variables is no error here. Raises ValueError that names variable and value."""
    config = Config()
    error = ctypes.create_string_buffer(ERROR_TEXT_MAX)
    lib = library()
    lib.trib_config_init(byref(config))
    before = {name: os.environ.get(name) for name in ("TRIB_RANK", "TRIB_RANKS")}
    os.environ.update(TRIB_RANK=str(rank), TRIB_RANKS=str(size))
    try:
        status = lib.trib_config_from_environment(byref(config), error)
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
    if status != OK:
        raise ValueError(error.value.decode())
    return config


def status_text(status):
    return library().trib_status_text(status).decode()
