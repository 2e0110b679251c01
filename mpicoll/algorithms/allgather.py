"""Allgather(v): every rank gets every rank's block, in rank order."""

from collections.abc import Iterator

from mpicoll.algorithms.phases import bruck_allgather, doubling_allgather, ring_allgather
from mpicoll.registry import algorithm
from mpicoll.steps import Copy, Input, Output


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
