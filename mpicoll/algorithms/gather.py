"""Gather(v): the root gets every rank's block, in rank order."""

from collections.abc import Iterator

from mpicoll.registry import algorithm
from mpicoll.steps import Copy, Input, Output, Recv, Send, Temp, wrap
from mpicoll.topology import binomial_children, binomial_parent, binomial_span, knomial_tree


@algorithm(
    "gather",
    rounds="1",
    volume="m/P",
    aka={"openmpi": "basic_linear", "mpich": "linear"},
)
def linear(rank: int, size: int, *, root: int) -> Iterator:
    """Everybody sends its block to the root.

    Blocks may differ in size; P - 1 messages meet at the root.
    """
    if rank == root:
        yield (
            *(Recv(peer, Output[peer]) for peer in range(size) if peer != root),
            Copy(Input[rank], Output[rank]),
        )
    else:
        yield Send(root, Input[rank])


@algorithm(
    "gather",
    rounds="q",
    volume="C m/P / 2 if r == 0 else max(C // 2, r) m/P",
    requires=("equal_blocks",),
    cites="Thakur, Rabenseifner & Gropp 2005",
    aka={"openmpi": "binomial", "mpich": "binomial"},
)
def binomial(rank: int, size: int, *, root: int) -> Iterator:
    """Ranks pass on what their subtree has collected, up a binomial tree to the root.

    Few messages: for short blocks. Inner ranks hold the blocks of their subtree in scratch, for
    which they must know their sizes: hence equal blocks.
    """
    relative = (rank - root) % size
    held = Temp if relative else Output
    span = binomial_span(relative, size)
    if span > 1 or size == 1:
        yield Copy(Input[rank], held[rank])
    for child in reversed(binomial_children(relative, size)):
        peer = (child + root) % size
        yield Recv(peer, held[wrap(peer, binomial_span(child, size), size)])
    if relative:
        parent = (binomial_parent(relative) + root) % size
        yield Send(parent, Input[rank] if span == 1 else Temp[wrap(rank, span, size)])


@algorithm(
    "gather",
    rounds="logceil(radix, P)",
    volume="max(min(radix**(logceil(radix, P) - 1), P - radix**(logceil(radix, P) - 1)),"
    " radix**(logceil(radix, P) - 1) // radix) m/P",
    requires=("equal_blocks",),
    aka={"ucc": "knomial"},
)
def knomial(rank: int, size: int, *, root: int, radix: int = 4) -> Iterator:
    """In groups of `radix` one rank collects the blocks, then in groups of groups, up to the root.

    Fewer rounds than the binomial tree, with more messages in each.
    """
    relative = (rank - root) % size
    parent, levels = knomial_tree(relative, size, radix)
    held, distance = Temp if relative else Output, 1
    if levels or size == 1:
        yield Copy(Input[rank], held[rank])
    for children in reversed(levels):
        yield tuple(
            Recv(
                (child + root) % size,
                held[wrap(child + root, min(distance, size - child), size)],
            )
            for child in children
        )
        distance *= radix
    if relative:
        span = min(distance, size - relative)
        yield Send((parent + root) % size, held[wrap(rank, span, size)] if levels else Input[rank])
