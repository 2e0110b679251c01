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
