"""Speed, as a ratio to mpicoll's own implementation of the same algorithm in the same run."""

from __future__ import annotations

import secrets
from typing import Any

import numpy as np

from mpicoll.bench.busy import busy_cores
from mpicoll.grade.cases import Case
from mpicoll.grade.exercise import Collective
from mpicoll.grade.finding import Finding
from mpicoll.launch.command import cores

__all__ = ["speed_check"]

RANKS, COUNT, TURNS = 2, 1_000_000, 5
ENOUGH = 1.0  # seconds after which a function is not called again


def speed_check(run: Any) -> None:
    """Time two ranks on a million float64, if each has a core; note the finding in `run`."""
    exercise = run.exercise
    task, structure = exercise.task, exercise.structure
    if not exercise.speed or not isinstance(task, Collective) or not structure:
        return
    if not structure.like or task.name not in ("allreduce", "bcast", "alltoall", "allgather"):
        return
    if run.grader.speed is False:
        return
    if run.grader.speed is None:
        busy = busy_cores() or 0.0
        if cores() - busy < RANKS - 0.5:
            run.remarks.append(
                f"speed was not looked at: {RANKS} ranks need a core each, and of {cores()} cores "
                f"{busy:g} are busy"
            )
            return
    case = Case("speed", RANKS, COUNT, "float64", "SUM" if "op" in task.arguments else None)
    if not run.ready(case):
        return
    seeds = [secrets.randbits(60) for _ in range(RANKS)]
    count = COUNT // (RANKS if task.name in ("alltoall", "allgather") else 1)
    sample = run.random.integers(0, COUNT, 1000)
    order = {"do": "time", "size": RANKS, "epoch": run.epoch, "count": count, "turns": TURNS}
    order |= {"enough": ENOUGH, "algorithm": structure.like[1], "sample": sample}
    found = run.job.order([order | {"seed": seed} for seed in seeds], 6 * run.grader.seconds)
    if not found.complete:
        run.restart()
    if run.broken:
        return  # it is not the submission's fault, and noted
    run.count["speed"] += 1
    problem = _judge(found, seeds, sample, count, task.name, exercise.speed, case, run)
    if problem:
        run.findings["speed"].append(problem)


def _judge(
    found: Any,
    seeds: list[int],
    sample: np.ndarray,
    count: int,
    name: str,
    bands: tuple[float, float],
    case: Case,
    run: Any,
) -> Finding | None:
    loop = run.submission.element_loop()
    hint = f"; the loop in line {loop} goes over single elements: use whole arrays" if loop else ""
    if not found.complete or any(a.get("error") for a in found.answers.values()):
        errors = [a["error"]["text"] for a in found.answers.values() if a.get("error")]
        text = errors[0] if errors else f"a million elements take too long{hint}"
        return Finding("speed", "too-slow", text, -1, loop, case)
    if any(a.get("tampered") or a.get("attempts") for a in found.answers.values()):
        return Finding("speed", "tampered", "the program changed the grader", -1, 0, case)
    given = [np.random.default_rng(seed).random(count * _factor(name)) for seed in seeds]
    for rank in range(RANKS):
        want = _wanted(name, given, rank, count)[sample]
        got = found.answers[rank].get("sample")
        if not isinstance(got, np.ndarray) or got.shape != want.shape:
            return Finding("speed", "tampered", "no result was given", rank, 0, case)
        if not np.allclose(got, want):
            text = f"the result is wrong on rank {rank} for a million elements"
            return Finding("speed", "wrong-result", text, rank, 0, case)
    times = [[found.answers[r].get(key) for r in range(RANKS)] for key in ("own", "reference")]
    if not all(_positive(each) for row in times for each in row):
        return Finding("speed", "tampered", "no times were given", -1, 0, case)
    own, other = (max(min(each) for each in row) for row in times)
    ratio = own / other
    full, half = bands
    words = f"{ratio:.1f} times mpicoll's time for a million float64 on {RANKS} ranks"
    if ratio <= full:
        run.notes["speed"] = words
    elif ratio <= half:
        run.notes["speed"] = f"{words}, half the points"
    else:
        text = f"it takes {words}; up to {half:g} times would do{hint}"
        return Finding("speed", "too-slow", text, -1, loop, case)
    return None


def _positive(times: Any) -> bool:
    known = isinstance(times, list) and 1 <= len(times) <= TURNS
    return known and all(isinstance(t, float) and t > 0 for t in times)


def _factor(name: str) -> int:
    return RANKS if name == "alltoall" else 1


def _wanted(name: str, given: list[np.ndarray], rank: int, count: int) -> np.ndarray:
    if name == "allreduce":
        return given[0] + given[1]
    if name == "bcast":
        return given[0]
    if name == "allgather":
        return np.concatenate(given)
    return np.concatenate([part[rank * count : (rank + 1) * count] for part in given])
