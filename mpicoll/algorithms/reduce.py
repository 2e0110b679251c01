"""Reduce: the vectors of all ranks are combined at the root. Other ranks' Output is not touched."""

from collections.abc import Iterator

from mpicoll.algorithms.phases import (
    binomial_reduce,
    core_index,
    core_rank,
    fold,
    halving_reduce_scatter,
    ordered_reduce_scatter,
)
from mpicoll.registry import algorithm
from mpicoll.steps import Copy, Input, Output, Recv, Reduce, Send, Temp
from mpicoll.topology import core_size, distances, knomial_tree


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


@algorithm(
    "reduce",
    rounds="logceil(radix, P)",
    volume="m",
    reduced="sum(min(radix - 1, ceil(P/radix**j) - 1) for j in range(logceil(radix, P))) m",
    order="commutative",
    blocks="1",
    aka={"openmpi": "knomial", "mpich": "tree (knomial)", "ucc": "knomial"},
)
def knomial(rank: int, size: int, *, root: int, radix: int = 4) -> Iterator:
    """Groups of `radix` ranks combine at one of them, then groups of groups, up to the root.

    Fewer rounds than the binomial tree, with more messages and more arithmetic in each.
    """
    parent, levels = knomial_tree((rank - root) % size, size, radix)
    total, so_far = Output if parent is None else Temp, Input
    if size == 1:
        yield Copy(Input[:], Output[:])
    for children in reversed(levels):
        steps: list = []
        for number, child in enumerate(children, start=1):
            steps.append(Recv((child + root) % size, Temp.row(number)[:]))
            steps.append(Reduce(so_far[:], Temp.row(number)[:], into=total[:]))
            so_far = total
        yield tuple(steps)
    if parent is not None:
        yield Send((parent + root) % size, so_far[:])


@algorithm(
    "reduce",
    rounds="2f if r == 0 else 2f + 2 if root < 2r and root % 2 == 0 else"
    " 2f + 1 if root < 2r or 0 <= root - r - C/2 < r else 2f",
    volume="(2 - 1/C)m if root < 2r and root % 2 == 0 else (3/2 - 1/C)m",
    reduced="(1 - 1/C)m if r == 0 else (2 - 1/C)m",
    order="commutative",
    blocks="C",
    cites="Rabenseifner 2004",
    aka={"openmpi": "redscat_gather", "mpich": "reduce_scatter_gather"},
)
def rabenseifner(rank: int, size: int, *, root: int) -> Iterator:
    """Partners halve and combine until each has one block complete; then the root collects them.

    Nobody combines more than about one vector: for long vectors, best if P is a power of two.
    """
    held, source = Output if rank == root else Temp.row(1), Input
    if size == 1:
        yield Copy(Input[:], Output[:])
    for steps in fold(rank, size, Input, held):
        source = held
        yield steps
    core, index, top = core_size(size), core_index(rank, size), core_index(root, size)
    stands_for_root = top is None
    if top is None:
        top = core_index(root + 1, size)
    if index is not None:
        groups = [(block,) for block in range(core)]
        yield from halving_reduce_scatter(index, size, groups, source, held, held)
        for distance in distances(core):
            peer = index ^ distance
            mine, theirs = (range(i & -distance, (i & -distance) + distance) for i in (index, peer))
            if (index ^ top) & distance:
                yield Send(core_rank(peer, size), held[mine])
                break
            yield Recv(core_rank(peer, size), held[theirs])
    if stands_for_root and index == top:
        yield Send(root, held[:])
    elif stands_for_root and rank == root:
        yield Recv(root + 1, Output[:])


@algorithm(
    "reduce",
    rounds="2",
    volume="m",
    reduced="m(P-1)/P",
    order="rank",
    cites="Demmel & Nguyen 2013 (on reproducible sums)",
)
def ordered(rank: int, size: int, *, root: int) -> Iterator:
    """Everybody combines its block of all vectors from first to last, and sends it to the root.

    Operands are combined as ((0 1) 2) 3 ... for every element: the result does not depend on the
    number of elements or their places. For reproducible sums; scratch for all P blocks.
    """
    partial = Output if rank == root else Temp.row(size + 1)
    yield from ordered_reduce_scatter(rank, size, Input, partial)
    if rank != root:
        yield Send(root, partial[rank])
    elif size > 1:
        yield tuple(Recv(peer, Output[peer]) for peer in range(size) if peer != root)
