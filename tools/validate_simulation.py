"""Compare simulated with measured times on this machine: `python tools/validate_simulation.py`.

Measures ping-pong messages, local sums and copies with two ranks, fits a network to them, simulates
the flat algorithms of five collectives on it, runs the same with mpiexec (algorithms in turn, the
median over repetitions of the slowest rank's time), and prints how well the order of the
algorithms and the times agree. Nothing else should run on the machine meanwhile.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from mpicoll.analysis.fit import fit_pingpong
from mpicoll.analysis.network import Network, parse
from mpicoll.analysis.simulate import simulate
from mpicoll.launch.library import find_launcher, find_library
from mpicoll.registry import Algorithm, algorithms_of, find

COLLECTIVES = "allreduce bcast allgather reduce_scatter alltoall".split()
PINGPONG = [8, 256, 4096, 32768, 262144, 1 << 20, 4 << 20]


def algorithms(collective: str, size: int) -> list[Algorithm]:
    """Those that serve so many ranks and do not ask for a layout of nodes."""
    return [
        algorithm
        for algorithm in algorithms_of(collective)
        if "nodes" not in algorithm.parameters and not set(algorithm.unmet(size)) - {"commutative"}
    ]


def typical(times: Sequence[float], quantile: float) -> float:
    """The quantile of times: 0.5 is the median; a lower one sees less of other programs."""
    return sorted(times)[int(quantile * (len(times) - 1))]


def time_of(action, repetitions: int, quantile: float) -> float:
    """The typical seconds of an action, after one run to warm up."""
    action()
    times = []
    for _ in range(repetitions):
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return typical(times, quantile)


def measure_network(comm, quantile: float) -> Network:
    """Two ranks: times of messages one way, of an exchange, of a sum and of a copy. Collective."""
    import numpy as np

    peer = 1 - comm.rank
    rows, exchanged = [], 0.0
    for nbytes in PINGPONG:
        send, receive = np.ones(nbytes, np.uint8), np.zeros(nbytes, np.uint8)

        def there_and_back(send=send, receive=receive) -> None:
            if comm.rank == 0:
                comm.Send(send, peer)
                comm.Recv(receive, peer)
            else:
                comm.Recv(receive, peer)
                comm.Send(send, peer)

        def both(send=send, receive=receive) -> None:
            comm.Sendrecv(send, peer, recvbuf=receive, source=peer)

        repetitions = 2000 if nbytes < 65536 else 200
        rows.append((nbytes, time_of(there_and_back, repetitions, quantile) / 2))
        exchanged = time_of(both, repetitions, quantile)
    left, right, into = (np.ones(1 << 18, np.float32) for _ in range(3))
    reduce = time_of(lambda: np.add(left, right, out=into), 200, quantile) / left.nbytes
    copy = time_of(lambda: np.copyto(into, left), 200, quantile) / left.nbytes
    fit = fit_pingpong(rows, duplex=exchanged < 1.5 * rows[-1][1])
    if comm.rank == 0:
        print(f"fit: rms error {fit.typical:.0%}, largest {fit.error:.0%}", file=sys.stderr)
    return Network("fitted", fit.level, cores=os.cpu_count(), reduce=reduce, copy=copy)


def operation(comm, collective: str, nbytes: int, name: str):
    """A call of the collective with float32 vectors of `nbytes` in all."""
    import numpy as np

    whole = max(nbytes // 4 // comm.size, 1) * comm.size
    part = whole // comm.size
    sizes = {"allgather": (part, whole), "reduce_scatter": (whole, part)}
    first, second = (np.ones(n, np.float32) for n in sizes.get(collective, (whole, whole)))
    method = getattr(comm, collective.capitalize() + "_block" * (collective == "reduce_scatter"))
    buffers = (first,) if collective == "bcast" else (first, second)
    return lambda: method(*buffers, algorithm=name)


def measure_collectives(
    comm, sizes: Sequence[int], seconds: float, quantile: float
) -> dict[str, float]:
    """Typical seconds by "collective algorithm bytes"; on every rank. Collective."""
    import numpy as np
    from mpi4py import MPI

    import mpicoll

    ours = mpicoll.Intracomm(comm)
    found = {}
    for collective in COLLECTIVES:
        for nbytes in sizes:
            names = [algorithm.name for algorithm in algorithms(collective, comm.size)]
            actions = [operation(ours, collective, nbytes, name) for name in names]
            times: list[list[float]] = [[] for _ in names]
            began = time.perf_counter()
            repetition = 0
            while True:
                for action, mine in zip(actions, times, strict=True):
                    comm.Barrier()
                    started = time.perf_counter()
                    action()
                    mine.append(time.perf_counter() - started)
                repetition += 1
                late = time.perf_counter() - began > seconds and repetition >= 8
                if comm.allreduce(late or repetition >= 300, MPI.LOR):
                    break
            slowest = np.array(times)[:, 1:].copy()
            comm.Allreduce(MPI.IN_PLACE, slowest, MPI.MAX)
            for name, row in zip(names, slowest, strict=True):
                found[f"{collective} {name} {nbytes}"] = typical(row.tolist(), quantile)
    return found


def places(values: Sequence[float]) -> list[float]:
    """The place of each value in their order; those equal to 3 digits share the mean of theirs."""
    rounded = [float(f"{value:.3g}") for value in values]
    ordered = sorted(rounded)
    return [
        (ordered.index(value) + len(ordered) - 1 - ordered[::-1].index(value)) / 2
        for value in rounded
    ]


def spearman(left: Sequence[float], right: Sequence[float]) -> float | None:
    """The correlation of the orders of two series, from -1 to 1; None if one has no order."""
    orders = places(left), places(right)
    if any(len(set(order)) == 1 for order in orders):
        return None
    return statistics.correlation(*orders)


def compare(network: Network, size: int, measured: dict[str, float]) -> list[dict]:
    """A row for each collective and number of bytes."""
    rows = []
    groups: dict[tuple[str, int], list[tuple[str, float]]] = {}
    for key, seconds in measured.items():
        collective, name, nbytes = key.split()
        groups.setdefault((collective, int(nbytes)), []).append((name, seconds))
    for (collective, nbytes), found in groups.items():
        simulated = [simulate(find(collective, n), size, nbytes, network).seconds for n, _ in found]
        real = [seconds for _, seconds in found]
        best = min(range(len(real)), key=simulated.__getitem__)
        errors = [s / r - 1 for s, r in zip(simulated, real, strict=True)]
        rows.append(
            {
                "ranks": size,
                "collective": collective,
                "bytes": nbytes,
                "algorithms": len(found),
                "spearman": spearman(simulated, real),
                "median_error": statistics.median(errors),
                "worst_error": max(errors, key=abs),
                "predicted_best": found[best][0],
                "its_loss": real[best] / min(real) - 1,
                "times": {n: [s, r] for (n, r), s in zip(found, simulated, strict=True)},
            }
        )
    return rows


def summary(size: int, rows: list[dict]) -> str:
    """What the rows of one number of ranks say together."""
    orders = [row["spearman"] for row in rows if row["spearman"] is not None] or [float("nan")]
    error = statistics.median(abs(row["median_error"]) for row in rows)
    loss = statistics.median(row["its_loss"] for row in rows)
    return (
        f"P = {size}: rank correlation {statistics.median(orders):.2f} (median), "
        f"{min(orders):.2f} (lowest); median error {error:.0%}; "
        f"the predicted best takes {loss:.0%} longer than the best (medians)"
    )


def launch(size: int, arguments: list[str]) -> dict:
    """Run this script on `size` ranks; what it writes."""
    mpiexec = find_launcher(find_library()).path
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        command = [mpiexec, "-n", str(size), sys.executable, __file__, *arguments, "--out", out]
        subprocess.run(list(map(str, command)), check=True)
        return json.loads(out.read_text())


def main() -> int:
    """Be the driver, or one of the ranks that it starts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="1024,65536,1048576", help="bytes of the vectors")
    parser.add_argument("--ranks", default="2,4,8")
    parser.add_argument("--seconds", type=float, default=2.0, help="per collective and size")
    parser.add_argument("--quantile", type=float, default=0.5, help="of repeated times")
    parser.add_argument("--json", help="write everything to this file")
    parser.add_argument("--part", choices=("network", "collectives"), help=argparse.SUPPRESS)
    parser.add_argument("--out", help=argparse.SUPPRESS)
    args = parser.parse_args()
    sizes = [int(word) for word in args.sizes.split(",")]
    if args.part:
        from mpi4py import MPI

        comm = MPI.COMM_WORLD
        if args.part == "network":
            found = measure_network(comm, args.quantile).as_json()
        else:
            found = measure_collectives(comm, sizes, args.seconds, args.quantile)
        if comm.rank == 0:
            Path(args.out).write_text(json.dumps(found))
        return 0
    typically = ["--quantile", str(args.quantile)]
    network = parse(launch(2, ["--part", "network", *typically]))
    print(json.dumps(network.as_json()))
    rows = []
    print("| ranks | collective | bytes | algorithms | rank correlation | median error | worst |")
    print("|---|---|---|---|---|---|---|")
    for size in map(int, args.ranks.split(",")):
        words = ["--part", "collectives", "--sizes", args.sizes, "--seconds", str(args.seconds)]
        words += typically
        for row in compare(network, size, launch(size, words)):
            rows.append(row)
            cells = [size, row["collective"], row["bytes"], row["algorithms"]]
            cells += ["all alike" if row["spearman"] is None else f"{row['spearman']:.2f}"]
            cells += [f"{row[name]:+.0%}" for name in ("median_error", "worst_error")]
            print("|", " | ".join(map(str, cells)), "|", flush=True)
    for size in dict.fromkeys(row["ranks"] for row in rows):
        print(summary(size, [row for row in rows if row["ranks"] == size]))
    if args.json:
        Path(args.json).write_text(json.dumps({"network": network.as_json(), "rows": rows}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
