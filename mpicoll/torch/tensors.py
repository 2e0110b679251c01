"""Tensors as the memory of a collective: where they are if contiguous, on copies otherwise.

Nothing here owns memory: a view lives as long as its tensor, which whoever started the collective
keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np
import torch
from mpi4py import MPI
from torch import Tensor

__all__ = ["block", "blocks", "numbers", "overlap", "operand", "result"]

Back = Callable[[], object] | None

#: Types that NumPy has by another name, or not at all.
_OTHER_NAMES = {torch.bfloat16: "bfloat16", torch.bool: "bool"}


def _checked(tensor: Tensor) -> Tensor:
    if tensor.device.type != "cpu":
        raise ValueError(f"mpicoll communicates CPU tensors, not one on {tensor.device}")
    if tensor.layout is not torch.strided:
        raise ValueError(f"mpicoll communicates dense tensors, not {tensor.layout}: use to_dense()")
    return tensor


def operand(tensor: Tensor) -> Tensor:
    """The tensor, or a contiguous copy of it, to be read."""
    if tensor.is_contiguous() and not (tensor.is_conj() or tensor.is_neg()):
        return _checked(tensor)
    return _checked(tensor).detach().resolve_conj().resolve_neg().contiguous()


def result(tensor: Tensor, read: bool = False) -> tuple[Tensor, Back]:
    """A contiguous place for a result and, if it is not the tensor itself, the way back.

    `read`: the place holds the tensor's values first.
    """
    if tensor.is_contiguous() and not (tensor.is_conj() or tensor.is_neg()):
        return _checked(tensor), None
    tensor = _checked(tensor).detach()
    if read:
        place = tensor.clone(memory_format=torch.contiguous_format).resolve_conj().resolve_neg()
    else:
        place = torch.empty(tensor.shape, dtype=tensor.dtype)
    return place, lambda: tensor.copy_(place)


def block(tensor: Tensor) -> list:
    """A contiguous tensor as a message of bytes."""
    nbytes = tensor.numel() * tensor.element_size()
    return [MPI.buffer.fromaddress(tensor.data_ptr(), nbytes), nbytes, MPI.BYTE]


def blocks(tensors: Sequence[Tensor]) -> list:
    """Contiguous tensors anywhere in memory as one message with a block for each of them."""
    counts = [tensor.numel() * tensor.element_size() for tensor in tensors]
    return [MPI.BOTTOM, counts, [tensor.data_ptr() for tensor in tensors], MPI.BYTE]


@cache
def _dtype(dtype: torch.dtype) -> np.dtype:
    name = _OTHER_NAMES.get(dtype, str(dtype).removeprefix("torch."))
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    if name.startswith(("bool", "int", "uint", "float", "complex")) and "_" not in name:
        try:
            return np.dtype(name)
        except TypeError:
            pass
    raise ValueError(f"mpicoll moves {dtype}, but has no reductions for it")


def numbers(tensor: Tensor, count: int | None = None) -> np.ndarray:
    """A contiguous tensor, or as many elements from its start on, as a NumPy vector."""
    dtype = _dtype(tensor.dtype)
    count = tensor.numel() if count is None else count
    if not count:
        return np.empty(0, dtype)
    memory = MPI.buffer.fromaddress(tensor.data_ptr(), count * tensor.element_size())
    return np.frombuffer(memory, np.uint8).view(dtype)


def overlap(one: Tensor, other: Tensor) -> bool:
    """True if two contiguous tensors share memory."""
    start, begin = one.data_ptr(), other.data_ptr()
    return start < begin + other.nbytes and begin < start + one.nbytes
