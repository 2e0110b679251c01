"""Allgather on nodes with several ranks, made of the flat phases."""

from collections.abc import Iterator

from mpicoll.algorithms import gather
from mpicoll.algorithms.circulant import circulant_allgather
from mpicoll.algorithms.embedding import embedded
from mpicoll.algorithms.layout import Nodes, place
from mpicoll.algorithms.phases import binomial_bcast, bruck_allgather
from mpicoll.registry import algorithm
from mpicoll.steps import Copy, Input, Output


@algorithm(
    "allgather",
    rounds="2log2ceil(L) + log2ceil(N)",
    volume="max(sum(ranks(i+t) for k in range(log2ceil(N)) for t in range(min(2**k, N - 2**k)))"
    " + log2ceil(ranks(i)) P for i in range(N)) m/P",
    aka={"openmpi": "han"},
)
def hierarchical(rank: int, size: int, *, nodes: Nodes = None) -> Iterator:
    """Leaders collect their nodes' blocks, exchange them, and hand all of them out.

    Few messages cross the network, each with the blocks of whole nodes.
    """
    here = place(rank, size, nodes)
    own = [(member,) for member in here.members]
    collected = gather.binomial(here.index, len(own), root=here.leader)
    yield from embedded(collected, ranks=here.members, blocks=own)
    if here.leads:
        exchanged = bruck_allgather(here.node, len(here.nodes), Output)
        yield from embedded(exchanged, ranks=here.leaders, blocks=here.nodes)
    handed_out = binomial_bcast(here.index, len(own), here.leader, Output[:])
    yield from embedded(handed_out, ranks=here.members)


@algorithm(
    "allgather",
    rounds="log2ceil(L) + log2ceil(N)",
    volume="m(P-1)/P",
    requires=("equal_nodes",),
    cites="Traeff & Hunold 2020",
)
def lane(rank: int, size: int, *, nodes: Nodes = None) -> Iterator:
    """Every lane collects its blocks over the network; then every node collects the lanes.

    All network cards of a node work at once, and every block crosses the network once per node.
    """
    here = place(rank, size, nodes)
    lanes = [[members[i] for members in here.nodes] for i in range(len(here.members))]
    yield Copy(Input[rank], Output[rank])
    across = circulant_allgather(here.node, len(here.nodes), Output)
    yield from embedded(across, ranks=here.lane, blocks=[(other,) for other in here.lane])
    inside = circulant_allgather(here.index, len(lanes), Output)
    yield from embedded(inside, ranks=here.members, blocks=lanes)
