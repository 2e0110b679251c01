"""The records of one rank: a ring buffer of fixed size, and the tables that it refers to."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Iterator
from typing import NamedTuple

__all__ = ["CALL", "COPY", "KINDS", "RECV", "REDUCE", "SEND", "USER_RECV", "USER_SEND", "WAIT"]
__all__ += ["Record", "Store"]

#: What a record is about, by its number.
KINDS = ("call", "send", "recv", "wait", "copy", "reduce", "user send", "user recv", "user wait")
CALL, SEND, RECV, WAIT, COPY, REDUCE, USER_SEND, USER_RECV, USER_WAIT = range(len(KINDS))

_LAYOUT = struct.Struct("=qqqIiiiii")
#: Entries of the table of calls; a program with more different ones has the rest without names.
MOST_ENTRIES = 100_000


class Record(NamedTuple):
    """One thing that happened, on the rank's own clock in nanoseconds.

    `call` counts the calls of this rank. `round` and `step` count from 0 in the plan, and are -1
    outside it. For a call, `round` is its entry in the table of calls, `step` counts the starts of
    a persistent one, `peer` is the number of its other records, and `nbytes` is its number on the
    communicator. For the user's own messages, `round` is the communicator.
    """

    begin: int
    end: int
    nbytes: int
    call: int
    kind: int
    round: int
    step: int
    peer: int
    tag: int


class Store:
    """A ring buffer of `capacity` records: when it is full, the oldest are dropped and counted."""

    def __init__(self, capacity: int) -> None:
        if capacity < 1:
            raise ValueError(f"a trace needs room for at least one record, not {capacity}")
        self.capacity = capacity
        self._memory = bytearray(capacity * _LAYOUT.size)
        self._next = itertools.count().__next__
        self._written: int | None = None
        self.entries: dict[tuple, int] = {}

    def add(
        self,
        kind: int,
        begin: int,
        end: int,
        call: int = 0,
        round: int = -1,
        step: int = -1,
        peer: int = -1,
        tag: int = -1,
        nbytes: int = 0,
    ) -> None:
        """Keep one record; safe in any thread."""
        at = self._next() % self.capacity * _LAYOUT.size
        _LAYOUT.pack_into(self._memory, at, begin, end, nbytes, call, kind, round, step, peer, tag)

    def entry(self, *facts: object) -> int:
        """The number of an entry in the table of calls; -1 when the table is full."""
        number = self.entries.get(facts)
        if number is None:
            if len(self.entries) >= MOST_ENTRIES:
                return -1
            number = self.entries.setdefault(facts, len(self.entries))
        return number

    def close(self) -> None:
        """Count the records; nothing can be added afterwards."""
        if self._written is None:
            self._written = self._next()

    @property
    def written(self) -> int:
        """How many records there have been."""
        self.close()
        return self._written

    @property
    def dropped(self) -> int:
        """How many of them have been overwritten."""
        return max(0, self.written - self.capacity)

    def records(self) -> Iterator[Record]:
        """What is left, oldest first."""
        for number in range(self.dropped, self.written):
            at = number % self.capacity * _LAYOUT.size
            yield Record(*_LAYOUT.unpack_from(self._memory, at))
