"""Inputs of a case, made in the parent from its secret seed, and what must come of them."""

from __future__ import annotations

from functools import reduce

import numpy as np

from mpicoll.grade import trace
from mpicoll.grade.cases import Case
from mpicoll.grade.exercise import Collective
from mpicoll.grade.operations import PRIME, UFUNCS

__all__ = ["error_bound", "expected", "inputs", "output_shape"]

#: How long inputs and outputs are in units of n: by number of ranks P.
_BLOCKS_IN = {"scatter", "reduce_scatter", "alltoall"}
_BLOCKS_OUT = {"gather", "allgather", "alltoall"}


def _shape(case: Case, several: bool) -> list[int]:
    rows = case.count * (case.size if several else 1)
    return [rows, case.width] if case.width else [rows]


def output_shape(task: Collective, case: Case, rank: int) -> list[int] | None:
    """The shape of a rank's output memory; None where it has none."""
    if task.name == "barrier":
        return None
    if task.name in ("reduce", "gather") and rank != case.root:
        return None
    return _shape(case, task.name in _BLOCKS_OUT)


def inputs(task: Collective, case: Case, random: np.random.Generator) -> list[np.ndarray | None]:
    """Every rank's input: different on every rank and in every element."""
    found: list[np.ndarray | None] = []
    for rank in range(case.size):
        if task.name == "barrier" or (task.name in ("bcast", "scatter") and rank != case.root):
            found.append(None)
            continue
        shape = _shape(case, task.name in _BLOCKS_IN)
        found.append(_values(case, rank, shape, random))
    return found


def _values(case: Case, rank: int, shape: list[int], random: np.random.Generator) -> np.ndarray:
    length, dtype = int(np.prod(shape)), np.dtype(case.dtype)
    if case.traced:
        return trace.elements(rank, length).reshape(shape)
    if case.op == "affine":
        values = random.integers(2, PRIME, length) * PRIME + random.integers(1, PRIME, length)
    elif case.op == "gcd":
        values = 6 * random.integers(1, 50, length) * (1 + rank % 2)
    elif case.op == "PROD":
        values = random.integers(2, 4, length) + random.integers(0, 2, length) / 2
        values = values.astype(np.int64) if dtype.kind in "iu" else values
    elif dtype.kind in "iu":
        # Small enough for the sum of all ranks in every dtype.
        most = min(np.iinfo(dtype).max // 64, 10**6)
        values = random.integers(1, most, length)
    elif dtype.kind == "b":
        values = random.integers(0, 2, length)
    else:
        values = random.standard_normal(length)
        values = values + 1j * random.standard_normal(length) if dtype.kind == "c" else values
    return np.asarray(values).astype(dtype).reshape(shape)


def expected(
    task: Collective, case: Case, given: list[np.ndarray | None]
) -> list[np.ndarray | None]:
    """Every rank's right output; None where it has none, or any will do."""
    size, root = case.size, case.root
    if task.name == "barrier":
        return [None] * size
    if task.name == "bcast":
        return [given[root]] * size
    if task.name == "scatter":
        return list(np.split(given[root], size))
    if task.name in ("gather", "allgather"):
        whole = np.concatenate(given)
        return [whole if task.name == "allgather" or r == root else None for r in range(size)]
    if task.name == "alltoall":
        parts = [np.split(array, size) for array in given]
        return [np.concatenate([parts[s][r] for s in range(size)]) for r in range(size)]
    combine = UFUNCS[case.op]
    if task.name in ("scan", "exscan"):
        upto = [reduce(combine, given[: r + 1]) for r in range(size)]
        return upto if task.name == "scan" else [None, *upto[:-1]]
    whole = reduce(combine, given)
    if task.name == "reduce_scatter":
        return list(np.split(whole, size))
    return [whole if task.name == "allreduce" or r == root else None for r in range(size)]


def error_bound(case: Case, given: list[np.ndarray | None]) -> float:
    """How far a right result may be from the expected one, relative to the greatest magnitude."""
    if case.op not in ("SUM", "PROD") or np.dtype(case.dtype).kind not in "fc" or case.traced:
        return 0.0
    return 4 * case.size * float(np.finfo(case.dtype).eps)
