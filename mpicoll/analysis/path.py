"""Closed forms along the longest chain of messages, for any number of ranks.

The declared formulas of an algorithm are those of its *busiest rank*. That is what takes the time
if all ranks do the same; in a chain everybody sends only once, and yet the last rank waits for
P - 1 messages. Where the longest chain is not the busiest rank's own work, it is given here, as
formulas of `mpicoll.formula`. They are meant as bounds from above: on a homogeneous network with a
link for each rank a run takes at most about latency * rounds + 2 overhead * messages + beta * bytes
+ gamma * combined (in the tests, never 30 % more), and often less, as one chain need not have the
most of everything. For an algorithm that is not here the declared formulas are used.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from mpicoll.analysis.network import Network
from mpicoll.formula import evaluate
from mpicoll.registry import Algorithm

__all__ = ["PATHS", "Path", "closed_form", "longest_path"]


class Path(NamedTuple):
    """The longest chain: rounds, bytes carried and combined as parts of m, messages posted."""

    rounds: int
    carried: Fraction
    combined: Fraction
    messages: int


_CHAIN = ("P-1", "m(P-1)", "")
_ALONG = "(P + segments - 2)"
_DOWN_BINARY = "m if P == 2 else (2segments + 2q - 4)m/segments"
_UP_BINARY = "m if P == 2 else (2segments + 2q - 2)m/segments"
_DIGITS = "min(P-1, (radix-1)logceil(radix, P))"
_SPARES = "2ceil(P/radix**logfloor(radix, P)) - 2"
_EVERYBODY = ("", "", "", "P-1")

#: (rounds, bytes, combined, messages) by collective and algorithm. "", or nothing at the end: as
#: declared, and as many messages as rounds.
PATHS: dict[str, dict[str, tuple[str, ...]]] = {
    "allgather": {
        "direct": _EVERYBODY,
        "k_bruck": ("", "", "", _DIGITS),
        "sparbit": _EVERYBODY,
    },
    "allreduce": {
        "recursive_doubling": ("", "f m if r == 0 else (f+2)m"),
        "rabenseifner": ("", "2m(1 - 1/C) + min(r, 1) 2m"),
        "reduce_bcast": ("", "2q m"),
        "allgather_reduce": ("", "(2P-3)m", "", "P-1"),
        "ordered": ("", "", "", "2(P-1)"),
        "recursive_multiplying": (
            "",
            f"((2radix-3)logfloor(radix, P) + {_SPARES})m",
            "",
            f"(radix-1)logfloor(radix, P) + {_SPARES}",
        ),
        "double_tree": (
            "2segments + 2q",
            "(4segments + 4q)m/(2segments)",
            "(2segments + 2q)m/(2segments)",
            "4segments + 4q",
        ),
    },
    "alltoall": {
        "linear": _EVERYBODY,
        "windowed": _EVERYBODY,
        "k_bruck": ("", "", "", _DIGITS),
        "replacing": ("P", "2m(P-1)/P"),
        "two_step": (
            "",
            "2(2P - divisor(P) - P/divisor(P)) m/P",
            "",
            "2(divisor(P) + P/divisor(P))",
        ),
    },
    "barrier": {
        "linear": ("", "", "", "P"),
        "ring": ("2(P-1)",),
        "k_dissemination": ("", "", "", _DIGITS),
    },
    "bcast": {
        "linear": _EVERYBODY,
        "scatter_allgather": ("", "2m(P-1)/P + min(r, 1) m/4"),
        "knomial": ("", "", "", _DIGITS),
        "chain": _CHAIN,
        "pipelined": (_ALONG, f"{_ALONG}m/segments"),
        "binary": ("segments + q - 1", _DOWN_BINARY, "", "2segments + 2q - 2"),
        "split_binary": (
            "segments + q + 1",
            "m if P == 2 else (3segments + 2q - 4)m/(2segments)",
            "",
            "2segments + 2q",
        ),
        "double_tree": (
            "segments + q",
            "(2segments + 2q + 1)m/(2segments)",
            "",
            "2segments + 2q",
        ),
        "circulant": ("", "(segments + q)m/segments"),
    },
    "exscan": {
        "linear": ("P-1", "m(P-1)", "m(P-2)"),
        "recursive_doubling": ("", "", "(2q-2)m"),
        "one_two_three_doubling": ("", "", "(2q-2)m"),
    },
    "gather": {
        "linear": ("", "m(P-1)/P", "", "P-1"),
        "binomial": ("", "m(P-1)/P"),
        "knomial": ("", "m(P-1)/P", "", _DIGITS),
    },
    "reduce": {
        "linear": ("", "m(P-1)"),
        "binomial": ("", "q m"),
        "binomial_in_order": ("", "q m if root == 0 else (q+1)m"),
        "knomial": ("", f"{_DIGITS}m", "", _DIGITS),
        "rabenseifner": ("", "2m(1 - 1/C) + min(r, 1) 2m"),
        "ordered": ("", "2m(P-1)/P", "", "2(P-1)"),
        "chain": ("P-1", "m(P-1)", "m(P-1)"),
        "pipelined": (_ALONG, f"{_ALONG}m/segments", f"{_ALONG}m/segments"),
        "binary": ("segments + q - 1", _DOWN_BINARY, _UP_BINARY, "2segments + 2q"),
        "in_order_binary": (
            "segments + q + 2",
            "(3segments + 2q - 3)m/segments",
            _UP_BINARY,
            "3segments + 2q",
        ),
        "double_tree": (
            "segments + q",
            "(2segments + 2q + 1)m/(2segments)",
            "(2segments + 2q)m/(2segments)",
            "2segments + 2q",
        ),
        "circulant": ("", "(segments + q)m/segments"),
    },
    "reduce_scatter": {
        "recursive_halving": ("", "m(P-1)/P if r == 0 else (2P+2)m/P"),
        "reduce_then_scatter": ("", "q m + m(P-1)/P", "", "P + q - 1"),
        "recursive_doubling": ("", "logfloor(2, P) m - m(P-1)/P if r == 0 else (f+2)m"),
        "butterfly": ("", "m(P-1)/P if r == 0 else (2P+2)m/P"),
        "ordered": _EVERYBODY,
    },
    "scan": {"linear": ("P-1", "m(P-1)", "m(P-1)")},
    "scatter": {"linear": _EVERYBODY, "knomial": ("", "", "", _DIGITS)},
}


def longest_path(
    algorithm: Algorithm, size: int, parameters: Mapping[str, object], root: int = 0
) -> Path:
    """The longest chain of an algorithm: from `PATHS`, or as declared where it is not there."""
    declared = algorithm.claims(size, parameters, root)
    values = [*declared, Fraction(declared[0])]
    formulas = PATHS.get(algorithm.collective, {}).get(algorithm.name, ())
    if size > 1:
        settings = {**algorithm.settings(parameters), "root": root}
        symbols = {name: value for name, value in settings.items() if isinstance(value, int)}
        for i, formula in enumerate(formulas):
            if formula:
                values[i] = evaluate(formula, size, **symbols)
    return Path(int(values[0]), values[1], values[2], int(max(values[0], values[3])))


def closed_form(
    algorithm: Algorithm,
    size: int,
    nbytes: int,
    network: Network,
    *,
    root: int = 0,
    **parameters: object,
) -> float:
    """Seconds that the longest chain takes, all messages at the network's slowest level."""
    path = longest_path(algorithm, size, parameters, root)
    level, slow = network.level(size), network.slowdown(min(size, network.ranks_per_node or size))
    rate = level.per_byte * (slow if level is network.intra else 1)
    return (
        level.latency * path.rounds
        + 2 * slow * level.overhead * path.messages
        + rate * nbytes * float(path.carried)
        + slow * network.reduce * nbytes * float(path.combined)
    )
