"""Bcast on nodes with several ranks, made of the flat phases."""

from collections.abc import Iterator

from mpicoll.algorithms.embedding import embedded
from mpicoll.algorithms.layout import Nodes, place
from mpicoll.algorithms.phases import binomial_bcast, binomial_scatter, bruck_allgather
from mpicoll.registry import algorithm
from mpicoll.steps import Output


@algorithm(
    "bcast",
    rounds="max(min(1, j) + children(j, N) + log2ceil(ranks(j)) for j in range(N))",
    volume="max(children(j, N) + log2ceil(ranks(j)) for j in range(N)) m",
    blocks="1",
    aka={"openmpi": "han", "mpich": "smp", "ucc": "cl/hier 2step"},
)
def hierarchical(rank: int, size: int, *, root: int, nodes: Nodes = None) -> Iterator:
    """The vector goes down a tree of one leader for each node, then down a tree inside each node.

    It crosses the network once for each node.
    """
    here = place(rank, size, nodes, root)
    if here.leads:
        leaders = binomial_bcast(here.node, len(here.nodes), here.root_node, Output[:])
        yield from embedded(leaders, ranks=here.leaders)
    inside = binomial_bcast(here.index, len(here.members), here.leader, Output[:])
    yield from embedded(inside, ranks=here.members)


@algorithm(
    "bcast",
    rounds="2log2ceil(L) + log2ceil(N)",
    volume="(2(L-1) + log2ceil(N)) m/L",
    blocks="L",
    requires=("equal_nodes",),
    cites="Traeff & Hunold 2020",
)
def lane(rank: int, size: int, *, root: int, nodes: Nodes = None) -> Iterator:
    """The root deals its vector out on its node, every part goes down a lane, all nodes collect.

    All network cards of a node work at once, each on its part of the vector.
    """
    here = place(rank, size, nodes, root)
    count, first = len(here.members), here.nodes[here.root_node].index(root)
    mine, at_root = (here.index - first) % count, here.node == here.root_node
    if at_root:
        dealt = binomial_scatter(here.index, count, first, Output)
        yield from embedded(dealt, ranks=here.members)
    across = binomial_bcast(here.node, len(here.nodes), here.root_node, Output[mine])
    yield from embedded(across, ranks=here.lane)
    full = first if at_root else None
    inside = bruck_allgather(here.index, count, Output, first=mine, full=full)
    yield from embedded(inside, ranks=here.members)
