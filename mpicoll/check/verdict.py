"""All ranks' findings combined, a batch of cases at a time, into a result for each algorithm."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from mpicoll.check.cases import Call, Variant, calls_of, forms_of, serves, variants_of
from mpicoll.check.compare import Fault
from mpicoll.check.explain import explain
from mpicoll.check.methods import METHODS, Method
from mpicoll.check.session import Batch, Session

__all__ = ["Failure", "Result", "Summary", "check"]

#: Cases between two agreements of the ranks; each costs milliseconds when ranks share cores.
BATCH = 400

Cases = list[tuple[Call, list[tuple[Variant, str]]]]


@dataclass
class Result:
    """The cases of one algorithm; the worst error is in eps x magnitudes, None without rounding."""

    collective: str
    algorithm: str
    cases: int = 0
    failed: int = 0
    worst: float | None = None


@dataclass
class Failure:
    """A case that failed on some ranks, its number in all, and what went wrong in it."""

    index: int
    variant: Variant
    call: Call
    form: str
    size: int
    faults: list[Fault]
    explanation: str = ""

    def __str__(self) -> str:
        lines = [f"{self.variant} ({self.form}), P = {self.size}: {self.call}"]
        lines += [str(fault) for fault in self.faults[:3]]
        if len(self.faults) > 3:
            lines.append(f"... and {len(self.faults) - 3} more ranks")
        return "\n".join(lines)


@dataclass
class Summary:
    """What a check on one number of ranks found; on other ranks than 0 only what was `made`."""

    size: int
    results: list[Result] = field(default_factory=list)
    failures: list[Failure] = field(default_factory=list)
    failed: int = 0
    made: list[tuple[Variant, Call, str]] = field(default_factory=list)
    counted: int = 0
    agreements: int = 0
    seconds: float = 0.0

    @property
    def cases(self) -> int:
        """How many cases there were."""
        return len(self.made)


def _cases(
    method: Method,
    variants: list[Variant],
    size: int,
    nodes: tuple[int, ...] | None,
    full: bool,
) -> Iterator[Cases]:
    """Batches of calls, each with the algorithms and forms that take part in it."""
    batch: Cases = []
    number = 0
    for call in calls_of(method, size, full):
        forms = forms_of(call, full)
        taking = [variant for variant in variants if serves(variant, call, size, nodes)]
        if taking:
            batch.append((call, [(variant, form) for variant in taking for form in forms]))
            number += len(batch[-1][1])
        if number >= BATCH:
            yield batch
            batch, number = [], 0
    if number:
        yield batch


def check(
    session: Session,
    calls: list[str],
    *,
    algorithm: str | None,
    full: bool,
    progress: Callable[[str, int, int], None],
    finished: Callable[[list[Result]], None],
) -> Summary:
    """Make all cases of these MPI calls; collective.

    `progress` gets what is being done and how many cases of how many are; `finished` the results
    of each collective, on rank 0.
    """
    started = time.monotonic()
    summary = Summary(session.size)
    nodes = session.ours.state.nodes
    work = []
    for name in calls:
        method = METHODS[name]
        variants = variants_of(method.collective, session.size, algorithm)
        work.append((method, list(_cases(method, variants, session.size, nodes, full))))
    total = sum(len(cases) for _, batches in work for batch in batches for _, cases in batch)
    results: dict[tuple[str, str], Result] = {}
    for position, (method, batches) in enumerate(work):
        for cases in batches:
            batch = Batch()
            for call, taking in cases:
                progress(method.name, summary.cases + len(batch.cases), total)
                session.run(call, taking, batch)
            _combine(session, batch, results, summary)
        if position + 1 == len(work) or work[position + 1][0].collective != method.collective:
            here = [r for r in results.values() if r.collective == method.collective]
            summary.results += here
            if session.rank == 0:
                finished(here)
    summary.failed = session.plain.bcast(summary.failed)
    summary.seconds = time.monotonic() - started
    return summary


def explain_first(session: Session, summary: Summary) -> None:
    """Add to the first failure what can be found out about it; collective."""
    first = summary.failures[0] if summary.failures else None
    index = session.plain.bcast(first.index if first else 0)
    explanation = explain(session, *summary.made[index])
    if first:
        first.explanation = explanation


def _combine(
    session: Session, batch: Batch, results: dict[tuple[str, str], Result], summary: Summary
) -> None:
    session.watch("waiting for the other ranks")
    session.plain.Barrier()
    session.stray(batch)
    # Nobody goes on to the next batch, whose messages are no strays, before all have looked.
    session.plain.Barrier()
    mine = (batch.faults, batch.digests, batch.times, batch.errors)
    everyone = session.plain.gather(mine)
    summary.agreements += 3
    summary.counted += batch.counted
    offset = len(summary.made)
    summary.made += batch.cases
    if everyone is None:
        return
    faults, digests, times, errors = zip(*everyone, strict=True)
    for number, (variant, call, form) in enumerate(batch.cases):
        key = (variant.collective, variant.name)
        result = results.setdefault(key, Result(*key))
        result.cases += 1
        found = [of_rank[number] for of_rank in faults if number in of_rank]
        if number in digests[0]:
            found += _different([of_rank[number] for of_rank in digests])
        if number in times[0]:
            found += _early([of_rank[number] for of_rank in times])
        rounding = [of_rank[number] for of_rank in errors if number in of_rank]
        if rounding:
            result.worst = max(result.worst or 0.0, *rounding)
        if found:
            result.failed += 1
            summary.failed += 1
            summary.failures.append(
                Failure(offset + number, variant, call, form, session.size, found)
            )


def _different(digests: list[bytes]) -> list[Fault]:
    """Ranks whose result has other bits than rank 0's."""
    others = [rank for rank, digest in enumerate(digests) if digest != digests[0]]
    return [Fault(rank, "its result has not the same bits as rank 0's") for rank in others]


def _early(times: list[tuple[float, float]]) -> list[Fault]:
    """Ranks that left a barrier before the last one had entered."""
    last = max(range(len(times)), key=lambda rank: times[rank][0])
    return [
        Fault(rank, f"it left {1e3 * (times[last][0] - left):.3g} ms before rank {last} entered")
        for rank, (_, left) in enumerate(times)
        if left < times[last][0]
    ]
