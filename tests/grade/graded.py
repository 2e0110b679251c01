"""Grading of programs given as text, and the comparison with what must be said of them."""

from __future__ import annotations

import tempfile
from pathlib import Path

from planted import Plant

from mpicoll.grade.exercise import load_exercises
from mpicoll.grade.grading import Grader, submission_of
from mpicoll.grade.report import Report, text_of
from mpicoll.grade.standard import STANDARD

HERE = Path(__file__).parent
OWN = str(HERE / "exercises.py")


def graded(
    source: str, exercise: str = "ring_allreduce", sizes: tuple[int, ...] = (4,), **options
) -> tuple[Report, str]:
    """The report on a program, as data and as text."""
    own = load_exercises(OWN)
    chosen = own[exercise] if exercise in own else STANDARD[exercise]
    options.setdefault("speed", False)  # times are for idle machines
    options.setdefault("exercises", OWN if exercise in own else None)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "program.py"
        path.write_text(source)
        report = Grader(chosen, sizes, **options).grade(path)
        return report, text_of(report, submission_of(chosen, path))


def said_of(plant: Plant, report: Report, text: str) -> list[str]:
    """What the report should say and does not; nothing if all is well."""
    missing = []
    findings = [f for check in report.checks for f in check.findings]
    if plant.check == "notes":
        place = plant.source[: plant.source.index(plant.where)].count("\n") + 1
        wanted = (f"line {place}:", plant.code, *plant.said)
        if not any(all(word in note for word in wanted) for note in report.notes):
            missing.append(f"no note with {wanted} among {report.notes}")
        if not report.passed:
            missing.append("a right program does not pass")
        return missing
    codes = [f.code for f in findings]
    found = [f for f in findings if f.code in (plant.code, *plant.also)]
    if not found:
        return [f"{plant.code} is not among {codes}"]
    if report.passed:
        missing.append("it passes")
    if plant.check:
        failed = [check.name for check in report.checks if check.findings]
        if plant.check not in failed:
            missing.append(f"{plant.check} does not fail, but {failed}")
    words = "\n".join([f.text + "\n" + "\n".join(f.details) for f in found])
    missing += [f"{word!r} is not said" for word in plant.said if word not in words]
    if plant.where:
        place = plant.source[: plant.source.index(plant.where)].count("\n") + 1
        if not any(f.line == place for f in found) and f"line {place}" not in words:
            missing.append(f"line {place} is not named, but {[f.line for f in found]}")
    return missing
