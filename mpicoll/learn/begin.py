"""The folder in which a learner works on an exercise."""

from __future__ import annotations

import shutil
from pathlib import Path

from mpicoll.commands import CommandError
from mpicoll.learn.course import Lesson
from mpicoll.learn.words import checks

__all__ = ["begin", "begin_again", "rubric"]

TEMPLATES = Path(__file__).parent / "folder"


def rubric(lesson: Lesson, language: str) -> str:
    """What gives points, as a table of Markdown."""
    exercise, meanings = lesson.exercise, checks(language)
    rows = [
        f"| {exercise.rubric[name]:g} | {meanings[name]} |"
        for name in applying(lesson)
        if exercise.rubric.get(name)
    ]
    return "\n".join(["| | |", "|---:|---|", *rows])


def applying(lesson: Lesson) -> list[str]:
    """The checks that this exercise is put to."""
    from mpicoll.grade.cases import cases_of
    from mpicoll.grade.exercise import CHECKS, Collective

    exercise = lesson.exercise
    names = {case.check for case in cases_of(exercise, exercise.sizes)} | {"messages"}
    names |= {"structure"} if exercise.structure else set()
    names |= {"speed"} if exercise.speed else set()
    if isinstance(exercise.task, Collective):
        names |= {"input"} if "recvbuf" in exercise.task.arguments else set()
        names |= {"bits"} if exercise.task.name in ("allreduce", "allgather", "bcast") else set()
    return [name for name in CHECKS if name in names]


def begin(lesson: Lesson, folder: Path, language: str) -> None:
    """Write the exercise's files into a folder, which is made; never over a file of the learner."""
    mine = folder / f"{lesson.name}.py"
    if mine.exists():
        raise CommandError(
            f"{mine} exists already, and is left as it is; `mpicoll learn reset {lesson.name}` "
            "puts the skeleton back"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        mine.write_text(lesson.read("skeleton.py"), encoding="utf-8")
        (folder / "specification.py").write_text(lesson.read("specification.py"), encoding="utf-8")
        how = _template("how", language).replace("{rubric}", rubric(lesson, language))
        text = f"{lesson.text(language)}\n{how.replace('{name}', lesson.name)}"
        (folder / "README.md").write_text(text, encoding="utf-8")
        guidance = _template("AGENTS", language).replace("{name}", lesson.name)
        (folder / "AGENTS.md").write_text(guidance, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot write to {folder}: {error.strerror}") from None


def begin_again(lesson: Lesson, folder: Path) -> tuple[Path, Path] | None:
    """Put the skeleton back and keep the learner's file under another name; both paths."""
    mine = folder / f"{lesson.name}.py"
    if not mine.exists() or mine.read_text(encoding="utf-8") == lesson.read("skeleton.py"):
        return None
    number = 1
    while (kept := folder / f"{lesson.name}.old{number}.py").exists():
        number += 1
    shutil.move(mine, kept)
    mine.write_text(lesson.read("skeleton.py"), encoding="utf-8")
    return mine, kept


def _template(name: str, language: str) -> str:
    return (TEMPLATES / f"{name}.{language}.md").read_text(encoding="utf-8")
