"""Formulas as people write them, ``2m(P-1)/P``, evaluated exactly.

Symbols: P ranks; m bytes of the whole vector (`mpicoll.spec`); q = ceil(log2 P); f = floor(log2 P);
C = 2**f, the core; r = P - C, the spare ranks; root; and an algorithm's parameters by their names.
Functions: ceil, floor, min, max, popcount, log2ceil, logceil(k, x), logfloor(k, x), divisor(x), the
largest up to the root of x, children(x, n) of rank x in a binomial tree of n, sum over ``x for x in
...``. With a node layout: N nodes, the largest with L ranks, ranks(i) of node i counted from the
root's node on, around.
A formula may be a Python conditional: ``f if r == 0 else f + 2``.
"""

from __future__ import annotations

import math
import re
from fractions import Fraction
from functools import lru_cache
from types import CodeType

from mpicoll.topology import binomial_children, largest_divisor

__all__ = ["evaluate"]

_TOKEN = re.compile(r"\s*(\d+|[A-Za-z_]\w*|\*\*|//|<=|>=|==|!=|.)")
_WORDS = {"if", "else", "and", "or", "not", "for", "in"}
_FUNCTIONS = {
    "ceil": math.ceil,
    "floor": math.floor,
    "min": min,
    "max": max,
    "sum": sum,
    "range": lambda *ends: range(*map(int, ends)),
    "popcount": lambda x: int(x).bit_count(),
    "log2ceil": lambda x: (int(x) - 1).bit_length() if x > 1 else 0,
    "logceil": lambda k, x: _log_ceil(int(k), int(x)),
    "children": lambda x, n: len(binomial_children(int(x), int(n))),
    "divisor": lambda x: largest_divisor(int(x)),
    "logfloor": lambda k, x: _log_floor(int(k), int(x)),
}
#: Names that are called: those of the functions, and those that are made from a node layout.
_CALLED = {*_FUNCTIONS, "ranks"}


def _log_ceil(base: int, x: int) -> int:
    power, exponent = 1, 0
    while power < x:
        power, exponent = power * base, exponent + 1
    return exponent


def _log_floor(base: int, x: int) -> int:
    exponent = _log_ceil(base, x)
    return exponent if base**exponent == x else exponent - 1


@lru_cache(maxsize=1024)
def _compile(formula: str) -> CodeType:
    tokens = _TOKEN.findall(formula)
    out: list[str] = []
    for i, token in enumerate(tokens):
        before = tokens[i - 1] if i else "("
        ends = before == ")" or (before[0].isalnum() and before not in _WORDS | _CALLED)
        starts = token == "(" or (token[0].isalnum() and token not in _WORDS)
        if ends and starts:
            out.append("*")
        out.append(f"Fraction({token})" if token.isdigit() else token)
    return compile(" ".join(out), f"<formula {formula}>", "eval")


def evaluate(formula: str, size: int, **symbols: object) -> Fraction:
    """The value of a formula for `size` ranks, with m = 1 unless given.

    >>> evaluate("2m(P-1)/P", 4)
    Fraction(3, 2)
    >>> evaluate("f if r == 0 else f + 2", 6)
    Fraction(4, 1)
    """
    floor = size.bit_length() - 1
    names = {
        "P": Fraction(size),
        "q": (size - 1).bit_length(),
        "f": floor,
        "C": 1 << floor,
        "r": size - (1 << floor),
        "m": Fraction(1),
        "Fraction": Fraction,
        "__builtins__": {},
        **_FUNCTIONS,
        **symbols,
    }
    return Fraction(eval(_compile(formula), names))
