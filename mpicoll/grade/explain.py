"""Why a result is wrong: the cause that the data and the messages give away."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpicoll.grade import trace
from mpicoll.grade.cases import Case
from mpicoll.grade.evidence import (
    Cause,
    alone,
    disagreed,
    dropped,
    lengths,
    mixed_calls,
    remarked,
    types,
)
from mpicoll.grade.exercise import Collective, Exercise
from mpicoll.grade.finding import Finding, plural, ranges
from mpicoll.grade.messages import Traffic
from mpicoll.grade.operations import UFUNCS
from mpicoll.grade.provenance import provenance
from mpicoll.grade.submission import Submission
from mpicoll.grade.values import expected

__all__ = ["ONLY_1D", "explain_wrong"]

ONLY_1D = (
    "It is right for vectors and wrong for 2-D arrays: work on a flat view, x.reshape(-1), or cut "
    "by elements and not by rows"
)

Wrong = list[tuple[int, int, str, Any]]


def explain_wrong(
    exercise: Exercise,
    given: Any,
    answers: list[dict[str, Any]],
    seen: Traffic,
    wrong: Wrong,
    text: Submission,
) -> list[Finding]:
    """The most telling explanation first; what else was noticed in its details."""
    case = given.case
    causes = [*types(seen), *remarked(answers)]
    if isinstance(exercise.task, Collective):
        causes += _collective_causes(exercise, given, answers, seen, wrong, text)
    else:
        rank, said = wrong[0][1], wrong[0][2]
        causes += alone(answers)
        causes += lengths(seen)
        causes += disagreed(answers)
        causes += dropped(answers)
        causes += [("wrong-result", said, rank, 0)]
        causes = _said_too(causes, said, rank)
    code, sentence, rank, line = causes[0]
    more = tuple(f"also: {c[1]}" for c in causes[1:4] if c[1] != sentence)
    return [Finding(case.check, code, sentence, rank, line, case, more)]


def _said_too(causes: list, said: str, rank: int) -> list:
    code, sentence, where, line = causes[0]
    if code != "wrong-result" and said not in sentence:
        return [(code, f"{said}. {sentence}", where, line), *causes[1:-1]]
    return causes


def _collective_causes(
    exercise: Exercise,
    given: Any,
    answers: list[dict[str, Any]],
    seen: Traffic,
    wrong: Wrong,
    text: Submission,
) -> list[Cause]:
    case = given.case
    call, rank, how, bad = wrong[0]
    output = answers[rank]["outputs"][call]
    role = "buf" if "buf" in exercise.task.arguments else "recvbuf"
    name = text.parameter(role)
    if how == "no such array" or not isinstance(output, np.ndarray):
        return [("no-output", f"rank {rank} has no such output as it should", rank, 0)]
    causes = []
    untouched = trace.is_filled(output, trace.UNTOUCHED).reshape(-1)
    if untouched.size and untouched.all() and not np.dtype(case.dtype).kind == "b":
        line, returned = text.rebinding(role), answers[rank].get("returned")
        if line:
            said = (
                f"the caller's {name} was never written on rank {rank}: {text.at(line)} gives the "
                f"name {name} to a new array. Write into it: {name}[:] = ..."
            )
            causes.append(("rebound-output", said, rank, line))
        elif returned:
            said = f"rank {rank} returns {returned} and leaves {name} as it was: fill {name}"
            causes.append(("returned-output", said, rank, 0))
    causes += dropped(answers)
    if case.twice:
        causes += mixed_calls(seen)
    causes += _tail(given, bad, untouched, rank, name, text)
    causes += _another_operation(exercise, given, answers, call)
    if case.traced:
        causes += provenance(exercise, case, answers, seen, wrong, text)
    causes += lengths(seen)
    causes += _only_1d(case)
    causes += _root(case)
    if bad is not None:
        where = ranges(np.flatnonzero(bad)[:1000].tolist())
        first = int(np.flatnonzero(bad)[0])
        want = expected(exercise.task, case, given.calls[call])[rank].reshape(-1)[first]
        got = output.reshape(-1)[first]
        wrongs = len({r for _, r, _, _ in wrong})
        said = (
            f"rank {rank}: element{'s' * (int(bad.sum()) > 1)} {where[:120]} of {bad.size} wrong "
            f"(element {first} is {got}, not {want}); {plural(wrongs, 'rank')} of {case.size} "
            "wrong"
        )
        code = "never-written" if untouched.size and untouched.all() else "wrong-result"
        causes.append((code, said, rank, 0))
    return causes


def _tail(
    given: Any, bad: Any, untouched: Any, rank: int, name: str, text: Submission
) -> list[Cause]:
    """Exactly the elements beyond the last multiple of P are wrong."""
    case = given.case
    if bad is None or case.width or bad.size != case.count or not case.count % case.size:
        return []
    rest = case.count % case.size
    if bad[-rest:].all() and not bad[:-rest].any():
        said = (
            f"the last {plural(rest, 'element')} of {case.count} {'are' if rest > 1 else 'is'} "
            f"wrong on rank {rank}: {case.count} is no multiple of {case.size}, and n // size "
            "drops the rest. Cut at r * n // size, or with np.array_split"
        )
        return [("tail-dropped", said, rank, 0)]
    return []


def _another_operation(
    exercise: Exercise, given: Any, answers: list[dict[str, Any]], call: int
) -> list[Cause]:
    """The result is that of another operation."""
    case = given.case
    if case.op in (None, "SUM") or "op" not in exercise.task.arguments:
        return []
    others = [name for name in ("SUM", "MAX", "MIN") if name != case.op]
    for other in others:
        changed = Case(**{**case.__dict__, "op": other})
        want = expected(exercise.task, changed, given.calls[call])
        same = [
            np.allclose(answers[r]["outputs"][call], w) for r, w in enumerate(want) if w is not None
        ]
        if same and all(same):
            said = (
                f"asked for {case.op}, the function computes {other}: combine with the op that it "
                f"is given ({UFUNCS[other].__name__} is not always meant)"
            )
            return [("operation-ignored", said, 0, 0)]
    untouched = all(
        trace.is_filled(a["outputs"][call], trace.UNTOUCHED).all()
        for a in answers
        if a["outputs"][call] is not None
    )
    if untouched:
        said = f"asked for {case.op}, the function does nothing: unknown operations need an error"
        return [("operation-ignored", said, 0, 0)]
    return []


def _only_1d(case: Case) -> list[Cause]:
    return [("only-1d", ONLY_1D, -1, 0)] if case.width else []


def _root(case: Case) -> list[Cause]:
    if case.check != "roots" or not case.root:
        return []
    said = (
        f"it is right for root 0 and wrong for root {case.root}: number the ranks from the root "
        "on, relative = (rank - root) % size, and back when you name a partner"
    )
    return [("only-root-0", said, -1, 0)]
