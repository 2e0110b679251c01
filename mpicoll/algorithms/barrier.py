"""Barrier: nobody leaves before everybody has entered."""

from collections.abc import Iterator

from mpicoll.registry import algorithm
from mpicoll.steps import Nothing, Recv, Send
from mpicoll.topology import distances


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
