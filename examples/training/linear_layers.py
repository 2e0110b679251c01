"""Column- and row-parallel linear layers: which primitive does which of them need, and when?

mpirun -n 4 python examples/training/linear_layers.py

The network is x = Z B, y = x A with the loss |y - t|^2 / 2n; A is divided over the ranks.

    columns of A split: every rank has its columns of y, and no sum is needed forward. Each rank
    knows only its part of dx = dy A^T = sum of dy_r A_r^T: backward needs the sum (AllReduce).
    rows of A split: with its features of x, every rank has a partial y = sum of x_r A_r: forward
    needs the sum (AllReduce). dx_r = dy A_r^T is complete: backward needs nothing.

The other forms move the same sums and pieces elsewhere: see the table that is printed. All train,
and are compared with one process that has A as a whole. Exercise: leave one communication out.
"""

import common
import numpy as np
from exchange import all_gather, all_reduce, mine, reduce_scatter

from mpicoll.commands.units import table

# Forward takes x and this rank's share of A, and gives y and what backward needs of x; backward
# gives dx and dA. `shape` is that of the whole y. Features are columns, samples rows, of x and y.


def column(group, x, a, shape):
    """From x whole to y's own features; nothing is sent."""
    return x @ a, x


def column_backward(group, x, a, dy, shape):
    """From dy's own features to dx whole, by AllReduce."""
    return all_reduce(group, dy @ a.T), x.T @ dy


def row(group, x, a, shape):
    """From x's own features to y whole, by AllReduce."""
    return all_reduce(group, x @ a), x


def row_backward(group, x, a, dy, shape):
    """From dy whole to dx's own features; nothing is sent."""
    return dy @ a.T, x.T @ dy


def gathered_column(group, x, a, shape):
    """From x whole to y whole, by AllGather of features."""
    return all_gather(group, x @ a, shape[1], axis=1), x


def gathered_column_backward(group, x, a, dy, shape):
    """From dy whole, of which a rank takes its features to dx whole, by AllReduce."""
    return column_backward(group, x, a, mine(group, dy, axis=1), shape)


def sequence_column(group, x, a, shape):
    """From x's own samples, by AllGather, to y's own features of all samples."""
    x = all_gather(group, x, shape[0])
    return x @ a, x


def sequence_column_backward(group, x, a, dy, shape):
    """From dy's own features to dx's own samples, by ReduceScatter."""
    return reduce_scatter(group, dy @ a.T), x.T @ dy


def sequence_row(group, x, a, shape):
    """From x's own features of all samples to y's own samples, by ReduceScatter."""
    return reduce_scatter(group, x @ a), x


def sequence_row_backward(group, x, a, dy, shape):
    """From dy's own samples, by AllGather, to dx's own features of all samples."""
    dy = all_gather(group, dy, shape[0])
    return dy @ a.T, x.T @ dy


# name: forward, backward, the axis of A, and how x and y lie.
FORMS = {
    "column": (column, column_backward, 1, "whole", "features"),
    "row": (row, row_backward, 0, "features", "whole"),
    "gathered column": (gathered_column, gathered_column_backward, 1, "whole", "whole"),
    "sequence column": (sequence_column, sequence_column_backward, 1, "samples", "features"),
    "sequence row": (sequence_row, sequence_row_backward, 0, "features", "samples"),
}


def lying(group, array, how):
    """What a rank has of an array that lies so."""
    return array if how == "whole" else mine(group, array, ["samples", "features"].index(how))


def train(run, layer, rest, form, z, b, a, t):
    """Train B and A, or this rank's shares of them, in place: losses, gradients of both.

    The layer's own communication is in the group `layer`, what the rest of the network needs in
    `rest`.
    """
    forward, backward, _, x_lies, y_lies = FORMS[form]
    my_z = lying(rest, z, "samples" if x_lies == "samples" else "whole")
    my_t = lying(rest, t, y_lies)
    losses = []
    for _ in range(run.args.steps):
        y, kept = forward(layer, my_z @ b, a, t.shape)
        error = y - my_t
        loss = (error**2).sum() / (2 * len(z))
        losses.append(loss if y_lies == "whole" else all_reduce(rest, np.array([loss]))[0])
        dx, da = backward(layer, kept, a, error / len(z), t.shape)
        db = my_z.T @ dx
        if x_lies == "samples":  # each rank knows what its samples contribute
            db = all_reduce(rest, db)
        b -= run.args.rate * db
        a -= run.args.rate * da
    return losses, da, db


def alone(run, z, b, a, t):
    """The same on one process."""
    losses = []
    for _ in range(run.args.steps):
        x = z @ b
        error = x @ a - t
        losses.append((error**2).sum() / (2 * len(z)))
        da, db = x.T @ error / len(z), z.T @ (error @ a.T) / len(z)
        b -= run.args.rate * db
        a -= run.args.rate * da
    return losses, da, db


def expect(run, layer, form, X, Y):
    """What a form sends in one step, from the bytes of x and of y."""
    P, steps = run.size, run.args.steps
    sent = {
        "column": [("Allreduce", "backward", 2, X, "X")],
        "row": [("Allreduce", "forward", 2, Y, "Y")],
        "gathered column": [
            ("Allgatherv", "forward", 1, Y, "Y"),
            ("Allreduce", "backward", 2, X, "X"),
        ],
        "sequence column": [
            ("Allgatherv", "forward", 1, X, "X"),
            ("Reduce_scatter", "backward", 1, X, "X"),
        ],
        "sequence row": [
            ("Reduce_scatter", "forward", 1, Y, "Y"),
            ("Allgatherv", "backward", 1, Y, "Y"),
        ],
    }[form]
    for primitive, when, times, nbytes, name in sent:
        before = "2(P-1)/P" if times == 2 else "(P-1)/P"
        formula = f"{before} {name} a step, {when}"
        run.expect(primitive, layer, steps * times * common.moved(P, nbytes), formula, steps)
    return [form, *(" + ".join(p for p, w, *_ in sent if w == when) or "-" for when in WHEN)]


WHEN = ("forward", "backward")


def main(argv=None, comm=None):
    run = common.start(__doc__, argv, comm, samples=11, width=13, inside=10, outputs=9, rate=0.05)
    n, width, inside, outputs = (
        getattr(run.args, name) for name in ("samples", "width", "inside", "outputs")
    )
    z, t = run.random.normal(size=(n, width)), run.random.normal(size=(n, outputs))
    b = run.random.normal(0, width**-0.5, (width, inside))
    a = run.random.normal(0, inside**-0.5, (inside, outputs))
    whole = a.copy(), b.copy()
    expected, da, db = alone(run, z, *reversed(whole), t)
    rows = []
    for form, (_, _, axis, x_lies, y_lies) in FORMS.items():
        layer = run.group(run.mesh(tensor=run.size).comm("tensor"), form)
        rest = run.group(run.mesh(tensor=run.size).comm("tensor"), f"{form}, rest")
        b_lies = "features" if x_lies == "features" else "whole"
        my_b, my_a = lying(rest, b, b_lies).copy(), mine(rest, a, axis).copy()
        losses, my_da, my_db = train(run, layer, rest, form, z, my_b, my_a, t)
        run.check(f"{form}: losses", losses, expected, 1e-13, common.ORDER)
        for what, mine_is, of_one in (
            ("gradients", (my_da, my_db), (da, db)),
            ("weights", (my_a, my_b), whole),
        ):
            reference = {
                "A": mine(rest, of_one[0], axis),
                "B": lying(rest, of_one[1], b_lies),
            }
            found = dict(zip("AB", mine_is, strict=True))
            run.check(f"{form}: {what}", found, reference, 1e-12, common.ORDER)
        rows.append(expect(run, layer, form, 8 * n * inside, 8 * n * outputs))
        sums = (y_lies != "whole") * 8 + (x_lies == "samples") * b.nbytes
        if sums:
            nbytes = run.args.steps * common.everything(run.size, sums)
            run.expect("Allreduce", rest, nbytes, "2(P-1)/P (loss, dB) a step")
    run.say(table(["layer", *WHEN], rows, left=3))
    return run.finish(losses=losses, reference=expected)


if __name__ == "__main__":
    common.script(main)
