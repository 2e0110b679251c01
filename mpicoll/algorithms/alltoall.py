"""Alltoall(v, w): rank i's block j becomes rank j's block i."""

from collections.abc import Iterator

from mpicoll.registry import algorithm
from mpicoll.steps import Copy, Input, Output, Recv, Send, Temp, wrap
from mpicoll.topology import distances


@algorithm(
    "alltoall",
    rounds="1",
    volume="m(P-1)/P",
    aka={"openmpi": "basic_linear", "mpich": "scattered"},
)
def linear(rank: int, size: int) -> Iterator:
    """Everybody sends to everybody at once, each starting with the rank after it.

    One round of P - 1 messages each way; no order protects the links from jams.
    """
    yield (
        *(Recv(peer, Output[peer]) for peer in wrap(rank + 1, size - 1, size)[::-1]),
        *(Send(peer, Input[peer]) for peer in wrap(rank + 1, size - 1, size)),
        Copy(Input[rank], Output[rank]),
    )


@algorithm(
    "alltoall",
    rounds="P-1",
    volume="m(P-1)/P",
    cites="Thakur, Rabenseifner & Gropp 2005",
    aka={"openmpi": "pairwise", "mpich": "pairwise"},
)
def pairwise(rank: int, size: int) -> Iterator:
    """In each round everybody sends to one rank and receives from one rank.

    If P is a power of two the two are one partner, rank XOR round; otherwise they are as far ahead
    as behind. For long blocks of any sizes.
    """
    yield Copy(Input[rank], Output[rank])
    for distance in range(1, size):
        to, source = (rank + distance) % size, (rank - distance) % size
        if size & (size - 1) == 0:
            to = source = rank ^ distance
        yield Send(to, Input[to]), Recv(source, Output[source])


@algorithm(
    "alltoall",
    rounds="q",
    volume="sum(popcount(j) for j in range(1, P)) m/P",
    requires=("equal_blocks",),
    cites="Bruck et al. 1997",
    aka={"openmpi": "modified_bruck", "mpich": "brucks"},
)
def bruck(rank: int, size: int) -> Iterator:
    """Blocks hop 1, 2, 4, ... ranks ahead, as the binary digits of their way say.

    Slot i holds what still has to go i ranks ahead in all. The fewest rounds, but a block is sent
    once per digit: for short blocks, which must be equal as other ranks carry them.
    """
    arrived = Temp.row(1)
    yield Copy(Input[wrap(rank, size, size)], Temp[:])
    for distance in distances(size):
        slots = [slot for slot in range(size) if slot & distance]
        yield (
            Send((rank + distance) % size, Temp[slots]),
            Recv((rank - distance) % size, arrived[slots]),
            Copy(arrived[slots], Temp[slots]),
        )
    yield Copy(Temp[:], Output[[(rank - slot) % size for slot in range(size)]])
