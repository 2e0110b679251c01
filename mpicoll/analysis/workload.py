"""What all plans of an algorithm send and combine, without saying which blocks.

A plan is read once, round by round, and only peers and amounts are kept, so that thousands of ranks
fit into memory: equal rounds of a rank are one object. Amounts are in blocks; a block is m / blocks
bytes, exactly, as in the declared formulas.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from mpicoll.registry import Algorithm
from mpicoll.steps import Chunk, Copy, Recv, Reduce, Send

__all__ = ["Counts", "TooLargeError", "Work", "Workload", "read"]


class TooLargeError(ValueError):
    """There are more messages than one wants to look at."""


class Work(NamedTuple):
    """A round: (peer, blocks) of its sends and receives in order, blocks combined and copied."""

    sends: tuple[tuple[int, int], ...]
    recvs: tuple[tuple[int, int], ...]
    reduced: int
    copied: int


class Counts(NamedTuple):
    """What the busiest rank does, each for itself; `messages` is the number of all messages.

    `rounds` are those with a message, `sent`, `received`, `reduced` and `copied` are parts of m.
    """

    rounds: int
    sent: float
    received: float
    reduced: float
    copied: float
    messages: int


@dataclass
class Workload:
    """The rounds of every rank."""

    algorithm: Algorithm
    size: int
    root: int
    parameters: dict[str, object]
    blocks: int
    plans: list[list[Work]] = field(default_factory=list)
    messages: int = 0

    def counts(self) -> Counts:
        """Count the busiest ranks."""
        most = [0] * 5
        for plan in self.plans:
            mine = (
                sum(1 for work in plan if work.sends or work.recvs),
                sum(blocks for work in plan for _, blocks in work.sends),
                sum(blocks for work in plan for _, blocks in work.recvs),
                sum(work.reduced for work in plan),
                sum(work.copied for work in plan),
            )
            most = [max(pair) for pair in zip(most, mine, strict=True)]
        return Counts(most[0], *(amount / self.blocks for amount in most[1:]), self.messages)


def read(
    algorithm: Algorithm,
    size: int,
    root: int = 0,
    parameters: dict[str, object] | None = None,
    *,
    limit: int = 20_000_000,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Workload:
    """Read the plans of all ranks; TooLargeError if there are more than `limit` messages.

    `progress` is told ("plans", ranks read, ranks).
    """
    parameters = parameters or {}
    blocks = algorithm.number_of_blocks(size, parameters)
    found = Workload(algorithm, size, root, parameters, blocks)
    messages: dict[tuple[int, int], tuple[int, int]] = {}
    for rank in range(size):
        seen: dict[Work, Work] = {}
        plan = []
        for steps in algorithm.stream(rank, size, root, **parameters):
            work = _work(steps, blocks, messages)
            found.messages += len(work.sends)
            if found.messages > limit:
                raise TooLargeError(
                    f"{algorithm} on {size} ranks is more than {limit} messages, "
                    f"which are reached by rank {rank}"
                )
            plan.append(seen.setdefault(work, work))
        found.plans.append(plan)
        progress("plans", rank + 1, size)
    return found


def _work(steps: tuple, blocks: int, messages: dict) -> Work:
    sends, recvs, reduced, copied = [], [], 0, 0
    for step in steps:
        verb = type(step)
        amount = _amount(step.into if verb is Reduce or verb is Copy else step.chunk, blocks)
        if verb is Send or verb is Recv:
            message = (step.peer, amount)
            (sends if verb is Send else recvs).append(messages.setdefault(message, message))
        elif verb is Reduce:
            reduced += amount
        else:
            copied += amount
    return Work(tuple(sends), tuple(recvs), reduced, copied)


def _amount(chunk: Chunk, blocks: int) -> int:
    return blocks if chunk.blocks is None else len(chunk.blocks)
