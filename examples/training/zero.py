"""ZeRO: data parallel without keeping everything everywhere (Rajbhandari & al. 2020).

mpirun -n 4 python examples/training/zero.py

    stage 0  everything on every rank: AllReduce of gradients
    stage 1  Adam's sums divided: ReduceScatter of gradients, update of one's own share of the
             parameters, AllGather of parameters
    stage 2  gradients divided too: each unit's ReduceScatter when it is ready, the rest is dropped
    stage 3  parameters divided too: AllGather of a unit whenever it is used, forward and backward

Every unit (see units.py) is cut into P shares. Memory is measured by tracemalloc, which NumPy tells
about its arrays: what is held at the end of the backward pass, scratch memory of the collectives
apart, and the most within a step. All numbers are float64: parameters, gradients and Adam's two
sums are 4 times M bytes.
"""

import gc
import tracemalloc
from pathlib import Path

import common
import model
import numpy as np
import units
from exchange import all_gather, all_reduce, reduce_scatter

import mpicoll
from mpicoll.commands.units import table

SCRATCH = str(Path(mpicoll.__file__).parent / "*")
STAGES = range(4)


class Zero:
    """Parameters, gradients and optimizer of one rank."""

    def __init__(self, group, stage, config, flat):
        self.group, self.stage, self.shapes = group, stage, units.shapes(config)
        self.whole = {} if stage == 3 else flat
        self.own = flat if stage == 0 else {unit: self.cut(v) for unit, v in flat.items()}
        if stage == 3:
            self.own = {unit: share.copy() for unit, share in self.own.items()}
        self.optimizer = model.Adam(self.own)
        self.gradients = {}

    def cut(self, vector):
        """This rank's share of a unit, in the same memory."""
        return vector[common.share(len(vector), self.group.size, self.group.rank)]

    def gathered(self, unit):
        """A unit from all ranks' shares."""
        return all_gather(self.group, self.own[unit], units.length(self.shapes[unit]))

    def fetch(self, unit):
        """The parameters of a unit; in stage 3 they are dropped after use."""
        vector = self.gathered(unit) if self.stage == 3 else self.whole[unit]
        return units.views(vector, self.shapes[unit])

    def ready(self, unit, gradients):
        """Take the gradients of a unit; from stage 2 on, keep the share of their sum only."""
        vector = units.joined(gradients, self.shapes[unit])
        self.gradients[unit] = reduce_scatter(self.group, vector) if self.stage >= 2 else vector

    def step(self):
        """Sum what has not been summed, and update the parameters."""
        if self.stage == 0:
            for unit, vector in self.gradients.items():
                self.gradients[unit] = all_reduce(self.group, vector)
        if self.stage == 1:
            for unit, vector in self.gradients.items():
                self.gradients[unit] = reduce_scatter(self.group, vector)
        self.optimizer.step(self.own, self.gradients)
        if self.stage in (1, 2):
            for unit in self.own:
                self.whole[unit][:] = self.gathered(unit)


def arrays():
    """Bytes of all arrays now: the program's own, and scratch that mpicoll keeps for its plans."""
    numpy = tracemalloc.DomainFilter(True, np.lib.tracemalloc_domain)
    snapshot = tracemalloc.take_snapshot().filter_traces([numpy])
    own = snapshot.filter_traces([tracemalloc.Filter(False, SCRATCH)])
    sizes = [sum(trace.size for trace in found.traces) for found in (snapshot, own)]
    return np.array([sizes[1], sizes[0] - sizes[1]])


def train(run, stage, group, loss_group, config, batches):
    """Train from the common beginning: losses, the state afterwards, memory.

    Memory is that of arrays held after the first backward pass (own, scratch), and the most that
    was there in one of the later steps.
    """
    gc.collect()
    before, everything = arrays(), tracemalloc.get_traced_memory()[0]
    zero = Zero(group, stage, config, units.initial(config, run.args.seed))
    losses, held, most = [], None, 0
    for number, (tokens, targets) in enumerate(batches):
        tracemalloc.reset_peak()
        mine = common.share(len(tokens), group.size, group.rank)
        scale = 1 / targets.size
        loss = units.loss_and_gradients(
            config, zero.fetch, tokens[mine], targets[mine], scale, zero.ready
        )
        if number == 0:  # a snapshot takes memory too, so the peak is that of the other steps
            held = arrays() - before
        zero.step()
        if number:
            most = max(most, tracemalloc.get_traced_memory()[1] - everything)
        losses.append(all_reduce(loss_group, np.array([loss]))[0])
    return losses, zero, held, most


def expect(run, stage, group, M, ends, calls):
    """What a stage sends: M bytes of parameters, `ends` of them in the unit that is kept a step."""
    P, steps = run.size, run.args.steps
    once = steps * common.moved(P, M)
    if stage == 0:
        run.expect("Allreduce", group, 2 * once, "2(P-1)/P M a step", calls)
        return
    run.expect("Reduce_scatter", group, once, "(P-1)/P M a step", calls)
    if stage < 3:
        run.expect("Allgatherv", group, once, "(P-1)/P M a step", calls)
    else:
        twice = 2 * once - steps * common.moved(P, ends)
        run.expect("Allgatherv", group, twice, "(P-1)/P (2M - ends) a step", 2 * calls - steps)


def main(argv=None, comm=None):
    run = common.start(__doc__, argv, comm, batch=8, length=8, width=64, layers=3, steps=4)
    if run.args.steps < 2:
        run.usage("--steps must be at least 2: the first is for measuring what is held")
    text, alphabet = units.characters()
    args, P = run.args, run.size
    config = model.Config(alphabet, args.length, args.width, 4, args.layers, 4 * args.width)
    batches = [units.batch(text, args.batch, args.length, run.random) for _ in range(args.steps)]
    alone = units.initial(config, args.seed)
    expected, last = units.train_alone(config, alone, batches, model.Adam(alone))
    M, ends = sum(vector.nbytes for vector in alone.values()), alone["ends"].nbytes
    loss_group = run.group(run.mesh(data=P).comm("data"), "losses")
    run.expect("Allreduce", loss_group, 4 * args.steps * common.everything(P, 8), "2(P-1)/P 8")

    rows, memory = [], {}
    tracemalloc.start()
    for stage in STAGES:
        group = run.group(run.mesh(data=P).comm("data"), f"stage {stage}")
        losses, zero, held, most = train(run, stage, group, loss_group, config, batches)
        share = sum(zero.cut(vector).nbytes for vector in alone.values())
        formula = {0: 4 * M, 1: 2 * M + 2 * share, 2: M + 3 * share, 3: 4 * share}[stage]
        run.check(f"stage {stage}: losses", losses, expected, 1e-12, common.ORDER)
        run.check(
            f"stage {stage}: gradients",
            zero.gradients,
            last if stage == 0 else {unit: zero.cut(v) for unit, v in last.items()},
            1e-11,
            common.ADAM,
        )
        reference = alone if stage == 0 else {unit: zero.cut(v) for unit, v in alone.items()}
        run.check(f"stage {stage}: parameters", zero.own, reference, 1e-11, common.ADAM)
        run.check(f"stage {stage}: memory held", held[0], formula, 1e-3, "small arrays besides")
        expect(run, stage, group, M, ends, args.steps * len(alone))
        numbers = {"formula": formula, "held": int(held[0]), "scratch": int(held[1]), "most": most}
        memory[stage] = numbers
        rows.append([str(stage), *map(str, numbers.values()), f"{held[0] / 4 / M:.3f}"])
    tracemalloc.stop()
    run.say(f"loss {losses[0]:.4f} -> {losses[-1]:.4f}; M = {M} bytes; bytes of rank 0:")
    head = ["stage", "formula", "held", "scratch", "most within a step", "held / 4M"]
    run.say(table(head, rows))
    return run.finish(losses=losses, reference=expected, bytes=M, memory=memory)


if __name__ == "__main__":
    common.script(main)
