"""Allgather(v): every rank gets every rank's block, in rank order."""

from collections.abc import Iterator

from mpicoll.algorithms.circulant import circulant_allgather
from mpicoll.algorithms.pat import far_first_hops, pat_allgather, pat_hops
from mpicoll.algorithms.phases import bruck_allgather, doubling_allgather, ring_allgather
from mpicoll.registry import algorithm
from mpicoll.steps import Copy, Input, Output, Recv, Send, wrap


@algorithm(
    "allgather",
    rounds="P-1",
    volume="m(P-1)/P",
    aka={"openmpi": "ring", "mpich": "ring", "nccl": "Ring"},
)
def ring(rank: int, size: int) -> Iterator:
    """Pass on to the right what came from the left, until every block has come by.

    Messages between neighbours only, blocks of any sizes; P - 1 rounds: for long blocks.
    """
    yield Copy(Input[rank], Output[rank])
    yield from ring_allgather(rank, size, Output)


@algorithm(
    "allgather",
    rounds="f",
    volume="m(P-1)/P",
    requires=("power_of_two",),
    cites="Thakur, Rabenseifner & Gropp 2005",
    aka={"openmpi": "recursive_doubling", "mpich": "recursive_doubling"},
)
def recursive_doubling(rank: int, size: int) -> Iterator:
    """Partners at distance 1, 2, 4, ... swap all that they have.

    The fewest rounds, and what is swapped is contiguous; P must be a power of two.
    """
    yield Copy(Input[rank], Output[rank])
    yield from doubling_allgather(rank, size, [(block,) for block in range(size)], Output)


@algorithm(
    "allgather",
    rounds="q",
    volume="m(P-1)/P",
    cites="Bruck et al. 1997",
    aka={"openmpi": "bruck", "mpich": "brucks"},
)
def bruck(rank: int, size: int) -> Iterator:
    """Send all that you have to the rank 1, 2, 4, ... behind, and get as much from the one ahead.

    The fewest rounds for any number of ranks: for short blocks.
    """
    yield Copy(Input[rank], Output[rank])
    yield from bruck_allgather(rank, size, Output)


@algorithm(
    "allgather",
    rounds="1",
    volume="m(P-1)/P",
    aka={"openmpi": "direct-messaging", "ucc": "linear", "oneccl": "flat"},
)
def direct(rank: int, size: int) -> Iterator:
    """Everybody sends its block to everybody at once, each starting with the rank after it.

    One round of P - 1 messages each way: for few ranks, or networks without jams.
    """
    peers = wrap(rank + 1, size - 1, size)
    yield (
        *(Recv(peer, Output[peer]) for peer in peers[::-1]),
        *(Send(peer, Input[rank]) for peer in peers),
        Copy(Input[rank], Output[rank]),
    )


@algorithm(
    "allgather",
    rounds="P/2",
    volume="m(P-1)/P",
    requires=("even_size",),
    cites="Chen, Zhang, Zhang & Yuan 2005",
    aka={"openmpi": "neighbor", "ucc": "neighbor"},
)
def neighbor_exchange(rank: int, size: int) -> Iterator:
    """Swap with the neighbour on one side, then in turn hand on to each side what came last.

    Half of the ring's rounds, two blocks in each but the first; P must be even.
    """
    yield Copy(Input[rank], Output[rank])
    if size == 1:
        return
    near = rank + 1 if rank % 2 == 0 else rank - 1
    yield Send(near, Output[rank]), Recv(near, Output[near])
    ahead = 1 if rank % 2 == 0 else -1
    mine = rank - rank % 2  # the even one of the two blocks that came last, or are one's own
    for step in range(1, size // 2):
        side = -ahead if step % 2 else ahead
        theirs = rank - rank % 2 + side * 2 * ((step + 1) // 2)
        peer = (rank + side) % size
        yield (
            Send(peer, Output[wrap(mine, 2, size)]),
            Recv(peer, Output[wrap(theirs, 2, size)]),
        )
        mine = theirs


@algorithm(
    "allgather",
    rounds="logceil(radix, P)",
    volume="m(P-1)/P",
    cites="Bruck et al. 1997",
    aka={"openmpi": "k_bruck", "mpich": "k_brucks"},
)
def k_bruck(rank: int, size: int, *, radix: int = 4) -> Iterator:
    """Send all that you have to radix - 1 ranks behind, and get as much from as many ahead.

    Fewer rounds than Bruck's algorithm, with more messages in each.
    """
    yield Copy(Input[rank], Output[rank])
    have = 1
    while have < size:
        steps: list = []
        for distance in range(have, min(size, radix * have), have):
            count = min(have, size - distance)
            to, source = (rank - distance) % size, (rank + distance) % size
            steps.append(Send(to, Output[wrap(rank, count, size)]))
            steps.append(Recv(source, Output[wrap(source, count, size)]))
        yield tuple(steps)
        have *= radix


@algorithm(
    "allgather",
    rounds="q",
    volume="m(P-1)/P",
    cites="Loch & Koslovski 2021",
    aka={"openmpi": "sparbit", "ucc": "sparbit"},
)
def sparbit(rank: int, size: int) -> Iterator:
    """Send every block that you have so far half the ring ahead, then a quarter, then an eighth.

    Far hops carry one block, near hops many, each block as a message of its own, straight to its
    place: P - 1 messages in the fewest rounds.
    """
    yield Copy(Input[rank], Output[rank])
    for hops in far_first_hops(size):
        distance = hops[0][1]
        to, source = (rank + distance) % size, (rank - distance) % size
        yield (
            *(Send(to, Output[(rank - offset) % size]) for offset, _ in hops),
            *(Recv(source, Output[(source - offset) % size]) for offset, _ in hops),
        )


@algorithm(
    "allgather",
    rounds="q",
    volume="m(P-1)/P",
    cites="Traeff 2024, arXiv 2410.14234",
    aka={"pgmpitune": "circulant"},
)
def circulant(rank: int, size: int) -> Iterator:
    """Blocks are collected over skips that are halves of P rounded up, the smallest first.

    The fewest rounds and the least traffic for any number of ranks.
    """
    yield Copy(Input[rank], Output[rank])
    yield from circulant_allgather(rank, size, Output)


@algorithm(
    "allgather",
    rounds="P - 1 if aggregate == 1 else min(logfloor(2, aggregate), q)"
    " + 2**max(0, q - logfloor(2, aggregate)) - 1",
    volume="m(P-1)/P",
    cites="Jeaugey 2025, arXiv 2506.20252",
    aka={"nccl": "PAT"},
)
def pat(rank: int, size: int, *, aggregate: int = 8) -> Iterator:
    """Every block goes down a tree, far hops first, at most `aggregate` blocks in one message.

    Logarithmic as long as messages may be that long, then linear, with few blocks under way.
    """
    yield Copy(Input[rank], Output[rank])
    yield from pat_allgather(rank, size, Output, pat_hops(size, aggregate))
