"""Hierarchical and lane algorithms: traffic between nodes, layouts, refusals."""

import pytest

from mpicoll.analysis.symbolic import prove
from mpicoll.registry import RequirementError, algorithms_of, collectives, find
from mpicoll.steps import Send

EVERY = [
    each for name in collectives() for each in algorithms_of(name) if "nodes" in each.parameters
]
LAYOUT = (0, 0, 0, 1, 1, 1, 2, 2, 2)


def network_traffic(algorithm, nodes):
    """Blocks that the busiest rank and all ranks send to other nodes, as parts of m."""
    size = len(nodes)
    blocks = algorithm.number_of_blocks(size, {"nodes": nodes})
    sent = [
        sum(
            len(step.chunk.blocks)
            for steps in algorithm.plan(rank, size, nodes=nodes)
            for step in steps
            if isinstance(step, Send) and nodes[step.peer] != nodes[rank]
        )
        / blocks
        for rank in range(size)
    ]
    return max(sent), sum(sent)


def test_only_leaders_use_the_network():
    for algorithm in EVERY:
        if algorithm.name == "hierarchical" and algorithm.collective != "alltoall":
            for rank in (1, 2, 4, 5, 7, 8):
                for steps in algorithm.plan(rank, 9, nodes=LAYOUT):
                    peers = [step.peer for step in steps if isinstance(step, Send)]
                    assert all(LAYOUT[peer] == LAYOUT[rank] for peer in peers), algorithm


def test_lanes_share_the_network_traffic():
    for name in ("allreduce", "reduce", "bcast", "allgather", "reduce_scatter"):
        busiest, total = network_traffic(find(name, "lane"), LAYOUT)
        leader, through_leaders = network_traffic(find(name, "hierarchical"), LAYOUT)
        assert busiest == pytest.approx(leader / 3)
        assert total == pytest.approx(through_leaders)


def test_the_network_carries_less_than_in_a_flat_algorithm():
    nodes = tuple(rank % 3 for rank in range(9))  # dealt out in turn: every ring message crosses

    def crossing(name):
        algorithm = find("allreduce", name)
        return sum(
            len(step.chunk.blocks) / algorithm.number_of_blocks(9, {})
            for rank in range(9)
            for steps in algorithm.plan(rank, 9)
            for step in steps
            if isinstance(step, Send) and nodes[step.peer] != nodes[rank]
        )

    assert network_traffic(find("allreduce", "lane"), nodes)[1] < crossing("ring") / 3


@pytest.mark.parametrize("algorithm", EVERY, ids=str)
def test_any_names_of_nodes_will_do(algorithm):
    for nodes in ((5, 3, 5, 3), (0, 0, 0, 0), (3, 2, 1, 0)):
        proof = prove(algorithm, 4, nodes=nodes)
        assert proof.ok, proof.explain()


def test_unequal_nodes_are_refused_by_name():
    with pytest.raises(RequirementError, match=r"same number of ranks \(equal_nodes\)"):
        find("allreduce", "lane").plan(0, 3, nodes=(0, 0, 1))
    assert prove(find("allreduce", "hierarchical"), 3, nodes=(0, 0, 1)).ok


def test_a_layout_of_another_size_is_refused():
    with pytest.raises(ValueError, match="nodes names the node of each of 4 ranks"):
        find("allreduce", "hierarchical").plan(0, 4, nodes=(0, 0, 1))
