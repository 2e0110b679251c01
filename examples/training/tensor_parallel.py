"""Tensor parallel: every matrix of a transformer block is divided over the ranks (Megatron).

mpirun -n 4 python examples/training/tensor_parallel.py

Attention and MLP are each a column-parallel layer followed by a row-parallel one. A rank has some
heads: the columns of query, key and value that make them, and the rows of the output matrix that
take them up; and some hidden features of the MLP in the same way. Between the two layers nothing is
sent. Each pair needs one AllReduce forward, of what the rows give, and one backward, of the
gradient of what the columns took: four for a block and step. All else is on every rank and stays
equal there, as AllReduce gives all ranks the same bits.

Exercise: --mistake forward and --mistake backward leave one of the two out. What still learns?
"""

import common
import model
import units
from exchange import all_reduce
from model import named, part

# The axis along which a matrix is divided: columns or rows.
COLUMNS = ("query", "key", "value", "up")
ROWS = ("out", "down")


def cut(config, group, name, array):
    """Where this rank's share of a parameter of the whole model is, None for what all have."""
    *_, layer, kind = name.split(".")
    if layer not in COLUMNS + ROWS or (layer in ROWS and kind == "bias"):
        return None
    axis = 0 if layer in ROWS else array.ndim - 1
    items = config.hidden if layer in ("up", "down") else config.heads
    each = array.shape[axis] // items  # whole heads stay together
    found = common.share(items, group.size, group.rank)
    return (slice(None),) * axis + (slice(found.start * each, found.stop * each),)


def split(config, group, parameters):
    """This rank's part of the parameters (or gradients) of the whole model."""
    found = {}
    for name, array in parameters.items():
        where = cut(config, group, name, array)
        found[name] = array.copy() if where is None else array[where].copy()
    return found


def loss_and_gradients(config, p, tokens, targets, scale, boundary, start=0):
    """As model.py's for one process, with a `Boundary` around each pair of layers.

    The tokens may be a part of every sequence, which begins at position `start`.
    """
    head_size, blocks = config.width // config.heads, range(config.layers)
    x, saved = model.embed(p, tokens, start), []
    for number in blocks:
        x, kept = model.block(part(p, f"block{number}"), x, head_size, boundary)
        saved.append(kept)
    loss, kept = model.head(p, x, targets, scale)
    dx, gradients = model.head_backward(p, kept)
    for number in reversed(blocks):
        name = f"block{number}"
        dx, found = model.block_backward(part(p, name), saved.pop(), dx, boundary)
        gradients |= named(name, found)
    model.add(gradients, model.embed_backward(p, tokens, dx, start))
    return loss, gradients


def train_alone(config, parameters, batches):
    """The reference: one process has the whole model; changes it, gives losses and gradients."""
    optimizer, losses = model.Adam(parameters), []
    for tokens, targets in batches:
        loss, gradients = model.loss_and_gradients(config, parameters, tokens, targets)
        optimizer.step(parameters, gradients)
        losses.append(loss)
    return losses, gradients


def setup(run):
    """Model, text and batches of the programs of this kind."""
    text, alphabet = units.characters()
    args = run.args
    if args.heads < run.size or args.hidden < run.size:
        run.usage(f"--heads and --hidden must be at least {run.size}: a rank would have none")
    config = model.Config(
        alphabet, args.length, args.heads * args.head_size, args.heads, args.layers, args.hidden
    )
    batches = [units.batch(text, args.batch, args.length, run.random) for _ in range(args.steps)]
    return config, batches


OPTIONS = {"batch": 4, "length": 13, "heads": 9, "head_size": 4, "layers": 2, "hidden": 50}


def main(argv=None, comm=None):
    run = common.start(__doc__, argv, comm, **OPTIONS, mistake="none")
    if run.args.mistake not in ("none", "forward", "backward"):
        run.usage("--mistake must be none, forward or backward")
    config, batches = setup(run)
    tensor = run.group(run.mesh(tensor=run.size).comm("tensor"), "tensor")

    def total(x):
        return all_reduce(tensor, x)

    boundary = model.Boundary(
        leave=model.same if run.args.mistake == "forward" else total,
        enter_backward=model.same if run.args.mistake == "backward" else total,
    )
    whole = model.initial(config, run.args.seed)
    mine = split(config, tensor, whole)
    optimizer, losses = model.Adam(mine), []
    for tokens, targets in batches:
        loss, gradients = loss_and_gradients(
            config, mine, tokens, targets, 1 / targets.size, boundary
        )
        optimizer.step(mine, gradients)
        losses.append(loss)

    everywhere = {n: a for n, a in mine.items() if cut(config, tensor, n, whole[n]) is None}
    first = run.apart.bcast(everywhere)
    expected, last = train_alone(config, whole, batches)
    run.check("losses", losses, expected, 1e-12, common.ORDER)
    run.check("gradients", gradients, split(config, tensor, last), 1e-11, common.ADAM)
    run.check("parameters", mine, split(config, tensor, whole), 1e-11, common.ADAM)
    run.check("what all ranks have", everywhere, first, 0, "AllReduce: the same bits everywhere")

    P, calls = run.size, 2 * run.args.layers * run.args.steps
    M = 8 * run.args.batch * config.length * config.width
    for when, mistake in (("forward", "forward"), ("backward", "backward")):
        if run.args.mistake != mistake:
            formula = "2(P-1)/P M, 2 + 2 a block and step"
            run.expect("Allreduce", tensor, calls * common.everything(P, M), formula, calls)
        else:
            run.say(f"left out: AllReduce {when}")
    run.say(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}; M = {M} bytes of activations")
    return run.finish(losses=losses, reference=expected, bytes=M)


if __name__ == "__main__":
    common.script(main)
