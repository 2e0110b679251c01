"""The grader's view of an exercise that is no collective: its specification decides.

The specification is run in the grader's own process, with a thread for each rank, on copies of what
the ranks were given; so it says there what it says to a student who runs it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np

from mpicoll.grade.exercise import Custom
from mpicoll.learn.trial import copied, differences, load, names_of, takes_comm

__all__ = ["specified", "together"]


class _Meeting:
    """What a specification needs of a communicator, for ranks that are threads."""

    def __init__(self, rank: int, table: list[Any], barrier: threading.Barrier) -> None:
        self.rank, self._table, self._barrier = rank, table, barrier

    def Get_rank(self) -> int:
        return self.rank

    def Get_size(self) -> int:
        return len(self._table)

    def allgather(self, value: Any) -> list[Any]:
        self._table[self.rank] = deepcopy(value)
        self._barrier.wait()
        everything = deepcopy(self._table)
        self._barrier.wait()
        return everything


def together(function: Callable[..., Any], arguments: list[list[Any]]) -> list[Any]:
    """Run a function that only uses ``allgather`` on threads; the result of each rank.

    The arguments are changed in place.
    """
    size = len(arguments)
    table: list[Any] = [None] * size
    results: list[Any] = [None] * size
    failures: list[BaseException] = []
    barrier = threading.Barrier(size)

    def rank_of(rank: int) -> None:
        try:
            meeting = _Meeting(rank, table, barrier)
            results[rank] = function(*[meeting] * takes_comm(function), *arguments[rank])
        except BaseException as error:
            failures.append(error)
            barrier.abort()

    threads = [threading.Thread(target=rank_of, args=(rank,)) for rank in range(size)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
    return results


def specified(file: str, *cases: Mapping[str, Any], comm: bool = True) -> Custom:
    """What the grader has to know of the exercise in whose folder `file` is.

    Args:
        file: the ``__file__`` of its ``exercise.py``.
        cases: what ``inputs`` of its specification is called with, ``{"n": 3}`` say, besides the
            words of `Custom`.
        comm: whether the function's first argument is the communicator.
    """
    folder = Path(file).parent
    own = {"size", "check"}

    def specification() -> Any:
        return load(folder / "specification.py", f"specification_of_{folder.name}")

    def inputs(case: Mapping[str, Any], size: int, random: np.random.Generator) -> list[Any]:
        words = {key: value for key, value in case.items() if key not in own}
        return [list(given) for given in specification().inputs(size, random=random, **words)]

    def call(function: Callable[..., Any], communicator: Any, given: list[Any]) -> Any:
        result = function(*[communicator] * comm, *given)
        return {"result": result, "arguments": given}

    def judge(
        case: Mapping[str, Any], size: int, given: list[Any], outputs: list[Any]
    ) -> list[tuple[int, str]]:
        function = getattr(specification(), folder.name)
        wanted = [copied(arguments) for arguments in given]
        results = together(function, wanted)
        names = [*names_of(function), "result"]
        found = []
        for rank, output in enumerate(outputs):
            if not isinstance(output, dict) or len(output.get("arguments", ())) != len(names) - 1:
                found.append((rank, "no result came back"))
                continue
            texts = differences(
                names,
                [*output["arguments"], output["result"]],
                [*wanted[rank], results[rank]],
                [*given[rank], None],
            )
            found += [(rank, f"on rank {rank}, {text}") for text in texts]
        return found

    return Custom(tuple(cases), inputs, call, judge)
