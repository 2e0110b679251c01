"""Bcast: the root's vector is on every rank. The root's memory is only read."""

from collections.abc import Iterator

from mpicoll.algorithms.phases import (
    binomial_bcast,
    binomial_scatter,
    bruck_allgather,
    ring_allgather,
)
from mpicoll.registry import algorithm
from mpicoll.steps import Output, Recv, Send
from mpicoll.topology import knomial_tree


@algorithm(
    "bcast",
    rounds="1",
    volume="m(P-1)",
    blocks="1",
    aka={"openmpi": "basic_linear", "mpich": "flat"},
)
def linear(rank: int, size: int, *, root: int) -> Iterator:
    """The root sends its vector to everybody.

    Good for two or three ranks; the root's link carries everything.
    """
    if rank == root:
        yield tuple(Send(peer, Output[:]) for peer in range(size) if peer != root)
    else:
        yield Recv(root, Output[:])


@algorithm(
    "bcast",
    rounds="q",
    volume="q m",
    blocks="1",
    cites="Johnsson & Ho 1989",
    aka={"openmpi": "binomial", "mpich": "binomial"},
)
def binomial(rank: int, size: int, *, root: int) -> Iterator:
    """Everybody who has the vector sends it on, so that the number who have it doubles.

    The fewest rounds that are possible; every inner rank sends the whole vector several times, so
    it is for short vectors.
    """
    yield from binomial_bcast(rank, size, root, Output[:])


@algorithm(
    "bcast",
    rounds="2q",
    volume="2m(P-1)/P",
    cites="Barnett et al. 1994 (van de Geijn)",
    aka={"openmpi": "scatter_allgather", "mpich": "scatter_recursive_doubling_allgather"},
)
def scatter_allgather(rank: int, size: int, *, root: int) -> Iterator:
    """The root deals out the blocks of its vector down a tree; then everybody collects them all.

    No rank sends more than about two vectors, whatever the number of ranks: for long vectors.
    """
    yield from binomial_scatter(rank, size, root, Output)
    yield from bruck_allgather(rank, size, Output, first=(rank - root) % size, full=root)


@algorithm(
    "bcast",
    rounds="q + P - 1",
    volume="2m(P-1)/P",
    cites="Barnett et al. 1994 (van de Geijn)",
    aka={"openmpi": "scatter_allgather_ring", "mpich": "scatter_ring_allgather"},
)
def scatter_ring_allgather(rank: int, size: int, *, root: int) -> Iterator:
    """The root deals out the blocks of its vector down a tree; then they go around the ring.

    As scatter_allgather with messages between neighbours, for the longest vectors.
    """
    yield from binomial_scatter(rank, size, root, Output)
    yield from ring_allgather(rank, size, Output, first=(rank - root) % size, full=root)


@algorithm(
    "bcast",
    rounds="logceil(radix, P)",
    volume="sum(min(radix - 1, ceil(P/radix**j) - 1) for j in range(logceil(radix, P))) m",
    blocks="1",
    aka={"openmpi": "knomial", "mpich": "tree (knomial)", "ucc": "knomial"},
)
def knomial(rank: int, size: int, *, root: int, radix: int = 4) -> Iterator:
    """Everybody who has the vector sends it to radix - 1 others, so that their number multiplies.

    Fewer rounds than the binomial tree, with more messages in each.
    """
    parent, levels = knomial_tree((rank - root) % size, size, radix)
    if parent is not None:
        yield Recv((parent + root) % size, Output[:])
    for children in levels:
        yield tuple(Send((child + root) % size, Output[:]) for child in children)
