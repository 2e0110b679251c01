"""Around the training loop: batches by Scatter, loss and metrics by Reduce, results by Gather.

mpirun -n 4 python examples/training/batches_and_metrics.py

Only rank 0 has the text. It scatters each batch, and all ranks train on their shares. What a log
shows is needed on rank 0 alone: sums of losses, of right guesses and of tokens, and the worst
sequence come by Reduce. Afterwards rank 0 scatters beginnings, every rank continues its own, and
the texts are gathered: they arrive in the order of ranks, which is that of the beginnings.

Shares differ where P does not divide a batch, so the vector forms (Scatterv, Gatherv) are used, and
sums are divided by the number of tokens at the very end.
"""

import common
import model
import numpy as np
import units
from exchange import all_reduce, counts
from mpi4py import MPI


def scatter(group, rows, number, width):
    """Deal out `number` rows of `width` integers that rank 0 has; the others give None."""
    each = counts(number, group.size, width)
    mine = np.empty((each[group.rank] // width, width), np.int64)
    group.Scatterv(None if rows is None else [np.ascontiguousarray(rows), each], mine, root=0)
    return mine


def gather(group, rows, number):
    """The rows of all ranks on rank 0, in the order of ranks; None elsewhere."""
    width = rows.shape[1]
    whole = np.empty((number, width), np.int64) if group.rank == 0 else None
    each = counts(number, group.size, width)
    group.Gatherv(np.ascontiguousarray(rows), None if whole is None else [whole, each], root=0)
    return whole


def logits(config, p, tokens):
    """What the model thinks of every character after each of `tokens` (B, T)."""
    x = model.embed(p, tokens)
    for number in range(config.layers):
        x, _ = model.block(model.part(p, f"block{number}"), x, config.width // config.heads)
    return model.norm(p, "final", x)[0] @ p["embed.token"].T


def metrics(config, p, tokens, targets):
    """Sums of losses, right guesses and tokens; and the largest loss of a sequence."""
    guesses = logits(config, p, tokens)
    right = np.take_along_axis(model.softmax(guesses), targets[..., None], -1)[..., 0]
    losses = -np.log(right)
    hits = (guesses.argmax(-1) == targets).sum()
    return np.array([losses.sum(), hits, targets.size]), losses.mean(-1).max(initial=0)


def continued(config, p, tokens, number):
    """Append `number` characters, each time the likeliest one."""
    for _ in range(number):
        if len(tokens):
            likeliest = logits(config, p, tokens[:, -config.length :])[:, -1].argmax(-1)
            tokens = np.concatenate([tokens, likeliest[:, None]], axis=1)
        else:
            tokens = np.empty((0, tokens.shape[1] + 1), np.int64)
    return tokens


def main(argv=None, comm=None):
    run = common.start(
        __doc__, argv, comm, steps=10, batch=10, layers=1, prompts=5, prompt=6, generate=10
    )
    args, P, root = run.args, run.size, run.rank == 0
    text, alphabet = units.characters()
    config = model.Config(alphabet, layers=args.layers)
    width = config.length + 1
    batches = [units.batch(text, args.batch, config.length, run.random) for _ in range(args.steps)]
    windows = [np.concatenate([a, b[:, -1:]], axis=1) if root else None for a, b in batches]
    beginnings = units.batch(text, args.prompts, args.prompt, run.random)[0] if root else None
    data = run.group(run.mesh(data=P).comm("data"), "data")

    p = model.initial(config, args.seed)  # the same on all ranks, as the seed is
    optimizer, log = model.Adam(p), []
    for window in windows:
        window = scatter(data, window, args.batch, width)
        tokens, targets = window[:, :-1], window[:, 1:]
        sums, worst = metrics(config, p, tokens, targets)
        total, worst_of_all = np.zeros(3), np.zeros(1)
        data.Reduce(sums, total if root else None, op=MPI.SUM, root=0)
        data.Reduce(np.array([worst]), worst_of_all if root else None, op=MPI.MAX, root=0)
        if root:
            log.append([total[0] / total[2], total[1] / total[2], worst_of_all[0]])
        scale = 1 / (args.batch * config.length)
        _, gradients = model.loss_and_gradients(config, p, tokens, targets, scale)
        vector = all_reduce(data, np.concatenate([g.ravel() for g in gradients.values()]))
        shapes = {name: g.shape for name, g in gradients.items()}
        optimizer.step(p, units.views(vector, shapes))
    mine = scatter(data, beginnings, args.prompts, args.prompt)
    texts = gather(data, continued(config, p, mine, args.generate), args.prompts)

    # One process does it all; the others have nothing of their own to compare.
    alone = model.initial(config, args.seed)
    optimizer, reference = model.Adam(alone), []
    for tokens, targets in batches:
        sums, worst = metrics(config, alone, tokens, targets)
        reference.append([sums[0] / sums[2], sums[1] / sums[2], worst])
        optimizer.step(alone, model.loss_and_gradients(config, alone, tokens, targets)[1])
    names = ("loss", "share of right guesses", "worst sequence")
    for number, name in enumerate(names):
        found = np.array(reference)[:, number]
        run.check(name, np.array(log)[:, number] if root else found, found, 1e-11, common.ADAM)
    run.check("parameters", p, alone, 1e-11, common.ADAM)
    whole = continued(config, alone, beginnings, args.generate) if root else []
    run.check("texts", texts if root else [], whole, 0, "the same characters in the same order")

    steps, M = args.steps, sum(array.nbytes for array in p.values())
    batch, asked, told = (
        8 * (rows - counts(rows, P)[0]) * columns  # all rows but the root's own
        for rows, columns in (
            (args.batch, width),
            (args.prompts, args.prompt),
            (args.prompts, args.prompt + args.generate),
        )
    )
    scattered = common.Fraction(steps * batch + asked, P)
    run.expect("Scatterv", data, scattered, "rows of all but the root, sent by it", steps + 1)
    run.expect("Gatherv", data, common.Fraction(told, P), "rows of all but the root", 1)
    run.expect("Reduce", data, steps * common.moved(P, 24 + 8), "(P-1)/P 32 a step", 2 * steps)
    run.expect("Allreduce", data, steps * common.everything(P, M), "2(P-1)/P M a step", steps)
    if root:
        run.say(f"loss {log[0][0]:.4f} -> {log[-1][0]:.4f}")
        for row in texts:
            begin = units.spelled(row[: args.prompt])
            run.say(f"{begin!r} goes on {units.spelled(row[args.prompt :])!r}")
    return run.finish(
        losses=[line[0] for line in log],
        reference=[line[0] for line in reference],
        texts=[units.spelled(row) for row in texts] if root else [],
    )


if __name__ == "__main__":
    common.script(main)
