"""The calls that an exercise is tried with, in the order in which they teach most."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mpicoll.grade.exercise import Collective, Custom, Exercise
from mpicoll.grade.operations import suits
from mpicoll.spec import SPECS

__all__ = ["Case", "cases_of", "explaining", "number_of"]


@dataclass(frozen=True)
class Case:
    """One call, or two in a row.

    `check` is the one that it decides; others look at it too. `width`: the second dimension of 2-D
    arrays, 0 for 1-D. `sync`: every send waits for its receive. `delayed`: a rank that is late.
    `given`: the parameters of an exercise's own case.
    """

    check: str
    size: int
    count: int = 0
    dtype: str = "float64"
    op: str | None = None
    root: int = 0
    width: int = 0
    in_place: bool = False
    traced: bool = False
    sync: bool = False
    twice: bool = False
    delayed: int | None = None
    given: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        words = [f"{self.size} ranks"]
        if self.given:
            words += [f"{key} {value}" for key, value in self.given.items() if key != "check"]
        else:
            shape = f"{self.count} x {self.width}" if self.width else f"{self.count}"
            words.append(f"{shape} {self.dtype}")
            words += [self.op] if self.op else []
            words += [f"root {self.root}"] if self.root else []
            words += ["in place"] if self.in_place else []
        words += ["synchronous sends"] if self.sync else []
        words += ["twice in a row"] if self.twice else []
        words += [f"rank {self.delayed} late"] if self.delayed is not None else []
        return ", ".join(words)


def number_of(word: int | str, size: int) -> int:
    """A count such as 12, "P-1" or "3*P", on `size` ranks.

    >>> [number_of(word, 4) for word in (12, "P-1", "3*P+2", "P")]
    [12, 3, 14, 4]
    """
    if isinstance(word, int):
        return word
    match = re.fullmatch(r"(?:(\d+)\*)?P(?:([+-])(\d+))?", word.replace(" ", ""))
    if not match:
        raise ValueError(f"a count is a number, or like P-1 or 2*P, not {word!r}")
    times, sign, more = match.groups()
    return max(0, int(times or 1) * size + (int(more or 0) if sign != "-" else -int(more)))


def explaining(exercise: Exercise, size: int, **more: Any) -> Case:
    """The case whose data say who contributed what."""
    task = exercise.task
    whole = task.name in ("reduce", "allreduce", "bcast", "scan", "exscan")
    count = 3 * size if whole else 3
    op = ("SUM" if "SUM" in task.ops else task.ops[0]) if "op" in task.arguments else None
    return Case("result", size, count, "float64", op, traced=True, **more)


def cases_of(exercise: Exercise, sizes: tuple[int, ...]) -> Iterator[Case]:
    """All cases, the ones that others need first."""
    if isinstance(exercise.task, Custom):
        yield from _custom(exercise, sizes)
        return
    task, main = exercise.task, sizes[0]
    if task.name == "barrier":
        for size in sizes:
            check = "result" if size == main else "sizes"
            for late in range(min(size, 3)):
                yield Case(check, size, delayed=late)
            yield Case("safe", size, sync=True)
        return
    plain = "SUM" if "op" in task.arguments and "SUM" in task.ops else None
    plain = plain or (task.ops[0] if "op" in task.arguments else None)
    yield explaining(exercise, main)
    yield Case("result", main, 4 * main, "int64", plain)
    if exercise.safe:
        yield Case("safe", main, 3 * main, "float64", plain, sync=True)
    yield from _counts(task, main, plain)
    for dtype in task.dtypes:
        if dtype not in ("int64", "float64") and (plain is None or suits(plain, dtype)):
            yield Case("dtypes", main, 2 * main + 1, dtype, plain)
    for op in task.ops if "op" in task.arguments else ():
        dtype = "float64" if op == "PROD" and "float64" in task.dtypes else "int64"
        yield Case("ops", main, 3 * main, dtype, op)
    if "root" in task.arguments:
        roots = range(main) if task.roots == "all" else task.roots
        for root in roots:
            yield Case("roots", main, 2 * main, "int64", plain, root=root)
    for late in (main - 1, 0):
        yield Case("repeat", main, 3 * main, "int64", plain, twice=True, delayed=late)
    if task.in_place:
        yield Case("counts", main, 3 * main, "int64", plain, in_place=True)
    for size in sizes[1:]:
        yield from _size(exercise, size, plain)


def _counts(task: Collective, size: int, op: str | None) -> Iterator[Case]:
    blocks = not SPECS[task.name].vector
    for word in task.counts:
        count = number_of(word, size)
        # Blocks are for every rank: 10,001 elements of each are more than a test needs.
        count = count // size + 1 if blocks and count > 5000 else count
        dtype = "float64" if count > 1000 else "int64"
        yield Case("counts", size, count, dtype, op)
    if task.two_d:
        for rows in (size + 1, 2):
            yield Case("counts", size, rows, "int64", op, width=3)


def _size(exercise: Exercise, size: int, op: str | None) -> Iterator[Case]:
    task = exercise.task
    for word in ("3*P", "2*P+1"):
        suitable = word == "3*P" or any(isinstance(c, str) and "+" in c for c in task.counts)
        count = number_of(word, size)
        root = size - 1 if "root" in task.arguments and task.roots == "all" else 0
        if suitable:
            yield Case("sizes", size, count, "int64", op, root=root)
    yield Case("sizes", size, 3 * size, "float64", op, traced=size <= 8)
    if exercise.safe:
        yield Case("safe", size, 3 * size, "float64", op, sync=True)


def _custom(exercise: Exercise, sizes: tuple[int, ...]) -> Iterator[Case]:
    main = sizes[0]
    for size in sizes:
        for given in exercise.task.cases:
            if given.get("size", size) == size:
                check = given.get("check", "result" if size == main else "sizes")
                yield Case(check, size, given=given)
        if exercise.safe:
            yield from (
                Case("safe", size, given=given, sync=True)
                for given in exercise.task.cases[:1]
                if given.get("size", size) == size
            )
    for given in exercise.task.cases:
        if given.get("size") not in (None, *sizes):
            yield Case(given.get("check", "result"), given["size"], given=given)
