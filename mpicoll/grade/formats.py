"""Reports for programs: JSON (see ``schema.json``), JUnit, Gradescope, and a table."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from importlib.resources import files
from typing import Any
from xml.etree import ElementTree

import mpicoll
from mpicoll.grade.exercise import CHECKS
from mpicoll.grade.finding import Finding
from mpicoll.grade.report import Check, Report

__all__ = ["as_csv", "as_gradescope", "as_json", "as_junit", "schema"]


def schema() -> dict[str, Any]:
    """The JSON schema of what `as_json` gives."""
    return json.loads((files("mpicoll.grade") / "schema.json").read_text(encoding="utf-8"))


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "text": finding.text,
        "rank": finding.rank if finding.rank >= 0 else None,
        "line": finding.line or None,
        "case": str(finding.case) if finding.case else None,
        "details": list(finding.details),
    }


def _check(check: Check) -> dict[str, Any]:
    return {
        "name": check.name,
        "meaning": check.meaning,
        "status": check.status,
        "points": round(check.points, 3),
        "max_points": check.most,
        "cases": check.cases,
        "note": check.note,
        "findings": [_finding(finding) for finding in check.findings],
    }


def as_json(reports: Sequence[Report]) -> dict[str, Any]:
    """Everything."""
    return {
        "format": "mpicoll-grade",
        "version": 1,
        "mpicoll": mpicoll.__version__,
        "passed": bool(reports) and all(report.passed for report in reports),
        "submissions": [
            {
                "file": report.file,
                "exercise": report.exercise,
                "title": report.title,
                "passed": report.passed,
                "score": round(report.score, 2),
                "sizes": list(report.sizes),
                "library": report.library,
                "seconds": round(report.seconds, 2),
                "notes": report.notes,
                "checks": [_check(check) for check in report.checks],
            }
            for report in reports
        ],
    }


def _words(check: Check) -> str:
    parts = [check.note] if check.note else []
    for finding in check.findings:
        parts.append(f"{finding.text} (line {finding.line})" if finding.line else finding.text)
        parts += finding.details
    return "\n".join(parts)


def as_junit(reports: Sequence[Report]) -> str:
    """A test suite for each file, a test case for each check."""
    root = ElementTree.Element("testsuites", name="mpicoll grade")
    for report in reports:
        told = [check for check in report.checks if check.status != "not applicable"]
        suite = ElementTree.SubElement(
            root,
            "testsuite",
            name=report.file,
            tests=str(len(told)),
            failures=str(sum(check.status == "failed" for check in told)),
            skipped=str(sum(check.status == "not run" for check in told)),
            errors="0",
            time=f"{report.seconds:.3f}",
        )
        for check in told:
            name = f"{check.name}: {check.meaning}"
            case = ElementTree.SubElement(suite, "testcase", classname=report.exercise, name=name)
            if check.status == "failed":
                code = check.findings[0].code if check.findings else "failed"
                failure = ElementTree.SubElement(case, "failure", message=code)
                failure.text = _printable(_words(check))
            elif check.status == "not run":
                ElementTree.SubElement(case, "skipped", message=_printable(check.note))
    ElementTree.indent(root)
    return ElementTree.tostring(root, encoding="unicode", xml_declaration=True) + "\n"


def _printable(text: str) -> str:
    """Without what XML cannot hold; student code may put anything into a message."""
    return "".join(c if c in "\n\t" or c.isprintable() else "?" for c in text)


def as_gradescope(reports: Sequence[Report]) -> dict[str, Any]:
    """Results as Gradescope's autograder reads them; several files share the 100 points."""
    tests = []
    for report in reports:
        share = 100.0 / len(reports)
        most = sum(check.most for check in report.checks) or 1.0
        for check in report.checks:
            if check.status == "not applicable" or not check.most:
                continue
            tests.append(
                {
                    "name": f"{report.exercise}: {check.name}",
                    "score": round(share * check.points / most, 3),
                    "max_score": round(share * check.most / most, 3),
                    "status": "passed" if check.status == "passed" else "failed",
                    "output": _words(check) or check.meaning,
                    "visibility": "visible",
                }
            )
    return {
        "score": round(sum(r.score for r in reports) / len(reports), 3) if reports else 0,
        "execution_time": round(sum(r.seconds for r in reports), 2),
        "output": "\n".join(
            f"{r.file}: {r.exercise}: {'passed' if r.passed else 'not passed'}" for r in reports
        ),
        "tests": tests,
    }


def as_csv(reports: Sequence[Report]) -> str:
    """A line for each file: points, verdict, each check, and the first mistake."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["file", "exercise", "score", "passed", *CHECKS, "first_code", "first_text"])
    for report in reports:
        statuses = {check.name: check.status for check in report.checks}
        first = next((f for check in report.checks for f in check.findings), None)
        row = [report.file, report.exercise, f"{report.score:.1f}", report.passed]
        row += [statuses.get(name, "not applicable") for name in CHECKS]
        row += [first.code, first.text] if first else ["", ""]
        writer.writerow([_harmless(str(cell)) for cell in row])
    return out.getvalue()


def _harmless(cell: str) -> str:
    """A cell that no spreadsheet takes for a formula."""
    return "'" + cell if cell[:1] in ("=", "+", "-", "@", "\t") else cell
