"""mpicoll's own rules for ranks on several nodes, where several ranks share each.

They come from simulations of all algorithms on 4 nodes of 4 ranks with `ethernet-10g`, 4 nodes of 8
with `infiniband` and 2 nodes of 2 with `ethernet-1g`, from 8 B to 16 MiB (`mpicoll why` makes the
comparison for any other place). There the lane forms were the fastest or within a few per cent of
it for all but the shortest vectors, up to 2 times faster than the best choice that knows no nodes.
"""

from __future__ import annotations

from collections.abc import Sequence

from mpicoll.selection.own import KIB
from mpicoll.topology import node_groups

__all__ = ["rule"]

LANE = "several nodes: every rank talks to its like on the others, and each byte crosses once"


def rule(
    collective: str,
    size: int,
    nbytes: int | None,
    commutative: bool,
    equal_blocks: bool,
    nodes: Sequence[int] | None,
) -> tuple[str, str] | None:
    """The name of an algorithm and the reason for it; None if nodes make no difference."""
    if nodes is None or nbytes is None:
        return None
    counts = [len(members) for members in node_groups(nodes, size)]
    if len(counts) == 1 or max(counts) == 1 or len(set(counts)) > 1:
        return None
    if collective == "alltoall":
        if equal_blocks and nbytes <= KIB * size:
            return "hierarchical", "several nodes, short blocks: one message from node to node"
        return None
    if collective == "allgather":
        return "lane", LANE
    if collective == "bcast" and nbytes > 512 * KIB:
        if len(counts) == 2:
            return "hierarchical", "two nodes: the vector crosses once"
        return "scatter_ring_allgather", "several nodes, long: messages between neighbours only"
    if collective in ("bcast", "reduce", "allreduce", "reduce_scatter") and commutative:
        return ("lane", LANE) if nbytes > 8 * KIB else None
    return None
