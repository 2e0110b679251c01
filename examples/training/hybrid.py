"""Two hybrids train a character-level GPT on text that comes with Python, as one process does.

dense:    data x tensor x pipeline. Heads and hidden features are split in tensor groups, blocks in
          pipelines (1F1B), sequences among data replicas.
experts:  data x expert. Every rank has its own sequences; blocks have a mixture of experts, which
          are split in expert groups and repeated along data.

mpirun -n 8 python examples/training/hybrid.py
mpirun -n 8 python examples/training/hybrid.py --steps 200 --timed 20
mpirun -n 6 python examples/training/hybrid.py --tensor 3 --pipeline 1 --expert 3

One process does the same steps with the same batches (rank 0 for the first hybrid, rank 1 for the
second). Then --timed further steps are timed on mpicoll's collectives and on MPI's own, in turns.
"""

import os
import statistics
import time
from fractions import Fraction

import common
import numpy as np
from common import everything, share
from experts import Experts, expert_of, with_experts
from model import Adam, Boundary, Config, initial, loss_and_gradients
from moe import AllExperts
from mpi4py import MPI
from packing import sum_gradients
from schedules import one_f_one_b, with_messages
from stage import Stage, blocks_of, perform, stage_parameters, wait
from units import batch, characters

import mpicoll
from mpicoll.execution import native
from mpicoll.mesh import Layout, Mesh, MeshError

OPTIONS = {"length": 16, "width": 16, "heads": 4, "layers": 4, "batch": 16, "rate": 0.003}
OPTIONS |= {"tensor": 2, "pipeline": 2, "expert": 4, "experts": 8, "k": 2, "capacity": 1.25}
OPTIONS |= {"microbatches": 4, "timed": 0}
LOSSES = 1e-12, common.ORDER
PARAMETERS = 1e-11, common.ADAM


def tensor_part(config, parameters, rank, size):
    """Copy one tensor rank's parameters: columns of the first of two layers, rows of the second."""
    head = config.width // config.heads
    heads = share(config.heads, size, rank)
    features = slice(heads.start * head, heads.stop * head)
    hidden = share(config.hidden, size, rank)
    cuts = {"query": features, "key": features, "value": features, "up": hidden}
    found = {}
    for name, p in parameters.items():
        layer, kind = name.split(".")[-2:]
        if layer in cuts:
            p = p[..., cuts[layer]]
        elif kind == "weight" and layer in ("out", "down"):
            p = p[features if layer == "out" else hidden]
        found[name] = p.copy()
    return found


class Ranks:
    """A mesh and its groups; `counted` makes a communicator one that counts, under a name."""

    def __init__(self, counted, comm, **sizes):
        self.counted, self.mesh, self.comms = counted, Mesh(comm, **sizes), []

    def group(self, name, comm):
        """Give a group with a communicator of its own, so that nothing is counted twice."""
        self.comms.append(comm.Dup())
        return self.counted(self.comms[-1], name)

    def free(self):
        """Free all communicators."""
        for comm in self.comms:
            comm.Free()
        self.mesh.free()


class Dense(Ranks):
    """Data x tensor x pipeline parallel training on the ranks of `comm`."""

    def __init__(self, comm, args, config, parameters, counted):
        super().__init__(counted, comm, tensor=args.tensor, pipeline=args.pipeline, data=-1)
        self.args, mesh = args, self.mesh
        self.groups = {n: self.group(n, mesh.comm(n)) for n in ("tensor", "pipeline", "data")}
        self.losses = self.group("data x pipeline", mesh.comm("data", "pipeline"))
        stage, stages = mesh.at("pipeline"), mesh.sizes["pipeline"]
        # The first and the last stage have the tied embedding: a group of two in every pipeline.
        inside = 0 < stage < stages - 1
        ends = mesh.comm("pipeline").Split(int(inside), stage)
        self.ends = None if inside or stages == 1 else self.group("ends of pipeline", ends)
        ends.Free()
        self.parameters = self.part(config, parameters, stage, self.mesh.at("tensor"))
        boundary = Boundary(leave=self.sum_tensor, enter_backward=self.sum_tensor)
        self.stage = Stage(config, self.parameters, stage, stages, boundary)
        self.adam = Adam(self.parameters, args.rate)

    def part(self, config, parameters, stage, tensor):
        """Give the parameters of a stage and a tensor rank."""
        parameters = stage_parameters(config, parameters, stage, self.mesh.sizes["pipeline"])
        return tensor_part(config, parameters, tensor, self.mesh.sizes["tensor"])

    def mine(self, config, parameters):
        """Give those parameters of a whole model that this rank has."""
        return self.part(config, parameters, self.mesh.at("pipeline"), self.mesh.at("tensor"))

    def sum_tensor(self, x):
        """Sum partial results over the tensor group."""
        total = np.empty_like(x)
        self.groups["tensor"].Allreduce(np.ascontiguousarray(x), total)
        return total

    def step(self, tokens, targets):
        """Do one step; give the loss of the whole batch, on every rank."""
        pipeline, data = self.groups["pipeline"], self.groups["data"]
        own = share(len(tokens), data.size, data.rank)
        parts = (np.array_split(a[own], self.args.microbatches) for a in (tokens, targets))
        self.stage.begin(*parts, 1 / targets.size)
        actions = one_f_one_b(pipeline.rank, pipeline.size, self.args.microbatches)
        perform(pipeline, with_messages(actions, pipeline.rank, pipeline.size), self.stage)
        gradients = self.stage.gradients
        sum_gradients(data, gradients)
        if self.ends is not None:
            tied = {"embed.token": gradients["embed.token"]}
            sum_gradients(self.ends, tied)
            gradients |= tied
        self.adam.step(self.parameters, gradients)
        loss = np.array([self.stage.loss])  # 0 but on the last stage
        total = np.empty(1)
        self.losses.Allreduce(loss, total)
        return total[0]

    def expect(self, run, config, parameters, steps):
        """State what must be sent: M the activations of the whole batch, N one rank's gradients."""
        sizes, micro, P = self.mesh.sizes, self.args.microbatches, run.size
        T, S, D = sizes["tensor"], sizes["pipeline"], sizes["data"]
        M = self.args.batch * config.length * config.width * 8
        deepest = len(blocks_of(config.layers, 0, S))
        run.expect(
            "Allreduce",
            "tensor",
            steps * 4 * config.layers * everything(T, M) / (D * S),
            "4 L 2(T-1)/T M/(D S)",
            steps * 4 * deepest * micro,
        )
        whole = sum(
            sum(p.size for p in self.part(config, parameters, stage, tensor).values())
            for stage in range(S)
            for tensor in range(T)
        )
        mean = Fraction(8 * whole, S * T)
        run.expect("Allreduce", "data", steps * everything(D, mean), "2(D-1)/D N", steps)
        if S > 1:
            sent = Fraction(2 * (S - 1) * T * M, P)
            calls = steps * micro * min(S - 1, 2)
            run.expect("Send", "pipeline", steps * sent, "2(S-1)/S M/D", calls)
            tied = Fraction(2 * 8 * parameters["embed.token"].size, S)
            run.expect("Allreduce", "ends of pipeline", steps * tied, "2/S V", steps)
        run.expect(
            "Allreduce", "data x pipeline", steps * everything(D * S, 8), "2(DS-1)/DS 8", steps
        )


class Mixture(Ranks):
    """Data x expert parallel training on the ranks of `comm`."""

    def __init__(self, comm, args, config, parameters, counted):
        super().__init__(counted, comm, expert=args.expert, data=-1)
        self.config, mesh = config, self.mesh
        self.everyone = self.group("expert x data", mesh.comm("expert", "data"))
        self.data = self.group("data of an expert", mesh.comm("data"))
        expert = self.group("expert", mesh.comm("expert"))
        self.experts = Experts(expert, args.experts, args.k, args.capacity)
        self.parameters = self.mine(config, parameters)
        self.adam = Adam(self.parameters, args.rate)

    def mine(self, config, parameters):
        """Give those parameters of a whole model that this rank has."""
        here = range(self.experts.number)[self.experts.shares[self.experts.rank]]
        return {n: p.copy() for n, p in parameters.items() if expert_of(n) in (None, *here)}

    def step(self, tokens, targets):
        """Do one step; give the loss of the whole batch, on every rank."""
        own = share(len(tokens), self.everyone.size, self.everyone.rank)
        loss, gradients = loss_and_gradients(
            self.config,
            self.parameters,
            tokens[own],
            targets[own],
            1 / targets.size,
            feed=self.experts.feed,
        )
        shared = {n: g for n, g in gradients.items() if expert_of(n) is None}
        mine = {n: g for n, g in gradients.items() if expert_of(n) is not None}
        shared["loss"] = np.array([loss])
        sum_gradients(self.everyone, shared)
        if mine:
            sum_gradients(self.data, mine)
        self.adam.step(self.parameters, shared | mine)
        return shared["loss"][0]

    def away(self, everywhere):
        """Count the rows that leave their rank, from the routing of the single process."""
        ranks = self.mesh.sizes["expert"]
        return sum(
            int(routing.counts.sum() - routing.counts[self.experts.shares[rank % ranks]].sum())
            for routings in everywhere.routings
            for rank, routing in enumerate(routings)
        )

    def expect(self, run, config, parameters, steps, away):
        """State what must be sent: N the gradients of what all have, E those of all experts."""
        X, D, P = self.mesh.sizes["expert"], self.mesh.sizes["data"], run.size
        calls = steps * config.layers
        told = calls * common.moved(X, 8 * self.experts.number)
        rows = Fraction(4 * away * config.width * 8, P)
        run.expect("Alltoallv", "expert", rows + told, "4 rows away x 8W + (X-1)/X 8e", 5 * calls)
        sizes = {n: p.size * 8 for n, p in parameters.items()}
        shared = 8 + sum(size for n, size in sizes.items() if expert_of(n) is None)
        experts = sum(size for n, size in sizes.items() if expert_of(n) is not None)
        nbytes = steps * everything(P, shared)
        run.expect("Allreduce", "expert x data", nbytes, "2(P-1)/P N", steps)
        nbytes = steps * everything(D, Fraction(experts, X))
        run.expect("Allreduce", "data of an expert", nbytes, "2(D-1)/D E/X", steps)


def alone(config, parameters, batches, rate, **how):
    """Train `parameters` in place in one process; give the losses."""
    adam, losses = Adam(parameters, rate), []
    for tokens, targets in batches:
        loss, gradients = loss_and_gradients(config, parameters, tokens, targets, **how)
        losses.append(loss)
        adam.step(parameters, gradients)
    return losses


def timed(run, make, batches):
    """Train afresh on mpicoll's collectives and MPI's own, in turns: median seconds of a step."""
    kinds = {"mpicoll": mpicoll.Intracomm, "native": native.Intracomm}
    comms = {name: kind(native.Intracomm(run.comm).Dup()) for name, kind in kinds.items()}
    ways = {name: make(comm, lambda comm, name: comm) for name, comm in comms.items()}
    seconds = {name: [] for name in ways}
    for number in range(run.args.timed + 1):  # the first one is not counted
        step = batches[number % len(batches)]
        for name in list(ways)[:: 1 if number % 2 else -1]:
            run.apart.Barrier()
            begin = time.perf_counter()
            ways[name].step(*step)
            seconds[name].append(run.apart.allreduce(time.perf_counter() - begin, op=MPI.MAX))
    for name, way in ways.items():
        way.free()
        comms[name].Free()
    return {name: statistics.median(times[1:]) for name, times in seconds.items()}


def main(argv=None, comm=None):
    run = common.start(__doc__, argv, comm, **OPTIONS)
    args = run.args
    text, alphabet = characters()
    config = Config(alphabet, args.length, args.width, args.heads, args.layers, 4 * args.width)
    batches = [batch(text, args.batch, args.length, run.random) for _ in range(args.steps)]
    whole = initial(config, args.seed)
    moe = with_experts(config, whole, args.experts, args.seed + 1)
    everywhere = AllExperts(
        [share(args.batch, run.size, r) for r in range(run.size)],
        args.experts,
        args.k,
        args.capacity,
    )
    for sizes in ({"tensor": args.tensor, "pipeline": args.pipeline}, {"expert": args.expert}):
        try:
            Layout(run.size, {"data": -1, **sizes})
        except MeshError as error:
            run.usage(str(error))
    makers = {
        "dense": lambda comm, counted: Dense(comm, args, config, whole, counted),
        "experts": lambda comm, counted: Mixture(comm, args, config, moe, counted),
    }
    ways = {name: make(run.comm, run.group) for name, make in makers.items()}
    losses, speed = {}, {}
    for name, way in ways.items():
        run.say(f"\n{name}: {way.mesh.describe()}")
        losses[name] = [way.step(*step) for step in batches]
        if args.timed:
            speed[name] = timed(run, makers[name], batches)

    # The single process: rank 0 for one, the last rank for the other, while the others sleep.
    models = {"dense": (whole, {}, 0), "experts": (moe, {"feed": everywhere.feed}, run.size - 1)}
    single = {
        name: alone(config, parameters, batches, args.rate, **how)
        for name, (parameters, how, worker) in models.items()
        if run.rank == worker
    }
    wait(run.apart.Ibarrier())
    for name, (parameters, _, worker) in models.items():
        single[name] = run.apart.bcast(single.get(name), worker)
        parameters = run.apart.bcast(parameters, worker)
        mine = ways[name].mine(config, parameters)
        run.check(f"{name}: losses", losses[name], single[name], *LOSSES)
        run.check(f"{name}: parameters", ways[name].parameters, mine, *PARAMETERS)
    ways["dense"].expect(run, config, whole, args.steps)
    away = run.apart.bcast(ways["experts"].away(everywhere), run.size - 1)
    ways["experts"].expect(run, config, moe, args.steps, away)
    for way in ways.values():
        way.free()
    report_speed(run, speed, args.batch * args.length)
    return run.finish(losses=losses, single=single, seconds=speed)


def report_speed(run, speed, tokens):
    """Say how many tokens a second each kind of collectives gave."""
    if speed and run.size > len(os.sched_getaffinity(0)):
        run.say(f"\n{run.size} ranks on {len(os.sched_getaffinity(0))} cores: oversubscribed")
    for name, seconds in speed.items():
        rates = {kind: tokens / s for kind, s in seconds.items()}
        texts = [f"{kind} {rate:,.0f}" for kind, rate in rates.items()]
        ratio = rates["mpicoll"] / rates["native"]
        run.say(
            f"{name}: tokens a second: {', '.join(texts)}; ratio {ratio:.2f} (medians, in turns)"
        )


if __name__ == "__main__":
    common.script(main)
