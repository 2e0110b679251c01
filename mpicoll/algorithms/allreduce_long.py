"""Allreduce of long vectors: rings in segments, circulant graphs, double trees, short ways."""

from collections.abc import Iterator

from mpicoll.algorithms.circulant import circulant_allgather, circulant_reduce_scatter
from mpicoll.algorithms.embedding import embedded
from mpicoll.algorithms.negabinary import negabinary_allreduce, reach, runs
from mpicoll.algorithms.phases import ring_allgather, ring_reduce_scatter
from mpicoll.algorithms.trees import double_tree_bcast, double_tree_reduce, merged
from mpicoll.registry import algorithm
from mpicoll.steps import Copy, Input, Output, Temp
from mpicoll.topology import floor_log2


@algorithm(
    "allreduce",
    rounds="(segments + 1)(P - 1)",
    volume="2m(P-1)/P",
    reduced="m(P-1)/P",
    order="commutative",
    blocks="P segments",
    aka={"openmpi": "segmented_ring"},
)
def segmented_ring(rank: int, size: int, *, segments: int = 4) -> Iterator:
    """As the ring, but blocks are combined segment by segment, so that a segment fits the cache.

    Then whole blocks are handed out. More rounds than the ring for the same traffic.
    """
    for segment in range(segments):
        part = [(block * segments + segment,) for block in range(size)]
        yield from embedded(ring_reduce_scatter(rank, size, Input, Temp, Output), blocks=part)
    whole = [range(block * segments, (block + 1) * segments) for block in range(size)]
    yield from embedded(ring_allgather(rank, size, Output), blocks=whole)


@algorithm(
    "allreduce",
    rounds="2q",
    volume="2m(P-1)/P",
    reduced="m(P-1)/P",
    order="commutative",
    cites="Traeff 2024, arXiv 2410.14234",
    aka={"pgmpitune": "circulant"},
)
def circulant(rank: int, size: int) -> Iterator:
    """Hand over the far half of what you care for until one block is left, then collect them all.

    The fewest rounds at the least traffic for any number of ranks, not only for powers of two.
    """
    yield from circulant_reduce_scatter(rank, size, Input, Temp.row(1), Output)
    yield from circulant_allgather(rank, size, Output)


@algorithm(
    "allreduce",
    rounds="segments + min(2q - 1, 3segments + 2)",
    volume="P/2 m if P <= 3 else 2m",
    reduced="m",
    order="commutative",
    blocks="2segments",
    cites="Sanders, Speck & Traeff 2009",
    aka={"nccl": "Tree", "ucc": "dbt", "oneccl": "double_tree"},
)
def double_tree(rank: int, size: int, *, segments: int = 4) -> Iterator:
    """Half of the segments go up and down one binary tree, half another in which leaves are inner.

    A segment goes down as soon as the root has it, while later ones still come up. The latency of
    trees, at about the traffic of the ring.
    """
    if size == 1:
        yield Copy(Input[:], Output[:])
        return
    height = floor_log2(size - 1) + 1
    yield from merged(
        *double_tree_reduce(rank, size, 0, segments, Input, Output),
        *double_tree_bcast(rank, size, 0, segments, Output, delays=(height, height)),
    )


@algorithm(
    "allreduce",
    rounds="2f",
    volume="2m(P-1)/P",
    reduced="m(P-1)/P",
    order="commutative",
    requires=("power_of_two",),
    cites="De Sensi et al. 2024, arXiv 2401.09356",
)
def swing(rank: int, size: int) -> Iterator:
    """Swing to and fro: partners at distance 1, 1, 3, 5, 11, ... swap halves, and then swap back.

    As Rabenseifner's algorithm, but long messages go to near ranks and none as far: for rings and
    tori. Every rank keeps its own block, so the halves are scattered.
    """
    if size == 1:
        yield Copy(Input[:], Output[:])
    yield from negabinary_allreduce(rank, size, Input, Output, reach)


@algorithm(
    "allreduce",
    rounds="2f",
    volume="2m(P-1)/P",
    reduced="m(P-1)/P",
    order="commutative",
    requires=("power_of_two",),
    cites="De Sensi et al. 2025, arXiv 2508.17311",
    aka={"pico": "bine"},
)
def bine(rank: int, size: int) -> Iterator:
    """The partners of swing, but blocks are numbered so that every half is one run of memory.

    No datatype and no copying is needed for a message.
    """
    if size == 1:
        yield Copy(Input[:], Output[:])
    yield from negabinary_allreduce(rank, size, Input, Output, runs)
