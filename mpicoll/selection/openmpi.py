"""The fixed rules of Open MPI 5's "tuned" component, for ranks on several nodes.

As in ``ompi/mca/coll/tuned/coll_tuned_decision_fixed.c``, whose numbers are averages over clusters;
its variants for a single node and for one rank per node are left out. A line of a table is for
fewer ranks than its first number, ``*`` for any; then ``3<8K`` is "algorithm 3 below 8192 bytes",
and the last one is for the rest. Bytes are those of a block in allgather, alltoall, scatter and
gather, otherwise of the whole vector.
"""

from __future__ import annotations

from mpicoll.selection.elsewhere import is_power_of_two

__all__ = ["rule"]

NAMES = {
    "barrier": "linear double_ring recursive_doubling bruck two_proc tree",
    "bcast": "basic_linear chain pipeline split_binary_tree binary_tree binomial knomial "
    "scatter_allgather scatter_allgather_ring",
    "reduce": "linear chain pipeline binary binomial in_order_binary redscat_gather",
    "allreduce": "basic_linear nonoverlapping recursive_doubling ring segmented_ring "
    "rabenseifner allgather_reduce",
    "reduce_scatter": "non-overlapping recursive_halving ring butterfly",
    "allgather": "linear bruck recursive_doubling ring neighbor two_proc",
    "allgatherv": "default bruck ring neighbor two_proc",
    "alltoall": "basic_linear pairwise modified_bruck linear_sync two_proc",
    "scatter": "basic_linear binomial linear_nb",
    "gather": "basic_linear binomial linear_sync",
}

LADDERS = {
    "barrier": "4: 3 / 8: 1 / 64: 3 / 256: 4 / 512: 6 / 1024: 4 / 4096: 6 / *: 4",
    "bcast": """
        4: 3<32 5<256 3<512 7<1K 1<32K 5<128K 2<256K 1<512K 6<1M 5
        8: 5<64 6<128 5<2K 6<8K 1<1M 2
        16: 7<8 5<64 7<4K 5<16K 6<32K 1
        32: 7<4K 6<1M 8
        64: 6<2K 7
        128: 7
        256: 6<2 5<16K 1<32K 5<64K 7
        1024: 7<16K 4<32K 7
        2048: 7<512K 8
        4096: 7<256K 8
        *: 7<8K 5<16K 7<256K 8""",
    "reduce": """
        4: 7<8 4<16 3<32 1<256K 3<512K 2<1M 3
        8: 4<4K 2<64K 5<256K 1<512K 5<1M 1
        16: 4<8K 5
        32: 4<4K 5
        256: 5
        512: 5<8K 6<16K 5
        2048: 5
        4096: 5<512 6<1K 5<8K 6<16K 5
        *: 5<16 6<32 5<1K 6<2K 5<8K 6<16K 5""",
    "reduce in order": """
        4: 6<8 1
        8: 1
        16: 6<1K 1<8K 6<16K 1<256K 6
        128: 6
        256: 6<512 1<1K 6
        *: 6""",
    "allreduce": """
        4: 4<8 3<4K 4<8K 3<16K 4<64K 5<256K 6
        8: 4<16 3<8K 6
        16: 3<8K 6
        32: 5<64 3<4K 6
        64: 5<128 6
        128: 3<256K 6
        256: 2<128K 3<256K 6
        512: 2<4K 6
        2048: 2<2K 3<16K 6
        4096: 2<2K 5<4K 3<16K 6
        *: 2<2K 5<16K 3<32K 6""",
    "allreduce in order": """
        4: 3<128K 1
        8: 3
        16: 3<1M 2
        128: 3
        256: 2<128K 3<512K 2
        512: 2<4K 3<512K 2
        *: 2<2K 3""",
    "reduce_scatter": """
        4: 3<64K 4<128K 3
        8: 1<8 2<256K 3
        32: 2<256K 3
        64: 1<64 2<2K 4<512K 3
        128: 1<256 2<512 4<2K 2<4K 4
        256: 1<256 2<512 4
        512: 1<256 2<1K 4
        1024: 1<512 2<2K 4<8K 2<16K 4
        2048: 1<512 2<4K 4<16K 2<32K 4
        4096: 1<512 2<4K 4
        *: 1<1K 2<8K 4""",
    "reduce_scatter in order": "*: 1",
    "allgather": """
        3: 6
        32: 3
        64: 3<1K 5<64K 4
        128: 3<512 5<64K 4
        256: 3<512 5<128K 4<512K 5<1M 4
        512: 3<32 2<128 3<1K 5<128K 4<512K 5<1M 4
        1024: 3<64 2<256 3<2K 5
        2048: 3<4 2<8 3<16 2<32 3<256 2<512 3<4K 5
        4096: 2<32 3<128 2<512 3<4K 5
        *: 3<2 2<8 3<16 2<512 3<4K 5""",
    "allgatherv": """
        3: 3<2K 5<4K 3<8K 5
        8: 1<256 4<4K 3<8K 4<16K 2<256K 4
        16: 1<1K 2
        32: 1<128 2<256K 3
        64: 1<256 2<8K 3
        128: 1<256 2<4K 3
        256: 2<1K 4<64K 3
        512: 2<1K 3
        1024: 2<512 1<1K 2<4K 4<1M 3
        *: 2<4K 4""",
    "alltoall": """
        3: 2<2 5<4 2<16 5<64 2<256 5<4K 2<32K 4<256K 5<1M 2
        8: 4<8K 1<16K 4<64K 1<512K 2<1M 1
        16: 4<256K 1
        32: 4<4 3<512 4<8K 1<32K 4<256K 1<512K 4
        64: 3<512 1<512K 4
        128: 3<1K 1<2K 4<4K 1<256K 2
        256: 3<1K 4<2K 1<256K 2
        512: 3<1K 4<8K 1<32K 2
        1024: 3<512 4<8K 1<16K 4<128K 1<256K 2
        2048: 3<512 4<1K 1<2K 4<16K 1<256K 4
        4096: 3<1K 4<4K 1<8K 4<128K 1
        *: 3<2K 4<8K 1<16K 4<32K 1<64K 4""",
    "alltoallv": "4: 2 / 64: 1 / 128: 2 / 256: 1 / 1024: 2 / *: 1",
    "scatter": """
        4: 3<2 1<128K 3<256K 1
        8: 2<2K 1<4K 2<8K 1<32K 3<1M 1
        16: 2<16K 3<1M 1
        32: 2<16K 1<32K 3
        64: 2<512 3<8K 2<16K 3
        *: 2<512 3""",
    "gather": """
        4: 3<2 1<4 2<32K 1<64K 2<128K 3
        8: 2<1K 1<8K 2<32K 1<256K 3
        256: 2
        512: 2<2K 1<8K 2
        *: 2""",
}

_BLOCKS = {"allgather", "alltoall", "scatter", "gather"}


def rule(
    collective: str, size: int, nbytes: int | None, commutative: bool, equal_blocks: bool
) -> tuple[str, str]:
    """The name that Open MPI has for the algorithm, and the reason."""
    if collective in ("scan", "exscan"):
        return "linear", "the component has no rule, and the basic one is taken"
    if collective in ("scatter", "gather") and not equal_blocks:
        return "basic_linear", "unequal blocks"
    table = names = collective
    if not commutative and f"{table} in order" in LADDERS:
        table += " in order"
    elif not equal_blocks and collective in ("allgather", "alltoall"):
        table += "v"
        names = table if collective == "allgather" else collective
    what = (nbytes or 0) / (size if collective in _BLOCKS else 1)
    number, reason = _look_up(table, size, what)
    name = NAMES[names].split()[number - 1]
    if collective == "allgather":
        # These two are what its algorithms do themselves when they cannot serve.
        if name == "recursive_doubling" and not is_power_of_two(size):
            return "bruck", f"{reason} would be {name}, but P is no power of two"
        if name == "neighbor" and size % 2:
            return "ring", f"{reason} would be {name}, but P is odd"
    return name, reason


def _look_up(table: str, size: int, nbytes: float) -> tuple[int, str]:
    """The number of an algorithm in a ladder, and where it stands there."""
    for line in LADDERS[table].replace("/", "\n").strip().splitlines():
        below, _, steps = line.partition(":")
        if below.strip() == "*" or size < int(below):
            break
    ranks = "any P beyond" if below.strip() == "*" else f"P < {below.strip()}"
    for step in steps.split():
        number, _, limit = step.partition("<")
        if not limit or nbytes < _bytes(limit):
            break
    amount = f", below {limit}" if limit else ", the rest" if "<" in steps else ""
    return int(number), f"ladder of {table}, {ranks}{amount}"


def _bytes(text: str) -> int:
    factor = {"K": 1 << 10, "M": 1 << 20}.get(text[-1], 1)
    return int(text.rstrip("KM")) * factor
