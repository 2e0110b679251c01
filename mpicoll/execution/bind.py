"""Binding: a plan and a call's memory become rounds of ready-made messages and local calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from mpi4py import MPI

from mpicoll.execution.calls import Call
from mpicoll.execution.layout import Part, allocate, arrange_scratch, specs_of
from mpicoll.execution.local import copy_parts
from mpicoll.steps import Chunk, Copy, Plan, Recv, Reduce, Round, Send

__all__ = ["LOCAL", "MANY", "RECV", "SEND", "SENDRECV", "Bound", "BoundRound"]
__all__ += ["Origin", "bind"]

# What a round needs; the executors have a short way for the first four.
LOCAL, SENDRECV, SEND, RECV, MANY = range(5)


class BoundRound(NamedTuple):
    """Messages as ``(specification, peer)``, and the local calls that follow them."""

    kind: int
    receives: tuple[tuple[list, int], ...]
    sends: tuple[tuple[list, int], ...]
    local: tuple[Callable[[], object], ...]


class Origin(NamedTuple):
    """The place of a bound round in the plan, and the step behind each of its entries.

    `round` is None for copies around the plan, such as those into contiguous memory.
    """

    round: int | None
    steps: Round
    receives: tuple[int, ...]
    sends: tuple[int, ...]
    local: tuple[int, ...]


class Bound:
    """The rounds of one rank, bound to memory; owns scratch and datatypes made for it.

    It refers to the user's memory by address only: it may run whenever that memory is alive and in
    the same place. `program` is `rounds` for a loop that must not lose time. `idle` says that it
    waits to be run again; `recent` that calls may come to it by a shortcut.
    """

    __slots__ = ("idle", "keep", "origins", "program", "recent", "rounds", "scratch_bytes")

    def __init__(
        self,
        rounds: tuple[BoundRound, ...],
        keep: list,
        scratch_bytes: int,
        origins: tuple[Origin, ...] = (),
    ) -> None:
        self.rounds = rounds
        self.program = tuple(_flat(steps) for steps in rounds)
        self.keep = keep
        self.scratch_bytes = scratch_bytes
        self.idle = self.recent = False
        #: Where each bound round comes from; executors do not look at it, those who watch do.
        self.origins = origins

    @property
    def bytes_sent(self) -> int:
        """What one run sends to other ranks, and to itself by messages."""
        return sum(
            count * datatype.Get_size()
            for _, _, sends, _ in self.rounds
            for (_, count, datatype), _ in sends
        )

    def free(self) -> None:
        """Give back the datatypes and the scratch memory; the plan must not run afterwards."""
        for item in self.keep:
            if isinstance(item, MPI.Datatype):
                item.Free()
        self.keep = []
        self.rounds = self.program = ()
        self.idle = False


def _flat(steps: BoundRound) -> tuple:
    """Kind, messages, local calls: ``sent, dest, received, source`` where there is one of each."""
    kind, receives, sends, local = steps
    if kind == SENDRECV:
        return (kind, *sends[0], *receives[0], local)
    if kind in (SEND, RECV):
        return (kind, *(sends or receives)[0], None, None, local)
    return (kind, sends, None, receives, None, local)


class _Binder:
    def __init__(self, plan: Plan, call: Call, blocks: int) -> None:
        self.plan, self.call = plan, call
        self.keep: list = []
        places = call.place(blocks, self.keep)
        self.first, self.last = places.first, places.last
        self.parts = {"Input": places.input, "Output": places.output}
        self.unit = places.scratch
        offsets, total = arrange_scratch(plan, lambda block: self._need(block))
        memory, base = allocate(total)
        self.keep.append(memory)
        self.scratch_bytes = total
        for (row, block), offset in offsets.items():
            count, kind = self.unit(block)
            place = (base + offset - kind.true_lb, count, kind)
            self.parts.setdefault(("Temp", row), {})[block] = place

    def _need(self, block: int) -> int:
        count, kind = self.unit(block)
        return kind.span(count)

    def parts_of(self, chunk: Chunk) -> list[Part]:
        buffer = chunk.buffer
        table = self.parts[("Temp", buffer.number) if buffer.scratch else buffer.name]
        return [table[block] for block in chunk.blocks]

    def bound(self) -> Bound:
        pairs = [self._around(self.first)] if self.first else []
        for number, steps in enumerate(self.plan):
            bound, origin = self._round(number, steps)
            if bound.kind != LOCAL or bound.local:
                pairs.append((bound, origin))
        if self.last:
            pairs.append(self._around(self.last))
        rounds, origins = zip(*pairs, strict=True) if pairs else ((), ())
        return Bound(rounds, self.keep, self.scratch_bytes, origins)

    @staticmethod
    def _around(calls: Sequence[Callable[[], object]]) -> tuple[BoundRound, Origin]:
        """Local calls before or after the plan."""
        return (
            BoundRound(LOCAL, (), (), tuple(calls)),
            Origin(None, (), (), (), tuple(range(len(calls)))),
        )

    def _round(self, number: int, steps: Round) -> tuple[BoundRound, Origin]:
        receives, sends, local = [], [], []
        steps_of: tuple[list[int], ...] = ([], [], [])
        for position, step in enumerate(steps):
            match step:
                case Send(peer, chunk):
                    sends += [(spec, peer) for spec in self._specs(chunk)]
                case Recv(peer, chunk):
                    receives += [(spec, peer) for spec in self._specs(chunk)]
                case Copy(source, into):
                    local += copy_parts(self.parts_of(source), self.parts_of(into), self.keep)
                case Reduce():
                    local += self._reduce(step, number, position)
            for entries, origins in zip((receives, sends, local), steps_of, strict=True):
                origins += [position] * (len(entries) - len(origins))
        kind = MANY
        if len(receives) <= 1 and len(sends) <= 1:
            kind = (LOCAL, RECV, SEND, SENDRECV)[2 * len(sends) + len(receives)]
        bound = BoundRound(kind, tuple(receives), tuple(sends), tuple(local))
        return bound, Origin(number, steps, *map(tuple, steps_of))

    def _specs(self, chunk: Chunk) -> list[list]:
        return specs_of(self.parts_of(chunk), self.keep) if chunk.blocks else specs_of((), [])

    def _reduce(self, step: Reduce, number: int, position: int) -> list[Callable[[], object]]:
        """Blocks that touch in all three operands are combined by one call."""
        pieces: list[list[int]] = []
        operands = (self.parts_of(chunk) for chunk in step)
        for (left, count, kind), (right, _, _), (into, _, _) in zip(*operands, strict=True):
            if not count:
                continue
            here = [left, right, into]
            if pieces:
                *starts, before = pieces[-1]
                if here == [start + before * kind.extent for start in starts]:
                    pieces[-1][3] += count
                    continue
            pieces.append([*here, count])
        dead = self._dead(step.right, number, position)
        combine = self.call.reduction.combine
        return [
            call
            for left, right, into, count in pieces
            for call in combine(left, right, into, count, dead, self.keep)
        ]

    def _dead(self, chunk: Chunk, number: int, position: int) -> bool:
        """True if a scratch chunk is not read again before it is overwritten."""
        if not chunk.buffer.scratch or self.call.reduction.ufunc is not None:
            return False
        left = set(chunk.blocks)
        later = [self.plan[number][position + 1 :], *self.plan[number + 1 :]]
        for steps in later:
            for chunks, writes in _accesses(steps):
                touched = {b for c in chunks if c.buffer == chunk.buffer for b in c.blocks} & left
                if touched and not writes:
                    return False
                left -= touched
            if not left:
                return True
        return True


def _accesses(steps: Round) -> list[tuple[tuple[Chunk, ...], bool]]:
    """Chunks read and written by a round, in order: (chunks, whether they are written)."""
    sent = tuple(step.chunk for step in steps if isinstance(step, Send))
    received = tuple(step.chunk for step in steps if isinstance(step, Recv))
    order: list[tuple[tuple[Chunk, ...], bool]] = [(sent, False), (received, True)]
    for step in steps:
        if isinstance(step, Copy):
            order += [((step.source,), False), ((step.into,), True)]
        elif isinstance(step, Reduce):
            order += [((step.left, step.right), False), ((step.into,), True)]
    return order


def bind(plan: Plan, call: Call, blocks: int) -> Bound:
    """The plan bound to the memory of `call`, whose buffers are cut into `blocks` blocks."""
    return _Binder(plan, call, blocks).bound()
