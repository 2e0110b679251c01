"""What a rank is doing, as far as others need to know it: data only, no MPI.

All ranks are those of MPI.COMM_WORLD, and a communicator is a name that is the same on all of its
ranks.
"""

from __future__ import annotations

import linecache
import os
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ["END", "Collective", "Message", "Place", "RankState", "WORLD", "size_text"]

WORLD = "COMM_WORLD"
#: In the place of a collective, for a rank that calls no more.
END = "the end of the program"


@dataclass(frozen=True)
class Place:
    """A line of the program; `source` is its text, read from the file if it is not given."""

    file: str
    line: int
    function: str = ""
    source: str = ""

    @property
    def text(self) -> str:
        """The line itself, if it can be read."""
        return self.source or linecache.getline(self.file, self.line).strip()

    def __str__(self) -> str:
        name = os.path.relpath(self.file) if os.path.isabs(self.file) else self.file
        name = self.file if name.startswith("..") else name
        source = self.text
        if not self.file:
            return "no line"
        inside = f" in {self.function}" if self.function else ""
        return f"{name}:{self.line}{inside}" + (f": {source}" if source else "")


@dataclass(frozen=True)
class Message:
    """One end of a message.

    `kind` is "send", "recv" or "probe"; `peer` the other end, None for any source; `tag` None for
    any tag; `call` the method that started it, such as "Isend"; `where` the line, if that is not
    the one at which the rank is.
    """

    kind: str
    peer: int | None
    tag: int | None = None
    nbytes: int | None = None
    communicator: str = WORLD
    call: str = ""
    where: Place | None = None

    @property
    def to_or_from(self) -> str:
        """The other end in words."""
        if self.kind == "send":
            return f"to rank {self.peer}"
        return "from any rank" if self.peer is None else f"from rank {self.peer}"

    def __str__(self) -> str:
        tag = "any tag" if self.tag is None else f"tag {self.tag}"
        facts = [tag] + ([size_text(self.nbytes)] if self.nbytes is not None else [])
        facts += [self.communicator] if self.communicator != WORLD else []
        call = self.call or {"send": "Send", "recv": "Recv", "probe": "Probe"}[self.kind]
        return f"{call} {self.to_or_from} ({', '.join(facts)})"


@dataclass(frozen=True)
class Collective:
    """A collective call: the `number`-th on its communicator, whose ranks are `members`.

    `arguments` are what all ranks must agree on, such as root, count and dtype, in words; only
    those that two ranks both have are compared.
    """

    name: str
    number: int
    members: tuple[int, ...]
    communicator: str = WORLD
    arguments: Mapping[str, str] = field(default_factory=dict)
    where: Place | None = None

    def __str__(self) -> str:
        facts = [f"{k} {value}" for k, value in self.arguments.items() if k != "algorithm"]
        return f"{self.name}({', '.join(facts)}), {self.position}"

    @property
    def position(self) -> str:
        """Which one on its communicator."""
        on = "" if self.communicator == WORLD else f" on {self.communicator}"
        return f"collective {self.number}{on}"


@dataclass(frozen=True)
class RankState:
    """One rank at one moment.

    `status` is "blocked" (inside the call `call`, until all of `waits` have happened, or one of
    them if `any_suffices`), "running" (not inside MPI), "finished", "failed", "absent" (never
    started), or "unknown". `started` are non-blocking operations that nobody is waiting for.
    `unreceived` are sends that are complete here and have not been received. `history` are the last
    collectives that the rank has begun, oldest first, with the one that it is in.
    """

    rank: int
    status: str = "running"
    where: Place | str | None = None
    call: str = ""
    waits: tuple[Message | Collective, ...] = ()
    any_suffices: bool = False
    started: tuple[Message | Collective, ...] = ()
    unreceived: tuple[Message, ...] = ()
    history: tuple[Collective, ...] = ()


def size_text(nbytes: int) -> str:
    """Bytes as people say them."""
    if nbytes < 10_000:
        return f"{nbytes:,} bytes"
    return f"{nbytes / 1e6:.3g} MB" if nbytes >= 1e6 else f"{nbytes / 1e3:.3g} kB"
