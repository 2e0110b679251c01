"""Checking a learner's file by the grader, one thing to mend at a time."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

from mpicoll.commands import CommandError
from mpicoll.commands.units import Progress
from mpicoll.grade.grading import Grader, submission_of
from mpicoll.grade.report import Report
from mpicoll.learn.chinese import FINDINGS
from mpicoll.learn.course import Lesson, lessons
from mpicoll.learn.words import checks, say

__all__ = ["check_file", "lesson_of", "parse_sizes", "told"]

MARKS = {"passed": "ok", "failed": "FAILED"}


def lesson_of(file: Path) -> Lesson:
    """The exercise that a file is about: by its name, or by the function in it."""
    if not file.is_file():
        what = "is a folder: name the file in it" if file.is_dir() else "does not exist"
        raise CommandError(f"{file} {what}")
    known = lessons()
    if file.stem in known:
        return known[file.stem]
    try:
        tree = ast.parse(file.read_text(encoding="utf-8"))
    except (SyntaxError, ValueError) as error:
        raise CommandError(f"{file} is no Python program: {error}") from None
    names = [node.name for node in tree.body if isinstance(node, ast.FunctionDef)]
    found = [name for name in names if name in known]
    if len(found) != 1:
        which = " and ".join(found) if found else "no exercise"
        raise CommandError(
            f"{file} has the function of {which}: name the file after its exercise, NAME.py"
        )
    return known[found[0]]


def parse_sizes(text: str | None) -> tuple[int, ...]:
    """Numbers of ranks from words such as 4,2,3; none if there are no words."""
    if text is None:
        return ()
    try:
        sizes = tuple(dict.fromkeys(map(int, text.split(","))))
    except ValueError:
        raise CommandError(f"-n takes numbers such as 4,2,3, not {text!r}") from None
    if min(sizes) < 1 or max(sizes) > 64:
        raise CommandError("-n takes 1 to 64 ranks")
    return sizes


def check_file(lesson: Lesson, file: Path, sizes: tuple[int, ...] = ()) -> Report:
    """Grade the file, showing how far it is."""
    tick = Progress(lesson.name)
    grader = Grader(lesson.exercise, sizes or lesson.exercise.sizes, progress=tick)
    try:
        return grader.grade(file)
    finally:
        tick.clear()


def told(report: Report, lesson: Lesson, file: Path, language: str, everything: bool) -> str:
    """The checks, and the first mistake (or `everything`)."""
    meanings, submission = checks(language), submission_of(lesson.exercise, file)
    lines, findings = [f"{lesson.name}: {lesson.title(language)}"], []
    waiting = 0
    for check in report.checks:
        if check.status in MARKS:
            lines.append(f"  {MARKS[check.status]:<7} {check.name:<10} {meanings[check.name]}")
        waiting += check.status == "not run"
        findings += check.findings
    if waiting:
        lines.append(f"  {'-':<7} " + say("waiting", language, count=waiting))
    shown = findings if everything else findings[:1]
    for finding in shown:
        gloss = FINDINGS.get(finding.code, "") if language == "zh" else ""
        lines += ["", *([f"  {gloss}"] if gloss else []), textwrap.indent(finding.text, "  ")]
        if place := submission.at(finding.line):
            lines.append(f"      {place}")
        lines += [f"      {line}" for detail in finding.details for line in detail.splitlines()]
        lines += [f"      [{finding.case}]"] if finding.case else []
    if len(findings) > len(shown):
        lines += ["", "  " + say("more findings", language, count=len(findings) - len(shown))]
    return "".join(c if c == "\n" or c.isprintable() else "?" for c in "\n".join(lines))
