"""Ping-pong messages between two ranks, and the network that explains their times."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from mpi4py import MPI

from mpicoll.analysis.fit import Fit, fit_pingpong
from mpicoll.analysis.network import Network
from mpicoll.bench.figures import summarise
from mpicoll.bench.options import Options, Task
from mpicoll.bench.result import row
from mpicoll.bench.timing import Action, Limits, measure, wait_quietly

__all__ = ["measured"]

TAG = 1
#: Round trips in one iteration, and up to how many bytes: a barrier leaves ranks apart by about a
#: microsecond, which must not count in short messages.
TRIPS, SHORT = 16, 64 << 10
#: Bytes of the vectors whose local sum and copy are timed: more than caches hold.
LOCAL = 8 << 20


def measured(
    comm: MPI.Intracomm, task: Task, options: Options, cores: int, note: Callable[[str], None]
) -> tuple[list[dict], dict[str, object] | None]:
    """Rows of times one way, and a network for `mpicoll simulate`; on rank 0. Collective.

    Rank 0 talks to another rank of its host, and to one of another host if there is any. `cores`
    are those that a host's ranks may use.
    """
    hosts = comm.allgather(MPI.Get_processor_name())
    rank = comm.Get_rank()
    near = next((r for r in range(1, len(hosts)) if hosts[r] == hosts[0]), None)
    far = next((r for r in range(1, len(hosts)) if hosts[r] != hosts[0]), None)
    rows: list[dict] = []
    fits: dict[str, tuple[Fit, float, float]] = {}
    for where, peer in (("intra", near), ("inter", far)):
        if peer is None:
            continue
        pair = comm.Split(0 if rank in (0, peer) else MPI.UNDEFINED, rank)
        if pair != MPI.COMM_NULL:
            found, fits[where] = _pair(pair, where, task, options, comm.Get_size())
            rows += found
            pair.Free()
        wait_quietly(comm)
    if rank:
        return [], None
    if not fits:
        note("a ping-pong needs two ranks")
        return [], None
    for where, (fit, _, _) in fits.items():
        note(
            f"{where}-node: alpha = {fit.level.alpha * 1e6:.3g} us, "
            f"beta = {fit.level.per_byte * 1e9:.4g} ns/B "
            f"({1e-9 / fit.level.per_byte if fit.level.per_byte else float('inf'):.3g} GB/s), "
            f"{'duplex' if fit.level.duplex else 'half duplex'}; "
            f"the line misses the medians by {fit.typical:.0%} (rms), {fit.error:.0%} at most"
        )
    return rows, _network(fits, hosts, cores).as_json()


def _network(fits: dict[str, tuple[Fit, float, float]], hosts: list[str], cores: int) -> Network:
    # Where each rank has a host of its own, nothing was measured within one: the same is said.
    intra, reduce, copy = fits.get("intra") or fits["inter"]
    several = "inter" in fits
    return Network(
        "measured by mpicoll bench pingpong",
        intra.level,
        fits["inter"][0].level if several else None,
        ranks_per_node=max(map(hosts.count, hosts)) if several else None,
        cores=cores,
        reduce=reduce,
        copy=copy,
    )


def _pair(
    pair: MPI.Intracomm, where: str, task: Task, options: Options, ranks: int
) -> tuple[list[dict], tuple[Fit, float, float]]:
    rows, points = [], []
    exchange = one_way = 0.0
    limits = Limits(options.iterations, options.seconds)
    for nbytes in task.sizes:
        trips = TRIPS if nbytes <= SHORT else 1
        actions = [partial(_repeat, trips, action) for action in _actions(pair, nbytes)]
        there_and_back, both = measure(pair, list(map(Action, actions)), limits)
        summary = summarise([seconds / trips / 2 for seconds in there_and_back])
        exchange, one_way = summarise(both).p50 / trips, summary.p50
        points.append((nbytes, one_way))
        independent = {
            "group": task.group,
            "form": "blocking",
            "library": "native",
            "candidate": f"Send and Recv, {where}-node",
            "ranks": ranks,
            "dtype": "byte",
            "nbytes": nbytes,
        }
        rows.append(row(independent, summary, exchange=exchange, verified=True))
    # A link that carries both directions at once exchanges in the time of one way.
    duplex = exchange < 1.5 * one_way
    fit = fit_pingpong(points if len(points) > 1 else [*points, (0, one_way)], duplex=duplex)
    return rows, (fit, *_local(pair, limits))


def _actions(pair: MPI.Intracomm, nbytes: int) -> tuple[Callable[[], None], Callable[[], None]]:
    """There and back again, and both directions at once."""
    peer = 1 - pair.Get_rank()
    sent = [np.ones(nbytes, np.uint8), MPI.BYTE]
    received = [np.zeros(nbytes, np.uint8), MPI.BYTE]

    def first() -> None:
        pair.Send(sent, peer, TAG)
        pair.Recv(received, peer, TAG)

    def second() -> None:
        pair.Recv(received, peer, TAG)
        pair.Send(sent, peer, TAG)

    def both() -> None:
        pair.Sendrecv(sent, peer, TAG, received, peer, TAG)

    return (second if peer == 0 else first), both


def _repeat(trips: int, action: Callable[[], None]) -> None:
    for _ in range(trips):
        action()


def _local(pair: MPI.Intracomm, limits: Limits) -> tuple[float, float]:
    """Seconds per byte of a local sum and of a copy, while the other rank does the same."""
    one, other, into = (np.ones(LOCAL // 4, "f4") for _ in range(3))
    actions = [
        Action(lambda: np.add(one, other, out=into)),
        Action(lambda: np.copyto(into, one)),
    ]
    times = measure(pair, actions, Limits(min(limits.most, 20), limits.seconds))
    reduce, copy = (summarise(each).p50 / LOCAL for each in times)
    return reduce, copy
