"""Exscan: rank i gets the combination of ranks 0 to i - 1; rank 0's Output is not touched."""

from collections.abc import Iterator

from mpicoll.registry import algorithm
from mpicoll.steps import Copy, Input, Output, Recv, Reduce, Send, Temp
from mpicoll.topology import distances


@algorithm(
    "exscan",
    rounds="q",
    volume="q m",
    reduced="max(q-1, 2q-3 if 4P > 3*2**q else 2q-4) m",
    order="rank",
    blocks="1",
    aka={"openmpi": "recursive_doubling", "mpich": "recursive_doubling"},
)
def recursive_doubling(rank: int, size: int) -> Iterator:
    """As in scan, and what arrives is also added to the left of a result that leaves yourself out.

    Two combinations a round: one with the rank's own vector, to be sent on, one without.
    """
    inclusive, arrived = Input[:], Temp[:]
    for distance in distances(size):
        steps = []
        if rank + distance < size:
            steps.append(Send(rank + distance, inclusive))
        if rank >= distance:
            steps.append(Recv(rank - distance, arrived))
            if rank + 2 * distance < size:
                steps.append(Reduce(arrived, inclusive, into=Temp.row(1)[:]))
                inclusive = Temp.row(1)[:]
            if distance == 1:
                steps.append(Copy(arrived, Output[:]))
            else:
                steps.append(Reduce(arrived, Output[:], into=Output[:]))
        yield tuple(steps)


@algorithm(
    "exscan",
    rounds="min(2, P-1)",
    volume="m",
    reduced="min(1, P-2) m",
    order="rank",
    blocks="1",
    aka={"openmpi": "linear", "libnbc": "linear"},
)
def linear(rank: int, size: int) -> Iterator:
    """What comes from the rank before you is your result; pass it on with your own on its right.

    Everybody combines and sends one vector, but the last rank waits for all others in turn.
    """
    total = Temp.row(1) if rank else Input
    if rank:
        steps = [Recv(rank - 1, Temp[:])]
        if rank + 1 < size:
            steps.append(Reduce(Temp[:], Input[:], into=total[:]))
        yield (*steps, Copy(Temp[:], Output[:]))
    if rank + 1 < size:
        yield Send(rank + 1, total[:])


@algorithm(
    "exscan",
    rounds="logceil(2, ceil(4(P-1)/3))",
    volume="logceil(2, ceil(4(P-1)/3)) m",
    reduced="max(min(2, P-3) + logfloor(2, max(1, 2floor((P-4)/3))),"
    " min(1, P-2) + logfloor(2, max(1, 2floor((P-2)/3)))) m",
    order="rank",
    blocks="1",
    cites="Traeff 2025, arXiv 2507.04785",
)
def one_two_three_doubling(rank: int, size: int) -> Iterator:
    """Send to the ranks 1, 2, 3, 6, 12, ... further on what is known of the ranks before you.

    Only at distance 2 the rank's own vector goes along; then results without it double. Fewer
    combinations than recursive doubling, sometimes for one more round.
    """
    before, with_own, arrived = Temp[:], Temp.row(1)[:], Temp.row(2)[:]
    steps = []
    if rank + 1 < size:
        steps.append(Send(rank + 1, Input[:]))
    if rank:
        steps.append(Recv(rank - 1, before))
        if rank + 2 < size:
            steps.append(Reduce(before, Input[:], into=with_own))
        if rank == 1:
            steps.append(Copy(before, Output[:]))
    yield tuple(steps)
    steps = []
    if rank + 2 < size:
        steps.append(Send(rank + 2, with_own if rank else Input[:]))
    if rank >= 2:
        steps += [Recv(rank - 2, arrived), Reduce(arrived, before, into=Output[:])]
    yield tuple(steps)
    distance = 3
    while distance < size - 1:
        steps = []
        if rank and rank + distance < size:
            steps.append(Send(rank + distance, Output[:]))
        if rank > distance:
            steps.append(Recv(rank - distance, arrived))
            steps.append(Reduce(arrived, Output[:], into=Output[:]))
        yield tuple(steps)
        distance *= 2
