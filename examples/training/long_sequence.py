"""Sequences too long for one rank: AllGather, Ulysses (AllToAll) and ring attention train a GPT.

Every rank has the whole model and a part of every sequence (context parallelism). Only attention
looks at other positions; everything else happens to each position alone. Gradients are summed over
the ranks at the end of a step. Positions and heads need not divide evenly among the ranks.

mpirun -n 4 python examples/training/long_sequence.py
mpirun -n 3 python examples/training/long_sequence.py --length 20 --heads 5 --width 20
mpirun -n 4 python examples/training/long_sequence.py --native
"""

from fractions import Fraction
from functools import partial

import common
import numpy as np
from attentions import METHODS, lengths
from common import everything, moved, share
from model import Adam, Config, initial, loss_and_gradients
from packing import sum_gradients

TOLERANCE, WHY = 1e-13, "sums in another order: some roundings (1e-16) in each step"
OPTIONS = {"length": 16, "width": 16, "heads": 4, "layers": 2, "batch": 2, "vocabulary": 23}


def losses_of(config, parameters, batches, compute):
    """Train `parameters` in place; give the loss of every step, and the last gradients."""
    adam, losses = Adam(parameters), []
    for tokens, targets in batches:
        loss, gradients = compute(config, parameters, tokens, targets)
        losses.append(loss)
        adam.step(parameters, gradients)
    return losses, gradients


def compute(group, shares, method, config, parameters, tokens, targets):
    """Do one step's passes with one's own positions; loss and gradients are summed over ranks."""
    mine = shares[group.Get_rank()]
    forward, backward = METHODS[method]
    loss, gradients = loss_and_gradients(
        config,
        parameters,
        tokens[:, mine],
        targets[:, mine],
        scale=1 / targets.size,  # of the whole sequence: parts need not be equally long
        start=mine.start,
        attend=(partial(forward, group, shares), partial(backward, group)),
    )
    gradients["loss"] = np.array([loss])
    sum_gradients(group, gradients)
    return gradients.pop("loss")[0], gradients


def expect(run, group, shares, method, config, batch, steps, parameters):
    """State what must be sent: M is the size of q, k or v of all positions and heads."""
    P, layers = run.size, config.layers * steps
    position = batch * config.width * 8
    M = config.length * position
    if method == "allgather":
        run.expect("Allgatherv", group, layers * moved(P, 2 * M), "(P-1)/P 2M", layers)
        run.expect("Reduce_scatter", group, layers * moved(P, 2 * M), "(P-1)/P 2M", layers)
    elif method == "ulysses":
        # Each rank keeps its own positions of its own heads; (P-1)/P M/P if all shares are equal.
        heads = lengths([share(config.heads, P, rank) for rank in range(P)])
        kept = sum(map(np.multiply, lengths(shares), heads)) * position // config.heads
        nbytes = Fraction(8 * (M - int(kept)), P) * layers
        run.expect("Alltoallv", group, nbytes, "8 (M - kept)/P", 4 * layers)
    elif P > 1:
        run.expect("Send", group, layers * moved(P, 4 * M), "(P-1)/P 4M", layers * 2 * (P - 1))
        run.expect("Send", group, layers * 2 * M, "(P-1)/P 4M + 2M", layers * P)
    vector = 8 * (1 + sum(p.size for p in parameters.values()))
    run.expect("Allreduce", group, steps * everything(P, vector), "2(P-1)/P N", steps)


def main(argv=None, comm=None):
    run = common.start(__doc__, argv, comm, **OPTIONS)
    args = run.args
    if args.width % args.heads:
        run.usage(f"--width {args.width} is no multiple of --heads {args.heads}")
    config = Config(
        args.vocabulary, args.length, args.width, args.heads, args.layers, 4 * args.width
    )
    batches = [
        run.random.integers(config.vocabulary, size=(2, args.batch, config.length))
        for _ in range(args.steps)
    ]
    shares = [share(config.length, run.size, rank) for rank in range(run.size)]
    expected = initial(config, args.seed)
    reference, last = losses_of(config, expected, batches, loss_and_gradients)

    results = {}
    for method in METHODS:
        group = run.group(run.keep(run.comm.Dup()), method)
        parameters = initial(config, args.seed)
        losses, gradients = losses_of(
            config, parameters, batches, partial(compute, group, shares, method)
        )
        expect(run, group, shares, method, config, args.batch, args.steps, parameters)
        results[method] = losses
        run.check(f"{method}: losses", losses, reference, TOLERANCE, WHY)
        run.check(f"{method}: last gradients", vector(gradients), vector(last), TOLERANCE, WHY)
        run.check(f"{method}: parameters", vector(parameters), vector(expected), TOLERANCE, WHY)
    return run.finish(losses=results, single=reference)


def vector(arrays):
    """Put all arrays into one vector, in the order of their names."""
    return np.concatenate([arrays[name].ravel() for name in sorted(arrays)])


if __name__ == "__main__":
    common.script(main)
