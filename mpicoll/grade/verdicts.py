"""From what was found in the cases to the verdict and the points of each check."""

from __future__ import annotations

from typing import Any

from mpicoll.grade.exercise import CHECKS, Collective, Exercise
from mpicoll.grade.report import Check

__all__ = ["ENOUGH", "verdicts"]

#: So many failed cases of a check are enough to explain it.
ENOUGH = 2


def _everywhere(exercise: Exercise) -> set[str]:
    """The checks that look at every case."""
    task, found = exercise.task, {"messages"}
    if isinstance(task, Collective):
        found |= {"input"} if "recvbuf" in task.arguments else set()
        found |= {"bits"} if task.name in ("allreduce", "allgather", "bcast") else set()
    return found | ({"structure"} if exercise.structure is not None else set())


def verdicts(run: Any) -> list[Check]:
    """All checks of a file that has been run; what was not looked at has not passed."""
    everywhere = _everywhere(run.exercise)
    planned = {case.check for case in run.plan} | {"loads"} | everywhere
    planned |= {"speed"} if run.count["speed"] else set()
    return [_verdict(run, name, name in planned, name in everywhere) for name in CHECKS]


def _verdict(run: Any, name: str, planned: bool, everywhere: bool) -> Check:
    findings, needs = run.findings[name], run.blocked_by(name)
    note, cases = run.notes.get(name, ""), run.count[name]
    most = float(run.exercise.rubric.get(name, 0)) if planned else 0.0
    looked_at = cases or (everywhere and sum(run.count.values()))
    points = 0.0
    if not planned:
        status = "not applicable"
    elif findings:
        status = "failed"
    elif needs:
        status, note = "not run", f"needs {' and '.join(needs)}"
    elif not looked_at:
        status = "not run"
    else:
        status = "passed"
        points = most * (0.5 if name == "speed" and "half" in note else 1.0)
    return Check(name, status, points, most, cases, findings[:ENOUGH], note)
