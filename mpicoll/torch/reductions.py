"""torch's reduction operations by MPI's names."""

from __future__ import annotations

import torch
from mpi4py import MPI
from torch import Tensor
from torch.distributed import ReduceOp

from mpicoll.execution.reduction import AVG, Average

__all__ = ["operation", "premultiplied"]

_OPS = {
    ReduceOp.SUM: MPI.SUM,
    ReduceOp.AVG: AVG,
    ReduceOp.PRODUCT: MPI.PROD,
    ReduceOp.MIN: MPI.MIN,
    ReduceOp.MAX: MPI.MAX,
    ReduceOp.BAND: MPI.BAND,
    ReduceOp.BOR: MPI.BOR,
    ReduceOp.BXOR: MPI.BXOR,
    ReduceOp.PREMUL_SUM: MPI.SUM,
}
#: Truth values are added and multiplied as in Boolean algebra.
_LOGICAL = {
    ReduceOp.SUM: MPI.LOR,
    ReduceOp.MAX: MPI.LOR,
    ReduceOp.BOR: MPI.LOR,
    ReduceOp.PRODUCT: MPI.LAND,
    ReduceOp.MIN: MPI.LAND,
    ReduceOp.BAND: MPI.LAND,
    ReduceOp.BXOR: MPI.LXOR,
}


def operation(op: ReduceOp | ReduceOp.RedOpType, dtype: torch.dtype) -> MPI.Op | Average:
    """The operation on elements of `dtype`; ValueError if there is none."""
    kind = _kind(op)
    found = (_LOGICAL if dtype is torch.bool else _OPS).get(kind)
    if found is None:
        raise ValueError(f"mpicoll has no {kind.name} of {dtype}")
    if found is AVG and not (dtype.is_floating_point or dtype.is_complex):
        raise ValueError(f"ReduceOp.AVG is for floating-point and complex numbers, not {dtype}")
    return found


def premultiplied(op: ReduceOp | ReduceOp.RedOpType, tensor: Tensor, spoil: bool) -> Tensor:
    """The operand of a reduction: `tensor`, multiplied for PREMUL_SUM, in place if `spoil`."""
    if _kind(op) != ReduceOp.PREMUL_SUM:
        return tensor
    factor = op.__getstate__()[1]
    tensor = tensor.detach()
    return tensor.mul_(factor) if spoil else tensor * factor


def _kind(op: ReduceOp | ReduceOp.RedOpType) -> ReduceOp.RedOpType:
    return op if isinstance(op, ReduceOp.RedOpType) else op.__getstate__()[0]
