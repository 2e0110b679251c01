"""A bug that is planted in an exercise's solution, for students to predict what it does."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["OUTCOMES", "Bug"]

#: What can happen to a program with a bug.
OUTCOMES = ("right", "wrong", "hang", "error")


@dataclass(frozen=True)
class Bug:
    """One change of a solution.

    Attributes:
        name: what it is called, also in the files ``bugs.LANGUAGE.md`` that explain it.
        old, new: the lines to replace, which occur exactly once, and what they become.
        outcome: what happens on `size` ranks, one of `OUTCOMES`, on every MPI library.
        size: how many ranks it is tried on.
        n: the length of the inputs, as the specification's ``inputs`` understands it.
    """

    name: str
    old: str
    new: str
    outcome: str
    size: int
    n: int = 3

    def __post_init__(self) -> None:
        if self.outcome not in OUTCOMES:
            raise ValueError(f"{self.name}: the outcome is one of {', '.join(OUTCOMES)}")

    def planted(self, solution: str) -> str:
        """The solution with this bug in it."""
        if solution.count(self.old) != 1:
            raise ValueError(f"{self.name}: the lines to replace must occur exactly once")
        return solution.replace(self.old, self.new)
