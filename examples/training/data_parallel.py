"""Data parallel: every rank has the whole model and its share of the batch; gradients are summed.

mpirun -n 4 python examples/training/data_parallel.py

Parameters are broadcast first, so that all replicas start equal. In the backward pass a *bucket* of
gradients is sent off by Iallreduce as soon as it is full, while the gradients of earlier layers are
still being computed. Loss and gradients are sums over samples divided by the size of the whole
batch: a mean of the ranks' means would be wrong where shares differ.

Exercise: --mistake sum, mean, broadcast, tied or tail plants a classic one. What will be wrong?
"""

import common
import model
import numpy as np
import units

MISTAKES = ("none", "sum", "mean", "broadcast", "tied", "tail")


def cut_into_buckets(shapes, nbytes):
    """Lists of consecutive units, each of at least `nbytes` (8 for a number), but for the last."""
    buckets, current = [], []
    for unit in shapes:
        current.append(unit)
        if 8 * sum(units.length(shapes[u]) for u in current) >= nbytes:
            buckets, current = [*buckets, current], []
    return [*buckets, current] if current else buckets


class Buckets:
    """Gradients in the order in which they are finished, and the requests of those on their way."""

    def __init__(self, group, shapes, nbytes):
        self.group, self.shapes = group, shapes
        self.buckets = cut_into_buckets(shapes, nbytes)
        self.places, end = {}, 0
        for unit in shapes:
            begin, end = end, end + units.length(shapes[unit])
            self.places[unit] = slice(begin, end)
        self.mine, self.total = np.zeros(end), np.zeros(end)
        self.requests, self.arrived = [], 0

    def ready(self, unit, gradients):
        """Store the gradients of a unit; if its bucket is full, start summing it over the ranks."""
        self.mine[self.places[unit]] = units.joined(gradients, self.shapes[unit])
        for bucket in self.buckets:
            if bucket[-1] == unit:  # units come in order: the last one fills the bucket
                place = slice(self.places[bucket[0]].start, self.places[unit].stop)
                self.requests.append(self.group.Iallreduce(self.mine[place], self.total[place]))
        # A test moves messages along before the next layer is computed.
        self.arrived = sum(request.Test() for request in self.requests)

    def sums(self):
        """Wait for all buckets; the summed gradients by unit."""
        for request in self.requests:
            request.Wait()
        self.requests.clear()
        return {unit: self.total[place] for unit, place in self.places.items()}


def train(run, group, config, flat, batches):
    """Train the parameters `flat` (a vector for every unit) in place.

    Gives the losses, the last gradients, and how many buckets had arrived on this rank in each step
    when its backward pass was done.
    """
    mistake, shapes = run.args.mistake, units.shapes(config)
    buckets = Buckets(group, shapes, run.args.bucket)
    optimizer = model.Adam(flat)
    losses, arrived = [], []
    for tokens, targets in batches:
        sequences = len(tokens)
        if mistake == "tail":
            sequences -= sequences % group.size
        mine = common.share(sequences, group.size, group.rank)
        divisor = {"sum": sequences / group.size, "mean": group.size * (mine.stop - mine.start)}
        loss = units.loss_and_gradients(
            config,
            lambda unit: units.views(flat[unit], shapes[unit]),
            tokens[mine],
            targets[mine],
            1 / (divisor.get(mistake, sequences) * config.length),
            buckets.ready,
            tied=mistake != "tied",
        )
        arrived.append(buckets.arrived)
        summed = np.empty(1)
        group.Allreduce(np.array([loss]), summed)
        losses.append(summed[0])
        gradients = buckets.sums()
        optimizer.step(flat, gradients)
    return losses, gradients, arrived


def main(argv=None, comm=None):
    run = common.start(
        __doc__, argv, comm, steps=10, batch=10, layers=3, bucket=50_000, mistake="none"
    )
    if run.args.mistake not in MISTAKES:
        run.usage(f"--mistake must be one of {', '.join(MISTAKES)}")
    text, alphabet = units.characters()
    config = model.Config(alphabet, layers=run.args.layers)
    batches = [
        units.batch(text, run.args.batch, config.length, run.random) for _ in range(run.args.steps)
    ]

    # Every rank makes its own random parameters, and gets those of rank 0.
    flat = units.initial(config, run.args.seed + run.rank)
    data = run.group(run.mesh(data=run.size).comm("data"), "data")
    if run.args.mistake != "broadcast":
        for vector in flat.values():
            data.Bcast(vector)
    losses, gradients, arrived = train(run, data, config, flat, batches)

    # The whole batch on one process, from rank 0's parameters.
    alone = units.initial(config, run.args.seed)
    expected, last = units.train_alone(config, alone, batches, model.Adam(alone))
    run.check("losses", losses, expected, 1e-12, common.ORDER)
    run.check("gradients", gradients, last, 1e-11, common.ORDER)
    run.check("parameters", flat, alone, 1e-11, common.ADAM)

    P, steps = run.size, run.args.steps
    M = sum(vector.nbytes for vector in flat.values())
    buckets = len(cut_into_buckets(units.shapes(config), run.args.bucket))
    if run.args.mistake != "broadcast":
        run.expect("Bcast", data, common.moved(P, M), "(P-1)/P M, once", len(flat))
    run.expect(
        "Allreduce",
        data,
        steps * (common.everything(P, M) + common.everything(P, 8)),
        "2(P-1)/P (M + 8) a step",
        steps * (buckets + 1),
    )
    run.say(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}; M = {M} bytes in {buckets} buckets")
    early = np.mean(arrived) if arrived else 0
    run.say(f"on rank 0, {early:.1f} of them had arrived when the backward pass was done")
    return run.finish(losses=losses, reference=expected, bytes=M, arrived=arrived)


if __name__ == "__main__":
    common.script(main)
