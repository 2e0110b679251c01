"""mpicoll's own rules.

They follow the costs of the algorithms: few rounds while vectors are short, little traffic when
they are long.
"""

from __future__ import annotations

__all__ = ["rule"]

KIB = 1024


def rule(
    collective: str, size: int, nbytes: int | None, commutative: bool, equal_blocks: bool
) -> tuple[str, str]:
    """The name of an algorithm and the reason for it."""
    return _RULES[collective](size, nbytes, commutative, equal_blocks)


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
