"""Bcast in segments, which follow each other along a chain, trees, or a circulant graph."""

from collections.abc import Iterator

from mpicoll.algorithms.circulant import circulant_bcast
from mpicoll.algorithms.trees import among, double_tree_bcast, merged, tree_bcast
from mpicoll.registry import algorithm
from mpicoll.steps import Output, Recv, Send
from mpicoll.topology import binary_tree, chain_tree


@algorithm(
    "bcast",
    rounds="min(2, P-1)",
    volume="m",
    blocks="1",
    aka={"openmpi": "chain", "mpich": "tree (kary, k = 1)"},
)
def chain(rank: int, size: int, *, root: int) -> Iterator:
    """Everybody passes the vector on to the next rank.

    Nobody sends twice, but the last rank waits for P - 1 messages one after the other.
    """
    parent, children = among(chain_tree((rank - root) % size, size), root, size)
    yield from tree_bcast(parent, children, Output, [0])


@algorithm(
    "bcast",
    rounds="segments if P == 2 else segments + 1",
    volume="m",
    blocks="segments",
    aka={"openmpi": "pipeline", "mpich": "pipelined_tree", "nccl": "Ring"},
)
def pipelined(rank: int, size: int, *, root: int, segments: int = 8) -> Iterator:
    """Everybody passes a segment on to the next rank while the following segment arrives.

    P + segments - 2 rounds in all, and no link carries more than the vector: for the longest
    vectors on few ranks.
    """
    parent, children = among(chain_tree((rank - root) % size, size), root, size)
    yield from tree_bcast(parent, children, Output, range(segments))


@algorithm(
    "bcast",
    rounds="segments if P <= 3 else segments + 1",
    volume="min(2, P-1) m",
    blocks="segments",
    aka={"openmpi": "binary_tree", "mpich": "pipelined_tree (kary, k = 2)"},
)
def binary(rank: int, size: int, *, root: int, segments: int = 8) -> Iterator:
    """Everybody passes each segment on to two ranks.

    About log2 P rounds until the last rank gets the first segment, at twice the traffic of a chain.
    """
    parent, children = among(binary_tree((rank - root) % size, size), root, size)
    yield from tree_bcast(parent, children, Output, range(segments))


@algorithm(
    "bcast",
    rounds="segments + 1 if P <= 3 else segments + 2",
    volume="m if P <= 3 or P == 5 else 3m/2",
    blocks="2segments",
    aka={"openmpi": "split_binary_tree"},
)
def split_binary(rank: int, size: int, *, root: int, segments: int = 4) -> Iterator:
    """Half of the vector goes down a tree of half the ranks, half down another; then pairs swap.

    Half the traffic of a binary tree, for one more round. Odd and even relative ranks are the two
    trees; if the last rank has no partner, the root is it.
    """
    halves = [range(segments), range(segments, 2 * segments)]
    relative = (rank - root) % size
    trees = [[t, *range(1 + t, size, 2)] for t in (0, 1)]  # members; the first stands for the root
    phases = []
    for members, half in zip(trees, halves, strict=True):
        ranks = [root, *((member + root) % size for member in members[1:])]
        place = ranks.index(rank) if rank in ranks else None
        if place == 0:
            children = ranks[1:2]
            phases.append((0, tree_bcast(None, children, Output, half)))
        elif place is not None:
            tree = binary_tree(place - 1, len(ranks) - 1)
            parent = ranks[0] if tree.parent is None else ranks[1 + tree.parent]
            children = [ranks[1 + child] for child in tree.children]
            phases.append((1 + tree.depth, tree_bcast(parent, children, Output, half)))
    yield from merged(*phases)
    if relative == 0 and size % 2 == 0:
        yield Send((size - 1 + root) % size, Output[halves[1]])
    elif relative == size - 1 and size % 2 == 0:
        yield Recv(root, Output[halves[1]])
    elif relative:
        partner = (relative + 1 if relative % 2 else relative - 1) + root
        mine, theirs = halves if relative % 2 else halves[::-1]
        yield Send(partner % size, Output[mine]), Recv(partner % size, Output[theirs])


@algorithm(
    "bcast",
    rounds="segments + min(segments + 1, q - 1)",
    volume="m",
    blocks="2segments",
    cites="Sanders, Speck & Traeff 2009",
    aka={"ucc": "dbt", "oneccl": "double_tree"},
)
def double_tree(rank: int, size: int, *, root: int, segments: int = 4) -> Iterator:
    """Half of the segments go down one binary tree, half down another in which leaves are inner.

    The latency of a tree at the traffic of a chain: everybody sends about one vector.
    """
    yield from merged(*double_tree_bcast(rank, size, root, segments, Output))


@algorithm(
    "bcast",
    rounds="segments - 1 + q",
    volume="(segments - 1 + q) m/segments",
    blocks="segments",
    cites="Traeff 2024, arXiv 2407.18004",
    aka={"mpich": "circ_graph"},
)
def circulant(rank: int, size: int, *, root: int, segments: int = 8) -> Iterator:
    """Everybody sends a block ahead over each skip of a circulant graph in turn, none in vain.

    As few rounds as can be for any number of ranks and segments; who sends what when is found by a
    walk over the skips.
    """
    yield from circulant_bcast(rank, size, root, segments, Output)
