"""Plans lowered to slot numbers, and the faults that are visible without running anything.

A rank's memory is numbered: blocks of `Input` first, then those of `Output`, then one row after the
other of `Temp`. In place, a shared Output block *is* the Input block of the same number.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from mpicoll.analysis.findings import Finding
from mpicoll.spec import Spec, owned
from mpicoll.steps import Chunk, Input, Output, Plan, Recv, Send

__all__ = ["Geometry", "Part", "Posting", "lower"]


class Geometry:
    """The slots of one rank: where each block lies and which of them may be written."""

    def __init__(
        self, spec: Spec, rank: int, size: int, root: int, blocks: int, in_place: bool
    ) -> None:
        self.rank, self.size, self.blocks = rank, size, blocks
        self.before = {
            self._slot(*slot): piece
            for slot, piece in spec.before(rank, size, root, blocks).items()
        }
        self.after = {
            self._slot(*slot): piece for slot, piece in spec.after(rank, size, root, blocks).items()
        }
        self.writable = self.after.keys() | {s for s in self.before if s >= blocks}
        shared = spec.shared(rank, size, root, blocks) if in_place else ()
        self.alias = {blocks + b: b for b in shared}
        self.own = frozenset(owned(rank, size, blocks)) if blocks >= size else frozenset()
        self._extent = spec.extent
        self.knows_all_sizes = spec.vector or not spec.rooted or rank == root
        # Only in all-to-all does the size of a block depend on more than its number.
        self.sized_by_number = spec.extent(0, Input, 0, 2, 2) == 0

    def _slot(self, buffer: object, block: int) -> int:
        return block if buffer is Input else self.blocks + block

    def base(self, chunk: Chunk) -> int:
        """The number of the first slot of the chunk's buffer."""
        if chunk.buffer is Input:
            return 0
        return self.blocks * (1 if chunk.buffer is Output else 2 + chunk.buffer.number)

    def foreign(self, blocks: Sequence[int]) -> bool:
        """True if a block is another rank's."""
        return not self.own.issuperset(blocks)

    def extents(self, chunk: Chunk) -> tuple[object, ...]:
        """Symbols for the sizes of the chunk's blocks."""
        if self.sized_by_number:
            return chunk.blocks
        return tuple(
            self._extent(self.rank, chunk.buffer, b, self.size, self.blocks) for b in chunk.blocks
        )


@dataclass(slots=True)
class Part:
    """An operand: the chunk, the slots it names, and the memory that these are."""

    chunk: Chunk
    named: tuple[int, ...]
    slots: tuple[int, ...]


@dataclass(slots=True)
class Posting:
    """A round: (peer, part, step number) of its messages, and its local steps in order."""

    sends: list[tuple[int, Part, int]] = field(default_factory=list)
    recvs: list[tuple[int, Part, int]] = field(default_factory=list)
    local: list[tuple[int, tuple[Part, ...]]] = field(default_factory=list)


#: Faults after which the plans cannot even be run symbolically.
FATAL = {"no such peer", "self message", "no such block"}


def lower(
    plan: Plan, here: Geometry, equal_blocks: bool, report: Callable[[Finding], None]
) -> list[Posting]:
    """The rounds of one rank as postings; faults visible in one rank's plan alone are reported."""
    return [_Round(here, equal_blocks, report, n, steps).posting() for n, steps in enumerate(plan)]


class _Round:
    def __init__(
        self,
        here: Geometry,
        equal_blocks: bool,
        report: Callable[[Finding], None],
        number: int,
        steps: Sequence,
    ) -> None:
        self.here, self.equal_blocks, self._report = here, equal_blocks, report
        self.number, self.steps = number, steps

    def posting(self) -> Posting:
        posting = Posting()
        for index, step in enumerate(self.steps):
            verb = type(step)
            if verb is Send:
                self.check_peer(step)
                posting.sends.append((step.peer, self.part(step.chunk, step), index))
            elif verb is Recv:
                self.check_peer(step)
                part = self.part(step.chunk, step)
                posting.recvs.append((step.peer, part, index))
                self.check_write(step, part)
            else:
                parts = tuple([self.part(chunk, step) for chunk in step])
                posting.local.append((index, parts))
                self.check_write(step, parts[-1])
                self.check_local(step, parts)
        if posting.recvs:
            self.check_overlap(posting)
        return posting

    def fault(
        self, kind: str, message: str, step: object, expected: str = "", got: str = ""
    ) -> None:
        self._report(
            Finding(kind, message, self.here.rank, self.number + 1, str(step), expected, got)
        )

    def part(self, chunk: Chunk, step: object) -> Part:
        blocks, here = chunk.blocks, self.here
        if blocks and not (0 <= min(blocks) and max(blocks) < here.blocks):
            self.fault(
                "no such block",
                f"rank {here.rank} names {chunk}",
                step,
                f"block numbers 0..{here.blocks - 1}",
                str(chunk),
            )
        if not (here.knows_all_sizes or self.equal_blocks) and here.foreign(blocks):
            self.fault(
                "unknown size",
                f"rank {here.rank} names {chunk}, but only the root knows the size of it",
                step,
                "the rank's own block, or requires=('equal_blocks',)",
                str(chunk),
            )
        base = here.base(chunk)
        named = tuple([base + b for b in blocks]) if base else blocks
        alias = here.alias
        return Part(chunk, named, tuple([alias.get(s, s) for s in named]) if alias else named)

    def check_peer(self, step: Send | Recv) -> None:
        here = self.here
        if not (isinstance(step.peer, int) and 0 <= step.peer < here.size):
            self.fault(
                "no such peer",
                f"rank {here.rank} names rank {step.peer}",
                step,
                f"a rank in 0..{here.size - 1}",
                str(step.peer),
            )
        elif step.peer == here.rank:
            self.fault("self message", f"rank {here.rank} names itself", step, "another rank")

    def check_write(self, step: object, into: Part) -> None:
        here = self.here
        if into.chunk.buffer is Input and into.named:
            self.fault("input modified", f"rank {here.rank} writes to its {into.chunk}", step)
        elif into.chunk.buffer is Output and not here.writable.issuperset(into.named):
            foreign = next(s for s in into.named if s not in here.writable) - here.blocks
            self.fault(
                "output touched",
                f"rank {here.rank} writes Output[{foreign}], which it should not",
                step,
                "a block that is this rank's result, or Temp",
                f"Output[{foreign}]",
            )

    def check_local(self, step: object, parts: tuple[Part, ...]) -> None:
        first, into = parts[0], parts[-1]
        for part in parts[1:]:
            if not self.same_size(part, first):
                self.fault(
                    "mis-sized step",
                    f"{part.chunk} and {first.chunk} differ in size",
                    step,
                    f"blocks of the size of {first.chunk}, whatever the counts of the call",
                    str(part.chunk),
                )
        if len(into.slots) == 1:
            return
        written = set(into.slots)
        if len(written) < len(into.slots) or any(
            self.crossed(part.slots, into.slots)
            for part in parts[:-1]
            if part.slots != into.slots and not written.isdisjoint(part.slots)
        ):
            self.fault(
                "hazard",
                f"{into.chunk} is written while another block of the step is still read there",
                step,
                "operands that are the same blocks in the same order, or others",
            )

    def crossed(self, read: tuple[int, ...], written: tuple[int, ...]) -> bool:
        places = {slot: i for i, slot in enumerate(written)}
        return any(places.get(slot, i) != i for i, slot in enumerate(read))

    def same_size(self, part: Part, other: Part) -> bool:
        here = self.here
        if here.sized_by_number and part.chunk.blocks == other.chunk.blocks:
            return True
        if self.equal_blocks:
            return len(part.slots) == len(other.slots)
        return here.extents(part.chunk) == here.extents(other.chunk)

    def check_overlap(self, posting: Posting) -> None:
        """Messages of a round are in flight together, so what arrives may touch nothing else."""
        incoming: dict[int, int] = {}
        for _, part, index in posting.recvs:
            taken = [slot for slot in part.slots if slot in incoming] if incoming else ()
            if taken or len(set(part.slots)) < len(part.slots):
                other = self.steps[incoming[taken[0]] if taken else index]
                self.fault("hazard", f"received into twice, also by {other}", self.steps[index])
            incoming.update(dict.fromkeys(part.slots, index))
        for _, part, index in posting.sends:
            if not incoming.keys().isdisjoint(part.slots):
                slot = next(slot for slot in part.slots if slot in incoming)
                aliased = self.here.alias and part.chunk.buffer is Input
                self.fault(
                    "aliasing" if aliased else "hazard",
                    f"sent while {self.steps[incoming[slot]]} receives into the same memory",
                    self.steps[index],
                )
