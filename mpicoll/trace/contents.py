"""What the plans say about a call: the steps of every rank, what each carries, and the phases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache

from mpicoll.analysis.lowering import Geometry
from mpicoll.analysis.rendezvous import Value
from mpicoll.analysis.symbolic import Proof, Trace, trace
from mpicoll.registry import Algorithm, find
from mpicoll.spec import Piece
from mpicoll.steps import Buffer, Copy, Output, Plan, Recv, Reduce, Send, Step
from mpicoll.trace.schedule import Schedule, schedule_of

__all__ = ["COMPLETE", "PARTIAL", "WRONG", "Contents", "contents_of"]

#: What a block is, compared with what the collective must leave there.
COMPLETE, PARTIAL, WRONG = "complete", "partial", "wrong"

#: One block of a rank: the piece of data, and who contributed to it, in operand order.
Held = tuple[int, tuple[int, ...]]


@dataclass(frozen=True, eq=False)
class Contents:
    """The plans of all ranks run together on names: see `mpicoll.analysis.symbolic`."""

    algorithm: Algorithm
    size: int
    root: int
    blocks: int
    plans: tuple[Plan, ...]
    proof: Proof
    values: Trace
    schedule: Schedule
    phases: tuple[str, ...]

    def carried(self, rank: int, round: int, step: int) -> tuple[Value, ...]:
        """The values that a step carries or makes, one for each block."""
        return self.values.get((rank, round, step), ())

    @cached_property
    def geometry(self) -> list[Geometry]:
        """The slots of every rank."""
        return [self._geometry(rank) for rank in range(self.size)]

    @cached_property
    def due(self) -> list[dict[tuple[int, int, str, int], int]]:
        """The messages of every rank: round, step, "send" or "recv", and peer."""
        kinds = {Send: "send", Recv: "recv"}
        return [
            {
                (number, index, kinds[type(step)], step.peer): 1
                for number, steps in enumerate(plan)
                for index, step in enumerate(steps)
                if type(step) in kinds
            }
            for plan in self.plans
        ]

    def _geometry(self, rank: int) -> Geometry:
        return Geometry(self.algorithm.spec, rank, self.size, self.root, self.blocks, False)

    def before(self, rank: int) -> list[Held | None]:
        """A rank's row of blocks before the call: what it has in each place."""
        given = self.algorithm.spec.before(rank, self.size, self.root, self.blocks)
        row: list[Held | None] = [None] * self.blocks
        for (_, block), piece in given.items():
            row[block] = tuple(piece)
        return row

    def written(self, rank: int, round: int) -> Iterator[tuple[int, Buffer, Held]]:
        """The blocks that a round writes, in order, with what they hold afterwards."""
        plan = self.plans[rank]
        if round >= len(plan):
            return
        # Messages arrive before the local steps, wherever they are written.
        numbered = list(enumerate(plan[round]))
        for local in (False, True):
            for index, step in numbered:
                if isinstance(step, (Copy, Reduce) if local else Recv):
                    chunk = step[-1]
                    values = self.carried(rank, round, index)
                    for block, value in zip(chunk.blocks, values, strict=False):
                        yield block, chunk.buffer, (value[0], tuple(value[1]))

    def rows(self, rank: int) -> list[list[Held | None]]:
        """A rank's row of blocks before the call and after each step of the whole.

        A place shows what was written last under its number, except that what arrives only to be
        combined is not shown by itself. At the end it shows the result.
        """
        row, round, ends = self.before(rank), 0, self.schedule.ends[rank]
        rows = []
        for step in range(-1, self.schedule.steps):
            while round < len(ends) and ends[round] <= step:
                for block, buffer, held in self.written(rank, round):
                    if not self._passing(rank, round, block, buffer):
                        row[block] = held
                round += 1
            rows.append(list(row))
        for block, held in self._result(rank).items():
            rows[-1][block] = held
        return rows

    def _passing(self, rank: int, round: int, block: int, buffer: Buffer) -> bool:
        """True for scratch that the next step of the same round, or a later one, combines."""
        return buffer.scratch and not self._combined(rank, round, block, buffer)

    def _combined(self, rank: int, round: int, block: int, buffer: Buffer) -> bool:
        """True if a local step of the round has made this block."""
        return any(
            isinstance(step, Reduce) and step.into.buffer == buffer and block in step.into.blocks
            for step in self.plans[rank][round]
        ) or not any(isinstance(s, Reduce) for plan in self.plans[rank] for s in plan)

    def _result(self, rank: int) -> dict[int, Held]:
        """What is in the outputs after the last round."""
        last: dict[int, Held] = {}
        for round in range(len(self.plans[rank])):
            for block, buffer, held in self.written(rank, round):
                if buffer is Output:
                    last[block] = held
        return last

    def after(self, rank: int) -> dict[int, Piece]:
        """What the collective must leave in a rank's outputs."""
        wanted = self.algorithm.spec.after(rank, self.size, self.root, self.blocks)
        return {block: piece for (buffer, block), piece in wanted.items() if buffer is Output}

    def state(self, rank: int, block: int, held: Held | None, final: bool = False) -> str:
        """Whether a block is COMPLETE, PARTIAL or WRONG; "" for an empty one.

        In the end, what is not complete where a result is due is wrong.
        """
        state = self._state(rank, block, held)
        if final and state != COMPLETE and block in self.after(rank):
            return WRONG
        return state

    def _state(self, rank: int, block: int, held: Held | None) -> str:
        if held is None:
            return ""
        number, ranks = held
        if number < 0 or len(set(ranks)) < len(ranks):
            return WRONG
        wanted = self.after(rank).get(block)
        whole = set(range(self.size)) if wanted is None else set(wanted.ranks)
        if self.algorithm.spec.reduces:
            return COMPLETE if set(ranks) == whole else PARTIAL
        return COMPLETE if wanted is not None and (number, ranks) == tuple(wanted) else PARTIAL


@lru_cache(maxsize=256)
def contents_of(
    collective: str, name: str, size: int, root: int, parameters: tuple[tuple[str, object], ...]
) -> Contents:
    """The contents of a call; ValueError or TypeError if there is no such algorithm or plan."""
    algorithm, settings = find(collective, name), dict(parameters)
    root = root if algorithm.spec.rooted else 0
    plans = tuple(algorithm.plan(rank, size, root, **settings) for rank in range(size))
    proof, values = trace(algorithm, size, root=root, **settings)
    blocks = algorithm.number_of_blocks(size, settings)
    schedule = schedule_of(plans)
    phases = _phases(algorithm, size, root, settings, schedule)
    return Contents(algorithm, size, root, blocks, plans, proof, values, schedule, phases)


def _phases(
    algorithm: Algorithm,
    size: int,
    root: int,
    settings: Mapping[str, object],
    schedule: Schedule,
) -> tuple[str, ...]:
    """The phases of every step: the names of the generators that the algorithm hands over to."""
    keywords = {**algorithm.settings(settings), **({"root": root} if algorithm.spec.rooted else {})}
    found: list[dict[str, None]] = [{} for _ in range(schedule.steps)]
    for rank, ends in enumerate(schedule.ends):
        rounds = algorithm.generate(rank, size, **keywords)
        number = 0
        for steps in rounds:
            if not (isinstance(steps, Step) or tuple(steps)):
                continue  # rounds without steps are none in the plan either
            inner = rounds.gi_yieldfrom
            if number < len(ends) and ends[number] >= 0:
                found[ends[number]][algorithm.name if inner is None else inner.__name__] = None
            number += 1
    return tuple(" + ".join(names) for names in found)
