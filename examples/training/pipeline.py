"""Pipeline parallelism: GPipe and 1F1B train a GPT whose layers are spread over the ranks.

Rank s is stage s and has some consecutive blocks; the last also computes the loss. Activations go
forward and their gradients backward by non-blocking Send and Recv. The embedding is tied to the
head, so the first and the last stage each have a copy, and sum their gradients (AllReduce).
Microbatches may be unequal, and stages too.

After training, one step of each schedule is timed with computation of equal length on all stages
(--pad milliseconds forward, twice that backward, the rest of which is slept as if an accelerator
worked): the bubble is the share of the time without work.

mpirun -n 4 python examples/training/pipeline.py
mpirun -n 3 python examples/training/pipeline.py --layers 4 --batch 7 --microbatches 3

Exercise: --mistake mean, tied or latest plants a classic one. With which schedule does it matter?
"""

import common
import numpy as np
from common import everything, moved
from model import Adam, Config, initial, loss_and_gradients
from packing import sum_gradients
from schedules import SCHEDULES, as_text, bubble, bubble_formula, most_kept, with_messages
from stage import Stage, perform, stage_parameters

TOLERANCE, WHY = 1e-13, "sums in another order: some roundings (1e-16) in each step"
OPTIONS = {"length": 8, "width": 16, "heads": 2, "layers": 4, "batch": 8, "vocabulary": 23}
OPTIONS |= {"microbatches": 8, "pad": 10.0, "mistake": "none"}


class Mean(Stage):
    """A mistake: the mean of the microbatches' means, which is another one if they are unequal."""

    def forward(self, microbatch, x):
        """Scale by the size of the microbatch."""
        self.scale = 1 / self.targets[microbatch].size / len(self.targets)
        return super().forward(microbatch, x)


class Latest(Stage):
    """A mistake: go back through the microbatch that came last, whichever is asked for."""

    def backward(self, microbatch, dy):
        """Take the latest with as many sequences."""
        alike = [m for m in self.saved if len(self.tokens[m]) == len(self.tokens[microbatch])]
        kept, latest = self.saved, max(alike)
        kept[microbatch], kept[latest] = kept[latest], kept[microbatch]
        return super().backward(microbatch, dy)


MISTAKES = {"none": Stage, "tied": Stage, "mean": Mean, "latest": Latest}


def tied_group(run, group):
    """Make the group of the first and the last stage; None elsewhere, and if they are one."""
    ends = group.rank in (0, group.size - 1)
    comm = run.keep(run.comm.Split(0 if ends else 1, group.rank))
    return run.group(comm, f"{group.name}, ends") if ends and group.size > 1 else None


def step(group, tied, schedule, stage, batch, microbatches, pad=0.0):
    """Do one step's passes on all stages; give the loss and the spans of one's own actions."""
    tokens, targets = (np.array_split(half, microbatches) for half in batch)
    stage.begin(tokens, targets, 1 / batch[1].size)
    actions = schedule(group.rank, group.size, microbatches)
    spans = perform(group, with_messages(actions, group.rank, group.size), stage, pad)
    if tied is not None:
        shared = {"embed.token": stage.gradients["embed.token"]}
        sum_gradients(tied, shared)
        stage.gradients |= shared
    loss = np.array([stage.loss])
    group.Bcast(loss, root=group.size - 1)  # only the last stage knows it
    return loss[0], spans


def train(group, tied, schedule, stage, batches, microbatches):
    """Train the stage's parameters in place; give the losses."""
    adam, losses = Adam(stage.parameters), []
    for batch in batches:
        losses.append(step(group, tied, schedule, stage, batch, microbatches)[0])
        adam.step(stage.parameters, stage.gradients)
    return losses


def expect(run, group, config, batch, microbatches, steps):
    """State what must be sent. M: the activations of the whole batch, V: the embedding."""
    S, M, V = group.size, batch * config.length * config.width * 8, config.vocabulary * config.width
    run.expect("Bcast", group, steps * moved(S, 8), "(S-1)/S 8", steps)
    if S > 1:
        calls = steps * microbatches * min(S - 1, 2)  # a stage inside has two neighbours
        run.expect("Send", group, steps * 2 * moved(S, M), "2 (S-1)/S M", calls)
        # Two of the S ranks take part.
        run.expect(
            "Allreduce", f"{group.name}, ends", steps * everything(2, 8 * V) * 2 / S, "2/S V", steps
        )


def trace(run, group, tied, schedule, stage, batch):
    """Time one step with computations of equal length; give everybody's spans, from 0."""
    run.apart.Barrier()
    _, spans = step(group, tied, schedule, stage, batch, run.args.microbatches, run.args.pad / 1000)
    everyone = [span for spans in run.apart.allgather(spans) for span in spans]
    start = min(span.begin for span in everyone)  # ranks of one host share a clock
    return [span._replace(begin=span.begin - start, end=span.end - start) for span in everyone]


def alone(config, seed, batches):
    """Train the whole model in one process: losses, last gradients, parameters."""
    parameters, losses = initial(config, seed), []
    adam = Adam(parameters)
    for batch in batches:
        loss, gradients = loss_and_gradients(config, parameters, *batch)
        losses.append(loss)
        adam.step(parameters, gradients)
    return losses, gradients, parameters


def main(argv=None, comm=None):
    run = common.start(__doc__, argv, comm, **OPTIONS)
    args = run.args
    if not 1 <= args.microbatches <= args.batch:
        run.usage(f"--microbatches {args.microbatches} is not between 1 and --batch {args.batch}")
    if args.mistake not in MISTAKES:
        run.usage(f"--mistake must be one of {', '.join(MISTAKES)}")
    config = Config(
        args.vocabulary, args.length, args.width, args.heads, args.layers, 4 * args.width
    )
    batches = [
        run.random.integers(config.vocabulary, size=(2, args.batch, config.length))
        for _ in range(args.steps)
    ]
    reference, last, whole = alone(config, args.seed, batches)

    S, M, traces = run.size, args.microbatches, {}
    for name, schedule in SCHEDULES.items():
        group = run.group(run.keep(run.comm.Dup()), name)
        tied = None if args.mistake == "tied" else tied_group(run, group)
        parameters = stage_parameters(config, initial(config, args.seed), run.rank, S)
        stage = MISTAKES[args.mistake](config, parameters, run.rank, S)
        losses = train(group, tied, schedule, stage, batches, M)
        run.check(f"{name}: losses", losses, reference, TOLERANCE, WHY)
        for what, mine, right in (
            ("last gradients", stage.gradients, last),
            ("parameters", parameters, whole),
        ):
            run.check(f"{name}: {what}", mine, {n: right[n] for n in mine}, TOLERANCE, WHY)

        spans = trace(run, group, tied, schedule, stage, batches[0])
        expect(run, group, config, args.batch, M, args.steps + 1)
        kept = [most_kept(s.action for s in spans if s.stage == stage) for stage in range(S)]
        traces[name] = {
            "bubble": bubble(spans, S),
            "formula": bubble_formula(S, M),
            "kept": kept,
            "spans": [(s.stage, str(s.action), s.begin, s.end) for s in spans],
        }
        run.say(f"\n{name}: {S} stages, {M} microbatches; microbatches kept: {kept}")
        run.say(
            f"bubble {bubble(spans, S):.3f} measured, (S-1)/(S+M-1) = {bubble_formula(S, M):.3f}"
        )
        run.say(as_text(spans, S))
    return run.finish(losses=losses, single=reference, traces=traces)


if __name__ == "__main__":
    common.script(main)
