"""A check as every rank runs it."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from mpi4py import MPI

from mpicoll.check.marks import MARK, Bar
from mpicoll.check.names import CALLS
from mpicoll.check.report import Table, as_json, result_as_json
from mpicoll.check.session import Session
from mpicoll.check.verdict import Summary, check, explain_first
from mpicoll.check.watch import Watch
from mpicoll.launch.child import TIMEOUT_STATUS, abort
from mpicoll.launch.command import cores
from mpicoll.launch.library import vendor_of
from mpicoll.nodes import shape
from mpicoll.registry import REQUIREMENTS, algorithms_of

__all__ = ["Plan", "run_ranks"]


@dataclass(frozen=True)
class Plan:
    """What to check, and where the process that started the ranks (if one did) wants results."""

    calls: list[str]
    algorithm: str | None
    full: bool
    seed: int
    timeout: float
    directory: Path | None = None


def run_ranks(
    plan: Plan, out: TextIO, keep: Callable[[object], None] | None = None
) -> dict[str, object]:
    """Check on the ranks of COMM_WORLD; all about it on rank 0, numbers on others.

    `keep` gets each result on rank 0 as soon as it is there.
    """
    world = MPI.COMM_WORLD
    rank, size = world.Get_rank(), world.Get_size()
    seen = plan.directory is not None and plan.directory.is_dir()
    note = plan.directory / f"at-{rank}" if seen else None
    watch = Watch(plan.timeout, _stalled(plan.directory if seen else None, rank), note)
    session = Session(world, plan.seed, watch)
    about = _about(plan, size, session.ours.state.nodes)
    table = _table(plan, size, about, out) if rank == 0 else None
    bar = _progress(plan.directory) if rank == 0 else None
    if keep:
        keep({"size": size, "about": about})

    def progress(title: str, done: int, total: int) -> None:
        if bar:
            bar(f"P = {size}, {title}", done, total)

    def finished(results: list) -> None:
        if isinstance(bar, Bar):
            bar.clear()
        table.add(results)
        for result in results if keep else ():
            keep({"size": size, **result_as_json(result)})

    summary = check(
        session,
        plan.calls,
        algorithm=plan.algorithm,
        full=plan.full,
        progress=progress,
        finished=finished,
    )
    if table:
        table.end(summary)
    if summary.failed:
        if table:
            print(f"first failure:\n{summary.failures[0]}", file=out, flush=True)
        explain_first(session, summary)
        if table and summary.failures[0].explanation:
            text = summary.failures[0].explanation.replace("\n", "\n        ")
            print(f"traced: {text}", file=out, flush=True)
    session.close()
    watch.stop()
    if rank:
        return {"failed": summary.failed, "cases": summary.cases}
    return _deliver(plan.directory, summary, about)


def _deliver(directory: Path | None, summary: Summary, about: str) -> dict[str, object]:
    facts = as_json(summary, about)
    if directory:
        (directory / "facts.json").write_text(json.dumps(facts))
    return facts


def _about(plan: Plan, size: int, nodes: tuple[int, ...] | None) -> str:
    vendor, version = vendor_of(MPI.Get_library_version())
    name = {"mpich": "MPICH", "openmpi": "Open MPI"}.get(vendor, "another MPI")
    words = [f"{name} {version}".strip(), "full" if plan.full else "short"]
    if nodes:
        words.append(f"nodes {shape(nodes, size)}")
    if size > cores():
        words.append(f"oversubscribed ({cores()} cores)")
    return ", ".join([*words, f"seed {plan.seed}"])


def _table(plan: Plan, size: int, about: str, out: TextIO) -> Table:
    families = list(dict.fromkeys(CALLS[call] for call in plan.calls))
    named = [a for family in families for a in algorithms_of(family)]
    named = [a for a in named if plan.algorithm in (None, a.name)]
    names = [("collective", "algorithm"), *((a.collective, a.name) for a in named)]
    table = Table(size, about, names, out)
    for algorithm in named:
        unmet = [name for name in algorithm.unmet(size) if name != "commutative"]
        if unmet:
            sentence = "; ".join(REQUIREMENTS[name] for name in unmet)
            table.absent(algorithm.collective, algorithm.name, sentence)
    return table


def _progress(directory: Path | None) -> Callable[[str, int, int], None]:
    """A bar, or lines from which the process that started this one draws it."""
    if directory is None:
        return Bar(sys.stderr)
    last = 0.0

    def tell(title: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last > 0.2:
            last = time.monotonic()
            print(f"{MARK}{title}\t{done}\t{total}", flush=True)

    return tell


def _stalled(directory: Path | None, rank: int) -> Callable[[str], None]:
    """What becomes of a rank that does not move on."""

    def alone(text: str) -> None:
        print(f"rank {rank}: {text}", file=sys.stderr, flush=True)
        # Every rank's time is up at about the same moment: let all of them speak.
        time.sleep(1)
        abort(TIMEOUT_STATUS)

    def watched(text: str) -> None:
        (directory / f"stalled-{rank}").write_text(text)
        if rank == 0:
            time.sleep(1)
            print(f"{MARK}stalled", flush=True)

    return watched if directory else alone
