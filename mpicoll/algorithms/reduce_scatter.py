"""Reduce_scatter and Reduce_scatter_block: rank i gets block i, combined over all ranks."""

from collections.abc import Callable, Iterator

from mpicoll.algorithms.circulant import circulant_reduce_scatter
from mpicoll.algorithms.pat import pat_hops, pat_reduce_scatter
from mpicoll.algorithms.phases import (
    binomial_reduce,
    core_index,
    core_rank,
    fold,
    halving_reduce_scatter,
    ordered_reduce_scatter,
    ring_reduce_scatter,
)
from mpicoll.registry import algorithm
from mpicoll.steps import Copy, Input, Output, Recv, Reduce, Send, Temp
from mpicoll.topology import core_size, distances


@algorithm(
    "reduce_scatter",
    rounds="P-1",
    volume="m(P-1)/P",
    reduced="m(P-1)/P",
    order="commutative",
    cites="Patarasuk & Yuan 2009",
    aka={"openmpi": "ring", "nccl": "Ring"},
)
def ring(rank: int, size: int) -> Iterator:
    """Each block travels once around the ring, is added to by every rank, and stops at its owner.

    The least traffic, between neighbours only, blocks of any sizes; P - 1 rounds: for long vectors.
    """
    yield from ring_reduce_scatter(rank, size, Input, Temp, Output)


@algorithm(
    "reduce_scatter",
    rounds="f if r == 0 else f + 2",
    volume="m(P-1)/P if r == 0 else m",
    reduced="m(P-1)/P if r == 0 else"
    " m + sum(C // 2**j + min(r, C // 2**j) for j in range(1, f + 1)) m/P",
    order="commutative",
    cites="Thakur, Rabenseifner & Gropp 2005",
    aka={"openmpi": "recursive_halving", "mpich": "recursive_halving"},
)
def recursive_halving(rank: int, size: int) -> Iterator:
    """Partners at distance C/2, ..., 2, 1 exchange the halves that the other one is to own.

    Few rounds and little traffic. Ranks beyond a power of two hand their vector to a neighbour
    first and get their block at the end.
    """
    if size == 1:
        yield Copy(Input[:], Output[:])
    spare = size - core_size(size)
    partial, held = Temp.row(1), Input
    for steps in fold(rank, size, Input, partial):
        held = partial
        yield steps
    index = core_index(rank, size)
    if index is not None:
        pairs = [(2 * i, 2 * i + 1) for i in range(spare)]
        groups = pairs + [(block,) for block in range(2 * spare, size)]
        alone = len(groups[index]) == 1
        result = Output if alone else partial
        yield from halving_reduce_scatter(index, size, groups, held, partial, result)
        if not alone:
            yield Send(rank - 1, partial[rank - 1]), Copy(partial[rank], Output[rank])
    else:
        yield Recv(rank + 1, Output[rank])


@algorithm(
    "reduce_scatter",
    rounds="q + 1",
    volume="m",
    reduced="q m",
    order="rank",
    aka={"openmpi": "non-overlapping"},
)
def reduce_then_scatter(rank: int, size: int) -> Iterator:
    """Rank 0 collects the combination up a binomial tree, then sends every rank its block.

    Rank order is kept for any number of ranks and any blocks; rank 0's link is the bottleneck.
    """
    yield from binomial_reduce(rank, size, 0, Input, Output if size == 1 else Temp)
    if rank == 0 and size > 1:
        sends = (Send(peer, Temp[peer]) for peer in range(1, size))
        yield (*sends, Copy(Temp[0], Output[0]))
    elif rank:
        yield Recv(0, Output[rank])


@algorithm(
    "reduce_scatter",
    rounds="P-1",
    volume="m(P-1)/P",
    reduced="m(P-1)/P",
    order="commutative",
    aka={"mpich": "pairwise"},
)
def pairwise(rank: int, size: int) -> Iterator:
    """In round i send the rank i ahead its block, and add to yours what comes from i behind.

    The least traffic and nothing on the way: only one block of scratch is ever in use.
    """
    so_far = Input[rank]
    if size == 1:
        yield Copy(so_far, Output[rank])
    for distance in range(1, size):
        to, source = (rank + distance) % size, (rank - distance) % size
        yield (
            Send(to, Input[to]),
            Recv(source, Temp[rank]),
            Reduce(Temp[rank], so_far, into=Output[rank]),
        )
        so_far = Output[rank]


@algorithm(
    "reduce_scatter",
    rounds="f if r == 0 else f + 2",
    volume="max(P min(r, 1), logfloor(2, C-r)(P+1) + 2(f - logfloor(2, C-r))(C+1)"
    " + 2*2**logfloor(2, C-r) - 4C + 2) m/P",
    reduced="(f(P+1) - 2P + 2) m/P if r == 0 else"
    " m + sum(P + 1 - 2**j - (r-1) % 2**j for j in range(1, f + 1)) m/P",
    order="rank",
    cites="Thakur, Rabenseifner & Gropp 2005",
    aka={"openmpi": "recursive_doubling", "mpich": "recursive_doubling"},
)
def recursive_doubling(rank: int, size: int) -> Iterator:
    """Partners at distance 1, 2, 4, ... swap the other's block and those of all who are further.

    Rank order is kept and blocks go in long runs, for more traffic than the butterfly. Ranks beyond
    a power of two hand their vector to a neighbour first and get their block at the end.
    """

    def wanted(index: int, distance: int, core: int) -> list[int]:
        first = index & -2 * distance
        near = range(first, first + 2 * distance)
        return [i for i in range(core) if i not in near or i == index ^ distance]

    yield from _doubling_in_order(rank, size, wanted)


@algorithm(
    "reduce_scatter",
    rounds="f if r == 0 else f + 2",
    volume="m(P-1)/P if r == 0 else m",
    reduced="m(P-1)/P if r == 0 else"
    " m + sum(C // 2**j + ceil(r / 2**j) for j in range(1, f + 1)) m/P",
    order="rank",
    cites="Traeff 2005",
    aka={"openmpi": "butterfly", "mpich": "noncommutative"},
)
def butterfly(rank: int, size: int) -> Iterator:
    """Partners at distance 1, 2, 4, ... swap every second, fourth, eighth block and combine.

    Near partners first keeps rank order, and halving the blocks by their last binary digits keeps
    the traffic least. Ranks beyond a power of two as in recursive halving.
    """

    def wanted(index: int, distance: int, core: int) -> list[int]:
        return list(range((index ^ distance) % (2 * distance), core, 2 * distance))

    yield from _doubling_in_order(rank, size, wanted)


def _doubling_in_order(rank: int, size: int, wanted: Callable) -> Iterator:
    """Partners at distance 1, 2, 4, ... of the core swap the blocks of the members `wanted`."""
    if size == 1:
        yield Copy(Input[:], Output[:])
    core, partial, arrived, held = core_size(size), Temp.row(1), Temp, Input
    spare = size - core
    for steps in fold(rank, size, Input, partial):
        held = partial
        yield steps
    index = core_index(rank, size)
    if index is None:
        yield Recv(rank + 1, Output[rank])
        return

    def blocks(members: list[int]) -> list[int]:
        pairs = ([2 * i, 2 * i + 1] if i < spare else [i + spare] for i in members)
        return [block for pair in pairs for block in pair]

    for distance in distances(core):
        peer = core_rank(index ^ distance, size)
        theirs, mine = (blocks(wanted(i, distance, core)) for i in (index, index ^ distance))
        into = Output if 2 * distance == core and index >= spare else partial
        left, right = (held[mine], arrived[mine])[:: 1 if rank < peer else -1]
        yield Send(peer, held[theirs]), Recv(peer, arrived[mine]), Reduce(left, right, into[mine])
        held = partial
    if index < spare:
        yield Send(rank - 1, partial[rank - 1]), Copy(partial[rank], Output[rank])


@algorithm(
    "reduce_scatter",
    rounds="q",
    volume="m(P-1)/P",
    reduced="m(P-1)/P",
    order="commutative",
    cites="Traeff 2024, arXiv 2410.14234",
    aka={"pgmpitune": "circulant"},
)
def circulant(rank: int, size: int) -> Iterator:
    """Hand over the far half of the blocks that you care for, over skips that halve from P on.

    The fewest rounds and the least traffic for any number of ranks.
    """
    yield from circulant_reduce_scatter(rank, size, Input, Temp.row(1), Output)


@algorithm(
    "reduce_scatter",
    rounds="P - 1 if aggregate == 1 else min(logfloor(2, aggregate), q)"
    " + 2**max(0, q - logfloor(2, aggregate)) - 1",
    volume="m(P-1)/P",
    reduced="m(P-1)/P",
    order="commutative",
    cites="Jeaugey 2025, arXiv 2506.20252",
    aka={"nccl": "PAT"},
)
def pat(rank: int, size: int, *, aggregate: int = 8) -> Iterator:
    """Every block is combined up a tree, near hops first, at most `aggregate` in one message.

    Logarithmic as long as messages may be that long, then linear, with few sums under way.
    """
    hops = pat_hops(size, aggregate)
    yield from pat_reduce_scatter(rank, size, Input, Temp.row(1), Output, hops)


@algorithm(
    "reduce_scatter",
    rounds="1",
    volume="m(P-1)/P",
    reduced="m(P-1)/P",
    order="rank",
    cites="Demmel & Nguyen 2013 (on reproducible sums)",
)
def ordered(rank: int, size: int) -> Iterator:
    """Everybody sends block i to rank i, which combines from the first rank to the last.

    Operands are combined as ((0 1) 2) 3 ... for every element: the result does not depend on the
    number of elements or their places. For reproducible sums; scratch for all P blocks.
    """
    yield from ordered_reduce_scatter(rank, size, Input, Output)
