# SPDX-License-Identifier: Apache-2.0
"""gloo inside a group, for the operations that the library does not have: send, recv, gather, scatter, all_to_all and some reductions.

It connects when the group is made, as a gloo group of torch does: a pair that connects at first use makes recv wait for the sender
inside the call, and for longer than the group's timeout. TORCH_GLOO_LAZY_INIT=1, torch's own variable, leaves that to the first use.
Read next: _group.py (which operations come here).
"""
import os

import torch.distributed as dist
from torch._C._distributed_c10d import Work

from . import _bootstrap


class Gloo(dist.ProcessGroupGloo):
    """gloo, and torch's way to tell a group of a new timeout: torch tells its own backends alone."""

    owner = None

    def _set_default_timeout(self, timeout):
        super()._set_default_timeout(timeout)
        if self.owner is not None:
            self.owner.set_timeout(timeout)


def _connected(store, rank, size, timeout):
    """Over the interfaces that GLOO_SOCKET_IFNAME names; else over the one towards the store, where the library meets the others as well."""
    keys = dist.PrefixStore("tributary-gloo", store)
    address = None if os.environ.get("GLOO_SOCKET_IFNAME") else _bootstrap.reachable_address(store)
    if address is None:
        return Gloo(keys, rank, size, timeout=timeout)
    options = dist.ProcessGroupGloo._Options()
    options._timeout = timeout
    options._devices = [dist.ProcessGroupGloo.create_device(hostname=address)]
    return Gloo(keys, rank, size, options)


def make_gloo(store, rank, size, timeout):
    try:
        return _connected(store, rank, size, timeout)
    except RuntimeError as error:
        text = str(error).split("\nException raised from")[0]
        raise RuntimeError(
            f"gloo, which does send, recv, gather, scatter and all_to_all here, does not connect: {text}; name the interface between the "
            "ranks with GLOO_SOCKET_IFNAME, or set TORCH_GLOO_LAZY_INIT=1 if the program uses none of them") from None


class AllOf(Work):
    """Several works as one."""

    def __init__(self, works):
        super().__init__()
        self._works = works

    def wait(self, *timeout):
        return all([work.wait(*timeout) for work in self._works])

    def is_completed(self):
        return all(work.is_completed() for work in self._works)

    def synchronize(self):
        self.wait()
