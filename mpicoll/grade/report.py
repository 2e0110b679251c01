"""What came of grading a file: data, and the text that its author reads."""

from __future__ import annotations

from dataclasses import dataclass, field

from mpicoll.grade.exercise import CHECKS, NEEDS
from mpicoll.grade.finding import Finding, plural
from mpicoll.grade.submission import Submission

__all__ = ["Check", "Report", "text_of"]


@dataclass
class Check:
    """One check of one file.

    `status` is "passed", "failed", "not run" (what it needs has failed) or "not applicable".
    """

    name: str
    status: str
    points: float
    most: float
    cases: int = 0
    findings: list[Finding] = field(default_factory=list)
    note: str = ""

    @property
    def meaning(self) -> str:
        """What is checked, in words."""
        return CHECKS[self.name]


@dataclass
class Report:
    """All checks of one file for one exercise; `notes` are for the teacher."""

    file: str
    exercise: str
    title: str
    checks: list[Check]
    sizes: tuple[int, ...]
    library: str
    seconds: float
    notes: list[str] = field(default_factory=list)

    @property
    def score(self) -> float:
        """Points, of 100."""
        most = sum(check.most for check in self.checks)
        return 100 * sum(check.points for check in self.checks) / most if most else 0.0

    @property
    def passed(self) -> bool:
        """Whether every check that applies has passed, and there was at least one."""
        told = [check.status for check in self.checks if check.status != "not applicable"]
        return bool(told) and all(status == "passed" for status in told)


_MARKS = {"passed": "ok", "failed": "FAILED", "not run": "-", "not applicable": "."}


def text_of(report: Report, submission: Submission, hint: str = "") -> str:
    """The report in words: the checks, then each mistake once, with its line."""
    verdict = "passed" if report.passed else "not passed"
    lines = [f"{report.file}: {report.exercise}, {verdict}, {report.score:.0f} of 100 points"]
    for check in report.checks:
        if check.status == "not applicable":
            continue
        points = f"{check.points:.0f}/{check.most:.0f}" if check.most else ""
        told = check.meaning
        if check.status == "not run":
            told = f"not run: {check.note or ', '.join(NEEDS.get(check.name, ()))} first"
        elif check.note:
            told += f" ({check.note})"
        lines.append(f"  {_MARKS[check.status]:<7} {check.name:<10} {points:>6}  {told}")
    shown: set[tuple[str, int]] = set()
    for check in report.checks:
        for finding in check.findings:
            if (finding.code, finding.line) in shown:
                continue
            shown.add((finding.code, finding.line))
            lines += ["", *_finding(finding, check, submission)]
    lines += ["", *(f"  note: {note}" for note in report.notes)] if report.notes else []
    if hint and not report.passed:
        lines += ["", hint]
    cases = plural(sum(check.cases for check in report.checks), "case")
    sizes = ", ".join(map(str, report.sizes))
    lines += ["", f"  {cases} on {sizes} ranks, {report.seconds:.1f} s, {report.library}"]
    return "\n".join(lines)


def _finding(finding: Finding, check: Check, submission: Submission) -> list[str]:
    where = f" [{finding.case}]" if finding.case else ""
    lines = [f"  {check.name}: {finding.text}"]
    if at := submission.at(finding.line):
        lines.append(f"      {at}")
    lines += [f"      {line}" for detail in finding.details for line in detail.splitlines()]
    lines.append(f"      ({finding.code}){where}")
    return lines
