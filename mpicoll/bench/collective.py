"""One collective measured over sizes, by all candidates in turn."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack

from mpi4py import MPI

from mpicoll.bench import candidates
from mpicoll.bench.candidates import Candidate
from mpicoll.bench.figures import summarise
from mpicoll.bench.gloo import Gloo
from mpicoll.bench.options import Options, Task
from mpicoll.bench.result import row
from mpicoll.bench.timing import Action, Limits, measure
from mpicoll.bench.work import METHODS, Work

__all__ = ["measured"]


def measured(
    comm: MPI.Intracomm,
    task: Task,
    options: Options,
    gloo: Gloo | None,
    note: Callable[[str], None],
) -> Iterator[list[dict]]:
    """The rows of each size, in ascending order; collective on `comm`, one of MPI's own.

    `note` is told about candidates that cannot take part.
    """
    done: set[int] = set()
    for wished in task.sizes:
        work = Work(comm, task.collective, wished, options.dtype, options.op, options.root)
        if work.nbytes not in done:  # small sizes may have been rounded up to the same
            done.add(work.nbytes)
            yield _size(comm, task, options, gloo, work, note)


def _size(
    comm: MPI.Intracomm,
    task: Task,
    options: Options,
    gloo: Gloo | None,
    work: Work,
    note: Callable[[str], None],
) -> list[dict]:
    with ExitStack() as stack:
        members = _members(comm, task, options, gloo, work, note, stack)
        verified = _verify(comm, work, members)
        limits = Limits(options.iterations, options.seconds)
        times = measure(comm, [Action(each.run, each.before) for each in members], limits)
    summaries = {each.name: summarise(own) for each, own in zip(members, times, strict=True)}
    medians = {name: summary.p50 for name, summary in summaries.items()}
    against = medians.get("native")
    rows = []
    for each in members:
        independent = {
            "group": task.group,
            "collective": task.collective,
            "form": each.form,
            "library": each.library,
            "candidate": each.name,
            "algorithm": each.algorithm,
            "parameters": dict(each.parameters) if each.algorithm else None,
            "ranks": work.size,
            "root": options.root if task.collective in ROOTED else None,
            "dtype": options.dtype,
            "op": options.op if task.collective in REDUCING else None,
            "nbytes": work.nbytes,
        }
        p50 = medians[each.name]
        more = {
            "over_native": p50 / against if against else None,
            "over_floor": p50 / medians[each.floor] if each.floor else None,
            "above_floor": p50 - medians[each.floor] if each.floor else None,
            "verified": verified[each.name],
        }
        if each.form == "persistent":
            blocking = medians.get(each.name.removesuffix(" persistent"))
            more["over_blocking"] = blocking and p50 / blocking
        rows.append(row(independent, summaries[each.name], **more))
    return rows


ROOTED = tuple(name for name in METHODS if name in ("bcast", "reduce", "gather", "scatter"))
REDUCING = ("reduce", "allreduce", "reduce_scatter", "scan", "exscan")


def _members(
    comm: MPI.Intracomm,
    task: Task,
    options: Options,
    gloo: Gloo | None,
    work: Work,
    note: Callable[[str], None],
    stack: ExitStack,
) -> list[Candidate]:
    members = []
    if "native" in options.against:
        members.append(candidates.native(comm, work))
    if gloo is not None:
        theirs = gloo.candidate(comm, work)
        if theirs is None:
            note(f"gloo has no {task.collective} of {options.dtype} with {options.op}: left out")
        else:
            members.append(theirs)
    members += candidates.ours(comm, work, task.candidates, stack, note, options.floor)
    if task.group == "persistent":
        taking_part = {member.name for member in members}
        for named in task.candidates:
            if named.label in taking_part:
                members += candidates.persistent(comm, work, named, stack)
    unique = {member.name: member for member in members}
    if "native" not in options.against:
        unique.pop("native persistent", None)
    return list(unique.values())


def _verify(comm: MPI.Intracomm, work: Work, members: list[Candidate]) -> dict[str, bool]:
    """Whether each candidate's result equals that of native MPI: by one call, before timing."""
    work.expect(comm)
    verified = {}
    for each in members:
        work.reset()
        if each.before is not None:
            each.before()
        each.run()
        verified[each.name] = work.right(comm)
    work.forget()
    return verified
