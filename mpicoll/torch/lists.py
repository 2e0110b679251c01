"""Lists of tensors as arguments: what fits together, what overlaps, what is one vector."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from mpi4py import MPI
from torch import Tensor

from mpicoll.torch.tensors import Back, block, operand, overlap, result

__all__ = ["all_same", "apart", "in_a_row", "key_of", "keys_of", "piece_size", "results"]
__all__ += ["same_size", "own_block", "splits"]


def key_of(tensor: Tensor) -> tuple:
    """All of a tensor that a call depends on, for caches."""
    return tensor.data_ptr(), tensor.numel(), tensor.dtype


def keys_of(tensors: Sequence[Tensor]) -> tuple:
    """The same of several tensors that are moved as bytes."""
    return tuple((tensor.data_ptr(), tensor.nbytes) for tensor in tensors)


def results(tensors: Sequence[Tensor], size: int, what: str) -> tuple[list[Tensor], Back]:
    """Places for results in tensors, and the way back to those that have no place themselves."""
    if len(tensors) != size:
        raise ValueError(f"{what}: expected {size} output tensors, got {len(tensors)}")
    places, backs = zip(*map(result, tensors), strict=True)
    backs = [back for back in backs if back is not None]
    return list(places), (lambda: [back() for back in backs]) if backs else None


def apart(given: Tensor, places: Sequence[Tensor], stays: Tensor | None = None) -> Tensor:
    """A tensor, or a copy if it shares memory with `places`, unless it is `stays` itself."""
    if stays is not None and given.data_ptr() == stays.data_ptr() and given.nbytes == stays.nbytes:
        return given
    return given.clone() if any(overlap(given, place) for place in places) else given


def own_block(own: Tensor, others: Sequence[Tensor]) -> object:
    """The own block as a message; IN_PLACE if it is one of the others."""
    if own.numel() and any(own.data_ptr() == other.data_ptr() for other in others):
        return MPI.IN_PLACE
    return block(own)


def in_a_row(tensors: Sequence[Tensor]) -> Tensor:
    """Tensors as one vector: where they are, if they follow each other in memory."""
    tensors = [operand(tensor) for tensor in tensors]
    first, end = tensors[0], tensors[0].data_ptr()
    for tensor in tensors:
        if tensor.data_ptr() != end or tensor.dtype != first.dtype:
            break
        end += tensor.nbytes
    else:
        storage = first.untyped_storage()
        if end <= storage.data_ptr() + storage.nbytes():
            count = sum(tensor.numel() for tensor in tensors)
            return first.detach().as_strided((count,), (1,), first.storage_offset())
    return torch.cat([tensor.detach().reshape(-1) for tensor in tensors])


def same_size(one: Tensor, other: Tensor, what: str) -> None:
    """ValueError if the block that stays on its rank does not fit."""
    if one.nbytes != other.nbytes:
        raise ValueError(
            f"{what}: the rank's own block has {one.nbytes} bytes in one list of tensors and "
            f"{other.nbytes} in the other"
        )


def all_same(own: Tensor, others: Sequence[Tensor], what: str) -> None:
    """ValueError if tensors have several sizes."""
    if any(other.nbytes != own.nbytes for other in others):
        raise ValueError(
            f"{what}: all tensors must have the same size; the rank's own has {own.nbytes} bytes, "
            f"the others {[other.nbytes for other in others]}"
        )


def splits(tensor: Tensor, sizes: Sequence[int], size: int) -> Sequence[int]:
    """How many rows of the first dimension belong to each rank."""
    rows = tensor.shape[0] if tensor.dim() else tensor.numel()
    if not sizes:
        if rows % size:
            raise ValueError(
                f"all_to_all: the first dimension, {rows}, is not a multiple of {size} ranks; "
                "give split sizes"
            )
        return (rows // size,) * size
    if len(sizes) != size or sum(sizes) != rows:
        raise ValueError(
            f"all_to_all: split sizes {list(sizes)} do not divide {rows} rows among {size} ranks"
        )
    return sizes


def piece_size(tensor: Tensor, rows: int) -> int:
    """Bytes of some rows of the first dimension."""
    return rows * (tensor.nbytes // tensor.shape[0]) if rows else 0
