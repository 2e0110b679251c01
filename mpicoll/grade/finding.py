"""A mistake that was found, and how ranks and chunks are named in sentences."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from mpicoll.grade.cases import Case

__all__ = ["Finding", "plural", "ranges"]


@dataclass(frozen=True)
class Finding:
    """What is wrong, in a sentence, and where.

    `check` is the one that fails by it, `code` its name for programs; `rank` and `line` are where
    to look, -1 and 0 if there is no such place; `details` are further lines; `case` the call.
    """

    check: str
    code: str
    text: str
    rank: int = -1
    line: int = 0
    case: Case | None = None
    details: tuple[str, ...] = field(default=())

    def under(self, check: str) -> Finding:
        """The same for another check."""
        return replace(self, check=check)


def plural(number: int, thing: str) -> str:
    """A number and a thing.

    >>> plural(1, "message"), plural(2, "message")
    ('1 message', '2 messages')
    """
    return f"{number} {thing}{'s' * (number != 1)}"


def ranges(numbers: list[int]) -> str:
    """Numbers briefly.

    >>> ranges([0, 1, 2, 5, 7, 8])
    '0-2, 5, 7-8'
    """
    runs: list[list[int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    return ", ".join(f"{r[0]}-{r[-1]}" if len(r) > 1 else str(r[0]) for r in runs)
