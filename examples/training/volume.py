"""How much is sent: AllGather or AllToAll for long sequences; ZeRO's pair against AllReduce.

mpirun -n 8 python examples/training/volume.py

M is the bytes of the whole sequence's activations, M/P those of a rank. With AllGather (Megatron's
sequence parallelism) a rank sends (P-1)/P M: more ranks do not lighten it. With AllToAll (Ulysses)
it sends (P-1)/P M/P. The price: it talks to all others, in messages of M/P^2 bytes, where a ring
talks to its neighbour in messages of M/P.

On groups of all sizes that divide the number of ranks, both really run, and messages, bytes and
peers are counted. Up to 1,024 ranks they are counted in the plans that would run, and the times are
those of the cost model on the network that --network names (`mpicoll cost --help`).
--plot FILE draws the bytes (needs matplotlib).
"""

import common
import numpy as np
from exchange import all_gather, all_reduce, counts, mine, reduce_scatter

from mpicoll.analysis.cost import cost
from mpicoll.analysis.presets import PRESETS
from mpicoll.commands.units import show_bytes, show_seconds, table
from mpicoll.registry import find
from mpicoll.steps import Send

PLANNED = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)


def ulysses(group, x, heads):
    """From one's own positions of all heads to all positions of one's own heads, by AllToAll.

    x is (positions, heads, features) before and after.
    """
    positions = counts(len(x) * group.size, group.size)
    own = counts(heads, group.size)[group.rank]
    cut = [x[:, common.share(heads, group.size, rank)] for rank in range(group.size)]
    sent = np.concatenate([piece.ravel() for piece in cut])
    got = np.empty((sum(positions), own, x.shape[2]))
    group.Alltoallv(
        [sent, [piece.size for piece in cut]], [got, [n * own * x.shape[2] for n in positions]]
    )
    return got


def measure(run, P, whole):
    """Run everything in groups of P ranks; the groups by name."""
    mesh = run.mesh(context=P, data=-1)
    groups = {}
    for name in ("AllGather", "AllToAll", "ZeRO", "DDP"):
        comm = mesh.comm("context") if not groups else run.mesh(context=P, data=-1).comm("context")
        groups[name] = run.group(comm, f"{name}, P = {P}")
    gathering, exchanging, zero, plain = groups.values()
    x, M = mine(gathering, whole), whole.nbytes
    gathered = all_gather(gathering, x, len(whole))
    run.check(f"AllGather, P = {P}", gathered, whole, 0, "nothing is computed")
    run.expect("Allgatherv", gathering, common.moved(P, M), "(P-1)/P M", 1)
    heads = ulysses(exchanging, x, whole.shape[1])
    run.check(f"AllToAll, P = {P}", heads, mine(exchanging, whole, 1), 0, "nothing is computed")
    run.expect("Alltoallv", exchanging, common.moved(P, M) / P, "(P-1)/P M/P", 1)

    gradients = whole.ravel() * (mesh.at("context") + 1)  # another one on each rank
    total = all_gather(zero, reduce_scatter(zero, gradients), len(gradients))
    run.check(f"ZeRO's sum, P = {P}", total, all_reduce(plain, gradients), 1e-14, common.ORDER)
    run.expect("Reduce_scatter", zero, common.moved(P, M), "(P-1)/P M", 1)
    run.expect("Allgatherv", zero, common.moved(P, M), "(P-1)/P M", 1)
    run.expect("Allreduce", plain, common.everything(P, M), "2(P-1)/P M", 1)
    return groups


def planned(collective, name, P, M, network):
    """What one rank sends by its plan: messages, bytes, peers; and the model's seconds.

    `M` is the m of the formulas: for AllGather the result, for AllToAll what a rank has.
    """
    algorithm = find(collective, name)
    sends = [s for steps in algorithm.plan(0, P) for s in steps if isinstance(s, Send)]
    blocks = sum(len(step.chunk.blocks) for step in sends)
    seconds = cost(algorithm, P, int(M), network, count=False).path_seconds
    return len(sends), blocks * M / P, len({step.peer for step in sends}), seconds


def plot(path, planned, counted):
    """Bytes of a rank over P, both forms: counted in real runs, and in plans."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    matplotlib.rcParams |= {"svg.hashsalt": "mpicoll", "svg.fonttype": "none", "font.size": 9}
    figure, axes = pyplot.subplots(figsize=(6, 3.4), layout="constrained")
    for color, form in (("C0", "AllGather"), ("C1", "AllToAll")):
        for lines, style, how in ((planned, "-", "by plan"), (counted, "o", "counted")):
            points = [(at["P"], at["bytes"] / at["M"]) for at in lines if at["form"] == form]
            x, y = zip(*points, strict=True)
            axes.loglog(x, y, color + style, base=2, linewidth=1, label=f"{form}, {how}")
    axes.set(xlabel="ranks P", ylabel="bytes sent by a rank / M")
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(path, metadata={"Date": None})


def main(argv=None, comm=None):
    run = common.start(
        __doc__,
        argv,
        comm,
        positions=240,
        heads=120,
        features=2,
        megabytes=64,
        network="infiniband",
        plot="",
    )
    args = run.args
    if args.network not in PRESETS:
        run.usage(f"--network must be one of {', '.join(PRESETS)}")
    whole = run.random.normal(size=(args.positions, args.heads, args.features))
    if run.size == 1:
        run.usage("one rank has nobody to send to: start at least 2")
    sizes = [P for P in range(2, run.size + 1) if run.size % P == 0]
    for P in sizes:
        if args.positions % P or args.heads % P:
            run.usage(f"--positions and --heads must be multiples of {P}")
    rows, counted = [], []
    for P in sizes:
        for name, group in measure(run, P, whole).items():
            for primitive in ("Allgatherv", "Alltoallv", "Reduce_scatter", "Allreduce"):
                row = primitive, group.name
                if row in run.traffic.rows and not args.native:
                    _, messages, nbytes = run.traffic.rows[row]
                    peers = len(run.traffic.peers[row])
                    each = nbytes / messages
                    rows.append([str(P), name, primitive, f"{nbytes / whole.nbytes:.4f} M"])
                    rows[-1] += [str(messages), str(peers), show_bytes(each)]
                    if name in ("AllGather", "AllToAll"):
                        counted.append({"P": P, "form": name, "M": whole.nbytes, "bytes": nbytes})
    if rows:
        run.say(f"counted on rank 0, M = {show_bytes(whole.nbytes)}:")
        run.say(table(["P", "form", "primitive", "sent", "messages", "peers", "each"], rows, 3))

    M, lines, rows = args.megabytes << 20, [], []
    for P in PLANNED:
        for form, collective, name, m in (
            ("AllGather", "allgather", "ring", M),
            ("AllToAll", "alltoall", "pairwise", M / P),
        ):
            messages, nbytes, peers, seconds = planned(
                collective, name, P, m, PRESETS[args.network]
            )
            lines.append({"P": P, "form": form, "M": M, "bytes": nbytes, "seconds": seconds})
            lines[-1] |= {"messages": messages, "peers": peers}
            rows.append([str(P), form, show_bytes(nbytes), str(messages), str(peers)])
            rows[-1] += [show_bytes(nbytes / messages), show_seconds(seconds)]
    run.say(f"\nby plan and model, one rank, M = {show_bytes(M)}, {args.network}:")
    run.say(table(["P", "form", "sent", "messages", "peers", "each", "time"], rows, 2))
    if args.plot and run.rank == 0:
        plot(args.plot, lines, counted)
    return run.finish(planned=lines, counted=counted, sizes=sizes)


if __name__ == "__main__":
    common.script(main)
