"""Reduce_scatter and Reduce_scatter_block: rank i gets block i, combined over all ranks."""

from collections.abc import Iterator

from mpicoll.algorithms.phases import (
    binomial_reduce,
    core_index,
    fold,
    halving_reduce_scatter,
    ring_reduce_scatter,
)
from mpicoll.registry import algorithm
from mpicoll.steps import Copy, Input, Output, Recv, Send, Temp
from mpicoll.topology import core_size


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
