"""Plans for objects: blocks are numbered slots, and every operand knows if it is used later.

So an operation that works in place on its argument can be given the value itself where nobody
needs it any more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import NamedTuple

from mpicoll.registry import Algorithm
from mpicoll.steps import Buffer, Chunk, Copy, Plan, Recv, Reduce, Round, Send

__all__ = ["CopySlot", "ReduceSlots", "Script", "script_from", "script_of"]

Slot = tuple[Buffer, int]


class CopySlot(NamedTuple):
    """Copy one block; `dies`: the source is not read again."""

    source: int
    into: int
    dies: bool


class ReduceSlots(NamedTuple):
    """Combine one block of each operand; `..._dies`: that operand is not read again."""

    left: int
    right: int
    into: int
    left_dies: bool
    right_dies: bool


class ScriptRound(NamedTuple):
    """Messages as (peer, slots), and the local steps after them."""

    receives: tuple[tuple[int, tuple[int, ...]], ...]
    sends: tuple[tuple[int, tuple[int, ...]], ...]
    local: tuple[CopySlot | ReduceSlots, ...]


class Script(NamedTuple):
    """A plan on numbered slots; every item lies in `pieces` consecutive inputs or outputs."""

    slots: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    pieces: int
    rounds: tuple[ScriptRound, ...]
    algorithm: str


@lru_cache(maxsize=1024)
def script_of(
    algorithm: Algorithm, rank: int, size: int, root: int, settings: tuple[tuple[str, object], ...]
) -> Script:
    """The script of one rank for an algorithm with its parameters."""
    parameters = dict(settings)
    blocks = algorithm.number_of_blocks(size, parameters)
    spec = algorithm.spec
    inputs, outputs = (
        sorted(statement(rank, size, root, blocks), key=_block)
        for statement in (spec.before, spec.after)
    )
    pieces = blocks if spec.vector else blocks // size
    plan = algorithm.plan(rank, size, root, **parameters)
    return script_from(plan, inputs, outputs, pieces, algorithm.name)


def script_from(
    plan: Plan,
    inputs: Sequence[Slot],
    outputs: Sequence[Slot],
    pieces: int = 1,
    algorithm: str = "linear",
) -> Script:
    """The script of a plan that finds its items in `inputs` and leaves its results in `outputs`."""
    numbers: dict[Slot, int] = {}

    def number(slot: Slot) -> int:
        return numbers.setdefault(slot, len(numbers))

    def slots(chunk: Chunk) -> tuple[int, ...]:
        return tuple(number((chunk.buffer, block)) for block in chunk.blocks)

    sources, targets = (tuple(map(number, given)) for given in (inputs, outputs))
    rounds = _rounds(plan, slots, set(targets))
    return Script(len(numbers), sources, targets, pieces, rounds, algorithm)


def _block(slot: Slot) -> int:
    return slot[1]


def _rounds(
    plan: Plan, slots: Callable[[Chunk], tuple[int, ...]], live: set[int]
) -> tuple[ScriptRound, ...]:
    """Translate from the last round to the first, to know which slots are still read later."""
    rounds = [_round(steps, slots, live) for steps in reversed(plan)]
    return tuple(reversed(rounds))


def _round(steps: Round, slots: Callable[[Chunk], tuple[int, ...]], live: set[int]) -> ScriptRound:
    local = [
        entry
        for step in reversed(steps)
        if isinstance(step, (Copy, Reduce))
        for entry in _local(step, slots, live)
    ]
    receives = tuple((s.peer, slots(s.chunk)) for s in steps if isinstance(s, Recv))
    sends = tuple((s.peer, slots(s.chunk)) for s in steps if isinstance(s, Send))
    for _, received in receives:
        live.difference_update(received)
    for _, sent in sends:
        live.update(sent)
    return ScriptRound(receives, sends, tuple(reversed(local)))


def _local(
    step: Copy | Reduce, slots: Callable[[Chunk], tuple[int, ...]], live: set[int]
) -> Iterator[CopySlot | ReduceSlots]:
    """The blocks of a local step, last first."""
    for *sources, into in reversed(list(zip(*map(slots, step), strict=True))):
        if sources == [into]:
            continue
        live.discard(into)
        dies = [slot not in live for slot in sources]
        if len(sources) == 2 and sources[0] == sources[1]:
            dies[0] = False
        live.update(sources)
        kind = CopySlot if len(sources) == 1 else ReduceSlots
        yield kind(*sources, into, *dies)
