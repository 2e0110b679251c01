"""The lessons of the course, read from their folders.

Files of a folder ``NAME``, with LANG being en or zh: ``exercise.py`` (ORDER, and what the grader
demands), ``text.LANG.md`` with ``{picture}`` for ``picture.txt``, ``skeleton.py``,
``specification.py``, ``solution.py``, ``hints.LANG.md`` (three, between lines of ---),
``questions.LANG.md``, and perhaps ``bugs.py`` with ``bugs.LANG.md``.
"""

from __future__ import annotations

import difflib
import functools
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mpicoll.learn.bug import Bug
from mpicoll.learn.trial import load

if TYPE_CHECKING:
    from mpicoll.grade.exercise import Exercise

__all__ = ["LANGUAGES", "Lesson", "find_lesson", "lessons"]

LANGUAGES = ("en", "zh")
FOLDER = Path(__file__).parent / "exercises"


@dataclass(frozen=True)
class Lesson:
    """One exercise of the course, in its folder."""

    name: str
    folder: Path

    def read(self, file: str) -> str:
        """The text of one of its files; empty if there is no such file."""
        path = self.folder / file
        return path.read_text(encoding="utf-8") if path.exists() else ""

    @functools.cached_property
    def _module(self):
        return load(self.folder / "exercise.py", f"exercise_{self.name}")

    @property
    def order(self) -> int:
        """The place in the course; hundreds are its parts."""
        return self._module.ORDER

    @property
    def exercise(self) -> Exercise:
        """What the grader demands."""
        return self._module.EXERCISE

    def title(self, language: str) -> str:
        """The heading of its text."""
        return self.read(f"text.{language}.md").partition("\n")[0].lstrip("# ")

    def text(self, language: str) -> str:
        """The whole text, with its picture."""
        picture = "```text\n" + self.read("picture.txt").rstrip("\n") + "\n```"
        return self.read(f"text.{language}.md").replace("{picture}", picture)

    def hints(self, language: str) -> list[str]:
        """Three hints, each telling more than the one before."""
        return [h.strip() for h in self.read(f"hints.{language}.md").split("\n---\n")]

    def questions(self, language: str) -> list[tuple[str, str]]:
        """Questions to follow, with their answers."""
        parts = re.split(r"^\*\*(.+)\*\*$", self.read(f"questions.{language}.md"), flags=re.M)
        return [(q, a.strip()) for q, a in zip(parts[1::2], parts[2::2], strict=True)]

    @functools.cached_property
    def bugs(self) -> dict[str, Bug]:
        """The bugs to predict, by name."""
        if not (self.folder / "bugs.py").exists():
            return {}
        module = load(self.folder / "bugs.py", f"bugs_{self.name}")
        return {bug.name: bug for bug in module.BUGS}

    def explanations(self, language: str) -> dict[str, str]:
        """Why each bug does what it does."""
        parts = re.split(r"^## (\w+)$", self.read(f"bugs.{language}.md"), flags=re.M)
        return {name: text.strip() for name, text in zip(parts[1::2], parts[2::2], strict=True)}


@functools.cache
def lessons() -> dict[str, Lesson]:
    """All lessons by name, in the order of the course."""
    found = [Lesson(path.parent.name, path.parent) for path in FOLDER.glob("*/exercise.py")]
    return {lesson.name: lesson for lesson in sorted(found, key=lambda one: (one.order, one.name))}


def find_lesson(name: str) -> Lesson:
    """The lesson called `name`.

    Raises:
        ValueError: there is none; the message names similar ones.
    """
    known = lessons()
    if name in known:
        return known[name]
    similar = difflib.get_close_matches(name, known, 3, 0.5)
    more = f"perhaps {', '.join(similar)}?" if similar else "see `mpicoll learn list`"
    raise ValueError(f"there is no exercise {name!r}: {more}")
