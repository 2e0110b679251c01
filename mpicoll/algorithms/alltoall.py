"""Alltoall(v, w): rank i's block j becomes rank j's block i."""

from collections.abc import Iterator

from mpicoll.algorithms.layout import Nodes, place
from mpicoll.registry import algorithm
from mpicoll.steps import Copy, Input, Output, Recv, Send, Temp, wrap
from mpicoll.topology import distances, largest_divisor


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


@algorithm(
    "alltoall",
    rounds="ceil((P-1)/window)",
    volume="m(P-1)/P",
    aka={"openmpi": "linear_sync", "mpich": "scattered"},
)
def windowed(rank: int, size: int, *, window: int = 8) -> Iterator:
    """As linear, but only `window` messages each way at a time.

    Enough messages to fill the links, not so many that they jam.
    """
    yield Copy(Input[rank], Output[rank])
    for first in range(1, size, window):
        ahead = range(first, min(size, first + window))
        yield (
            *(Recv((rank - i) % size, Output[(rank - i) % size]) for i in ahead),
            *(Send((rank + i) % size, Input[(rank + i) % size]) for i in ahead),
        )


@algorithm(
    "alltoall",
    rounds="P-1",
    volume="m(P-1)/P",
    requires=("equal_blocks",),
    aka={"openmpi": "inplace (ring)", "mpich": "pairwise_sendrecv_replace"},
)
def replacing(rank: int, size: int) -> Iterator:
    """Everything is copied to Output first, then each pair of ranks swaps two blocks there.

    For calls in place: one block of scratch instead of a copy of everything. In round i rank r
    swaps with rank i - r, so that both agree.
    """
    yield Copy(Input[:], Output[:])
    for total in range(size):
        peer = (total - rank) % size
        if peer != rank:
            yield (
                Send(peer, Output[peer]),
                Recv(peer, Temp[peer]),
                Copy(Temp[peer], Output[peer]),
            )


@algorithm(
    "alltoall",
    rounds="logceil(radix, P)",
    volume="sum(min(1, j // radix**e % radix) for e in range(q) for j in range(P)) m/P",
    requires=("equal_blocks",),
    cites="Bruck et al. 1997",
    aka={"mpich": "k_brucks", "ucc": "bruck"},
)
def k_bruck(rank: int, size: int, *, radix: int = 4) -> Iterator:
    """Blocks hop ahead as the digits of their way in base `radix` say, one digit per round.

    Fewer rounds and less traffic than Bruck's algorithm, with radix - 1 messages in each round.
    """
    arrived = Temp.row(1)
    yield Copy(Input[wrap(rank, size, size)], Temp[:])
    distance = 1
    while distance < size:
        moving = {
            digit: [slot for slot in range(size) if slot // distance % radix == digit]
            for digit in range(1, radix)
            if digit * distance < size
        }
        yield (
            *(Send((rank + d * distance) % size, Temp[slots]) for d, slots in moving.items()),
            *(Recv((rank - d * distance) % size, arrived[slots]) for d, slots in moving.items()),
            *(Copy(arrived[slots], Temp[slots]) for slots in moving.values()),
        )
        distance *= radix
    yield Copy(Temp[:], Output[[(rank - slot) % size for slot in range(size)]])


@algorithm(
    "alltoall",
    rounds="1 if divisor(P) == 1 else 2",
    volume="(2P - divisor(P) - P/divisor(P)) m/P",
    requires=("equal_blocks",),
    aka={"msccl": "two-step"},
)
def two_step(rank: int, size: int) -> Iterator:
    """Ranks stand in a grid: blocks go along the row to the right column, then along the column.

    About 2 sqrt(P) messages of many blocks instead of P of one, at twice the traffic: for the small
    blocks of many experts. The grid is as square as P allows; if P is prime it is one row.
    """
    width = size // largest_divisor(size)
    rows = [list(range(first, first + width)) for first in range(0, size, width)]
    yield from _over_grid(rank, rows)


@algorithm(
    "alltoall",
    rounds="min(1, L-1) + min(1, N-1)",
    volume="(2P - L - N) m/P",
    requires=("equal_blocks", "equal_nodes"),
    aka={"openmpi": "han (smsc)", "ucc": "cl/hier"},
)
def hierarchical(rank: int, size: int, *, nodes: Nodes = None) -> Iterator:
    """Blocks go inside the node to the rank of the right lane, then along the lane to their node.

    Between two nodes each rank sends one message, with the blocks of all ranks of its node.
    """
    yield from _over_grid(rank, place(rank, size, nodes).nodes)


def _over_grid(rank: int, rows: list[list[int]]) -> Iterator:
    """Along the row to the right column, then along the column; `rows` are of equal length."""
    mine = next(row for row in rows if rank in row)
    column, height = mine.index(rank), len(rows)
    if height == 1:
        yield from windowed(rank, len(mine), window=len(mine))
        return
    steps: list = []
    for other, mate in enumerate(mine):
        blocks = [row[other] for row in rows]
        if mate == rank:
            steps.append(Copy(Input[blocks], Temp[_slots(other, height)]))
        else:
            steps.append(Send(mate, Input[blocks]))
            steps.append(Recv(mate, Temp[_slots(other, height)]))
    yield tuple(steps)
    steps = []
    for number, row in enumerate(rows):
        slots = [other * height + number for other in range(len(row))]
        if row is mine:
            steps.append(Copy(Temp[slots], Output[row]))
        else:
            steps.append(Send(row[column], Temp[slots]))
            steps.append(Recv(row[column], Output[row]))
    yield tuple(steps)


def _slots(column: int, height: int) -> range:
    return range(column * height, (column + 1) * height)
