"""The "break it" track: a bug is planted in the solution, and run."""

from __future__ import annotations

import difflib
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mpicoll.launch import LaunchError
from mpicoll.launch.supervise import run
from mpicoll.learn.bug import Bug
from mpicoll.learn.course import Lesson
from mpicoll.learn.trial import WRONG

__all__ = ["Happened", "change", "happens"]


@dataclass(frozen=True)
class Happened:
    """What a bug did: one of `mpicoll.learn.bug.OUTCOMES`, and what was to be seen."""

    outcome: str
    seen: str
    seconds: float


def change(lesson: Lesson, bug: Bug) -> str:
    """The lines that change, with those around them."""
    before = lesson.read("solution.py")
    lines = difflib.unified_diff(
        before.splitlines(), bug.planted(before).splitlines(), lineterm="", n=4
    )
    return "\n".join(line for line in lines if not line.startswith(("---", "+++", "@@")))


def happens(lesson: Lesson, bug: Bug, timeout: float) -> Happened:
    """Run the solution with the bug on real ranks, beside the specification.

    Args:
        lesson: the exercise.
        bug: what to plant in its solution.
        timeout: seconds after which a program that has not ended is taken to hang. If its ranks
            are not even in the exercise by then, as on a busy machine, it gets more.

    Raises:
        LaunchError: the ranks do not get as far as the exercise.
    """
    with tempfile.TemporaryDirectory(prefix="mpicoll-bug-") as scratch:
        program = Path(scratch) / f"{lesson.name}.py"
        program.write_text(bug.planted(lesson.read("solution.py")), encoding="utf-8")
        argv = ["-m", "mpicoll.learn.trial", str(program), str(lesson.folder), str(bug.n)]
        for patience in (1, 3, 9):
            outcome = run(bug.size, argv, timeout=patience * timeout, echo=False, all_output=True)
            if not outcome.timed_out or f"{lesson.name}.py:" in outcome.report:
                break
        else:
            raise LaunchError(f"the ranks do not get started:\n{outcome.report}")
    if outcome.timed_out:
        what = "hang"
    else:
        what = {0: "right", WRONG: "wrong"}.get(outcome.returncode, "error")
    seen = outcome.report if what in ("hang", "error") else outcome.output
    return Happened(what, seen.replace(f"{scratch}/", "").strip(), outcome.seconds)
