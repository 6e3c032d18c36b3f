# SPDX-License-Identifier: Apache-2.0
"""Keeps torch.compile out of this package. Read next: _create.py, which asks for it."""
import inspect
import types


def _skipper():
    """What tells torch.compile to leave a code object alone, without importing torch._dynamo, which takes seconds."""
    from torch._C._dynamo import eval_frame
    if hasattr(eval_frame, "skip_code"):
        return eval_frame.skip_code
    alone = eval_frame._FrameExecStrategy(eval_frame._FrameAction.SKIP, eval_frame._FrameAction.DEFAULT)
    return lambda code: eval_frame.set_code_exec_strategy(code, alone)


def keep_out(modules):
    """torch.compile looks into every Python function that runs within a compiled model's call. There is nothing for it in what is called
    here, and it may not look into a group."""
    try:
        skip = _skipper()
    except (ImportError, AttributeError):  # other versions of torch
        return
    for module in modules:
        owners = [module, *(one for one in vars(module).values() if isinstance(one, type) and one.__module__ == module.__name__)]
        for function in (one for owner in owners for one in vars(owner).values()):
            function = inspect.unwrap(getattr(function, "__func__", function))
            if isinstance(function, types.FunctionType) and function.__module__ == module.__name__:
                skip(function.__code__)
