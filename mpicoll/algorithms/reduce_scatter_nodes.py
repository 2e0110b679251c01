"""Reduce_scatter on nodes with several ranks, made of the flat phases."""

from collections.abc import Iterator

from mpicoll.algorithms import scatter
from mpicoll.algorithms.circulant import circulant_reduce_scatter
from mpicoll.algorithms.embedding import embedded
from mpicoll.algorithms.layout import Nodes, place
from mpicoll.algorithms.phases import binomial_reduce
from mpicoll.registry import algorithm
from mpicoll.steps import Input, Output, Temp


@algorithm(
    "reduce_scatter",
    rounds="2log2ceil(L) + log2ceil(N)",
    volume="m(P-1)/P if L == 1 else (P - 1 +"
    " max(min(2**(log2ceil(L)-1), L - 2**(log2ceil(L)-1)), 2**(log2ceil(L)-1) // 2)) m/P",
    reduced="max(log2ceil(ranks(i)) P + sum(ranks(i+t) for k in range(log2ceil(N))"
    " for t in range(ceil(N / 2**k) - ceil(N / 2**(k+1)))) for i in range(N)) m/P",
    order="commutative",
)
def hierarchical(rank: int, size: int, *, nodes: Nodes = None) -> Iterator:
    """Every node combines to its leader, leaders combine their nodes' blocks, and deal them out.

    Only leaders use the network, with the least traffic for the number of nodes.
    """
    here = place(rank, size, nodes)
    alone, held = len(here.members) == 1, Input
    if not alone:
        held = Temp.row(2)
        inside = binomial_reduce(here.index, len(here.members), here.leader, Input, held)
        yield from embedded(inside, ranks=here.members)
    if here.leads and len(here.nodes) > 1:
        result = Output if alone else Temp.row(3)
        leaders = circulant_reduce_scatter(here.node, len(here.nodes), held, Temp.row(1), result)
        yield from embedded(leaders, ranks=here.leaders, blocks=here.nodes)
        held = result
    if held is not Output:
        dealt = scatter.binomial(here.index, len(here.members), root=here.leader)
        own = [(member,) for member in here.members]
        yield from embedded(dealt, ranks=here.members, blocks=own, buffers={Input: held})


@algorithm(
    "reduce_scatter",
    rounds="log2ceil(L) + log2ceil(N)",
    volume="m(P-1)/P",
    reduced="m(P-1)/P",
    order="commutative",
    requires=("equal_nodes",),
    cites="Traeff & Hunold 2020",
)
def lane(rank: int, size: int, *, nodes: Nodes = None) -> Iterator:
    """Every node combines so that each rank has its lane's blocks; then every lane combines those.

    All network cards of a node work at once, and no rank sends more than in the ring.
    """
    here = place(rank, size, nodes)
    lanes = [[members[i] for members in here.nodes] for i in range(len(here.members))]
    inside = circulant_reduce_scatter(here.index, len(lanes), Input, Temp.row(1), Temp.row(2))
    yield from embedded(inside, ranks=here.members, blocks=lanes)
    across = circulant_reduce_scatter(here.node, len(here.nodes), Temp.row(2), Temp.row(1), Output)
    yield from embedded(across, ranks=here.lane, blocks=[(other,) for other in here.lane])
