"""Which algorithm a call gets when it does not ask for one, and why.

A choice may depend only on what every rank knows: the number of ranks, the bytes of the whole
collective (None where ranks cannot know them), whether operands may change places, and whether
blocks are equal. ``MPICOLL_ALLREDUCE=ring`` in the environment, and likewise for each collective,
asks for an algorithm from outside.
"""

from __future__ import annotations

import os
from functools import lru_cache
from typing import NamedTuple

from mpicoll.registry import Algorithm, RequirementError, find

__all__ = ["Choice", "choose", "reproducible", "wished"]

KIB = 1024


class Choice(NamedTuple):
    """An algorithm and the reason for it."""

    algorithm: Algorithm
    reason: str


#: Algorithms that combine ((0 1) 2) 3 ... for every element, whatever its place.
_REPRODUCIBLE = {
    "reduce": "ordered",
    "allreduce": "ordered",
    "reduce_scatter": "ordered",
    "scan": "linear",
    "exscan": "linear",
}


def reproducible(collective: str, name: str | None) -> str:
    """The algorithm for ``reproducible=True``; RequirementError if another one is asked for.

    Results then have the same bits for every number of elements, in every place of the vector, in
    every one of these collectives, and from run to run. ValueError where nothing is combined.
    """
    wanted = _REPRODUCIBLE.get(collective)
    if wanted is None:
        raise ValueError(f"reproducible=True has no meaning in {collective}: nothing is combined")
    if name not in (None, wanted):
        raise RequirementError(
            f"reproducible=True combines operands in one fixed order, which {collective} {name} "
            f"does not; {collective} {wanted} does"
        )
    return wanted


def wished(collective: str) -> str | None:
    """The name of the algorithm that the environment asks for."""
    return os.environ.get(f"MPICOLL_{collective.upper()}")


@lru_cache(maxsize=4096)
def choose(
    collective: str, size: int, nbytes: int | None, commutative: bool, equal_blocks: bool
) -> Choice:
    """The algorithm for a call that names none."""
    wish = wished(collective)
    if wish:
        algorithm = find(collective, wish)
        algorithm.require(size, commutative=commutative, equal_blocks=equal_blocks)
        return Choice(algorithm, f"MPICOLL_{collective.upper()}={wish} is set")
    name, reason = _RULES[collective](size, nbytes, commutative, equal_blocks)
    return Choice(find(collective, name), reason)


def _is_power_of_two(size: int) -> bool:
    return size & (size - 1) == 0


def _barrier(size: int, nbytes: int | None, commutative: bool, equal: bool) -> tuple[str, str]:
    return "dissemination", "the fewest rounds for any number of ranks"


def _bcast(size: int, nbytes: int | None, commutative: bool, equal: bool) -> tuple[str, str]:
    if size > 3 and nbytes > 256 * KIB:
        return (
            "scatter_allgather",
            "long: the root should not send the whole vector again and again",
        )
    return "binomial", "the fewest rounds"


def _reduce(size: int, nbytes: int | None, commutative: bool, equal: bool) -> tuple[str, str]:
    if not commutative:
        return "binomial_in_order", "the operation does not commute"
    return "binomial", "the fewest rounds"


def _allreduce(size: int, nbytes: int | None, commutative: bool, equal: bool) -> tuple[str, str]:
    if not commutative:
        return "recursive_doubling", "the operation does not commute"
    if nbytes <= 8 * KIB:
        return "recursive_doubling", "short: the fewest rounds"
    if nbytes <= 256 * KIB and _is_power_of_two(size):
        return "rabenseifner", "middle: few rounds and little traffic, P a power of two"
    return "ring", "long: the least traffic"


def _rooted_blocks(
    size: int, nbytes: int | None, commutative: bool, equal: bool
) -> tuple[str, str]:
    if not equal:
        return "linear", "inner ranks of a tree would have to know unequal blocks"
    if size > 4 and nbytes <= 64 * KIB:
        return "binomial", "short blocks: few messages at the root"
    return "linear", "nothing is sent twice"


def _allgather(size: int, nbytes: int | None, commutative: bool, equal: bool) -> tuple[str, str]:
    if nbytes <= 64 * KIB:
        return "bruck", "short: the fewest rounds"
    return "ring", "long: messages between neighbours only"


def _reduce_scatter(
    size: int, nbytes: int | None, commutative: bool, equal: bool
) -> tuple[str, str]:
    if not commutative:
        return "reduce_then_scatter", "the operation does not commute"
    if nbytes <= 64 * KIB:
        return "recursive_halving", "short: few rounds"
    return "ring", "long: the least traffic"


def _alltoall(size: int, nbytes: int | None, commutative: bool, equal: bool) -> tuple[str, str]:
    if equal and size >= 8 and nbytes <= 256 * size:
        return "bruck", "short blocks and many ranks: the fewest rounds"
    if nbytes is not None and nbytes > 64 * KIB * size:
        return "pairwise", "long blocks: one partner at a time"
    return "linear", "all messages at once"


def _prefix(size: int, nbytes: int | None, commutative: bool, equal: bool) -> tuple[str, str]:
    return "recursive_doubling", "the fewest rounds, in rank order"


_RULES = {
    "barrier": _barrier,
    "bcast": _bcast,
    "reduce": _reduce,
    "allreduce": _allreduce,
    "scatter": _rooted_blocks,
    "gather": _rooted_blocks,
    "allgather": _allgather,
    "reduce_scatter": _reduce_scatter,
    "alltoall": _alltoall,
    "scan": _prefix,
    "exscan": _prefix,
}
