"""The vocabulary of algorithms: buffers, chunks, and the four verbs.

An algorithm is a generator function `algorithm(rank, size, **parameters)` that yields *rounds*. A
round is one step or a tuple of steps; its messages are posted together and waited for together, and
then its local steps (`Copy`, `Reduce`) run in the order in which they are written. The next round
starts when the previous one is complete on this rank.

In every algorithm and phase

* ``rank``, ``size``, ``root`` mean what they mean in MPI,
* a *block* is the piece of a buffer that belongs to one rank (or one pipeline segment),
* a *chunk* is an ordered set of blocks of one buffer: ``Input[3]``, ``Output[2:5]``, ``Temp[:]``,
  ``Output[wrap(3, 2, size)]``, ``Output[1, 3, 5]``.

Which blocks a buffer has on which rank, and what they hold before and after, is stated once per
collective in `mpicoll.spec`. Nothing here knows about MPI, counts, data types or memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

__all__ = [
    "Buffer",
    "Chunk",
    "Copy",
    "Input",
    "Nothing",
    "Output",
    "Plan",
    "Recv",
    "Reduce",
    "Round",
    "Send",
    "Step",
    "Temp",
    "communicates",
    "wrap",
]


class Chunk(NamedTuple):
    """An ordered set of blocks of one buffer, the operand of a step.

    `blocks` is a tuple of block numbers, or None for "all blocks" until a plan is made (see
    `mpicoll.registry.make_plan`, which knows how many there are).
    """

    buffer: Buffer
    blocks: tuple[int, ...] | None

    def __str__(self) -> str:
        return f"{self.buffer}[{_spell(self.blocks)}]"


@dataclass(frozen=True, slots=True)
class Buffer:
    """One of the memories that a plan names: the user's `Input` and `Output`, or scratch.

    `Temp` is scratch of the same block structure as the vector that the collective works on; an
    algorithm that needs more than one takes `Temp.row(1)`, `Temp.row(2)`, ...
    """

    name: str
    number: int = 0

    def __getitem__(self, blocks: int | slice | Iterable[int]) -> Chunk:
        if isinstance(blocks, int):
            return Chunk(self, (blocks,))
        if isinstance(blocks, slice):
            if blocks == slice(None):
                return Chunk(self, None)
            if blocks.start is None or blocks.stop is None:
                raise ValueError("a chunk needs both ends of a slice, or [:] for all blocks")
            return Chunk(self, tuple(range(blocks.start, blocks.stop, blocks.step or 1)))
        return Chunk(self, tuple(blocks))

    def row(self, number: int) -> Buffer:
        """Another scratch buffer of the same structure; `Temp.row(0)` is `Temp`."""
        if self.name != "Temp":
            raise ValueError(f"only Temp has rows, {self} has none")
        return Buffer("Temp", number)

    @property
    def scratch(self) -> bool:
        """True for memory that only the plan knows about."""
        return self.name == "Temp"

    def __str__(self) -> str:
        return self.name if not self.number else f"{self.name}.row({self.number})"


Input = Buffer("Input")
Output = Buffer("Output")
Temp = Buffer("Temp")

#: A chunk without blocks: the content of a message that only says "I am here".
Nothing = Chunk(Input, ())


class Send(NamedTuple):
    """Send `chunk` to `peer`."""

    peer: int
    chunk: Chunk

    def __str__(self) -> str:
        return f"Send({self.peer}, {self.chunk})"


class Recv(NamedTuple):
    """Receive from `peer` into `chunk`."""

    peer: int
    chunk: Chunk

    def __str__(self) -> str:
        return f"Recv({self.peer}, {self.chunk})"


class Copy(NamedTuple):
    """Copy `source` to `into`, block by block in order."""

    source: Chunk
    into: Chunk

    def __str__(self) -> str:
        return f"Copy({self.source}, {self.into})"


class Reduce(NamedTuple):
    """Store ``left operation right`` in `into`, block by block.

    The order of the operands is part of the algorithm: operations need not commute. `into` may be
    `left`, `right` or a third chunk; whatever it is not stays as it was.
    """

    left: Chunk
    right: Chunk
    into: Chunk

    def __str__(self) -> str:
        return f"Reduce({self.left}, {self.right}, {self.into})"


Step = Send | Recv | Copy | Reduce
Round = tuple[Step, ...]
Plan = tuple[Round, ...]


def communicates(steps: Round) -> bool:
    """True if the round has a message, so that it costs a latency."""
    return any(isinstance(step, (Send, Recv)) for step in steps)


def wrap(start: int, count: int, size: int) -> tuple[int, ...]:
    """The `count` blocks from `start` on, counted around a ring of `size` blocks.

    >>> wrap(3, 3, 5)
    (3, 4, 0)
    """
    return tuple((start + i) % size for i in range(count))


def _spell(blocks: tuple[int, ...] | None) -> str:
    if blocks is None:
        return ":"
    if len(blocks) == 1:
        return str(blocks[0])
    if len(blocks) > 1 and blocks == tuple(range(blocks[0], blocks[0] + len(blocks))):
        return f"{blocks[0]}:{blocks[-1] + 1}"
    return ", ".join(map(str, blocks)) or "()"
