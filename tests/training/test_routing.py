"""Which tokens go to which experts, against the same said slowly."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "examples" / "training"))
from experts import capacity_of, route, with_experts
from model import Config, initial


def slowly(probabilities, k, capacity):
    taken, pairs, dropped = [0] * probabilities.shape[1], set(), 0
    ranked = [sorted(range(len(row)), key=lambda e, row=row: -row[e]) for row in probabilities]
    for choice in range(k):
        for token, order in enumerate(ranked):
            expert = order[choice]
            if taken[expert] < capacity:
                taken[expert] += 1
                pairs.add((token, expert))
            else:
                dropped += 1
    return taken, pairs, dropped


@pytest.mark.parametrize("seed", range(20))
def test_route(seed):
    random = np.random.default_rng(seed)
    tokens, experts = random.integers(0, 20), random.integers(1, 9)
    k = random.integers(1, experts + 1)
    capacity = capacity_of(tokens, experts, k, random.choice([0.5, 1, 2]))
    probabilities = random.dirichlet(np.ones(experts), tokens)
    found = route(probabilities, k, capacity)
    taken, pairs, dropped = slowly(probabilities, k, capacity)
    assert list(found.counts) == taken
    assert set(zip(found.token.tolist(), found.expert.tolist(), strict=True)) == pairs
    assert found.dropped == dropped
    assert (np.diff(found.expert) >= 0).all()


def test_first_choices_come_before_second_ones():
    """Token 0's second choice is expert 1, but token 1's first one is: it has the only place."""
    found = route(np.array([[0.6, 0.4], [0.1, 0.9]]), 2, 1)
    assert list(zip(found.token.tolist(), found.expert.tolist(), strict=True)) == [(0, 0), (1, 1)]
    assert found.dropped == 2


def test_capacity_is_rounded_up():
    assert [capacity_of(t, 4, 2, 1.25) for t in (0, 1, 8)] == [0, 1, 5]


def test_a_model_with_experts_shares_no_memory_with_the_other():
    """Both are trained, in place: one would change the other."""
    config = Config(5, 3, 4, 2, 1, 6)
    dense = initial(config)
    sparse = with_experts(config, dense, 3, 1)
    shared = dense.keys() & sparse.keys()
    assert "embed.token" in shared
    assert not any(np.shares_memory(dense[name], sparse[name]) for name in shared)
