"""Phases: generators of rounds that several algorithms share.

`source`, `buffer`, `partial`, `result` are buffers; which of them may be one memory is said in each
docstring. Everything is as in `mpicoll.steps`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mpicoll.steps import Buffer, Chunk, Copy, Recv, Reduce, Send, Temp, wrap
from mpicoll.topology import binomial_children, binomial_parent, binomial_span, core_size, distances

__all__ = [
    "binomial_bcast",
    "binomial_reduce",
    "binomial_scatter",
    "bruck_allgather",
    "combined_in_order",
    "doubling_allgather",
    "fold",
    "halving_reduce_scatter",
    "ordered_reduce_scatter",
    "ring_allgather",
    "ring_reduce_scatter",
    "unfold",
]


def ring_reduce_scatter(
    rank: int, size: int, source: Buffer, partial: Buffer, result: Buffer
) -> Iterator:
    """Each block travels once around the ring, and every rank on its way adds its own to it.

    Rank r starts with block r - 1 and ends with block r complete in `result`. `source` and
    `result` may be one memory, `partial` not.
    """
    if size == 1:
        yield Copy(source[0], result[0])
    left, right = (rank - 1) % size, (rank + 1) % size
    for step in range(1, size):
        outgoing, incoming = (rank - step) % size, (rank - step - 1) % size
        yield (
            Send(right, (source if step == 1 else partial)[outgoing]),
            Recv(left, partial[incoming]),
            Reduce(
                source[incoming],
                partial[incoming],
                into=(result if step == size - 1 else partial)[incoming],
            ),
        )


def ring_allgather(
    rank: int, size: int, buffer: Buffer, first: int | None = None, full: int | None = None
) -> Iterator:
    """Each block travels once around the ring, and every rank on its way keeps a copy.

    Rank r starts with block `first` (r unless given). The rank `full` has every block already, so
    nothing is sent to it.
    """
    first = rank if first is None else first
    left, right = (rank - 1) % size, (rank + 1) % size
    for step in range(size - 1):
        messages = []
        if right != full:
            messages.append(Send(right, buffer[(first - step) % size]))
        if rank != full:
            messages.append(Recv(left, buffer[(first - step - 1) % size]))
        yield tuple(messages)


def bruck_allgather(
    rank: int, size: int, buffer: Buffer, first: int | None = None, full: int | None = None
) -> Iterator:
    """Ranks hand over all that they have, at distance 1, 2, 4, ... (any number of ranks).

    Rank r starts with block `first` (r unless given) and collects the blocks after it. The rank
    `full` has every block already, so nothing is sent to it. Blocks go straight to their places:
    no rotation at the end.
    """
    first = rank if first is None else first
    for distance in distances(size):
        count = min(distance, size - distance)
        to, source = (rank - distance) % size, (rank + distance) % size
        messages = []
        if to != full:
            messages.append(Send(to, buffer[wrap(first, count, size)]))
        if rank != full:
            messages.append(Recv(source, buffer[wrap(first + distance, count, size)]))
        yield tuple(messages)


def binomial_bcast(rank: int, size: int, root: int, chunk: Chunk) -> Iterator:
    """`chunk` goes from the root down a binomial tree."""
    relative = (rank - root) % size
    if relative:
        yield Recv((binomial_parent(relative) + root) % size, chunk)
    for child in binomial_children(relative, size):
        yield Send((child + root) % size, chunk)


def binomial_reduce(rank: int, size: int, root: int, source: Buffer, result: Buffer) -> Iterator:
    """All blocks of `source` are combined up a binomial tree, into `result` of the root.

    Operands are in the order of relative ranks, so in rank order if the root is 0. `source` and
    `result` may be one memory.
    """
    relative = (rank - root) % size
    children = binomial_children(relative, size)[::-1]
    so_far, arrived = source[:], Temp.row(1)[:]
    if size == 1:
        yield Copy(source[:], result[:])
    for child in children:
        total = Temp[:] if relative else result[:]
        yield Recv((child + root) % size, arrived), Reduce(so_far, arrived, into=total)
        so_far = total
    if relative:
        yield Send((binomial_parent(relative) + root) % size, so_far)


def binomial_scatter(rank: int, size: int, root: int, buffer: Buffer) -> Iterator:
    """The root's blocks go down a binomial tree; relative rank i ends with block i.

    Blocks are numbered by relative rank here; inner ranks hold those of their subtree on the way.
    """
    relative = (rank - root) % size

    def subtree(top: int) -> Chunk:
        return buffer[top : top + binomial_span(top, size)]

    if relative:
        yield Recv((binomial_parent(relative) + root) % size, subtree(relative))
    for child in binomial_children(relative, size):
        yield Send((child + root) % size, subtree(child))


def fold(rank: int, size: int, source: Buffer, result: Buffer) -> Iterator:
    """Of the first 2 (size - core) ranks, each even one gives its vector to the next odd one.

    What is left is a power of two of ranks that hold consecutive ranks' contributions in order.
    `unfold` is the way back. The even ranks are spare until then (`core_index` is None).
    """
    spare = size - core_size(size)
    if rank < 2 * spare and rank % 2 == 0:
        yield Send(rank + 1, source[:])
    elif rank < 2 * spare:
        yield (
            Recv(rank - 1, Temp[:]),
            Reduce(Temp[:], source[:], into=result[:]),
        )


def unfold(rank: int, size: int, result: Buffer) -> Iterator:
    """The odd ones of the first 2 (size - core) ranks give the result back to the even ones."""
    spare = size - core_size(size)
    if rank < 2 * spare and rank % 2 == 0:
        yield Recv(rank + 1, result[:])
    elif rank < 2 * spare:
        yield Send(rank - 1, result[:])


def core_index(rank: int, size: int) -> int | None:
    """The number of a rank within the core after `fold`, None for a spare rank."""
    spare = size - core_size(size)
    if rank >= 2 * spare:
        return rank - spare
    return rank // 2 if rank % 2 else None


def core_rank(index: int, size: int) -> int:
    """The rank that has number `index` within the core after `fold`."""
    spare = size - core_size(size)
    return index + spare if index >= spare else 2 * index + 1


def halving_reduce_scatter(
    index: int,
    size: int,
    groups: Sequence[Sequence[int]],
    source: Buffer,
    partial: Buffer,
    result: Buffer,
) -> Iterator:
    """Partners of the core exchange halves of what is left and combine, at distance C/2, ..., 1.

    Core member `index` ends with the blocks ``groups[index]`` complete in `result`; blocks on the
    way are in `partial`. `source`, `partial` and `result` may be one memory.
    """
    core = len(groups)
    low, high, so_far = 0, core, source
    while high - low > 1:
        half = (high - low) // 2
        middle = low + half
        keep, give = ((low, middle), (middle, high))[:: 1 if index < middle else -1]
        peer = core_rank(index + half if index < middle else index - half, size)
        mine = [block for group in groups[slice(*keep)] for block in group]
        theirs = [block for group in groups[slice(*give)] for block in group]
        into = result if half == 1 else partial
        left, right = so_far[mine], Temp[mine]
        if index >= middle:
            left, right = right, left
        yield Send(peer, so_far[theirs]), Recv(peer, Temp[mine]), Reduce(left, right, into[mine])
        (low, high), so_far = keep, into


def doubling_allgather(index: int, size: int, groups: Sequence[Sequence[int]], buffer: Buffer):
    """Partners of the core exchange all that they have, at distance 1, 2, ..., C/2.

    Core member `index` starts with the blocks ``groups[index]`` of `buffer`.
    """
    for distance in distances(len(groups)):
        peer = index ^ distance
        mine, theirs = (
            [block for group in groups[first : first + distance] for block in group]
            for first in (index & ~(distance - 1), peer & ~(distance - 1))
        )
        yield Send(core_rank(peer, size), buffer[mine]), Recv(core_rank(peer, size), buffer[theirs])


def combined_in_order(operands: Sequence[Chunk], total: Chunk, result: Chunk) -> Iterator[Reduce]:
    """Combine from left to right, in `total` on the way and in `result` at the end."""
    so_far = operands[0]
    for number, operand in enumerate(operands[1:], start=2):
        into = result if number == len(operands) else total
        yield Reduce(so_far, operand, into)
        so_far = into


def ordered_reduce_scatter(rank: int, size: int, source: Buffer, result: Buffer) -> Iterator:
    """Everybody sends block i to rank i, which combines from the first rank to the last.

    Whatever the block and the number of ranks, operands are combined as ((0 1) 2) 3 ...; `source`
    and `result` may be one memory.
    """
    if size == 1:
        yield Copy(source[0], result[0])
        return
    arrived = [(source if peer == rank else Temp.row(peer))[rank] for peer in range(size)]
    ahead = [(rank + distance) % size for distance in range(1, size)]
    yield (
        *(Recv(peer, arrived[peer]) for peer in reversed(ahead)),
        *(Send(peer, source[peer]) for peer in ahead),
        *combined_in_order(arrived, Temp.row(size)[rank], result[rank]),
    )
