# SPDX-License-Identifier: Apache-2.0
"""Tensors as the library wants them: contiguous memory of a known type. Whoever has that already is not copied.

Read next: _group.py (which collective needs what).
"""
import torch

from . import _capi

TYPES = {
    torch.float32: _capi.TYPE["FLOAT32"], torch.float16: _capi.TYPE["FLOAT16"], torch.bfloat16: _capi.TYPE["BFLOAT16"],
    torch.float64: _capi.TYPE["FLOAT64"], torch.int32: _capi.TYPE["INT32"], torch.int64: _capi.TYPE["INT64"],
    torch.int8: _capi.TYPE["INT8"], torch.uint8: _capi.TYPE["UINT8"], torch.bool: _capi.TYPE["UINT8"],
}
# By torch's number of the operation, which is also its hash: ReduceOp.SUM is 0.
_SUM, _AVG, _PRODUCT, _MIN, _MAX, _BAND, _BOR = range(7)
_REDUCTIONS = {
    _SUM: _capi.REDUCTION["SUM"], _AVG: _capi.REDUCTION["AVERAGE"], _PRODUCT: _capi.REDUCTION["PRODUCT"],
    _MIN: _capi.REDUCTION["MINIMUM"], _MAX: _capi.REDUCTION["MAXIMUM"],
}
# What is stored of a bool is 0 or 1, and stays so: a sum is true where any rank's is, as with nccl.
_REDUCTIONS_OF_BOOL = {
    _SUM: _capi.REDUCTION["MAXIMUM"], _MAX: _capi.REDUCTION["MAXIMUM"], _BOR: _capi.REDUCTION["MAXIMUM"],
    _PRODUCT: _capi.REDUCTION["MINIMUM"], _MIN: _capi.REDUCTION["MINIMUM"], _BAND: _capi.REDUCTION["MINIMUM"],
}
UINT8 = _capi.TYPE["UINT8"]
_KNOWN = (torch.Tensor, torch.nn.Parameter)  # of other classes a tensor may have no memory of its own
# (type, reduction) of the library, by torch's type and number.
_SUMMED = {(dtype, number): (kind, reduction) for dtype, kind in TYPES.items()
           for number, reduction in (_REDUCTIONS_OF_BOOL if dtype is torch.bool else _REDUCTIONS).items()}


def summed_as(tensor, op):
    """(type, reduction) of the library for it, or None: it cannot."""
    how = _SUMMED.get((tensor.dtype, hash(op)))
    if how is None and tensor.dtype is torch.bool and hash(op) == _AVG:
        raise ValueError("bool tensors have no average")
    return how


def in_parts(tensor, op, is_source=False):
    """The tensor; or, of a complex one that is added up, its real and imaginary parts, in the same memory or, of a source, a copy."""
    if not tensor.is_complex() or hash(op) not in (_SUM, _AVG) or tensor.layout is not torch.strided:
        return tensor
    plain = tensor.detach().resolve_conj().resolve_neg() if is_source else tensor.detach()
    return tensor if plain.is_conj() or plain.is_neg() else torch.view_as_real(plain)


def moved_as(tensor):
    """(type, elements) for a tensor that is only moved: types that the library does not know travel as bytes."""
    kind = TYPES.get(tensor.dtype)
    return (kind, tensor.numel()) if kind is not None else (UINT8, tensor.numel() * tensor.element_size())


def check(tensor):
    """Whether it is for the library: a strided tensor in this machine's memory. Sparse ones are gloo's."""
    if not tensor.is_cpu:
        raise ValueError(f"tributary sums tensors in CPU memory, and this one is on {tensor.device}: keep the other backend for the "
                         "group, and give DDP tributary_torch.allreduce_hook")
    return tensor.layout is torch.strided


def is_memory(tensor):
    """Whether it is a tensor of torch's own class, with memory that is its values."""
    return type(tensor) in _KNOWN and not tensor.is_quantized and not tensor.is_nested


def held(given):
    """The same tensor, or lists of tensors, but for the result of a functional collective: it is waited for, and is the tensor in it.
    Raises ValueError for a tensor whose memory is not its values. (torch calls a group that is written in Python without its dispatcher,
    which would ask the class of the tensor.)"""
    if isinstance(given, (list, tuple)):
        return [held(one) for one in given]
    if is_memory(given) or not isinstance(given, torch.Tensor):
        return given
    if hasattr(given, "trigger_wait"):
        return given.trigger_wait()
    kind = "quantized" if given.is_quantized else "nested" if given.is_nested else type(given).__name__
    if kind in ("quantized", "nested") or given.untyped_storage().device.type == "meta" or given.data_ptr() == 0 and given.numel() > 0:
        raise ValueError(f"the memory of a {kind} tensor is not its values: give a plain tensor, such as to_local() of a DTensor, values() of "
                         "a nested tensor or int_repr() of a quantized one")
    return given


def is_plain(tensor):
    """Whether its memory is its values in their order. That of a lazily negated or conjugated tensor is not."""
    return tensor.is_contiguous() and not tensor.is_neg() and not tensor.is_conj()


def _plain(tensor):
    return tensor.detach().resolve_conj().resolve_neg().contiguous()


def _may_share(share, whole, size, start):
    """Whether the share's memory is its own place in a whole of size bytes, or apart from it: what the library allows."""
    share_at, whole_at = share.data_ptr(), whole.data_ptr()
    apart = share_at + share.numel() * share.element_size() <= whole_at or whole_at + size <= share_at
    return apart or share_at == whole_at + start


class Buffers:
    """The memory of one operation: what must live until it ends, and what is copied back then."""

    def __init__(self):
        self.kept = []
        self._copies = []

    def source(self, tensor):
        """Contiguous memory with its values."""
        if not is_plain(tensor):
            tensor = _plain(tensor)
        self.kept.append(tensor)
        return tensor

    def source_beside(self, tensor, whole, size, start):
        """The same, for a share that may lie in the whole to be written, size bytes, but not at its place there, byte start."""
        memory = self.source(tensor)
        return memory if _may_share(memory, whole, size, start) else self.source(memory.clone())

    def target(self, tensor):
        """Contiguous memory for its new values."""
        if is_plain(tensor):
            self.kept.append(tensor)
            return tensor
        return self._copied(tensor, torch.empty(tensor.shape, dtype=tensor.dtype))

    def target_beside(self, tensor, whole, size, start):
        """The same, for a share that may lie in the whole to be read, size bytes, but not at its place there, byte start."""
        memory = self.target(tensor)
        return memory if _may_share(memory, whole, size, start) else self._copied(tensor, torch.empty(tensor.shape, dtype=tensor.dtype))

    def both(self, tensor):
        """Contiguous memory with its values, and for its new ones."""
        if is_plain(tensor):
            self.kept.append(tensor)
            return tensor
        return self._copied(tensor, _plain(tensor))

    def targets(self, tensors):
        """One memory for the new values of all, one behind the other: theirs if they lie so."""
        if _lie_in_turn(tensors):
            self.kept += tensors
            return tensors[0]
        memory = torch.empty(sum(tensor.numel() for tensor in tensors), dtype=tensors[0].dtype)
        start = 0
        for tensor in tensors:
            self._copied(tensor, memory[start:start + tensor.numel()].view(tensor.shape))
            start += tensor.numel()
        return memory

    def sources(self, tensors):
        """One memory with the values of all, one behind the other."""
        if _lie_in_turn(tensors):
            self.kept += tensors
            return tensors[0]
        memory = torch.cat([_plain(tensor).view(-1) for tensor in tensors])
        self.kept.append(memory)
        return memory

    def _copied(self, tensor, memory):
        if torch._debug_has_internal_overlap(tensor) == 1:  # copy_back could not write it: refused before the other ranks wait
            raise ValueError(f"a tensor of shape {tuple(tensor.shape)} and strides {tensor.stride()}, as expand() makes, has elements that "
                             "share memory: give its clone()")
        self._copies.append((tensor.detach(), memory))
        return memory

    def copy_back(self):
        """What is to be done at the end, on any thread: tensors that were made in inference mode are written in that mode alone."""
        if self._copies:
            with torch.inference_mode():
                for tensor, memory in self._copies:
                    tensor.copy_(memory)


def _lie_in_turn(tensors):
    start = tensors[0].data_ptr()
    storage = tensors[0].untyped_storage().data_ptr()
    for tensor in tensors:
        if not is_plain(tensor) or tensor.untyped_storage().data_ptr() != storage or tensor.data_ptr() != start:
            return False
        start += tensor.numel() * tensor.element_size()
    return True
