"""Inputs that tell errors apart; each maker takes (random, shape, dtype, number of ranks)."""

from __future__ import annotations

import numpy as np

__all__ = [
    "PRIME",
    "full_range",
    "logical",
    "multipliable",
    "residues",
    "rounded",
    "summable",
    "ties",
]

#: Modulus of the user-defined operations on numbers and matrices.
PRIME = 32749


def full_range(random, shape, dtype, size):
    """Any value of the type."""
    if dtype.names:
        whole = np.empty(shape, dtype)
        for name in dtype.names:
            whole[name] = full_range(random, shape, dtype[name], size)
        return whole
    if dtype.kind == "b":
        return random.integers(0, 2, shape).astype(dtype)
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        return random.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    return rounded(random, shape, dtype, size)


def rounded(random, shape, dtype, size):
    """Numbers whose sums and products need rounding."""
    if dtype.kind == "c":
        parts = random.standard_normal((*shape, 2))
        return (parts[..., 0] + 1j * parts[..., 1]).astype(dtype)
    return random.standard_normal(shape).astype(dtype)


def summable(random, shape, dtype, size):
    """Whole numbers whose sum over all ranks is exact."""
    if dtype.kind == "c":
        real, imaginary = (random.integers(-1000, 1000, shape) for _ in "ri")
        return (real + 1j * imaginary).astype(dtype)
    if dtype.kind == "f":
        return random.integers(-1000, 1000, shape).astype(dtype)
    limits = np.iinfo(dtype)
    return random.integers(-(-limits.min // size), limits.max // size, shape, dtype, endpoint=True)


def multipliable(random, shape, dtype, size):
    """Few small numbers whose product over all ranks is exact (integers may wrap around)."""
    if dtype.kind == "u":
        choice = np.array([1, 2, 3, 5, 7])
    elif dtype.kind == "i":
        choice = np.array([1, 2, 3, -1, -2])
    else:
        choice = np.array([1, 2, 0.5, -1, -2])
        if dtype.kind == "c":
            # No product of these has a part that is nought, whose sign would depend on the order.
            choice = choice * (1 + 2j)
    return random.choice(choice, shape).astype(dtype)


def logical(random, shape, dtype, size):
    """Mostly true in every other element, mostly false in the rest: single ranks decide."""
    odd = np.arange(shape[0])[:, None] % 2
    truth = random.random(shape) < np.where(odd, 1 / size, 1 - 1 / size)
    return truth.astype(dtype) if dtype.kind == "b" else (3 * truth).astype(dtype)


def ties(random, shape, dtype, size):
    """Pairs with few different values, so that the index must decide."""
    whole = np.empty(shape, dtype)
    whole["value"] = random.integers(0, 3, shape)
    whole["index"] = random.integers(0, 1 << 20, shape)
    return whole


def residues(random, shape, dtype, size):
    """Numbers below the modulus of the user-defined operations."""
    return random.integers(0, PRIME, shape).astype(dtype)
