"""Reduce: the vectors of all ranks are combined at the root. Other ranks' Output is not touched."""

from collections.abc import Iterator

from mpicoll.algorithms.phases import binomial_reduce
from mpicoll.registry import algorithm
from mpicoll.steps import Copy, Input, Output, Recv, Reduce, Send, Temp


@algorithm(
    "reduce",
    rounds="P-1",
    volume="m",
    reduced="m(P-1)",
    order="rank",
    blocks="1",
    aka={"openmpi": "linear"},
)
def linear(rank: int, size: int, *, root: int) -> Iterator:
    """Everybody sends to the root, which combines from the last rank down to the first.

    Combining leftwards keeps rank order with one vector of scratch for what arrives and one for
    the result so far. The root's link and arithmetic carry everything.
    """
    if rank != root:
        yield Send(root, Input[:])
        return
    last = size - 1
    if size == 1:
        yield Copy(Input[:], Output[:])
    so_far = Input[:] if rank == last else Temp.row(1)[:]
    if rank != last:
        yield Recv(last, so_far)
    for peer in reversed(range(last)):
        into = Temp.row(1)[:] if peer else Output[:]
        if peer == rank:
            yield Reduce(Input[:], so_far, into)
        else:
            yield Recv(peer, Temp[:]), Reduce(Temp[:], so_far, into)
        so_far = into


@algorithm(
    "reduce",
    rounds="q",
    volume="m",
    reduced="q m",
    order="commutative",
    blocks="1",
    cites="Thakur, Rabenseifner & Gropp 2005",
    aka={"openmpi": "binomial", "mpich": "binomial"},
)
def binomial(rank: int, size: int, *, root: int) -> Iterator:
    """Pairs combine, then pairs of pairs, up a binomial tree that has the root as its top.

    The fewest rounds; the root combines about log2 P whole vectors, so it is for short ones.
    """
    yield from binomial_reduce(rank, size, root, Input, Output)


@algorithm(
    "reduce",
    rounds="q if root == 0 else q + 1",
    volume="m",
    reduced="q m",
    order="rank",
    blocks="1",
    aka={"mpich": "binomial (operations that do not commute)"},
)
def binomial_in_order(rank: int, size: int, *, root: int) -> Iterator:
    """Pairs of neighbours combine up a binomial tree to rank 0, which passes it to the root.

    Rank order is kept at the price of one more message.
    """
    if root == 0:
        yield from binomial_reduce(rank, size, 0, Input, Output)
        return
    yield from binomial_reduce(rank, size, 0, Input, Temp)
    if rank == 0:
        yield Send(root, Temp[:])
    elif rank == root:
        yield Recv(0, Output[:])
