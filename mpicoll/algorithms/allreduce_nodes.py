"""Allreduce on nodes with several ranks, made of the flat phases."""

from collections.abc import Iterator

from mpicoll.algorithms.circulant import circulant_allgather, circulant_reduce_scatter
from mpicoll.algorithms.embedding import embedded
from mpicoll.algorithms.layout import Nodes, place
from mpicoll.algorithms.phases import binomial_bcast, binomial_reduce
from mpicoll.registry import algorithm
from mpicoll.steps import Input, Output, Temp


@algorithm(
    "allreduce",
    rounds="2log2ceil(L) + 2log2ceil(N)",
    volume="(log2ceil(L) + 2(N-1)/N) m",
    reduced="(log2ceil(L) + (N-1)/N) m",
    order="commutative",
    blocks="N",
    aka={"openmpi": "han", "mpich": "smp", "ucc": "cl/hier rab"},
)
def hierarchical(rank: int, size: int, *, nodes: Nodes = None) -> Iterator:
    """Every node combines to its leader, the leaders combine among them, every leader hands out.

    Only leaders use the network, with the least traffic for the number of nodes.
    """
    here = place(rank, size, nodes)
    one_node, alone = len(here.nodes) == 1, len(here.members) == 1
    total = Output if one_node else Temp.row(2)
    if one_node or not alone:
        inside = binomial_reduce(here.index, len(here.members), here.leader, Input, total)
        yield from embedded(inside, ranks=here.members)
    if here.leads and not one_node:
        place_of, held = (here.node, len(here.nodes)), Input if alone else total
        combined = circulant_reduce_scatter(*place_of, held, Temp.row(1), Output)
        yield from embedded(combined, ranks=here.leaders)
        yield from embedded(circulant_allgather(*place_of, Output), ranks=here.leaders)
    handed_out = binomial_bcast(here.index, len(here.members), here.leader, Output[:])
    yield from embedded(handed_out, ranks=here.members)


@algorithm(
    "allreduce",
    rounds="2log2ceil(L) + 2log2ceil(N)",
    volume="2m(P-1)/P",
    reduced="m(P-1)/P",
    order="commutative",
    blocks="L N",
    requires=("equal_nodes",),
    cites="Traeff & Hunold 2020",
    aka={"ucc": "cl/hier split_rail"},
)
def lane(rank: int, size: int, *, nodes: Nodes = None) -> Iterator:
    """Every node combines so that each rank has a part; lanes combine the parts; nodes collect.

    All network cards of a node work at once, and no rank sends more than in the ring.
    """
    here = place(rank, size, nodes)
    in_node, in_lane = (here.index, len(here.members)), (here.node, len(here.nodes))
    parts = [range(n * in_lane[1], (n + 1) * in_lane[1]) for n in range(in_node[1])]
    mine = [(block,) for block in parts[here.index]]
    part = Temp.row(2)
    inside = circulant_reduce_scatter(*in_node, Input, Temp.row(1), part)
    yield from embedded(inside, ranks=here.members, blocks=parts)
    across = circulant_reduce_scatter(*in_lane, part, Temp.row(1), Output)
    yield from embedded(across, ranks=here.lane, blocks=mine)
    yield from embedded(circulant_allgather(*in_lane, Output), ranks=here.lane, blocks=mine)
    yield from embedded(circulant_allgather(*in_node, Output), ranks=here.members, blocks=parts)
