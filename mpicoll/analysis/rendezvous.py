"""Runs the plans of all ranks in one process, without buffering any message.

A round's messages are posted together; a message is complete when both ends have posted it, and
messages of one (source, destination) pair match in the order in which they are posted. When all
messages of a round are complete, its local steps run and the next round begins. A plan that gets
through here gets through on any MPI, however little the library buffers.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence

from mpicoll.analysis.findings import Finding, grid, spell
from mpicoll.analysis.lowering import Geometry, Part, Posting
from mpicoll.steps import Input, Output, Plan

__all__ = ["LOST", "Rendezvous", "Value"]

#: The content of a block: (piece, contributors in operand order, shape of the expression). Two
#: values have the same shape if they are the same expression up to exchanging operands, so that
#: floating-point results have the same bits.
Value = tuple[int, tuple[int, ...], int]

#: The content of a block after a fault: whatever is made of it is not a fault of its own.
LOST: Value = (-1, (), -1)


class Rendezvous:
    """The memories of all ranks and the messages that are waiting."""

    def __init__(
        self,
        geometry: Sequence[Geometry],
        plans: Sequence[Plan],
        postings: Sequence[Sequence[Posting]],
        equal_blocks: bool,
        report: Callable[[Finding], None],
        trace: dict[tuple[int, int, int], tuple[Value, ...]] | None = None,
    ) -> None:
        self.size = len(plans)
        self.plans, self.postings, self.geometry = plans, postings, geometry
        self.report, self.trace = report, trace
        self.check_extents = not equal_blocks
        self.memory: list[dict[int, Value]] = [
            {slot: (*piece, piece.ranks[0]) for slot, piece in here.before.items()}
            for here in geometry
        ]
        self.replaced: list[set[int]] = [set() for _ in plans]
        self.shapes: dict[tuple[int, int], int] = {}
        self.at = [0] * self.size
        self.open = [0] * self.size
        self.posted_at = [0] * self.size
        self.clock = [0] * self.size
        self.known = [1 << rank for rank in range(self.size)]
        self.knew = list(self.known)
        self.waiting_sends: dict[int, deque] = {}
        self.waiting_recvs: dict[int, deque] = {}
        self.messages = 0

    def run(self) -> list[int]:
        """Run until nothing moves; the ranks that did not come to their end."""
        self.ready = deque(range(self.size))
        while self.ready:
            self._proceed(self.ready.popleft())
        return [rank for rank in range(self.size) if self.at[rank] < len(self.postings[rank])]

    def _proceed(self, rank: int) -> None:
        rounds = self.postings[rank]
        while self.at[rank] < len(rounds):
            posting = rounds[self.at[rank]]
            if posting.sends or posting.recvs:
                self._post(rank, posting)
                if self.open[rank]:
                    return
            self._finish(rank, posting)

    def _post(self, rank: int, posting: Posting) -> None:
        self.open[rank] = len(posting.sends) + len(posting.recvs)
        self.knew[rank] = self.known[rank]
        self.posted_at[rank] = self.clock[rank]
        for peer, part, index in posting.recvs:
            self._meet(peer * self.size + rank, self.waiting_recvs, self.waiting_sends, part, index)
        for peer, part, index in posting.sends:
            self._check_defined(rank, part, index)
            self._meet(rank * self.size + peer, self.waiting_sends, self.waiting_recvs, part, index)

    def _meet(self, pair: int, mine: dict, theirs: dict, part: Part, index: int) -> None:
        waiting = theirs.get(pair)
        if not waiting:
            mine.setdefault(pair, deque()).append((part, index))
            return
        other, other_index = waiting.popleft()
        source, target = divmod(pair, self.size)
        if mine is self.waiting_sends:
            self._deliver(source, target, part, other, index, other_index)
            self._close(source, target, current=source)
        else:
            self._deliver(source, target, other, part, other_index, index)
            self._close(source, target, current=target)

    def _deliver(
        self, source: int, target: int, sent: Part, into: Part, send_index: int, recv_index: int
    ) -> None:
        self.messages += 1
        self.known[target] |= self.knew[source]
        if len(sent.slots) != len(into.slots) or (
            self.check_extents and not self._same_extents(source, target, sent, into)
        ):
            self.fault(
                "mis-sized message",
                f"rank {source} sends {sent.chunk}, rank {target} receives {into.chunk}",
                target,
                recv_index,
                expected=f"blocks of the size of {into.chunk}, whatever the counts of the call",
                got=f"{sent.chunk} of rank {source}, round {self.at[source] + 1}",
                part=into,
            )
        values = self._read(source, sent, send_index)
        if len(values) < len(into.slots):
            values += (LOST,) * (len(into.slots) - len(values))
        self._write(target, into, values, recv_index)
        if self.trace is not None:
            self.trace[source, self.at[source], send_index] = values

    def _same_extents(self, source: int, target: int, sent: Part, into: Part) -> bool:
        here, there = self.geometry[source], self.geometry[target]
        return here.extents(sent.chunk) == there.extents(into.chunk)

    def _close(self, source: int, target: int, current: int) -> None:
        done = max(self.posted_at[source], self.posted_at[target]) + 1
        for rank in (source, target):
            self.clock[rank] = max(self.clock[rank], done)
            self.open[rank] -= 1
            if not self.open[rank] and rank != current:
                self._finish(rank, self.postings[rank][self.at[rank]])
                self.ready.append(rank)

    def _finish(self, rank: int, posting: Posting) -> None:
        for index, parts in posting.local:
            operands = [self._values(rank, part, index) for part in parts[:-1]]
            if len(operands) == 2:
                values = tuple(
                    self._combine(rank, index, parts[-1], left, right)
                    for left, right in zip(*operands, strict=False)
                )
            else:
                values = operands[0]
            self._write(rank, parts[-1], values, index)
        self.at[rank] += 1

    def _combine(self, rank: int, index: int, into: Part, left: Value, right: Value) -> Value:
        if left is LOST or right is LOST:
            return LOST
        if left[0] != right[0]:
            self.fault(
                "different pieces",
                f"{spell(*left[:2])} is combined with {spell(*right[:2])}",
                rank,
                index,
                expected="two values of the same piece",
                got=f"pieces {left[0]} and {right[0]}",
                part=into,
            )
            return LOST
        a, b = left[2], right[2]
        pair = (a, b) if a < b else (b, a)
        shape = self.shapes.setdefault(pair, self.size + len(self.shapes))
        return (left[0], left[1] + right[1], shape)

    def _values(self, rank: int, part: Part, index: int) -> tuple[Value, ...]:
        self._check_defined(rank, part, index)
        return self._read(rank, part, index)

    def _check_defined(self, rank: int, part: Part, index: int) -> None:
        memory, replaced = self.memory[rank], self.replaced[rank]
        if not all(map(memory.__contains__, part.slots)):
            block = next(
                block
                for block, slot in zip(part.chunk.blocks, part.slots, strict=True)
                if slot not in memory
            )
            self.fault(
                "undefined read",
                f"rank {rank} reads {part.chunk.buffer}[{block}], which holds nothing",
                rank,
                index,
                expected="a block that has been given or written",
                part=part,
                block=block,
            )
        elif replaced and part.chunk.buffer is Input and not replaced.isdisjoint(part.slots):
            slot = next(slot for slot in part.slots if slot in replaced)
            self.fault(
                "aliasing",
                f"rank {rank} reads Input[{slot}], which in place is Output[{slot}] and has been "
                "replaced",
                rank,
                index,
                expected=f"the rank's own {spell(slot, (rank,))}",
                got=spell(*memory[slot][:2]),
                part=part,
                block=slot,
            )

    def _read(self, rank: int, part: Part, index: int) -> tuple[Value, ...]:
        memory = self.memory[rank]
        return tuple([memory.get(slot, LOST) for slot in part.slots])

    def _write(self, rank: int, into: Part, values: tuple[Value, ...], index: int) -> None:
        memory = self.memory[rank]
        if self.geometry[rank].alias and into.chunk.buffer is Output:
            self.replaced[rank].update(
                slot
                for slot, value in zip(into.slots, values, strict=False)
                if slot < self.geometry[rank].blocks and memory.get(slot) is not value
            )
        memory.update(zip(into.slots, values, strict=False))
        if self.trace is not None:
            self.trace[rank, self.at[rank], index] = values

    def fault(
        self,
        kind: str,
        message: str,
        rank: int,
        index: int | None,
        *,
        expected: str = "",
        got: str = "",
        part: Part | None = None,
        block: int | None = None,
    ) -> None:
        """Report a fault of a rank's current round, with the grid of the buffer concerned."""
        step = str(self.plans[rank][self.at[rank]][index]) if index is not None else None
        picture = ""
        if part is not None and part.slots:
            mark = part.chunk.blocks[0] if block is None else block
            picture = self.picture(part, rank, mark)
        self.report(Finding(kind, message, rank, self.at[rank] + 1, step, expected, got, picture))

    def picture(self, part: Part, rank: int, mark: int | None) -> str:
        """The grid of the part's buffer on all ranks, as it is now."""
        first = part.named[0] - part.chunk.blocks[0]
        return self.draw(str(part.chunk.buffer), first, rank, mark)

    def draw(self, title: str, first: int, rank: int, mark: int | None) -> str:
        """The grid of the buffer whose slots begin at `first`, on all ranks, as it is now."""
        rows = []
        for here, memory in zip(self.geometry, self.memory, strict=True):
            slots = [here.alias.get(first + b, first + b) for b in range(here.blocks)]
            values = [memory.get(slot) for slot in slots]
            rows.append(
                [
                    "." if v is None else "?" if v is LOST else spell(*v[:2], short=True)
                    for v in values
                ]
            )
        return grid(title, rows, rank, mark)
