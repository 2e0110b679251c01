"""Reduce in segments, which follow each other along a chain, trees, or a circulant graph."""

from collections.abc import Iterator

from mpicoll.algorithms.circulant import circulant_reduce
from mpicoll.algorithms.trees import among, double_tree_reduce, merged, tree_reduce
from mpicoll.registry import algorithm
from mpicoll.steps import Copy, Input, Output, Recv, Send, Temp
from mpicoll.topology import binary_tree, chain_tree, floor_log2, in_order_tree


@algorithm(
    "reduce",
    rounds="min(2, P-1)",
    volume="m",
    reduced="m",
    order="commutative",
    blocks="1",
    aka={"openmpi": "chain", "mpich": "tree (kary, k = 1)"},
)
def chain(rank: int, size: int, *, root: int) -> Iterator:
    """Everybody adds its vector to what comes from the next rank and passes the sum back.

    Nobody combines twice, but the root waits for P - 1 messages one after the other.
    """
    parent, children = among(chain_tree((rank - root) % size, size), root, size)
    yield from tree_reduce(parent, children, Input, Output, [0])


@algorithm(
    "reduce",
    rounds="segments if P == 2 else segments + 1",
    volume="m",
    reduced="m",
    order="commutative",
    blocks="segments",
    aka={"openmpi": "pipeline", "mpich": "pipelined_tree", "nccl": "Ring"},
)
def pipelined(rank: int, size: int, *, root: int, segments: int = 8) -> Iterator:
    """Everybody adds to a segment of the next rank while the segment before goes on to the root.

    P + segments - 2 rounds in all, and no link carries more than the vector: for the longest
    vectors on few ranks.
    """
    parent, children = among(chain_tree((rank - root) % size, size), root, size)
    yield from tree_reduce(parent, children, Input, Output, range(segments))


@algorithm(
    "reduce",
    rounds="segments if P <= 3 else segments + 1",
    volume="m",
    reduced="min(2, P-1) m",
    order="commutative",
    blocks="segments",
    aka={"openmpi": "binary", "mpich": "pipelined_tree (kary, k = 2)"},
)
def binary(rank: int, size: int, *, root: int, segments: int = 8) -> Iterator:
    """Everybody adds the segments of two ranks to its own and passes the sum up.

    About log2 P rounds until the root has the first segment.
    """
    parent, children = among(binary_tree((rank - root) % size, size), root, size)
    yield from tree_reduce(parent, children, Input, Output, range(segments))


@algorithm(
    "reduce",
    rounds="segments + 1 + root % 2 if root != C - 1 else segments + min(1, P // 4)",
    volume="m",
    reduced="min(2, P-1) m",
    order="rank",
    blocks="segments",
    aka={"openmpi": "in_order_binary"},
)
def in_order_binary(rank: int, size: int, *, root: int, segments: int = 8) -> Iterator:
    """In a binary tree that keeps ranks in order, everybody adds left child, itself, right child.

    Every subtree is a range of ranks, so rank order is kept. If the top of the tree is not the
    root, it passes the result on.
    """
    top = (1 << floor_log2(size)) - 1
    tree = in_order_tree(rank + 1, size)
    parent = tree.parent - 1 if tree.parent else None
    children = [child - 1 for child in tree.children]
    lefts = sum(child < rank for child in children)
    result = Output if top == root else Temp.row(3)
    yield from tree_reduce(parent, children, Input, result, range(segments), lefts)
    if top != root and rank == top:
        yield Send(root, result[:])
    elif top != root and rank == root:
        yield Recv(top, Output[:])


@algorithm(
    "reduce",
    rounds="segments + min(segments + 1, q - 1)",
    volume="m",
    reduced="m",
    order="commutative",
    blocks="2segments",
    cites="Sanders, Speck & Traeff 2009",
    aka={"ucc": "dbt", "oneccl": "double_tree"},
)
def double_tree(rank: int, size: int, *, root: int, segments: int = 4) -> Iterator:
    """Half of the segments go up one binary tree, half up another in which leaves are inner.

    The latency of a tree, and everybody combines about one vector.
    """
    if size == 1:
        yield Copy(Input[:], Output[:])
        return
    yield from merged(*double_tree_reduce(rank, size, root, segments, Input, Output))


@algorithm(
    "reduce",
    rounds="segments - 1 + q",
    volume="m",
    reduced="(segments - 1 + q) m/segments",
    order="commutative",
    blocks="segments",
    cites="Traeff 2024, arXiv 2407.18004",
    aka={"mpich": "circ_graph"},
)
def circulant(rank: int, size: int, *, root: int, segments: int = 8) -> Iterator:
    """The circulant broadcast backwards: where a block would come from, its combination goes.

    As few rounds as can be for any number of ranks and segments.
    """
    yield from circulant_reduce(rank, size, root, segments, Input, Output)
