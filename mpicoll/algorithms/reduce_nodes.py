"""Reduce on nodes with several ranks, made of the flat phases."""

from collections.abc import Iterator

from mpicoll.algorithms import gather
from mpicoll.algorithms.circulant import circulant_reduce_scatter
from mpicoll.algorithms.embedding import embedded
from mpicoll.algorithms.layout import Nodes, place
from mpicoll.algorithms.phases import binomial_reduce
from mpicoll.registry import algorithm
from mpicoll.steps import Input, Output, Temp


@algorithm(
    "reduce",
    rounds="max(min(1, j) + children(j, N) + log2ceil(ranks(j)) for j in range(N))",
    volume="m",
    reduced="max(children(j, N) + log2ceil(ranks(j)) for j in range(N)) m",
    order="commutative",
    blocks="1",
    aka={"openmpi": "han", "mpich": "smp", "ucc": "cl/hier 2step"},
)
def hierarchical(rank: int, size: int, *, root: int, nodes: Nodes = None) -> Iterator:
    """Every node combines up a tree to its leader; then the leaders combine up a tree to the root.

    One vector for each node crosses the network.
    """
    here = place(rank, size, nodes, root)
    one_node, alone = len(here.nodes) == 1, len(here.members) == 1
    total = Output if one_node else Temp.row(2)
    if one_node or not alone:
        inside = binomial_reduce(here.index, len(here.members), here.leader, Input, total)
        yield from embedded(inside, ranks=here.members)
    if here.leads and not one_node:
        held = Input if alone else total
        leaders = binomial_reduce(here.node, len(here.nodes), here.root_node, held, Output)
        yield from embedded(leaders, ranks=here.leaders)


@algorithm(
    "reduce",
    rounds="2log2ceil(L) + log2ceil(N)",
    volume="m if L == 1 else"
    " (L - 1 + max(min(2**(log2ceil(L)-1), L - 2**(log2ceil(L)-1)), 2**(log2ceil(L)-1) // 2)) m/L",
    reduced="(L - 1 + log2ceil(N)) m/L",
    order="commutative",
    blocks="L",
    requires=("equal_nodes",),
    cites="Traeff & Hunold 2020",
)
def lane(rank: int, size: int, *, root: int, nodes: Nodes = None) -> Iterator:
    """Every node combines so that each rank has a part; lanes combine the parts; the root collects.

    All network cards of a node work at once, each on its part of the vector.
    """
    here = place(rank, size, nodes, root)
    count, at_root = len(here.members), here.node == here.root_node
    part, total = Temp.row(2), Temp.row(3)
    inside = circulant_reduce_scatter(here.index, count, Input, Temp.row(1), part)
    yield from embedded(inside, ranks=here.members)
    across = binomial_reduce(here.node, len(here.nodes), here.root_node, part, total)
    yield from embedded(across, ranks=here.lane, blocks=[(here.index,)])
    if at_root:
        collected = gather.binomial(here.index, count, root=here.leader)
        yield from embedded(
            collected,
            ranks=here.members,
            blocks=[(b,) for b in range(count)],
            buffers={Input: total},
        )
