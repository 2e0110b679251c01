"""The hand-written backward pass against finite differences."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "training"))
import model

STEP = 1e-6


def slope(f, array, direction):
    """The central difference of f along `direction`; its error: about STEP**2 + 1e-16 / STEP."""
    kept = array.copy()
    array += STEP * direction
    above = f()
    array[...] = kept - STEP * direction
    below = f()
    array[...] = kept
    return (above - below) / (2 * STEP)


def check(f, arrays, gradients):
    random = np.random.default_rng(1)
    for name, array in arrays.items():
        direction = random.normal(size=array.shape)
        expected = slope(f, array, direction)
        found = (gradients[name] * direction).sum()
        assert found == pytest.approx(expected, rel=1e-6, abs=1e-8), name


@pytest.mark.parametrize("tied", [True, False])
def test_the_whole_model(tied):
    config = model.Config(11, length=7, width=6, heads=3, layers=2, hidden=10, tied=tied)
    p = model.initial(config)
    for name, array in p.items():  # zeros and ones would hide mistakes
        array += np.random.default_rng(len(name)).normal(0, 0.1, array.shape)
    random = np.random.default_rng(2)
    tokens, targets = random.integers(11, size=(2, 3, 7))
    loss, gradients = model.loss_and_gradients(config, p, tokens, targets)
    assert list(gradients.keys() ^ p.keys()) == []
    assert 2 < loss < 4
    check(lambda: model.loss_and_gradients(config, p, tokens, targets)[0], p, gradients)


def test_attention_of_later_queries():
    random = np.random.default_rng(3)
    arrays = dict(zip("qkv", random.normal(size=(3, 2, 9, 3, 4)), strict=True))
    arrays["q"] = arrays["q"][:, 5:].copy()
    dy = random.normal(size=(2, 4, 3, 4))

    def f():
        return (model.attention(**arrays, start=5)[0] * dy).sum()

    _, saved = model.attention(**arrays, start=5)
    gradients = dict(zip("qkv", model.attention_backward(saved, dy), strict=True))
    check(f, arrays, gradients)


def test_attention_looks_at_no_later_position():
    q, k, v = np.random.default_rng(4).normal(size=(3, 1, 6, 2, 4))
    before, _ = model.attention(q, k, v)
    k[:, 4:] += 1
    v[:, 4:] += 1
    after, _ = model.attention(q, k, v)
    assert (before[:, :4] == after[:, :4]).all()
    assert (before[:, 4:] != after[:, 4:]).any()


def test_a_planted_mistake_is_found(monkeypatch):
    """A backward that forgets the mean's share of LayerNorm does not pass."""

    def wrong(p, name, saved, dy):
        unit, inverse = saved
        return dy * p[f"{name}.gain"] * inverse, {
            f"{name}.gain": (dy * unit).sum((0, 1)),
            f"{name}.bias": dy.sum((0, 1)),
        }

    monkeypatch.setattr(model, "norm_backward", wrong)
    with pytest.raises(AssertionError):
        test_the_whole_model(True)


def test_parts_of_a_batch_add_up():
    config = model.Config(11, length=7, width=6, heads=3, layers=1, hidden=10)
    p = model.initial(config)
    tokens, targets = np.random.default_rng(5).integers(11, size=(2, 5, 7))
    loss, gradients = model.loss_and_gradients(config, p, tokens, targets)
    losses, total = 0, {}
    for rows in (slice(0, 2), slice(2, 5)):  # unequal parts: only the sum is right
        part = model.loss_and_gradients(config, p, tokens[rows], targets[rows], 1 / targets.size)
        losses += part[0]
        model.add(total, part[1])
    assert losses == pytest.approx(loss, rel=1e-14)
    for name in p:
        np.testing.assert_allclose(total[name], gradients[name], rtol=1e-12, atol=1e-15)
