"""The default rules of MPICH for communicators without a node structure.

As in its table ``maint/tuning/coll/mpir/generic.json`` (2025). Where MPICH counts elements, an
element is taken to be 8 bytes, since only bytes are known here; operations that commute are taken
to be built in. Its hierarchical variants are left out: they are for empty messages, barriers and
scans of communicators that know their nodes.
"""

from __future__ import annotations

from mpicoll.selection.elsewhere import is_power_of_two

__all__ = ["rule"]

ELEMENT = 8

#: More messages than this are not under way at once in MPICH's "scattered".
THROTTLE = 32


def rule(
    collective: str, size: int, nbytes: int | None, commutative: bool, equal_blocks: bool
) -> tuple[str, str]:
    """The name that MPICH has for the algorithm, and the reason."""
    if collective in ("scatter", "gather"):
        return ("binomial", "always") if equal_blocks else ("linear", "unequal blocks")
    if collective in ("scan", "exscan"):
        return "recursive_doubling", "always"
    if collective == "barrier":
        return "k_dissemination", "always, k = 2"
    rules = {
        "bcast": _bcast,
        "reduce": _reduce,
        "allreduce": _allreduce,
        "allgather": _allgather,
        "reduce_scatter": _reduce_scatter,
        "alltoall": _alltoall,
    }
    return rules[collective](size, nbytes, commutative, equal_blocks)


def _bcast(size: int, nbytes: int, commutative: bool, equal: bool) -> tuple[str, str]:
    if size < 8:
        return "binomial", "P < 8"
    if nbytes <= 12288:
        return "binomial", "m <= 12288"
    if is_power_of_two(size) and nbytes <= 524288:
        return (
            "scatter_recursive_doubling_allgather",
            "12288 < m <= 524288, P a power of two from 8 on",
        )
    if is_power_of_two(size):
        return "scatter_ring_allgather", "m > 524288"
    return "scatter_ring_allgather", "m > 12288, P no power of two"


def _few(size: int, nbytes: int) -> bool:
    return nbytes // ELEMENT < 1 << (size.bit_length() - 1)


def _reduce(size: int, nbytes: int, commutative: bool, equal: bool) -> tuple[str, str]:
    if not commutative:
        return "binomial (operations that do not commute)", "the operation is not built in"
    if nbytes <= 2048:
        return "binomial", "m <= 2048"
    if _few(size, nbytes):
        return "binomial", "fewer elements than the largest power of two in P"
    return "reduce_scatter_gather", "m > 2048, built-in operation"


def _allreduce(size: int, nbytes: int, commutative: bool, equal: bool) -> tuple[str, str]:
    if nbytes <= 8:
        return "recursive_doubling", "m <= 8"
    if not commutative:
        return "recursive_doubling", "the operation is not built in"
    if _few(size, nbytes):
        return "recursive_doubling", "fewer elements than the largest power of two in P"
    return "reduce_scatter_allgather", "m > 8, built-in operation"


def _allgather(size: int, nbytes: int, commutative: bool, equal: bool) -> tuple[str, str]:
    if is_power_of_two(size):
        if nbytes < 524288:
            return "recursive_doubling", "m < 524288, P a power of two"
        return "ring", "m >= 524288"
    if nbytes < 81920:
        return "brucks", "m < 81920, P no power of two"
    return "ring", "m >= 81920, P no power of two"


def _reduce_scatter(size: int, nbytes: int, commutative: bool, equal: bool) -> tuple[str, str]:
    if commutative:
        if nbytes < 524288:
            return "recursive_halving", "m < 524288"
        return "pairwise", "m >= 524288"
    if equal and is_power_of_two(size):
        return "noncommutative", "does not commute, equal blocks, P a power of two"
    return "recursive_doubling", "the operation does not commute"


def _alltoall(size: int, nbytes: int | None, commutative: bool, equal: bool) -> tuple[str, str]:
    scattered = "scattered" if size <= THROTTLE + 1 else "scattered (throttled)"
    if nbytes is None or not equal:
        return scattered, "unequal blocks"
    block = nbytes / size
    if size >= 8 and block <= 256:
        return "brucks", "P >= 8, blocks of at most 256 bytes"
    if block <= 32768:
        return scattered, "blocks of at most 32768 bytes"
    return "pairwise", "blocks of more than 32768 bytes"
