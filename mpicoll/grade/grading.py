"""Grading one file: the cases in order, on ranks that are started again only when they must."""

from __future__ import annotations

import secrets
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mpicoll.grade.cases import Case, cases_of
from mpicoll.grade.exercise import CHECKS, NEEDS, Collective, Exercise
from mpicoll.grade.failures import explain_failure, flows
from mpicoll.grade.finding import Finding
from mpicoll.grade.job import Answers, Job
from mpicoll.grade.judge import Given, judge
from mpicoll.grade.report import Report
from mpicoll.grade.speed import speed_check
from mpicoll.grade.style import remarks
from mpicoll.grade.submission import Submission
from mpicoll.grade.validate import valid, valid_state
from mpicoll.grade.values import inputs, output_shape
from mpicoll.grade.verdicts import ENOUGH, verdicts
from mpicoll.launch.library import vendor_of

__all__ = ["Grader", "submission_of"]

#: How late the late rank is.
LATE = 0.05


def submission_of(exercise: Exercise, path: Path) -> Submission:
    """The text of a file as a solution of the exercise."""
    arguments = exercise.task.arguments if isinstance(exercise.task, Collective) else ()
    return Submission(path, exercise.name, tuple(arguments))


class Grader:
    """Grades files for one exercise.

    Attributes:
        sizes: numbers of ranks; mistakes are explained on the first.
        seconds: deadline for a case of which some rank is still computing.
        memory: bytes that each rank may allocate.
        speed: whether to look at speed; None: if ranks have a core each that is not busy.
        exercises: a file with ``exercises``, to find the exercise in on the ranks.
    """

    def __init__(
        self,
        exercise: Exercise,
        sizes: tuple[int, ...],
        seconds: float = 20.0,
        memory: int = 2 << 30,
        exercises: str | None = None,
        speed: bool | None = None,
        progress: Callable[[str, int, int], None] = lambda what, done, total: None,
    ) -> None:
        self.exercise, self.sizes, self.seconds = exercise, sizes, seconds
        self.memory, self.exercises, self.progress = memory, exercises, progress
        self.speed = speed

    def grade(self, path: Path) -> Report:
        """Grade one file; LaunchError if no ranks can be started."""
        started = time.monotonic()
        run = _Run(self, path)
        try:
            run.all_cases()
            checks = verdicts(run)
        finally:
            run.close()
        seconds = time.monotonic() - started
        notes = [*dict.fromkeys(run.style), *run.submission.unusual(), *run.remarks]
        return Report(
            str(path),
            self.exercise.name,
            self.exercise.title,
            checks,
            self.sizes,
            run.library,
            seconds,
            notes,
        )


class _Run:
    """One file's grading."""

    def __init__(self, grader: Grader, path: Path) -> None:
        self.grader, self.exercise = grader, grader.exercise
        self.submission = submission_of(grader.exercise, path)
        self.scratch = Path(tempfile.mkdtemp(prefix="mpicoll-submission-"))
        self.copy = self.scratch / path.name
        shutil.copyfile(path, self.copy)
        # Nobody but the parent ever sees the seed.
        self.random = np.random.default_rng(secrets.randbits(128))
        self.job: Job | None = None
        self.loaded: set[tuple[int, int]] = set()
        self.epoch, self.library = 0, ""
        self.plan = list(cases_of(self.exercise, grader.sizes))
        self.findings: dict[str, list[Finding]] = {name: [] for name in CHECKS}
        self.count = dict.fromkeys(CHECKS, 0)
        self.stopped: set[str] = set()
        self.notes: dict[str, str] = {}
        self.style: list[str] = []
        self.broken = ""
        self.remarks: list[str] = []

    def close(self) -> None:
        """End the ranks and remove what they wrote."""
        if self.job is not None:
            self.job.end()
        shutil.rmtree(self.scratch, ignore_errors=True)

    def blocked_by(self, check: str) -> list[str]:
        """The checks that this one needs and that have failed, directly or not."""
        found = []
        for name in NEEDS.get(check, ()):
            if self.findings[name] or self.blocked_by(name):
                found.append(name)
        return found

    def all_cases(self) -> None:
        """Run what can be run."""
        for number, case in enumerate(self.plan):
            self.grader.progress(f"{self.copy.name}: {case.check}", number, len(self.plan))
            if case.check in self.stopped or self.blocked_by(case.check):
                continue
            if not self.ready(case):
                return
            self.one_case(case)
        if not self.blocked_by("speed"):
            speed_check(self)

    def ready(self, case: Case) -> bool:
        """Ranks for the case, with the submission loaded; False if it cannot be loaded."""
        if self.job is None:
            most = max(c.size for c in self.plan if c.check not in self.stopped)
            setup = {
                "exercise": self.exercise.name,
                "exercises": self.grader.exercises,
                "file": str(self.copy),
                "scratch": str(self.scratch),
                "memory": self.grader.memory,
            }
            self.job, self.loaded = Job(most, setup), set()
            self.library, self.epoch = _library(self.job.library), 0
        key = (case.size, self.epoch)
        if key in self.loaded:
            return True
        order = {"do": "load", "size": case.size, "epoch": self.epoch}
        found = self.job.order([order] * case.size, self.grader.seconds, flows)
        self.loaded.add(key)
        self.count["loads"] += 1
        loading = Case("loads", case.size)
        findings = self._load_findings(loading, found)
        self.findings["loads"] += findings
        if not found.complete:
            self.restart()
        return not findings

    def _load_findings(self, loading: Case, found: Answers) -> list[Finding]:
        if not found.complete or any(a.get("error") for a in found.answers.values()):
            return explain_failure(self.exercise, loading, found, self.submission)
        if found.answers[0].get("missing"):
            defined = ", ".join(map(str, found.answers[0].get("defined", []))) or "nothing"
            text = f"the file has no function {self.exercise.name}; it defines {defined}"
            return [Finding("loads", "no-function", text, -1, 0)]
        return []

    def restart(self) -> None:
        """End the ranks; the next case gets new ones."""
        self.job.end(kill=True)
        outcome, self.job = self.job.outcome, None
        for rank in getattr(outcome, "ranks", ()):
            if rank.state == "failed":
                self.broken = f"the grader itself failed on rank {rank.rank}: {rank.message}"
                self.remarks.append(f"rank {rank.rank} failed in the grader: {rank.traceback}")

    def given(self, case: Case) -> Given:
        """Inputs for the calls of a case."""
        task = self.exercise.task
        if isinstance(task, Collective):
            return Given(case, [inputs(task, case, self.random) for _ in range(1 + case.twice)])
        return Given(case, [task.inputs(dict(case.given), case.size, self.random)])

    def orders(self, given: Given) -> list[dict[str, Any]]:
        """What each rank is told: its own inputs, and nothing of the others'."""
        case, task = given.case, self.exercise.task
        common = {"do": "call", "size": case.size, "epoch": self.epoch, "sync": case.sync}
        common |= {"traced": case.traced, "dtype": case.dtype, "op": case.op, "root": case.root}
        common |= {"in_place": case.in_place}
        orders = []
        for rank in range(case.size):
            own = {"given": [call[rank] for call in given.calls]}
            own["delay"] = LATE if rank == case.delayed else 0
            own["output"] = None
            if isinstance(task, Collective):
                own["output"] = output_shape(task, case, rank)
            orders.append(common | own)
        return orders

    def one_case(self, case: Case) -> None:
        """Run it and note what is wrong."""
        given = self.given(case)
        found = self.job.order(self.orders(given), self.grader.seconds, flows)
        self.count[case.check] += 1
        calls = len(given.calls)
        bad = [r for r, a in found.answers.items() if not valid(a, self.exercise, calls)]
        bad += [rank for rank, state in found.states.items() if not valid_state(state)]
        if not found.complete:
            self.restart()
        if self.broken:
            findings = [Finding(case.check, "grader-failed", self.broken, -1, 0, case)]
            self.broken = ""
        elif bad:
            text = (
                f"what rank {bad[0]} reports is not what the grader writes: it was interfered with"
            )
            findings = [Finding(case.check, "tampered", text, bad[0], 0, case)]
        else:
            findings = judge(self.exercise, given, found, self.submission)
            self.style += [f"line {n}: {said}" for n, said in remarks(found.answers)]
        for finding in findings:
            self.findings[finding.check].append(finding)
            if len(self.findings[finding.check]) >= ENOUGH:
                self.stopped.add(finding.check)
        if not found.complete:
            self.stopped.add(case.check)
        elif findings:
            self.epoch += 1  # messages may be left over


def _library(text: str) -> str:
    """The MPI library's name and version."""
    vendor, version = vendor_of(text)
    names = {"mpich": "MPICH", "openmpi": "Open MPI"}
    return f"{names[vendor]} {version}" if vendor in names else text[:60]
