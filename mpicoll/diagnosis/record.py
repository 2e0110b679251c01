"""The file in which a rank keeps what it does: memory-mapped, so that it outlives the rank.

What is written is in the file at once, also if the rank then sits in C, is stopped or killed. Two
rings hold the last collectives and the last messages; a block says in which call the rank is.
Names (of files, communicators, methods) are numbered, and stand in a second file of JSON lines.
This module needs no MPI: `Writer` is used by ranks, `read` by whoever looks at them.
"""

from __future__ import annotations

import json
import mmap
import os
import socket
import struct
import time
from pathlib import Path

__all__ = ["COLLECTIVES", "MESSAGES", "OUTSIDE", "Writer"]

MAGIC, VERSION = b"mpicoll\0", 1
#: Entries in the rings, and the longest description of a collective in bytes.
COLLECTIVES, MESSAGES, LONGEST = 256, 4096, 2000

#: magic, version, rank, size, process, main thread, collectives, messages in the rings, begun (ns)
HEADER = struct.Struct("<8sIIIIQIIQ")
COUNTS = struct.Struct("<QQ")
#: What the rank is in (OUTSIDE to BROKEN), any_suffices, method, since (ns), how many numbers
INSIDE = struct.Struct("<BBxxIQI")
NUMBER = struct.Struct("<Q")
MOST_NUMBERS = 64
#: number + 1, state, starts, times created, started, completed (ns), length of the description
COLLECTIVE = struct.Struct("<QB3xIQQQI")
#: number + 1, bytes, peer, tag, communicator, ordinal, file, line, method, kind, state
MESSAGE = struct.Struct("<QqiiIIIIIBB2x")

OUTSIDE, IN_MESSAGES, IN_COLLECTIVE, FINISHED, BROKEN = range(5)
SCHEDULED, STARTED, COMPLETED, FAILED = range(4)
SEND, RECV, PROBE = range(3)
OPEN, DONE = range(2)

COUNTS_AT = HEADER.size
INSIDE_AT = COUNTS_AT + COUNTS.size
NUMBERS_AT = INSIDE_AT + INSIDE.size
COLLECTIVES_AT = 1024
SLOT = COLLECTIVE.size + LONGEST


class Writer:
    """The record of this rank, `rank-R.record` and `rank-R.names` in a directory."""

    def __init__(
        self, directory: str | os.PathLike[str], rank: int, size: int, thread: int
    ) -> None:
        base = Path(directory) / f"rank-{rank}"
        self.messages_at = COLLECTIVES_AT + COLLECTIVES * SLOT
        length = self.messages_at + MESSAGES * MESSAGE.size
        descriptor = os.open(f"{base}.record", os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            # Allocated now: on a full disk this fails, and not a write into memory later.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(descriptor, 0, length)
            else:
                os.ftruncate(descriptor, length)
            self._map = mmap.mmap(descriptor, length)
        finally:
            os.close(descriptor)
        self._names_file = os.open(
            f"{base}.names", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600
        )
        self._names: dict[str, int] = {}
        self.collectives = self.messages = 0
        HEADER.pack_into(
            self._map,
            0,
            MAGIC,
            VERSION,
            rank,
            size,
            os.getpid(),
            thread,
            COLLECTIVES,
            MESSAGES,
            time.time_ns(),
        )
        self._line({"host": socket.gethostname()})

    def _line(self, content: dict) -> None:
        os.write(self._names_file, json.dumps(content).encode() + b"\n")

    def name(self, text: str) -> int:
        """The number of a name, which is written down the first time."""
        number = self._names.get(text)
        if number is None:
            number = self._names[text] = len(self._names)
            self._line({"name": number, "text": text})
        return number

    def communicator(self, title: str, members: tuple[int, ...]) -> int:
        """The number of a communicator."""
        number = self.name(title)
        self._line({"communicator": number, "members": list(members)})
        return number

    def inside(
        self, what: int, method: int, numbers: tuple[int, ...], any_of: bool = False
    ) -> None:
        """Say what the rank is in now: messages, or a collective, by their numbers."""
        numbers = numbers[:MOST_NUMBERS]
        for at, number in enumerate(numbers):
            NUMBER.pack_into(self._map, NUMBERS_AT + at * NUMBER.size, number)
        INSIDE.pack_into(self._map, INSIDE_AT, what, any_of, method, time.time_ns(), len(numbers))

    def ended(self, failed: bool) -> None:
        """Say that the program has ended."""
        self._map[INSIDE_AT] = BROKEN if failed else FINISHED

    def outside(self) -> None:
        """Say that the rank is in no call any more."""
        self._map[INSIDE_AT] = OUTSIDE

    def message(
        self,
        kind: int,
        method: int,
        peer: int,
        tag: int,
        nbytes: int,
        communicator: int,
        ordinal: int,
        file: int,
        line: int,
    ) -> int:
        """Add one end of a message that has begun; its number."""
        number = self.messages
        self.messages = number + 1
        MESSAGE.pack_into(
            self._map,
            self.messages_at + number % MESSAGES * MESSAGE.size,
            number + 1,
            nbytes,
            peer,
            tag,
            communicator,
            ordinal,
            file,
            line,
            method,
            kind,
            OPEN,
        )
        COUNTS.pack_into(self._map, COUNTS_AT, self.collectives, self.messages)
        return number

    def message_done(self, number: int) -> None:
        """The message is complete on this side."""
        if self.messages - number <= MESSAGES:
            at = self.messages_at + number % MESSAGES * MESSAGE.size
            self._map[at + MESSAGE.size - 3] = DONE

    def matched(self, number: int, peer: int, tag: int, ordinal: int) -> None:
        """A receive of anything has got this."""
        if self.messages - number <= MESSAGES:
            at = self.messages_at + number % MESSAGES * MESSAGE.size
            struct.pack_into("<ii", self._map, at + 16, peer, tag)
            struct.pack_into("<I", self._map, at + 28, ordinal)

    def collective(self, description: bytes, state: int = STARTED) -> int:
        """Add a collective that has begun, with its JSON; its number."""
        number = self.collectives
        self.collectives = number + 1
        at = COLLECTIVES_AT + number % COLLECTIVES * SLOT
        description = description[:LONGEST]
        now = time.time_ns()
        COLLECTIVE.pack_into(self._map, at, number + 1, state, 0, now, now, 0, len(description))
        begin = at + COLLECTIVE.size
        self._map[begin : begin + len(description)] = description
        COUNTS.pack_into(self._map, COUNTS_AT, self.collectives, self.messages)
        return number

    def collective_done(self, number: int, state: int = COMPLETED) -> None:
        """It has ended."""
        if self.collectives - number <= COLLECTIVES:
            at = COLLECTIVES_AT + number % COLLECTIVES * SLOT
            self._map[at + 8] = state
            struct.pack_into("<Q", self._map, at + 32, time.time_ns())

    def close(self) -> None:
        """Nothing more is written; the files stay."""
        self._map.close()
        os.close(self._names_file)
