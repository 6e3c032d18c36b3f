# SPDX-License-Identifier: Apache-2.0
"""torch's creator: a communicator and a gloo beside it become a group. Read next: _group.py, _mixed.py, _bootstrap.py."""
import sys

import torch.distributed as dist

from . import _bootstrap, _buffers, _capi, _compiler, _events, _group, _mixed, _work
from ._gloo import make_gloo
from ._group import ProcessGroupTributary
from ._mixed import MixedGroup, asked_devices, other_devices
from ._name import NAME


def create(options, pg_options):
    """torch's creator (register_backend, extended_api): joins the group's other ranks."""
    devices, bound_device = asked_devices()
    others = other_devices(devices)
    is_ours = isinstance(pg_options, _bootstrap.Options)
    if pg_options is not None and not is_ours and not others:
        raise TypeError(f"pg_options of backend {NAME} are tributary_torch.Options, not {type(pg_options).__name__}")
    ranks = list(options.global_ranks_in_group)
    name = options.group_id
    parent = _default_communicator() if ranks else None
    options.store = store = _bootstrap.life_of(options.store, options.group_rank)
    try:
        comm = _bootstrap.open_communicator(store, options.group_rank, options.group_size, options.timeout,
                                            pg_options if is_ours else None, parent, ranks, name)
        gloo = _make_gloo_beside(comm, store, options)
    except RuntimeError as error:
        raise dist.DistBackendError(f"{NAME}: rank {options.group_rank} of group {name}: {error}") from None
    kind = MixedGroup if others else ProcessGroupTributary
    group = kind(store, options.group_rank, options.group_size, comm, gloo, options.timeout, name, ranks)
    for device, backend in others.items():
        group.add_backend(device, backend, options, None if is_ours else pg_options)
    if bound_device is not None:
        group.bound_device_id = bound_device
    return group


def _make_gloo_beside(comm, store, options):
    try:
        return make_gloo(store, options.group_rank, options.group_size, options.timeout)
    except BaseException:
        comm.close()
        raise


def _default_communicator():
    if not dist.is_initialized():
        return None
    group = dist.distributed_c10d._get_default_group()
    return group.communicator if getattr(group, "is_tributary", False) else None


_compiler.keep_out([_bootstrap, _buffers, _capi, _events, _group, _mixed, _work, sys.modules[__name__]])
