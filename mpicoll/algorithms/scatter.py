"""Scatter(v): rank i gets block i of the root."""

from collections.abc import Iterator

from mpicoll.registry import algorithm
from mpicoll.steps import Copy, Input, Output, Recv, Send, Temp, wrap
from mpicoll.topology import binomial_children, binomial_parent, binomial_span, knomial_tree


@algorithm(
    "scatter",
    rounds="1",
    volume="m(P-1)/P",
    aka={"openmpi": "basic_linear", "mpich": "linear"},
)
def linear(rank: int, size: int, *, root: int) -> Iterator:
    """The root sends every rank its block.

    Nothing is sent twice, blocks may differ in size; the root starts P - 1 messages.
    """
    if rank == root:
        yield (
            *(Send(peer, Input[peer]) for peer in range(size) if peer != root),
            Copy(Input[rank], Output[rank]),
        )
    else:
        yield Recv(root, Output[rank])


@algorithm(
    "scatter",
    rounds="q",
    volume="m(P-1)/P",
    requires=("equal_blocks",),
    cites="Thakur, Rabenseifner & Gropp 2005",
    aka={"openmpi": "binomial", "mpich": "binomial"},
)
def binomial(rank: int, size: int, *, root: int) -> Iterator:
    """The root hands half of the blocks to a rank that then serves that half, and so on.

    Few messages: for short blocks. Inner ranks hold the blocks of their subtree in scratch, for
    which they must know their sizes: hence equal blocks.
    """
    relative = (rank - root) % size
    held = Temp if relative else Input
    span = binomial_span(relative, size)
    if relative:
        parent = (binomial_parent(relative) + root) % size
        yield Recv(parent, Output[rank] if span == 1 else Temp[wrap(rank, span, size)])
    for child in binomial_children(relative, size):
        peer = (child + root) % size
        yield Send(peer, held[wrap(peer, binomial_span(child, size), size)])
    if span > 1 or size == 1:
        yield Copy(held[rank], Output[rank])


@algorithm(
    "scatter",
    rounds="logceil(radix, P)",
    volume="m(P-1)/P",
    requires=("equal_blocks",),
    aka={"ucc": "knomial"},
)
def knomial(rank: int, size: int, *, root: int, radix: int = 4) -> Iterator:
    """The root hands equal shares of the blocks to radix - 1 ranks that serve them, and so on.

    Fewer rounds than the binomial tree, with more messages in each.
    """
    relative = (rank - root) % size
    parent, levels = knomial_tree(relative, size, radix)
    held = Temp if relative else Input
    distance = radix ** len(levels)
    if relative:
        span = min(distance, size - relative)
        into = Temp if levels else Output
        yield Recv((parent + root) % size, into[wrap(rank, span, size)])
    for children in levels:
        distance //= radix
        yield tuple(
            Send(
                (child + root) % size,
                held[wrap(child + root, min(distance, size - child), size)],
            )
            for child in children
        )
    if levels or size == 1:
        yield Copy(held[rank], Output[rank])
