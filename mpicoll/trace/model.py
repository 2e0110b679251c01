"""What a merged trace is made of.

Times are nanoseconds on rank 0's clock, from the first record.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from mpicoll.trace.contents import Contents, contents_of

__all__ = ["Call", "Event", "Message", "Trace"]


class Event(NamedTuple):
    """One record of a call: see `mpicoll.trace.store.Record`; peers are ranks in the call."""

    kind: str
    begin: int
    end: int
    round: int
    step: int
    peer: int
    tag: int
    nbytes: int


class Message(NamedTuple):
    """A message of a call or, where `call` is -1, of the program itself.

    Ranks are those of MPI.COMM_WORLD. It was on its way between `begin`, when the sender posted
    it, and `end`, when the receiver had it; `posted` is when the receiver was ready for it, and
    `left` when the sender's memory was free again. `sent` and `received` are rounds.
    """

    source: int
    peer: int
    call: int
    tag: int
    nbytes: int
    begin: int
    end: int
    posted: int
    left: int
    sent: int = -1
    received: int = -1
    step: int = -1


@dataclass
class Call:
    """One collective call of all ranks of a communicator.

    `number` counts the calls in this trace, `count` those on the communicator, `start` the starts
    of a persistent one. `spans` and `parts` are by rank in the communicator. `whole` is False if a
    rank's records are missing; `problems` says where the run was not what the plan says.
    """

    number: int
    comm: int
    count: int
    start: int
    members: tuple[int, ...]
    collective: str
    method: str
    form: str
    algorithm: str
    parameters: dict[str, object]
    root: int
    nbytes: int | None
    dtype: str
    op: str
    where: str
    spans: dict[int, tuple[int, int]] = field(default_factory=dict)
    parts: dict[int, list[Event]] = field(default_factory=dict)
    messages: list[Message] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    whole: bool = True

    @property
    def size(self) -> int:
        """The number of ranks."""
        return len(self.members)

    @property
    def begin(self) -> int:
        """When the first rank called."""
        return min(begin for begin, _ in self.spans.values())

    @property
    def end(self) -> int:
        """When the last rank was done."""
        return max(end for _, end in self.spans.values())

    @property
    def contents(self) -> Contents | None:
        """What the plans say; None for collectives whose plan is no algorithm's."""
        try:
            settings = tuple(sorted(self.parameters.items()))
            return contents_of(self.collective, self.algorithm, self.size, self.root, settings)
        except (ValueError, TypeError):
            return None

    @property
    def title(self) -> str:
        """Collective, algorithm and size in words."""
        words = [f"{self.collective} {self.algorithm} on {self.size} ranks"]
        words += (
            [f"root {self.root}"] if self.contents and self.contents.algorithm.spec.rooted else []
        )
        words += [f"{name} = {value}" for name, value in self.parameters.items()]
        words += [f"{self.nbytes} bytes"] if self.nbytes is not None else []
        return ", ".join(words)


@dataclass
class Trace:
    """The traces of all ranks, joined.

    `messages` are the program's own; `waits` are its waits for them, as (rank, begin, end).
    """

    size: int
    library: str
    hosts: list[str]
    clock_errors: list[int]
    records: int
    dropped: list[int]
    comms: list[tuple[int, ...]]
    calls: list[Call]
    messages: list[Message]
    waits: list[tuple[int, int, int]]
    problems: list[str]

    @property
    def end(self) -> int:
        """The time of the last record."""
        ends = [call.end for call in self.calls] + [message.end for message in self.messages]
        return max(ends, default=0)
