# SPDX-License-Identifier: Apache-2.0
"""What `import torch` runs, by the entry point torch.backends. An exception here would break `import torch`: none gets out."""
import functools
import sys
import warnings

from ._name import NAME


def autoload():
    """Registers the backend. Whatever goes wrong is a warning: a program that does not use it must not notice."""
    try:
        register()
    except Exception as error:  # by design: see above
        text = f"the torch.distributed backend \"{NAME}\" is not available: {type(error).__name__}: {error}"
        try:
            warnings.warn(text, stacklevel=2)
        except Warning:  # python -W error
            print(text, file=sys.stderr)


def register():
    import torch.distributed as dist
    if not dist.is_available() or NAME in dist.Backend.backend_list:
        return
    dist.Backend.register_backend(NAME, _create, extended_api=True, devices=["cpu"])
    _extend_monitored_barrier(dist)


def _create(options, pg_options):
    """torch's creator: makes the group. The C library is loaded here, at first use."""
    from ._create import create
    return create(options, pg_options)


def _extend_monitored_barrier(dist):
    """torch's own asks for gloo by name. A group of ours has the method, so it may have the function as well."""
    theirs = dist.distributed_c10d.monitored_barrier

    @functools.wraps(theirs)
    def monitored_barrier(group=None, timeout=None, wait_all_ranks=False):
        target = group if group is not None else dist.distributed_c10d._get_default_group()
        if getattr(target, "is_tributary", False):
            return target.monitored_barrier(timeout, wait_all_ranks=wait_all_ranks)
        return theirs(group, timeout, wait_all_ranks)

    dist.distributed_c10d.monitored_barrier = monitored_barrier
    dist.monitored_barrier = monitored_barrier
