"""Local copies between parts of memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from mpicoll.execution import native
from mpicoll.execution.layout import Part, Runs, merge, runs_of, specs_of, view

__all__ = ["copy_parts"]


def copy_parts(source: list[Part], into: list[Part], keep: list) -> list[Callable[[], object]]:
    """The calls that copy the data of `source` to `into`; none where they are the same memory.

    Dense memory is moved as bytes. Memory with gaps goes through a message to oneself, which is
    how MPI converts between layouts; datatypes made on the way are appended to `keep`.
    """
    if merge(source) == merge(into):
        return []
    sources, targets = runs_of(source), runs_of(into)
    if sources is None or targets is None:
        pairs = zip(specs_of(source, keep), specs_of(into, keep), strict=True)
        return [partial(_through_mpi, one, other) for one, other in pairs if one[1] or other[1]]
    return [
        partial(view(target, nbytes).__setitem__, slice(None), view(start, nbytes))
        for start, target, nbytes in _common(sources, targets)
        if start != target
    ]


def _through_mpi(source: list, into: list) -> None:
    native.COMM_SELF.Sendrecv(source, 0, 0, into, 0, 0)


def _common(sources: Runs, targets: Runs) -> Iterator[tuple[int, int, int]]:
    """Pieces that are one run on both sides: (source, target, bytes)."""
    targets = list(targets)
    for start, nbytes in sources:
        while nbytes:
            target, room = targets.pop(0)
            piece = min(nbytes, room)
            yield start, target, piece
            start, nbytes = start + piece, nbytes - piece
            if room > piece:
                targets.insert(0, (target + piece, room - piece))
