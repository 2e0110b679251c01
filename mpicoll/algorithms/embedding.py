"""Rounds of a smaller collective inside a larger one: other ranks, other blocks, other buffers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from mpicoll.steps import Buffer, Chunk, Copy, Recv, Reduce, Round, Send, Step

__all__ = ["embedded"]


def embedded(
    rounds: Iterable[Step | Round],
    *,
    ranks: Sequence[int] | None = None,
    blocks: Sequence[Iterable[int]] | None = None,
    buffers: Mapping[Buffer, Buffer] | None = None,
) -> Iterator[Round]:
    """The rounds with every peer p written as ``ranks[p]``, every block b as ``blocks[b]``.

    So a text that is written for the ranks 0 .. n - 1 serves any group of ranks, and a text for n
    blocks serves a vector that is cut into more.
    """
    buffers = buffers or {}

    def chunk(part: Chunk) -> Chunk:
        buffer = buffers.get(part.buffer, part.buffer)
        if blocks is None:
            return Chunk(buffer, part.blocks)
        numbers = range(len(blocks)) if part.blocks is None else part.blocks
        return Chunk(buffer, tuple(b for number in numbers for b in blocks[number]))

    def translated(step: Step) -> Step:
        if isinstance(step, (Send, Recv)):
            return type(step)(step.peer if ranks is None else ranks[step.peer], chunk(step.chunk))
        return type(step)(*map(chunk, step))

    for steps in rounds:
        if isinstance(steps, (Send, Recv, Copy, Reduce)):
            steps = (steps,)
        yield tuple(map(translated, steps))
