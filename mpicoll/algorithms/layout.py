"""Where a rank stands: its node, its node's ranks and leader, and its lane over the nodes."""

from __future__ import annotations

from dataclasses import dataclass

from mpicoll.topology import node_groups

__all__ = ["Nodes", "Place", "place"]

#: The number of the node of each rank; None if all are on one node.
Nodes = tuple[int, ...] | None


@dataclass(frozen=True)
class Place:
    """A rank's place among the nodes.

    `members` are the ranks of its node, of which it is number `index`; `nodes` are the members of
    every node, and this is number `node`. Every node has a leader, its first rank, but the root's
    node has the root. A lane is the ranks that have the same index on their nodes.
    """

    rank: int
    nodes: list[list[int]]
    node: int
    index: int
    root: int

    @property
    def members(self) -> list[int]:
        """The ranks of this node."""
        return self.nodes[self.node]

    @property
    def root_node(self) -> int:
        """The number of the root's node."""
        return next(n for n, members in enumerate(self.nodes) if self.root in members)

    @property
    def leaders(self) -> list[int]:
        """The leader of every node."""
        return [self.root if self.root in members else members[0] for members in self.nodes]

    @property
    def leader(self) -> int:
        """The index of this node's leader among its members."""
        return self.members.index(self.leaders[self.node])

    @property
    def leads(self) -> bool:
        """True if this rank is its node's leader."""
        return self.index == self.leader

    @property
    def lane(self) -> list[int]:
        """The ranks with this index, of every node."""
        return [members[self.index] for members in self.nodes]


def place(rank: int, size: int, nodes: Nodes, root: int = 0) -> Place:
    """The place of a rank."""
    groups = node_groups(nodes, size)
    node = next(n for n, members in enumerate(groups) if rank in members)
    return Place(rank, groups, node, groups[node].index(rank), root)
