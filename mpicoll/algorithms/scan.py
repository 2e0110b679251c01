"""Scan: rank i gets the combination of ranks 0 to i."""

from collections.abc import Iterator

from mpicoll.registry import algorithm
from mpicoll.steps import Copy, Input, Output, Recv, Reduce, Send, Temp
from mpicoll.topology import distances


@algorithm(
    "scan",
    rounds="q",
    volume="q m",
    reduced="q m",
    order="rank",
    blocks="1",
    cites="Hillis & Steele 1986",
    aka={"openmpi": "recursive_doubling", "mpich": "recursive_doubling"},
)
def recursive_doubling(rank: int, size: int) -> Iterator:
    """Add what the rank 1, 2, 4, ... before you has so far to the left of what you have.

    After the round at distance d a rank has combined the 2d ranks that end with it.
    """
    so_far = Input[:]
    if rank == 0:
        yield Copy(Input[:], Output[:])
    for distance in distances(size):
        steps = []
        if rank + distance < size:
            steps.append(Send(rank + distance, so_far))
        if rank >= distance:
            steps.append(Recv(rank - distance, Temp[:]))
            steps.append(Reduce(Temp[:], so_far, into=Output[:]))
            so_far = Output[:]
        yield tuple(steps)


@algorithm(
    "scan",
    rounds="min(2, P-1)",
    volume="m",
    reduced="m",
    order="rank",
    blocks="1",
    aka={"openmpi": "linear", "libnbc": "linear"},
)
def linear(rank: int, size: int) -> Iterator:
    """Add what comes from the rank before you to the left of your own, and pass it on.

    Everybody combines and sends one vector, but the last rank waits for all others in turn.
    """
    if rank == 0:
        yield Copy(Input[:], Output[:])
    else:
        yield Recv(rank - 1, Temp[:]), Reduce(Temp[:], Input[:], into=Output[:])
    if rank + 1 < size:
        yield Send(rank + 1, Output[:])
