"""Barrier: nobody leaves before everybody has entered."""

from collections.abc import Iterator

from mpicoll.algorithms.phases import core_index, core_rank
from mpicoll.registry import algorithm
from mpicoll.steps import Nothing, Recv, Send
from mpicoll.topology import binomial_children, binomial_parent, core_size, distances


@algorithm(
    "barrier",
    rounds="q",
    volume="0",
    cites="Hensgen, Finkel & Manber 1988",
    aka={"openmpi": "bruck", "mpich": "k_dissemination"},
)
def dissemination(rank: int, size: int) -> Iterator:
    """Tell the rank 1, 2, 4, ... further on, and wait for the one as far behind.

    After the round at distance d a rank knows of the 2d - 1 ranks behind it. Any number of ranks.
    """
    for distance in distances(size):
        yield (
            Send((rank + distance) % size, Nothing),
            Recv((rank - distance) % size, Nothing),
        )


@algorithm(
    "barrier",
    rounds="2",
    volume="0",
    aka={"openmpi": "linear"},
)
def linear(rank: int, size: int) -> Iterator:
    """Everybody tells rank 0; when it has heard from all it answers all.

    Two rounds, but P - 1 messages meet at rank 0.
    """
    if rank:
        yield Send(0, Nothing)
        yield Recv(0, Nothing)
    else:
        yield tuple(Recv(peer, Nothing) for peer in range(1, size))
        yield tuple(Send(peer, Nothing) for peer in range(1, size))


@algorithm(
    "barrier",
    rounds="min(4, P)",
    volume="0",
    aka={"openmpi": "double_ring"},
)
def ring(rank: int, size: int) -> Iterator:
    """Word goes once around the ring to say that all are here, and once more to let them go.

    One message at a time: slow, and easy to see.
    """
    if size == 1:
        return
    left, right = (rank - 1) % size, (rank + 1) % size
    if rank == 0:
        yield Send(right, Nothing)
        yield Recv(left, Nothing)
        if size > 2:
            yield Send(right, Nothing)
        return
    yield Recv(left, Nothing)
    yield Send(right, Nothing)
    if rank < size - 1:
        yield Recv(left, Nothing)
        if rank < size - 2:
            yield Send(right, Nothing)


@algorithm(
    "barrier",
    rounds="2q",
    volume="0",
    aka={"openmpi": "tree"},
)
def tree(rank: int, size: int) -> Iterator:
    """Everybody waits for its children in a tree, tells its parent, and waits to be let go.

    Only P - 1 messages each way.
    """
    children = binomial_children(rank, size)
    for child in reversed(children):
        yield Recv(child, Nothing)
    if rank:
        yield Send(binomial_parent(rank), Nothing)
        yield Recv(binomial_parent(rank), Nothing)
    for child in children:
        yield Send(child, Nothing)


@algorithm(
    "barrier",
    rounds="logceil(radix, P)",
    volume="0",
    cites="Hoefler et al. 2006",
    aka={"mpich": "k_dissemination"},
)
def k_dissemination(rank: int, size: int, *, radix: int = 4) -> Iterator:
    """Tell radix - 1 ranks further on, and wait for as many behind, further away in each round.

    Fewer rounds than dissemination, with more messages in each.
    """
    distance = 1
    while distance < size:
        hops = range(distance, min(size, radix * distance), distance)
        yield (
            *(Send((rank + hop) % size, Nothing) for hop in hops),
            *(Recv((rank - hop) % size, Nothing) for hop in hops),
        )
        distance *= radix


@algorithm(
    "barrier",
    rounds="f if r == 0 else f + 2",
    volume="0",
    aka={"openmpi": "recursive_doubling", "mpich": "recexch"},
)
def recursive_doubling(rank: int, size: int) -> Iterator:
    """Partners at distance 1, 2, 4, ... exchange word.

    Ranks beyond a power of two tell a neighbour first and hear from it at the end.
    """
    index, spare = core_index(rank, size), size - core_size(size)
    if index is None:
        yield Send(rank + 1, Nothing)
        yield Recv(rank + 1, Nothing)
        return
    if index < spare:
        yield Recv(rank - 1, Nothing)
    for distance in distances(core_size(size)):
        peer = core_rank(index ^ distance, size)
        yield Send(peer, Nothing), Recv(peer, Nothing)
    if index < spare:
        yield Send(rank - 1, Nothing)
