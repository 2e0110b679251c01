"""Sequence parallel: what tensor parallelism leaves whole is divided along the sequence.

mpirun -n 4 python examples/training/sequence_parallel.py

Outside attention and MLP a rank has some positions of every sequence only: LayerNorm, residuals,
embedding, head and the memory for their activations are divided too (Korthikanti & al. 2022). A
pair of layers, divided as in tensor_parallel.py, is entered by AllGather along the sequence and
left by ReduceScatter; backward, each is the other. Together they send what the AllReduce sent.

Parameters that all ranks have now see some positions on each rank: their gradients are sums over
ranks, by one AllReduce. Exercise: --mistake layernorm leaves it out. What do the losses say?
"""

import common
import model
import numpy as np
import tensor_parallel as tp
from exchange import all_gather, all_reduce, mine, reduce_scatter


def main(argv=None, comm=None):
    run = common.start(__doc__, argv, comm, **tp.OPTIONS, mistake="none")
    if run.args.mistake not in ("none", "layernorm"):
        run.usage("--mistake must be none or layernorm")
    config, batches = tp.setup(run)
    tensor = run.group(run.mesh(tensor=run.size).comm("tensor"), "tensor")

    def gather(x):
        return all_gather(tensor, x, config.length, axis=1)

    def scatter(x):
        return reduce_scatter(tensor, x, axis=1)

    boundary = model.Boundary(
        enter=gather, leave=scatter, enter_backward=scatter, leave_backward=gather
    )
    whole = model.initial(config, run.args.seed)
    p = tp.split(config, tensor, whole)
    everywhere = [n for n in p if tp.cut(config, tensor, n, whole[n]) is None]
    start = common.share(config.length, tensor.size, tensor.rank).start
    optimizer, losses = model.Adam(p), []
    for tokens, targets in batches:
        loss, gradients = tp.loss_and_gradients(
            config,
            p,
            mine(tensor, tokens, axis=1),
            mine(tensor, targets, axis=1),
            1 / targets.size,
            boundary,
            start,
        )
        # One vector for all: the loss of these positions, and gradients that are parts of sums.
        parts = [gradients[name] for name in everywhere]
        vector = np.concatenate([[loss], *(array.ravel() for array in parts)])
        total = all_reduce(tensor, vector)
        losses.append(total[0])
        if run.args.mistake != "layernorm":
            at = 1
            for name in everywhere:
                size = gradients[name].size
                gradients[name] = total[at : at + size].reshape(gradients[name].shape)
                at += size
        optimizer.step(p, gradients)

    expected, last = tp.train_alone(config, whole, batches)
    run.check("losses", losses, expected, 1e-12, common.ORDER)
    run.check("gradients", gradients, tp.split(config, tensor, last), 1e-11, common.ADAM)
    run.check("parameters", p, tp.split(config, tensor, whole), 1e-11, common.ADAM)
    first = run.apart.bcast({name: p[name] for name in everywhere})
    same = {name: p[name] for name in everywhere}
    run.check("what all ranks have", same, first, 0, "AllReduce: the same bits everywhere")

    P, steps, calls = run.size, run.args.steps, 4 * run.args.layers * run.args.steps
    M = 8 * run.args.batch * config.length * config.width
    moved = calls * common.moved(P, M)
    run.expect("Allgatherv", tensor, moved, "(P-1)/P M, 2 + 2 a block and step", calls)
    run.expect("Reduce_scatter", tensor, moved, "(P-1)/P M, 2 + 2 a block and step", calls)
    run.expect(
        "Allreduce", tensor, steps * common.everything(P, vector.nbytes), "2(P-1)/P U a step", steps
    )
    run.say(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}; M = {M} bytes of activations,")
    run.say(f"U = {vector.nbytes} bytes: the loss, and gradients of what all ranks have")
    return run.finish(losses=losses, reference=expected, bytes=M)


if __name__ == "__main__":
    common.script(main)
