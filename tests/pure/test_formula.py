"""Formulas as people write them."""

from fractions import Fraction

import pytest

from mpicoll.formula import evaluate


@pytest.mark.parametrize(
    ("formula", "size", "value"),
    [
        ("2(P-1)", 4, 6),
        ("2m(P-1)/P", 4, Fraction(3, 2)),
        ("q", 5, 3),
        ("f", 5, 2),
        ("C", 5, 4),
        ("r", 5, 1),
        ("(f+1)m", 5, 3),
        ("q m", 5, 3),
        ("2m(1 - 1/C)", 5, Fraction(3, 2)),
        ("f if r == 0 else f + 2", 4, 2),
        ("f if r == 0 else f + 2", 6, 4),
        ("ceil(P/2)", 5, 3),
        ("floor(P/2)", 5, 2),
        ("max(1, P - 4)", 3, 1),
        ("sum(popcount(j) for j in range(1, P)) m/P", 4, 1),
        ("logceil(3, P)", 9, 2),
        ("logceil(3, P)", 10, 3),
        ("logfloor(3, P)", 10, 2),
        ("log2ceil(P)", 9, 4),
    ],
)
def test_value(formula, size, value):
    assert evaluate(formula, size) == value


def test_parameters_are_symbols():
    assert evaluate("P + segments - 2", 4, segments=8) == 10
    assert evaluate("(radix-1)logceil(radix, P) m", 9, radix=3) == 4


def test_one_third_is_exact():
    assert evaluate("m/3", 7) == Fraction(1, 3)


@pytest.mark.parametrize("formula", ["n", "P +", "__import__('os')", "open('f')"])
def test_nonsense_is_refused(formula):
    with pytest.raises((NameError, SyntaxError)):
        evaluate(formula, 4)
