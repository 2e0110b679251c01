"""Allreduce: the vectors of all ranks are combined on every rank, bit for bit the same."""

from collections.abc import Iterator

from mpicoll.algorithms.phases import (
    binomial_bcast,
    binomial_reduce,
    combined_in_order,
    core_index,
    core_rank,
    doubling_allgather,
    fold,
    halving_reduce_scatter,
    ordered_reduce_scatter,
    ring_allgather,
    ring_reduce_scatter,
    unfold,
)
from mpicoll.registry import algorithm
from mpicoll.steps import Copy, Input, Output, Recv, Reduce, Send, Temp
from mpicoll.topology import core_size, digits_of_core, distances


@algorithm(
    "allreduce",
    rounds="2(P-1)",
    volume="2m(P-1)/P",
    reduced="m(P-1)/P",
    order="commutative",
    cites="Patarasuk & Yuan 2009",
    aka={"openmpi": "ring", "mpich": "ring", "nccl": "Ring"},
)
def ring(rank: int, size: int) -> Iterator:
    """Each block goes around the ring twice: once to be combined, once to be handed out.

    The least traffic that is possible, spread evenly, whatever the number of ranks; but 2 (P - 1)
    rounds, so it is for long vectors.
    """
    yield from ring_reduce_scatter(rank, size, Input, Temp, Output)
    yield from ring_allgather(rank, size, Output)


@algorithm(
    "allreduce",
    rounds="f if r == 0 else f + 2",
    volume="f m if r == 0 else (f+1)m",
    reduced="f m if r == 0 else (f+1)m",
    order="rank",
    blocks="1",
    cites="Thakur, Rabenseifner & Gropp 2005",
    aka={"openmpi": "recursive_doubling", "mpich": "recursive_doubling"},
)
def recursive_doubling(rank: int, size: int) -> Iterator:
    """Partners at distance 1, 2, 4, ... swap whole vectors and combine, lower rank on the left.

    The fewest rounds for short vectors. Ranks beyond a power of two hand theirs to a neighbour
    first and get the result at the end.
    """
    so_far = Input[:]
    if size == 1:
        yield Copy(Input[:], Output[:])
    for steps in fold(rank, size, Input, Output):
        so_far = Output[:]
        yield steps
    index = core_index(rank, size)
    if index is not None:
        for distance in distances(core_size(size)):
            peer = core_rank(index ^ distance, size)
            left, right = (so_far, Temp[:]) if rank < peer else (Temp[:], so_far)
            yield Send(peer, so_far), Recv(peer, Temp[:]), Reduce(left, right, into=Output[:])
            so_far = Output[:]
    yield from unfold(rank, size, Output)


@algorithm(
    "allreduce",
    rounds="2f if r == 0 else 2f + 2",
    volume="2m(P-1)/P if r == 0 else m + 2m(1 - 1/C)",
    reduced="m(P-1)/P if r == 0 else m + m(1 - 1/C)",
    order="commutative",
    blocks="C",
    cites="Rabenseifner 2004",
    aka={"openmpi": "rabenseifner", "mpich": "reduce_scatter_allgather"},
)
def rabenseifner(rank: int, size: int) -> Iterator:
    """Partners halve and combine until each has one block complete, then double back to all blocks.

    Few rounds and little traffic at once: for long vectors, best when P is a power of two.
    """
    source = Input
    if size == 1:
        yield Copy(Input[:], Output[:])
    for steps in fold(rank, size, Input, Output):
        source = Output
        yield steps
    index = core_index(rank, size)
    if index is not None:
        groups = [(block,) for block in range(core_size(size))]
        yield from halving_reduce_scatter(index, size, groups, source, Output, Output)
        yield from doubling_allgather(index, size, groups, Output)
    yield from unfold(rank, size, Output)


@algorithm(
    "allreduce",
    rounds="2q",
    volume="q m",
    reduced="q m",
    order="rank",
    blocks="1",
    aka={"openmpi": "nonoverlapping"},
)
def reduce_bcast(rank: int, size: int) -> Iterator:
    """Rank 0 collects the combination up a binomial tree and broadcasts it down the same tree.

    Twice the rounds of recursive doubling, and rank 0's link is the bottleneck: the obvious way,
    here to be compared with.
    """
    yield from binomial_reduce(rank, size, 0, Input, Output)
    yield from binomial_bcast(rank, size, 0, Output[:])


@algorithm(
    "allreduce",
    rounds="1",
    volume="m(P-1)",
    reduced="m(P-1)",
    order="rank",
    blocks="1",
    aka={"openmpi": "allgather_reduce", "nccl": "AGxLL_R"},
)
def allgather_reduce(rank: int, size: int) -> Iterator:
    """Everybody sends its vector to everybody; then each combines them all, in rank order.

    One round, and the same bits on all ranks whatever the operation: for a few numbers.
    """
    if size == 1:
        yield Copy(Input[:], Output[:])
        return
    arrived = [(Input if peer == rank else Temp.row(peer))[:] for peer in range(size)]
    others = [peer for peer in range(size) if peer != rank]
    yield (
        *(Recv(peer, arrived[peer]) for peer in others),
        *(Send(peer, Input[:]) for peer in others),
        *combined_in_order(arrived, Temp.row(rank)[:], Output[:]),
    )


@algorithm(
    "allreduce",
    rounds="logfloor(radix, P) + (0 if radix**logfloor(radix, P) == P else 2)",
    volume="((radix-1)logfloor(radix, P) + ceil(P/radix**logfloor(radix, P)) - 1) m",
    reduced="((radix-1)logfloor(radix, P) + ceil(P/radix**logfloor(radix, P)) - 1) m",
    order="rank",
    blocks="1",
    aka={"mpich": "recursive_multiplying", "ucc": "knomial"},
)
def recursive_multiplying(rank: int, size: int, *, radix: int = 4) -> Iterator:
    """As recursive doubling, in groups of `radix` that all swap whole vectors in one round.

    Operands are combined in rank order on every rank, so all get the same bits. Ranks beyond a
    power of the radix have a leader, who adds their vectors first and hands them the result.
    """
    core = radix ** digits_of_core(size, radix)
    leaders = [-(-index * size // core) for index in range(core + 1)]
    index = max(i for i in range(core) if leaders[i] <= rank)
    members = range(leaders[index] + 1, leaders[index + 1])
    own = Input[:]
    if size == 1:
        yield Copy(Input[:], Output[:])
    if rank in members:
        yield Send(leaders[index], Input[:])
        yield Recv(leaders[index], Output[:])
        return
    if members:
        arrived = [Temp.row(i)[:] for i in range(len(members))]
        yield (
            *(Recv(peer, chunk) for peer, chunk in zip(members, arrived, strict=True)),
            *combined_in_order([own, *arrived], Output[:], Output[:]),
        )
        own = Output[:]
    for distance in (radix**digit for digit in range(digits_of_core(size, radix))):
        first = index - index // distance % radix * distance
        peers = {digit: leaders[first + digit * distance] for digit in range(radix)}
        others = {digit: peer for digit, peer in peers.items() if peer != rank}
        operands = [Temp.row(digit)[:] if digit in others else own for digit in range(radix)]
        yield (
            *(Send(peer, own) for peer in others.values()),
            *(Recv(peer, operands[digit]) for digit, peer in others.items()),
            *combined_in_order(operands, Temp.row(radix)[:], Output[:]),
        )
        own = Output[:]
    if members:
        yield tuple(Send(peer, Output[:]) for peer in members)


@algorithm(
    "allreduce",
    rounds="P",
    volume="2m(P-1)/P",
    reduced="m(P-1)/P",
    order="rank",
    cites="Demmel & Nguyen 2013 (on reproducible sums)",
)
def ordered(rank: int, size: int) -> Iterator:
    """Everybody combines its block of all vectors from first to last; then blocks go around a ring.

    Operands are combined as ((0 1) 2) 3 ... for every element: the result does not depend on the
    number of elements or their places. For reproducible sums; scratch for all P blocks.
    """
    yield from ordered_reduce_scatter(rank, size, Input, Output)
    yield from ring_allgather(rank, size, Output)
