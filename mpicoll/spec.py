"""What each collective means, stated once.

A collective is stated by what every block holds *before* and must hold *after*. The value of a
block is a `Piece`: which piece of data it is, and the ordered tuple of the ranks whose
contributions it combines. Reduced values are therefore elements of the free monoid over the ranks,
and the order of operands is visible: ``(0, 1, 2)`` is the result of MPI's definition, ``(1, 2, 0)``
is right only if the operation commutes.

Every collective has one list of `blocks`. In *vector* collectives (bcast, reduce, allreduce, scan,
exscan) they are consecutive parts of one vector, as many as the algorithm asks for. In *block*
collectives there are `size` of them, or a multiple, and rank r owns its share (`owned`).

In place means that `Output[i]` and `Input[i]` are the same memory, wherever `shared` says so. In
place reduce-scatter and all-to-all have another geometry; there execution works on a copy.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from mpicoll.steps import Buffer, Input, Output

__all__ = ["SPECS", "Piece", "Spec", "owned", "spec_of"]


class Piece(NamedTuple):
    """A piece of data: its number, and who contributed to it, in operand order."""

    number: int
    ranks: tuple[int, ...]


Slot = tuple[Buffer, int]
Memory = dict[Slot, Piece]


def owned(rank: int, size: int, blocks: int) -> range:
    """The blocks that belong to `rank`, of `blocks` in all."""
    share = blocks // size
    return range(rank * share, (rank + 1) * share)


def _owner(block: int, size: int, blocks: int) -> int:
    return block // (blocks // size)


@dataclass(frozen=True)
class Spec:
    """The statement of one collective.

    `before` and `after` give a rank's memory from ``(rank, size, root, blocks)``; `shared` gives
    the blocks that are one memory when the call is in place. `reduces`: values are combined;
    `rooted`: the call has a root; `vector`: blocks are parts of one vector.
    """

    name: str
    meaning: str
    before: Callable[[int, int, int, int], Memory]
    after: Callable[[int, int, int, int], Memory]
    shared: Callable[[int, int, int, int], range]
    rooted: bool = False
    reduces: bool = False
    vector: bool = False

    def extent(self, rank: int, buffer: Buffer, block: int, size: int, blocks: int) -> object:
        """A symbol for the size of a block.

        Two blocks have equal symbols only if every call gives them equal sizes, whatever the
        counts.
        """
        if self.name != "alltoall":
            return block
        other = _owner(block, size, blocks)
        if buffer == Input:
            return (rank, other, block % (blocks // size))
        if buffer == Output:
            return (other, rank, block % (blocks // size))
        return ("scratch", block)


def _every(buffer: Buffer, blocks: range, ranks: tuple[int, ...]) -> Memory:
    return {(buffer, b): Piece(b, ranks) for b in blocks}


def _mine(rank: int, size: int, root: int, blocks: int) -> Memory:
    return _every(Input, range(blocks), (rank,))


def _share(rank: int, size: int, root: int, blocks: int) -> Memory:
    return _every(Input, owned(rank, size, blocks), (rank,))


def _collected(rank: int, size: int, root: int, blocks: int) -> Memory:
    return {(Output, b): Piece(b, (_owner(b, size, blocks),)) for b in range(blocks)}


def _transposed(rank: int, size: int, root: int, blocks: int) -> Memory:
    mine, share = owned(rank, size, blocks), blocks // size
    return {(Output, b): Piece(mine[b % share], (b // share,)) for b in range(blocks)}


def _at_root(statement: Callable[[int, int, int, int], Memory]) -> Callable:
    def only_root(rank: int, size: int, root: int, blocks: int) -> Memory:
        return statement(rank, size, root, blocks) if rank == root else {}

    return only_root


def _sum(rank: int, size: int, root: int, blocks: int) -> Memory:
    return _every(Output, range(blocks), tuple(range(size)))


def _all(rank: int, size: int, root: int, blocks: int) -> range:
    return range(blocks)


def _all_at_root(rank: int, size: int, root: int, blocks: int) -> range:
    return range(blocks) if rank == root else range(0)


def _own(rank: int, size: int, root: int, blocks: int) -> range:
    return owned(rank, size, blocks)


def _own_at_root(rank: int, size: int, root: int, blocks: int) -> range:
    return owned(rank, size, blocks) if rank == root else range(0)


def _none(rank: int, size: int, root: int, blocks: int) -> range:
    return range(0)


def _nothing(rank: int, size: int, root: int, blocks: int) -> Memory:
    return {}


SPECS: dict[str, Spec] = {
    spec.name: spec
    for spec in (
        Spec(
            "barrier",
            "nobody leaves before everybody has entered",
            before=_nothing,
            after=_nothing,
            shared=_none,
        ),
        Spec(
            "bcast",
            "the root's vector is on every rank",
            before=_at_root(lambda r, size, root, n: _every(Output, range(n), (root,))),
            after=lambda r, size, root, n: _every(Output, range(n), (root,)),
            shared=_none,
            rooted=True,
            vector=True,
        ),
        Spec(
            "reduce",
            "the vectors of all ranks are combined at the root",
            before=_mine,
            after=_at_root(_sum),
            shared=_all_at_root,
            rooted=True,
            reduces=True,
            vector=True,
        ),
        Spec(
            "allreduce",
            "the vectors of all ranks are combined on every rank",
            before=_mine,
            after=_sum,
            shared=_all,
            reduces=True,
            vector=True,
        ),
        Spec(
            "scatter",
            "rank i gets block i of the root",
            before=_at_root(lambda r, size, root, n: _every(Input, range(n), (root,))),
            after=lambda r, size, root, n: _every(Output, owned(r, size, n), (root,)),
            shared=_own_at_root,
            rooted=True,
        ),
        Spec(
            "gather",
            "the root gets every rank's block, in rank order",
            before=_share,
            after=_at_root(_collected),
            shared=_own_at_root,
            rooted=True,
        ),
        Spec(
            "allgather",
            "every rank gets every rank's block, in rank order",
            before=_share,
            after=_collected,
            shared=_own,
        ),
        Spec(
            "reduce_scatter",
            "rank i gets block i, combined over all ranks",
            before=_mine,
            after=lambda r, size, root, n: _every(Output, owned(r, size, n), tuple(range(size))),
            shared=_none,
            reduces=True,
        ),
        Spec(
            "alltoall",
            "rank i's block j becomes rank j's block i",
            before=_mine,
            after=_transposed,
            shared=_none,
        ),
        Spec(
            "scan",
            "rank i gets the combination of ranks 0 to i",
            before=_mine,
            after=lambda r, size, root, n: _every(Output, range(n), tuple(range(r + 1))),
            shared=_all,
            reduces=True,
            vector=True,
        ),
        Spec(
            "exscan",
            "rank i gets the combination of ranks 0 to i - 1; rank 0 gets nothing",
            before=_mine,
            after=lambda r, size, root, n: _every(Output, range(n), tuple(range(r))) if r else {},
            shared=_all,
            reduces=True,
            vector=True,
        ),
    )
}


def spec_of(collective: str) -> Spec:
    """The statement of a collective; ValueError names the known ones."""
    try:
        return SPECS[collective]
    except KeyError:
        raise ValueError(
            f"unknown collective {collective!r}: expected one of {', '.join(SPECS)}"
        ) from None
