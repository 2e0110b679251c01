"""Allreduce: the vectors of all ranks are combined on every rank, bit for bit the same."""

from collections.abc import Iterator

from mpicoll.algorithms.phases import (
    binomial_bcast,
    binomial_reduce,
    core_index,
    core_rank,
    doubling_allgather,
    fold,
    halving_reduce_scatter,
    ring_allgather,
    ring_reduce_scatter,
    unfold,
)
from mpicoll.registry import algorithm
from mpicoll.steps import Copy, Input, Output, Recv, Reduce, Send, Temp
from mpicoll.topology import core_size, distances


@algorithm(
    "allreduce",
    rounds="2(P-1)",
    volume="2m(P-1)/P",
    reduced="m(P-1)/P",
    order="commutative",
    cites="Patarasuk & Yuan 2009",
    aka={"openmpi": "ring", "mpich": "ring", "nccl": "Ring"},
)
def ring(rank: int, size: int) -> Iterator:
    """Each block goes around the ring twice: once to be combined, once to be handed out.

    The least traffic that is possible, spread evenly, whatever the number of ranks; but 2 (P - 1)
    rounds, so it is for long vectors.
    """
    yield from ring_reduce_scatter(rank, size, Input, Temp, Output)
    yield from ring_allgather(rank, size, Output)


@algorithm(
    "allreduce",
    rounds="f if r == 0 else f + 2",
    volume="f m if r == 0 else (f+1)m",
    reduced="f m if r == 0 else (f+1)m",
    order="rank",
    blocks="1",
    cites="Thakur, Rabenseifner & Gropp 2005",
    aka={"openmpi": "recursive_doubling", "mpich": "recursive_doubling"},
)
def recursive_doubling(rank: int, size: int) -> Iterator:
    """Partners at distance 1, 2, 4, ... swap whole vectors and combine, lower rank on the left.

    The fewest rounds for short vectors. Ranks beyond a power of two hand theirs to a neighbour
    first and get the result at the end.
    """
    so_far = Input[:]
    if size == 1:
        yield Copy(Input[:], Output[:])
    for steps in fold(rank, size, Input, Output):
        so_far = Output[:]
        yield steps
    index = core_index(rank, size)
    if index is not None:
        for distance in distances(core_size(size)):
            peer = core_rank(index ^ distance, size)
            left, right = (so_far, Temp[:]) if rank < peer else (Temp[:], so_far)
            yield Send(peer, so_far), Recv(peer, Temp[:]), Reduce(left, right, into=Output[:])
            so_far = Output[:]
    yield from unfold(rank, size, Output)


@algorithm(
    "allreduce",
    rounds="2f if r == 0 else 2f + 2",
    volume="2m(P-1)/P if r == 0 else m + 2m(1 - 1/C)",
    reduced="m(P-1)/P if r == 0 else m + m(1 - 1/C)",
    order="commutative",
    blocks="C",
    cites="Rabenseifner 2004",
    aka={"openmpi": "rabenseifner", "mpich": "reduce_scatter_allgather"},
)
def rabenseifner(rank: int, size: int) -> Iterator:
    """Partners halve and combine until each has one block complete, then double back to all blocks.

    Few rounds and little traffic at once: for long vectors, best when P is a power of two.
    """
    source = Input
    if size == 1:
        yield Copy(Input[:], Output[:])
    for steps in fold(rank, size, Input, Output):
        source = Output
        yield steps
    index = core_index(rank, size)
    if index is not None:
        groups = [(block,) for block in range(core_size(size))]
        yield from halving_reduce_scatter(index, size, groups, source, Output, Output)
        yield from doubling_allgather(index, size, groups, Output)
    yield from unfold(rank, size, Output)


@algorithm(
    "allreduce",
    rounds="2q",
    volume="q m",
    reduced="q m",
    order="rank",
    blocks="1",
    aka={"openmpi": "nonoverlapping"},
)
def reduce_bcast(rank: int, size: int) -> Iterator:
    """Rank 0 collects the combination up a binomial tree and broadcasts it down the same tree.

    Twice the rounds of recursive doubling, and rank 0's link is the bottleneck: the obvious way,
    here to be compared with.
    """
    yield from binomial_reduce(rank, size, 0, Input, Output)
    yield from binomial_bcast(rank, size, 0, Output[:])
