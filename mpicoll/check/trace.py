"""Elements that carry where they come from, to tell what went wrong in a call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from mpi4py import MPI

__all__ = ["TRACE", "concatenate", "describe", "traces"]

#: Block and index of an element in its rank's input, and the ranks whose values are combined.
TRACE = np.dtype([("block", "i4"), ("index", "i4"), ("length", "i4"), ("ranks", "u1", (52,))])
MOST = 52
MIXED = -1


def traces(rank: int, block: int, count: int) -> np.ndarray:
    """The inputs of a rank in one block, as rows of bytes."""
    made = np.zeros(count, TRACE)
    made["block"], made["index"], made["length"] = block, np.arange(count), 1
    made["ranks"][:, 0] = rank % 256
    return made.view(np.uint8).reshape(count, TRACE.itemsize)


def concatenate(left: MPI.buffer, right: MPI.buffer, datatype: MPI.Datatype) -> None:
    """The operation: the ranks of the left operand, then those of the right one."""
    a, b = (np.frombuffer(memory, TRACE) for memory in (left, right))
    for one, other in zip(a, b, strict=True):
        ranks = [*_ranks(one), *_ranks(other)][:MOST]
        if (one["block"], one["index"]) != (other["block"], other["index"]):
            other["block"] = other["index"] = MIXED
        other["length"] = len(ranks)
        other["ranks"][: len(ranks)] = ranks


def _ranks(trace: np.void) -> list[int]:
    return trace["ranks"][: min(max(trace["length"], 0), MOST)].tolist()


def describe(
    got: np.void, expected: np.void, initial: np.void, reduces: bool, ordered: bool
) -> str:
    """What is wrong with a traced element; "" if nothing is."""
    if got == expected:
        return ""
    if got == initial:
        return "was not written"
    ranks, due = _ranks(got), _ranks(expected)
    origin = (got["block"], got["index"])
    if not 0 < got["length"] <= MOST:
        return "is not one of the inputs, nor a combination of them"
    if not reduces:
        return (
            f"came from rank {ranks[0]}'s block {origin[0]}, element {origin[1]}; expected "
            f"rank {due[0]}'s block {expected['block']}, element {expected['index']}"
        )
    if MIXED in origin:
        return f"combines different elements, of {_spelled(ranks)}"
    if origin != (expected["block"], expected["index"]):
        return f"is the result for element {origin[1]} instead of {expected['index']}"
    if not ordered:
        ranks, due = sorted(ranks), sorted(due)
    if ranks == due:
        return ""
    missing, extra = Counter(due) - Counter(ranks), Counter(ranks) - Counter(due)
    faults = []
    if missing:
        faults.append(f"{_spelled(missing)} missing")
    for rank, more in sorted(extra.items()):
        times = "twice" if due.count(rank) + more == 2 else f"{due.count(rank) + more} times"
        faults.append(f"rank {rank} {times}" if rank in due else f"rank {rank} should not be there")
    what = "; ".join(faults) or "the operands changed places"
    return f"combines ranks {_row(ranks)}, expected {_row(due)}: {what}"


def _spelled(ranks: Sequence[int] | Counter) -> str:
    names = sorted(set(ranks))
    return f"rank{'s' if len(names) > 1 else ''} {', '.join(map(str, names))}"


def _row(ranks: Sequence[int]) -> str:
    return " ".join(map(str, ranks)) or "none"
