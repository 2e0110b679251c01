"""A checkpoint saved by some number of ranks and loaded by another, and training goes on.

Parameters and Adam's two sums are vectors of which every rank has a share (as in ZeRO). A rank
writes its own shares; the index is written last, when all have written, so that a checkpoint
without one is known to be incomplete. To load, the files are dealt out to the ranks there are now:
every file is read once, AllGather gives the vectors to all, and each keeps its new share.

The text of a checkpoint does not depend on who wrote it: share 2 of 3 is numbers n/3*2 and further
of a vector whose order is that of the names.

4 ranks save, 3 load and save, 4 load:

mpirun -n 4 python examples/training/checkpoint.py
mpirun -n 5 python examples/training/checkpoint.py --sizes 2,5,3

Exercise: --mistake steps forgets Adam's count of steps, --mistake moments its sums. How soon does
the loss tell?
"""

import json
import os
import shutil
import tempfile
import zlib
from fractions import Fraction
from pathlib import Path

import common
import numpy as np
from common import moved, share
from exchange import all_gather, reduce_scatter
from model import Adam, Config, initial, loss_and_gradients
from packing import unpack

TOLERANCE, WHY = 1e-13, "sums in another order: some roundings (1e-16) in each step"
OPTIONS = {"length": 8, "width": 12, "heads": 2, "layers": 2, "batch": 8, "vocabulary": 23}
OPTIONS |= {"sizes": "", "directory": "", "mistake": "none"}


class CheckpointError(Exception):
    """Files that are missing, damaged, or of another model."""


class Sharded:
    """Parameters as one vector on every rank; of Adam's sums, this rank's share."""

    def __init__(self, group, parameters):
        self.group, self.shapes = group, {n: parameters[n] for n in sorted(parameters)}
        self.vector = np.concatenate([p.ravel() for p in self.shapes.values()])
        self.mine = share(len(self.vector), group.size, group.rank)
        self.adam = Adam({"all": self.vector[self.mine]})

    @property
    def parameters(self):
        """The parameters by name, in the memory of the vector."""
        found = {}
        unpack(self.vector, self.shapes, found)
        return found

    def step(self, gradients):
        """Sum one's own share of the gradients, change one's own parameters, gather all."""
        vector = np.concatenate([gradients[name].ravel() for name in self.shapes])
        self.adam.step({"all": self.vector[self.mine]}, {"all": reduce_scatter(self.group, vector)})
        self.vector = all_gather(self.group, self.vector[self.mine], len(vector))

    def parts(self):
        """The vectors of which this rank writes its share."""
        mean, square = self.adam.mean["all"], self.adam.square["all"]
        return {"parameters": self.vector[self.mine], "mean": mean, "square": square}


def save(directory, state):
    """Write a checkpoint; collective on the state's group, and complete when rank 0 returns."""
    directory.mkdir(parents=True, exist_ok=True)
    rank, size = state.group.rank, state.group.size
    sums = []
    for name, part in state.parts().items():
        write(directory / f"{name}-{rank}-of-{size}.bin", part.tobytes())
        sums.append(zlib.crc32(part.tobytes()))
    sums = all_gather(state.group, np.array([sums]), size)  # all have written now
    if rank == 0:
        index = {
            "steps": state.adam.steps,
            "ranks": size,
            "shapes": {name: p.shape for name, p in state.shapes.items()},
            "sums": sums.tolist(),
        }
        write(directory / "index.json", json.dumps(index).encode())


def write(path, content):
    """Write a file that is there as a whole or not at all."""
    temporary = path.with_name(path.name + ".new")
    with open(temporary, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.rename(path)


def load(directory, state):
    """Read a checkpoint of any number of ranks into `state`; collective on its group.

    Raises `CheckpointError` on the ranks that find something wrong.
    """
    try:
        index = json.loads((directory / "index.json").read_bytes())
    except FileNotFoundError:
        raise CheckpointError(f"{directory} has no index: no complete checkpoint") from None
    shapes = {name: tuple(shape) for name, shape in index["shapes"].items()}
    if shapes != {name: p.shape for name, p in state.shapes.items()}:
        raise CheckpointError(f"{directory} is of another model")
    writers, rank = index["ranks"], state.group.rank
    lengths = [s.stop - s.start for s in shares_of(len(state.vector), writers)]
    files = shares_of(writers, state.group.size)
    vectors = []
    for place, name in enumerate(state.parts()):
        mine = [
            read(directory / f"{name}-{w}-of-{writers}.bin", index["sums"][w][place])
            for w in range(writers)[files[rank]]
        ]
        vectors.append(np.empty_like(state.vector))
        counts = [sum(lengths[f]) for f in files]
        state.group.Allgatherv(np.concatenate([np.empty(0), *mine]), [vectors[-1], counts])
    state.vector = vectors[0]
    state.adam.mean["all"], state.adam.square["all"] = (v[state.mine].copy() for v in vectors[1:])
    state.adam.steps = index["steps"]


def shares_of(length, ranks):
    """Give the shares of all ranks."""
    return [share(length, ranks, rank) for rank in range(ranks)]


def read(path, expected):
    """Read a share, and make sure that it is what was written."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise CheckpointError(f"{path} is missing") from None
    if zlib.crc32(content) != expected:
        raise CheckpointError(f"{path} is damaged: its checksum is not the index's")
    return np.frombuffer(content)


def train(state, config, batches):
    """Train on; give the losses, of this rank's sequences only."""
    losses = []
    for tokens, targets in batches:
        own = share(len(tokens), state.group.size, state.group.rank)
        loss, gradients = loss_and_gradients(
            config, state.parameters, tokens[own], targets[own], 1 / targets.size
        )
        state.step(gradients)
        losses.append(loss)
    return losses


def main(argv=None, comm=None):
    run = common.start(__doc__, argv, comm, **OPTIONS)
    args, P = run.args, run.size
    if args.mistake not in ("none", "steps", "moments"):
        run.usage("--mistake must be steps or moments")
    try:
        sizes = [int(n) for n in (args.sizes or f"{P},{max(1, P - 1)},{P}").split(",")]
    except ValueError:
        run.usage(f"--sizes {args.sizes} are not numbers with commas between")
    if not all(1 <= n <= P for n in sizes):
        run.usage(f"--sizes {args.sizes}: every number must be between 1 and {P}, the ranks")
    config = Config(
        args.vocabulary, args.length, args.width, args.heads, args.layers, 2 * args.width
    )
    phases = [
        [
            run.random.integers(config.vocabulary, size=(2, args.batch, config.length))
            for _ in range(args.steps)
        ]
        for _ in sizes
    ]
    made = run.apart.bcast(tempfile.mkdtemp() if run.rank == 0 and not args.directory else "")
    directory = Path(made or args.directory)

    whole = initial(config, args.seed)
    adam, reference = Adam(whole), []
    losses, N = np.zeros(len(sizes) * args.steps), 8 * sum(p.size for p in whole.values())
    for number, (size, batches) in enumerate(zip(sizes, phases, strict=True)):
        comm = run.keep(run.comm.Split(int(run.rank >= size), run.rank))
        name = f"phase {number}: {size} ranks"
        if run.rank < size:
            # Nothing is kept from the phase before: other initial values, a new group.
            state = Sharded(run.group(comm, name), initial(config, args.seed + number))
            if number:
                load(directory / str(number - 1), state)
                if args.mistake == "steps":
                    state.adam.steps = 0
                if args.mistake == "moments":
                    state.adam.mean["all"][:] = state.adam.square["all"][:] = 0
            begin = number * args.steps
            losses[begin : begin + args.steps] = train(state, config, batches)
            save(directory / str(number), state)
        run.apart.Barrier()
        expect(run, name, size, N, args.steps, number > 0)
        for batch in batches:
            loss, gradients = loss_and_gradients(config, whole, *batch)
            reference.append(loss)
            adam.step(whole, gradients)
        expected = np.concatenate([whole[n].ravel() for n in sorted(whole)])
        mine = state.vector if run.rank < size else expected
        run.check(f"{name}: parameters", mine, expected, TOLERANCE, WHY)
    total = np.empty_like(losses)
    run.world.Allreduce(losses, total)
    run.expect("Allreduce", run.world, common.everything(P, losses.nbytes), "2(P-1)/P losses", 1)
    run.check("losses", total, reference, TOLERANCE, WHY)
    if made and run.rank == 0:
        shutil.rmtree(made)
    return run.finish(losses=total.tolist(), single=reference)


def expect(run, name, size, N, steps, loaded):
    """State what a phase must send. N: the parameters; n of the P ranks take part."""
    each = Fraction(size, run.size)
    sums = 3 * 8 * size  # checksums, as the shares are saved
    gathered = steps * moved(size, N) + loaded * 3 * moved(size, N) + moved(size, sums)
    run.expect("Reduce_scatter", name, each * steps * moved(size, N), "n/P (n-1)/n N", steps)
    calls = steps + 3 * loaded + 1
    text = "n/P (n-1)/n (N a step" + (", 3N to load" if loaded else "") + ", 24n to save)"
    run.expect("Allgatherv", name, each * gathered, text, calls)


if __name__ == "__main__":
    common.script(main)
