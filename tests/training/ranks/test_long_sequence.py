"""Attention over sequences cut among ranks: three ways, one result, and what each sends."""

import numpy as np
import pytest
from attentions import METHODS
from common import share
from model import attention, attention_backward


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("length", "heads"), [(24, 8), (13, 5), (3, 2)])
def test_forward_and_backward(ours, rank, size, method, length, heads):
    """Also with shares that are unequal, and with ranks without positions or heads."""
    from counting import Group, Traffic

    q, k, v, dy = np.random.default_rng(1).normal(size=(4, 2, length, heads, 4))
    shares = [share(length, size, r) for r in range(size)]
    mine = shares[rank]
    group = Group(ours, "test", Traffic())
    forward, backward = METHODS[method]
    y, saved = forward(group, shares, *(a[:, mine] for a in (q, k, v)))
    gradients = backward(group, saved, dy[:, mine])
    expected, saved = attention(q, k, v)
    # Sums of a few tens of numbers of order 1, in another order.
    np.testing.assert_allclose(y, expected[:, mine], rtol=0, atol=1e-13)
    for found, right in zip(gradients, attention_backward(saved, dy), strict=True):
        np.testing.assert_allclose(found, right[:, mine], rtol=0, atol=1e-13)


def test_large_scores_do_not_overflow(ours, rank, size):
    """What the softmax on line is for: exp(1000) is infinite."""
    from counting import Group, Traffic

    q, k, v = np.random.default_rng(2).normal(size=(3, 1, 16, 1, 4))
    q *= 1000
    shares = [share(16, size, r) for r in range(size)]
    mine = shares[rank]
    forward, _ = METHODS["ring"]
    y, _ = forward(Group(ours, "test", Traffic()), shares, *(a[:, mine] for a in (q, k, v)))
    np.testing.assert_allclose(y, attention(q, k, v)[0][:, mine], rtol=0, atol=1e-12)


@pytest.mark.parametrize("shape", [(16, 8, 16), (11, 3, 9)])
def test_training_equals_one_process(execute, shape):
    length, heads, width = shape
    execute("long_sequence", "--length", length, "--heads", heads, "--width", width, "--steps", 3)


def test_bytes_as_ranks_grow(execute, size):
    """AllGather sends (P-1)/P of everything, however many ranks; Ulysses 1/P of that."""
    report = execute("long_sequence", "--heads", 8, "--steps", 1, "--layers", 1)
    M = 2 * 16 * 16 * 8  # batch, positions, width
    sent = {(row["primitive"], row["group"]): row for row in report["traffic"]}
    gathered = sent["Allgatherv", "allgather"]
    assert gathered["bytes"] == pytest.approx(2 * M * (size - 1) / size)
    transposed = sent["Alltoallv", "ulysses"]
    if size in (2, 4, 8):  # equal shares
        assert transposed["bytes"] == 8 * M * (size - 1) / size**2
    assert gathered["messages"] == size * (size - 1)
    assert transposed["messages"] == 4 * size * (size - 1)


@pytest.mark.usefixtures("few")
def test_native_collectives_give_the_same(execute):
    ours = execute("long_sequence", "--steps", 2)
    native = execute("long_sequence", "--steps", 2, "--native")
    for method, losses in ours["losses"].items():
        assert native["losses"][method] == pytest.approx(losses, rel=1e-13)
