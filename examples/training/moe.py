"""Mixture of experts: tokens travel to their experts and back by AllToAll (expert parallelism).

Every rank has its own sequences, all of the model but the experts, and some of the experts. In each
block a token is sent to its k best experts, wherever they are (Alltoallv: the counts are uneven and
change with every batch), and the results come back. Gradients of what all ranks have are summed
over the ranks; those of an expert are complete where it is, since all its tokens came there.

mpirun -n 4 python examples/training/moe.py
mpirun -n 3 python examples/training/moe.py --experts 4 --k 1 --batch 7 --capacity 0.5
mpirun -n 4 python examples/training/moe.py --experts 3      # a rank without experts

Exercise: --mistake passed, average or capacity plants a classic one. What will be wrong, and when?
"""

from fractions import Fraction

import common
import numpy as np
from common import everything, share
from experts import Experts, capacity_of, expert_of, route, with_experts
from model import (
    ALONE,
    Adam,
    Config,
    initial,
    loss_and_gradients,
    mlp,
    mlp_backward,
    part,
    softmax,
)
from packing import sum_gradients

TOLERANCE, WHY = 1e-13, "sums in another order: some roundings (1e-16) in each step"
OPTIONS = {"length": 8, "width": 12, "heads": 2, "layers": 2, "batch": 8, "vocabulary": 23}
OPTIONS |= {"experts": 6, "k": 2, "capacity": 1.25, "mistake": "none"}


class AllExperts:
    """The same layer in one process, as plainly as can be: every expert computes every token.

    A matrix (tokens, experts) of weights is 0 where a token does not go. Capacities are those of
    the ranks, so the tokens of each are routed apart: `shares` are slices of the sequences.
    """

    def __init__(self, shares, number, k, factor):
        self.shares, self.number, self.k, self.factor = shares, number, k, factor
        self.routings = []  # for each call, those of all ranks

    def forward(self, p, x, boundary=ALONE):
        """Sum the results of all experts, weighted."""
        rows = x.reshape(-1, x.shape[-1])
        probabilities = softmax(rows @ p["gate.weight"])
        chosen, routings = np.zeros_like(probabilities), []
        for s in self.shares:
            mine = slice(s.start * x.shape[1], s.stop * x.shape[1])
            capacity = capacity_of(mine.stop - mine.start, self.number, self.k, self.factor)
            routings.append(route(probabilities[mine], self.k, capacity))
            chosen[mine][routings[-1].token, routings[-1].expert] = 1
        self.routings.append(routings)
        results = [mlp(part(p, f"expert{e}"), rows) for e in range(self.number)]
        weights = chosen * probabilities
        y = sum(weights[:, [e]] * result for e, (result, _) in enumerate(results))
        return y.reshape(x.shape), (rows, probabilities, chosen, results)

    def backward(self, p, saved, dy, boundary=ALONE):
        """Go back through all experts."""
        rows, probabilities, chosen, results = saved
        shape, dy = dy.shape, dy.reshape(rows.shape)
        gradients, dx, dprobabilities = {}, 0, np.zeros_like(probabilities)
        for e, (result, s) in enumerate(results):
            weight = (chosen * probabilities)[:, [e]]
            d, g = mlp_backward(part(p, f"expert{e}"), s, weight * dy)
            dx = dx + d
            gradients |= {f"expert{e}.{name}": value for name, value in g.items()}
            dprobabilities[:, e] = chosen[:, e] * (dy * result).sum(-1)
        jacobian = np.einsum("ti,ij->tij", probabilities, np.eye(self.number))
        jacobian -= np.einsum("ti,tj->tij", probabilities, probabilities)
        dlogits = np.einsum("tij,tj->ti", jacobian, dprobabilities)
        gradients["gate.weight"] = rows.T @ dlogits
        return (dx + dlogits @ p["gate.weight"].T).reshape(shape), gradients

    @property
    def feed(self):
        """The pair of functions that `model.block` takes."""
        return self.forward, self.backward


class Passed(Experts):
    """A mistake: tokens that were dropped are passed on twice, here and by the residual."""

    def forward(self, p, x, boundary=ALONE):
        """Add the tokens that no expert took."""
        y, saved = super().forward(p, x, boundary)
        missing = np.ones((x.shape[0] * x.shape[1], 1))
        missing[saved[2].token] = 0
        return y + x * missing.reshape(*x.shape[:2], 1), saved


class Capacity(Experts):
    """A mistake: the capacity of the whole batch where only one rank's tokens are counted."""

    def __init__(self, group, number, k, factor):
        super().__init__(group, number, k, factor * group.Get_size())


MISTAKES = {"none": Experts, "average": Experts, "passed": Passed, "capacity": Capacity}


def train(config, parameters, batches, compute):
    """Train in place; losses and the last gradients."""
    adam, losses = Adam(parameters), []
    for batch in batches:
        loss, gradients = compute(parameters, *batch)
        losses.append(loss)
        adam.step(parameters, gradients)
    return losses, gradients


def main(argv=None, comm=None):
    run = common.start(__doc__, argv, comm, **OPTIONS)
    args, P = run.args, run.size
    if not 1 <= args.k <= args.experts:
        run.usage(f"--k {args.k} is not between 1 and --experts {args.experts}")
    if args.mistake not in MISTAKES:
        run.usage(f"--mistake must be one of {', '.join(MISTAKES)}")
    config = Config(
        args.vocabulary, args.length, args.width, args.heads, args.layers, 2 * args.width
    )
    batches = [
        run.random.integers(config.vocabulary, size=(2, args.batch, config.length))
        for _ in range(args.steps)
    ]
    shares = [share(args.batch, P, rank) for rank in range(P)]
    routing = args.experts, args.k, args.capacity

    whole = with_experts(config, initial(config, args.seed), args.experts, args.seed + 1)
    everywhere = AllExperts(shares, *routing)
    experts = MISTAKES[args.mistake](run.group(run.keep(run.comm.Dup()), "expert"), *routing)
    here = range(args.experts)[experts.shares[run.rank]]
    mine = {n: p.copy() for n, p in whole.items() if expert_of(n) in (None, *here)}

    def compute(parameters, tokens, targets):
        own = shares[run.rank]
        loss, gradients = loss_and_gradients(
            config, parameters, tokens[own], targets[own], 1 / targets.size, feed=experts.feed
        )
        if args.mistake == "average":  # as of what all ranks have: but an expert's are complete
            gradients = {n: g if expert_of(n) is None else g / P for n, g in gradients.items()}
        shared = {n: g for n, g in gradients.items() if expert_of(n) is None}
        shared["loss"] = np.array([loss])
        sum_gradients(run.world, shared)
        return shared.pop("loss")[0], gradients | shared

    losses, last = train(config, mine, batches, compute)
    reference, last_of_one = train(
        config,
        whole,
        batches,
        lambda p, *batch: loss_and_gradients(config, p, *batch, feed=everywhere.feed),
    )
    run.check("losses", losses, reference, TOLERANCE, WHY)
    run.check("last gradients", last, {n: last_of_one[n] for n in last}, TOLERANCE, WHY)
    run.check("parameters", mine, {n: whole[n] for n in mine}, TOLERANCE, WHY)
    expect(run, experts, everywhere, mine)
    return run.finish(losses=losses, single=reference, **summary(run, everywhere))


def expect(run, experts, everywhere, mine):
    """State what must be sent; how many rows leave their rank is the reference's routing."""
    P, calls = run.size, len(everywhere.routings)
    away = sum(
        int(routing.counts.sum() - routing.counts[experts.shares[rank]].sum())
        for routings in everywhere.routings
        for rank, routing in enumerate(routings)
    )
    row, told = run.args.width * 8, 8 * experts.number * (P - 1)
    run.expect(
        "Alltoallv",
        experts.group,
        Fraction(4 * away * row + calls * told, P),
        "4 rows away x D + (P-1)/P E, 8 bytes each",
        5 * calls,
    )
    vector = 8 * (1 + sum(p.size for n, p in mine.items() if expert_of(n) is None))
    run.expect(
        "Allreduce", run.world, run.args.steps * everything(P, vector), "2(P-1)/P N", run.args.steps
    )


def summary(run, everywhere):
    """Say how even the work was, and what was dropped."""
    counts = np.array([[r.counts for r in routings] for routings in everywhere.routings]).sum(1)
    dropped = sum(r.dropped for routings in everywhere.routings for r in routings)
    found = {
        "rows": int(counts.sum()),
        "dropped": dropped,
        "empty": int((counts == 0).sum()),
        "busiest": float(counts.max(1).mean() / counts.mean()),
    }
    run.say(
        f"{found['rows']} rows to experts, {dropped} dropped; {found['empty']} times an expert got "
        f"none; the busiest expert had {found['busiest']:.2f} times the mean"
    )
    return found


if __name__ == "__main__":
    common.script(main)
