"""A real request that completes when a collective of ours does."""

from __future__ import annotations

import itertools

from mpi4py import MPI

from mpicoll.execution import native

__all__ = ["Bell"]


class Bell:
    """A receive from oneself that completes when a collective does; ringing sends the message."""

    _mail: native.Intracomm | None = None
    _largest_tag = 0
    _numbers = itertools.count()
    # A failed collective rings with a byte too many: MPI reports that instead of success.
    _spare = bytearray(64)

    def __init__(self) -> None:
        if Bell._mail is None:
            Bell._mail = native.COMM_SELF.Dup()
            Bell._largest_tag = native.COMM_WORLD.Get_attr(MPI.TAG_UB)
        self._tag = next(Bell._numbers) % Bell._largest_tag
        self.request = Bell._mail.Irecv([Bell._spare, 0, MPI.BYTE], 0, self._tag)

    def ring(self, error: BaseException | None) -> None:
        """Complete the request; with an MPI error if the collective failed."""
        Bell._mail.Send([Bell._spare, int(error is not None), MPI.BYTE], 0, self._tag)
