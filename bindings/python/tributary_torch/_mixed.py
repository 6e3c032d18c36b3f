# SPDX-License-Identifier: Apache-2.0
"""Groups of several backends, as "cpu:tributary,cuda:nccl": tensors on the CPU are ours, each other device has its own backend inside.

torch takes the first group that a creator returns for the whole, and drops the other backends of the string. So the group itself makes
them, as torch would have, and gives each operation to the backend of its tensors' device.
Read next: _create.py, which asks for this.
"""
import sys

import torch
import torch.distributed as dist
from torch._C import _distributed_c10d as c10d

from ._gloo import AllOf
from ._group import ProcessGroupTributary
from ._name import NAME

# The class of torch for a backend whose options are its own.
_CLASSES = {"nccl": "ProcessGroupNCCL", "xccl": "ProcessGroupXCCL"}


class MixedGroup(ProcessGroupTributary):
    """backends: {device type: backend}, of every device besides the CPU."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.backends = {}

    def add_backend(self, device, name, options, pg_options):
        """Makes the backend of a device, and registers it. options: those of torch's creators."""
        kind, backend = dist.Backend.backend_type_map[name], self._gloo  # a gloo that is there serves all its devices
        if name != "gloo":
            backend = _made(name, _options_for(device, options), pg_options)
            if name in _CLASSES:
                backend._set_sequence_number_for_group()
                self._set_default_backend(kind)
        self._register_backend(torch.device(device), kind, backend)
        self.backends[device] = backend

    def barrier(self, opts=None, timeout=None):
        device = getattr(opts, "device", None)
        backend = self.backends.get(device.type) if device is not None else None
        return super().barrier(opts, timeout) if backend is None else backend.barrier(opts)

    def all_gather_single_coalesced(self, outputs, inputs, opts=None):
        backend = self.backends.get(_device_of(outputs))
        if backend is None:
            return super().all_gather_single_coalesced(outputs, inputs, opts)
        return AllOf([backend._allgather_base(*one, opts or c10d.AllgatherOptions()) for one in zip(outputs, inputs, strict=True)])

    allgather_into_tensor_coalesced = all_gather_single_coalesced

    def reduce_scatter_single_coalesced(self, outputs, inputs, opts=None):
        backend = self.backends.get(_device_of(outputs))
        if backend is None:
            return super().reduce_scatter_single_coalesced(outputs, inputs, opts)
        return AllOf([backend._reduce_scatter_base(*one, opts or c10d.ReduceScatterOptions()) for one in zip(outputs, inputs, strict=True)])

    reduce_scatter_tensor_coalesced = reduce_scatter_single_coalesced

    def abort(self, cause=None):
        super().abort(cause)
        for backend in self._others():
            backend.abort()

    def shutdown(self):
        super().shutdown()
        for backend in self._others():
            backend.shutdown()

    def _others(self):
        return [backend for backend in self.backends.values() if backend is not self._gloo]


def _route(name, theirs):
    """A method that gives the call to the backend of its tensors' device. theirs: the backend's name of it."""
    ours = getattr(ProcessGroupTributary, name)

    def routed(self, *arguments, **named):
        backend = self.backends.get(_device_of(arguments))
        return ours(self, *arguments, **named) if backend is None else getattr(backend, theirs)(*arguments, **named)
    return routed


for _name in ("allreduce", "allreduce_coalesced", "reduce", "reduce_scatter", "_reduce_scatter_base", "broadcast", "allgather",
              "_allgather_base", "allgather_coalesced", "gather", "scatter", "alltoall", "alltoall_base", "send", "recv", "recv_anysource"):
    setattr(MixedGroup, _name, _route(_name, _name))
for _name, _theirs in (("reduce_scatter_single", "_reduce_scatter_base"), ("all_gather_single", "_allgather_base"),
                       ("all_to_all_single", "alltoall_base")):
    setattr(MixedGroup, _name, _route(_name, _theirs))


def _device_of(tensors):
    """The device type of the first tensor in lists of lists. None if there is none."""
    if isinstance(tensors, torch.Tensor):
        return tensors.device.type
    if isinstance(tensors, (list, tuple)):
        return next((device for device in map(_device_of, tensors) if device is not None), None)
    return None


def asked_devices():
    """{device type: backend} of the group that torch is making, and the device that it is bound to. Torch tells a creator neither: both are
    variables of the function that calls it. {} if this torch has no such function."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "_new_process_group_helper":
        frame = frame.f_back
    config = frame.f_locals.get("backend_config") if frame is not None else None
    if config is None:
        return {}, None
    return {device: str(name) for device, name in config.get_device_backend_map().items()}, frame.f_locals.get("device_id")


def other_devices(devices):
    """Those of other backends. Raises ValueError for a device or a backend that a group of ours cannot have."""
    for device, name in devices.items():
        if name == NAME and device != "cpu":
            raise ValueError(f"{device}:{NAME}: backend {NAME} sums tensors in CPU memory, not on {device}; name another backend for "
                             f"{device}, as in \"cpu:{NAME},{device}:nccl\", and give DDP tributary_torch.allreduce_hook")
        is_known = name in (NAME, "gloo") or name.upper() in dist.Backend._plugins or hasattr(dist, _CLASSES.get(name, "-"))
        if not is_known:
            raise ValueError(f"{device}:{name}: backend {NAME} makes no group with {name}, or this torch has no {name}; make a group of "
                             f"{name} alone beside this one")
    return {device: name for device, name in devices.items() if name != NAME}


def _options_for(device, options):
    copy = c10d._DistributedBackendOptions()
    for field in ("group_rank", "group_size", "timeout", "group_id", "global_ranks_in_group"):
        setattr(copy, field, getattr(options, field))
    copy.store = dist.PrefixStore(f"tributary-{device}", options.store)
    return copy


def _made(name, options, pg_options):
    if name in _CLASSES:
        kind = getattr(dist, _CLASSES[name])
        own = pg_options if pg_options is not None else kind.Options()
        own._timeout = options.timeout
        own.global_ranks_in_group, own.group_name = options.global_ranks_in_group, options.group_id
        return kind(options.store, options.group_rank, options.group_size, own)
    plugin = dist.Backend._plugins[name.upper()]
    if plugin.extended_api:
        backend = plugin.creator_fn(options, pg_options)
    else:
        backend = plugin.creator_fn(options.store, options.group_rank, options.group_size, options.timeout)
    if isinstance(backend, dist.ProcessGroup):
        raise ValueError(f"backend {name} is a whole group, not a part of one; make a group of {name} alone beside this one")
    return backend
