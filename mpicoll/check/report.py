"""What a check prints: a table for each number of ranks, totals, the first failure; and JSON."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TextIO

from mpicoll.check.verdict import Failure, Result, Summary

__all__ = ["Table", "as_json", "result_as_json"]


class Table:
    """The lines about one number of ranks, printed as collectives are finished."""

    def __init__(
        self, size: int, about: str, names: Iterable[tuple[str, str]], out: TextIO
    ) -> None:
        names = list(names)
        self.left = max((len(c) for c, _ in names), default=0)
        self.middle = max((len(a) for _, a in names), default=0)
        self.out = out
        self._print(f"P = {size}: {about}")
        head = ("collective", "algorithm", "cases", "passed", "worst error")
        self._print(self._line(*head))

    def add(self, results: Iterable[Result]) -> None:
        """The lines of one collective."""
        for result in results:
            worst = "" if result.worst is None else f"{result.worst:.2f} eps"
            passed = result.cases - result.failed
            line = self._line(result.collective, result.algorithm, result.cases, passed, worst)
            self._print(line + ("  FAILED" if result.failed else ""))

    def absent(self, collective: str, algorithm: str, requirements: str) -> None:
        """A line for an algorithm that does not serve this number of ranks."""
        self._print(
            f"{collective:<{self.left}}  {algorithm:<{self.middle}}  not here: {requirements}"
        )

    def end(self, summary: Summary) -> None:
        """Totals, and what guards against self-deception."""
        verdict = f"{summary.failed} FAILED" if summary.failed else "all passed"
        if not summary.cases:
            verdict = "nothing was checked"
        self._print(f"{summary.cases} cases in {summary.seconds:.1f} s: {verdict}")
        guard = "0 native collectives on private communicators (they raise there)"
        if not summary.failed:
            guard += f"; messages counted in {summary.counted} cases: as many as planned"
        self._print(guard)

    def _line(self, collective, algorithm, cases, passed, worst) -> str:
        names = f"{collective:<{self.left}}  {algorithm:<{self.middle}}"
        return f"{names}  {cases:>6} {passed:>6}  {worst:>11}".rstrip()

    def _print(self, line: str) -> None:
        print(line, file=self.out, flush=True)


def as_json(summary: Summary, about: str) -> dict[str, object]:
    """Everything about one number of ranks."""
    return {
        "size": summary.size,
        "about": about,
        "cases": summary.cases,
        "failed": summary.failed,
        "seconds": round(summary.seconds, 3),
        "counted": summary.counted,
        "agreements": summary.agreements,
        "results": [result_as_json(result) for result in summary.results],
        "failures": [_failure(failure) for failure in summary.failures[:100]],
    }


def result_as_json(result: Result) -> dict[str, object]:
    """Everything about one algorithm."""
    return {
        "collective": result.collective,
        "algorithm": result.algorithm,
        "cases": result.cases,
        "passed": result.cases - result.failed,
        "worst_error": result.worst,
    }


def _failure(failure: Failure) -> dict[str, object]:
    call = failure.call
    return {
        "collective": failure.variant.collective,
        "algorithm": failure.variant.name,
        "parameters": dict(failure.variant.parameters),
        "form": failure.form,
        "call": call.method.name,
        "size": failure.size,
        "root": call.root if call.method.spec.rooted else None,
        "dtype": call.kind.element.name if call.kind else None,
        "operation": call.kind.operation.name if call.kind and call.kind.operation else None,
        "count": call.count if call.kind else None,
        "in_place": call.in_place,
        "layout": call.layout,
        "twice": call.twice,
        "faults": [
            {
                "rank": fault.rank,
                "text": fault.text,
                "element": fault.place.element if fault.place else None,
                "expected": fault.expected or None,
                "got": fault.got or None,
            }
            for fault in failure.faults
        ],
        "explanation": failure.explanation or None,
    }
