# SPDX-License-Identifier: Apache-2.0
"""torch.distributed backend "tributary": collectives that switches, or the hosts themselves, sum on the way.

    import torch.distributed as dist
    dist.init_process_group("tributary")        # everything else stays as it is

With torch 2.5 or newer `import torch` registers the backend by itself; before that, `import tributary_torch` does.
Read next: _group.py (what a collective becomes), _bootstrap.py (how ranks meet), README.md (how to use it).
"""
# Importing this must be cheap and can never fail: it runs inside `import torch`. All else is loaded at first use.
_LAZY = {
    "Options": "_bootstrap",
    "ProcessGroupTributary": "_group",
    "HookState": "hooks",
    "allreduce_hook": "hooks",
    "bfloat16_hook": "hooks",
}
__all__ = sorted([*_LAZY, "register", "version"])


def __getattr__(name):
    if name in _LAZY:
        from importlib import import_module
        return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def register():
    """Makes the backend known to torch.distributed; harmless if it is known. `import torch` calls it."""
    from ._autoload import register as register_backend
    register_backend()


def version():
    """Version of the C library."""
    from . import _capi
    return _capi.library().trib_version().decode()


# Who imports this package means the backend; within `import torch` the entry point says it again, which is harmless.
from . import _autoload  # noqa: E402

_autoload.autoload()
