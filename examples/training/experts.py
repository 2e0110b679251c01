"""A mixture of experts: top-k routing with a capacity, and the layer with its experts on all ranks.

A gate gives every token a probability for each of E experts; its k best are asked, and their
results are summed, weighted with the probabilities (Shazeer and others, 2017; Fedus and others,
2021). Of one rank's tokens an expert takes `capacity` at most, first choices before second ones, in
the order of the tokens (Lepikhin and others, 2020). What is over is dropped: for that token the
expert's result is 0, and only the residual connection passes it on.
"""

from typing import NamedTuple

import numpy as np
from common import share
from model import ALONE, mlp, mlp_backward, part, softmax
from packing import alltoall


class Routing(NamedTuple):
    """The rows that travel, sorted by expert: which token, to which expert; and their counts."""

    token: np.ndarray
    expert: np.ndarray
    counts: np.ndarray  # (E,): an expert may get none
    dropped: int


def capacity_of(tokens, experts, k, factor):
    """Give `factor` times an expert's fair share of k choices of each token, rounded up."""
    return int(np.ceil(factor * k * tokens / experts))


def route(probabilities, k, capacity):
    """Choose experts for tokens: `probabilities` is (tokens, experts)."""
    tokens, experts = probabilities.shape
    choices = np.argsort(-probabilities, axis=1, kind="stable")[:, :k]
    # All first choices in the order of the tokens, then all second ones: the order of preference.
    expert, token = choices.T.ravel(), np.tile(np.arange(tokens), k)
    order = np.argsort(expert, kind="stable")
    expert, token = expert[order], token[order]
    begins = np.searchsorted(expert, np.arange(experts))
    kept = np.arange(len(expert)) - begins[expert] < capacity
    expert, token = expert[kept], token[kept]
    return Routing(token, expert, np.bincount(expert, minlength=experts), int((~kept).sum()))


def with_experts(config, parameters, number, seed):
    """Give every block of a whole model `number` experts and a gate in place of its MLP."""
    random = np.random.default_rng(seed)
    dense = (".up.", ".down.")
    parameters = {n: p.copy() for n, p in parameters.items() if not any(d in n for d in dense)}
    width, hidden = config.width, config.hidden
    for block in range(config.layers):
        name = f"block{block}"
        parameters[f"{name}.gate.weight"] = random.normal(0, width**-0.5, (width, number))
        for expert in range(number):
            for layer, (rows, columns) in {"up": (width, hidden), "down": (hidden, width)}.items():
                key = f"{name}.expert{expert}.{layer}"
                parameters[f"{key}.weight"] = random.normal(0, rows**-0.5, (rows, columns))
                parameters[f"{key}.bias"] = np.zeros(columns)
    return parameters


def expert_of(name):
    """Give the number of the expert whose parameter this is, or None if it is of no expert."""
    words = [word for word in name.split(".") if word.startswith("expert")]
    return int(words[0].removeprefix("expert")) if words else None


class Experts:
    """The layer in place of `model.mlp`: experts are dealt out to the ranks of `group`, in order.

    Their number E need not be a multiple of the number of ranks; a rank may have none. `parameters`
    of the layer: ``gate.weight`` (D, E) on all ranks, ``expert3.up.weight`` and so on where expert
    3 is. Keeps in `routings` how every call went.
    """

    def __init__(self, group, number, k, factor):
        self.group, self.number, self.k, self.factor = group, number, k, factor
        self.size, self.rank = group.Get_size(), group.Get_rank()
        self.shares = [share(number, self.size, rank) for rank in range(self.size)]
        self.routings = []

    def forward(self, p, x, boundary=ALONE):
        """Send rows to their experts, apply these, send back, and sum with the weights."""
        rows = x.reshape(-1, x.shape[-1])
        probabilities = softmax(rows @ p["gate.weight"])
        capacity = capacity_of(len(rows), self.number, self.k, self.factor)
        routing = route(probabilities, self.k, capacity)
        self.routings.append(routing)
        # Receivers do not know how many rows come for which of their experts: tell them first.
        mine = self.shares[self.rank]
        told = alltoall(
            self.group,
            [routing.counts[s] for s in self.shares],
            [(mine.stop - mine.start,)] * self.size,
            np.int64,
        )
        counts = routing.counts, np.array(told).reshape(self.size, -1)
        arrived = self.dispatch(rows[routing.token], *counts)
        results, saved = [], []
        for number, inputs in enumerate(arrived, mine.start):
            result, s = mlp(part(p, f"expert{number}"), inputs)
            results.append(result)
            saved.append(s)
        results = self.collect(results, x.shape[-1], *counts)
        weights = probabilities[routing.token, routing.expert][:, None]
        y = np.zeros_like(rows)
        np.add.at(y, routing.token, weights * results)  # a token comes back from k experts
        return y.reshape(x.shape), (rows, probabilities, routing, counts, saved, results)

    def backward(self, p, saved, dy, boundary=ALONE):
        """Gradients take the same ways: to the experts, and back to the tokens."""
        rows, probabilities, routing, counts, saved, results = saved
        shape, dy = dy.shape, dy.reshape(rows.shape)
        weights = probabilities[routing.token, routing.expert][:, None]
        arrived = self.dispatch(weights * dy[routing.token], *counts)
        gradients, back = {}, []
        first = self.shares[self.rank].start
        for number, (d, s) in enumerate(zip(arrived, saved, strict=True), first):
            name = f"expert{number}"
            d, g = mlp_backward(part(p, name), s, d)  # of no rows: gradients of 0
            back.append(d)
            gradients |= {f"{name}.{key}": value for key, value in g.items()}
        dx = np.zeros_like(rows)
        np.add.at(dx, routing.token, self.collect(back, rows.shape[1], *counts))
        dprobabilities = np.zeros_like(probabilities)
        dprobabilities[routing.token, routing.expert] = (dy[routing.token] * results).sum(-1)
        inner = (dprobabilities * probabilities).sum(-1, keepdims=True)
        dlogits = probabilities * (dprobabilities - inner)
        gradients["gate.weight"] = rows.T @ dlogits
        return (dx + dlogits @ p["gate.weight"].T).reshape(shape), gradients

    @property
    def feed(self):
        """The pair of functions that `model.block` takes in place of its two linear layers."""
        return self.forward, self.backward

    def dispatch(self, rows, sent, told):
        """Send rows, sorted by expert, to where the experts are; give one array for each of mine.

        `sent` is (E,), the rows for each expert; `told` (P, my experts), the rows from each rank.
        """
        cuts = np.cumsum([sent[s].sum() for s in self.shares])[:-1]
        shapes = [(int(n), rows.shape[1]) for n in told.sum(1)]
        arrived = alltoall(self.group, np.split(rows, cuts), shapes)
        pieces = [np.split(a, np.cumsum(n)[:-1]) for a, n in zip(arrived, told, strict=True)]
        return [np.concatenate([p[e] for p in pieces]) for e in range(told.shape[1])]

    def collect(self, results, width, sent, told):
        """Send every row back to where it came from: `dispatch` the other way round."""
        pieces = [np.split(r, np.cumsum(told[:, e])[:-1]) for e, r in enumerate(results)]
        parts = [
            np.concatenate([np.empty((0, width)), *(p[rank] for p in pieces)])
            for rank in range(self.size)
        ]
        shapes = [(int(sent[s].sum()), width) for s in self.shares]
        return np.concatenate(alltoall(self.group, parts, shapes))
