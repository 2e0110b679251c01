"""Tables of measured choices: which algorithm was the fastest up to which size.

A table is a JSON file that `mpicoll tune` writes::

    {"format": 1, "tables": {"allreduce": {"4": [{"up_to": 8192, "algorithm": "recursive_doubling"},
                                                 {"up_to": null, "algorithm": "ring"}]}}}

It speaks of calls with so many ranks, equal blocks and operations that commute; `up_to` is in bytes
of the whole collective, null in the last entry. Other calls are decided by the rules.
"""

from __future__ import annotations

import os
from functools import lru_cache

from mpicoll.files import FileError, read_json
from mpicoll.registry import find

__all__ = ["FORMAT", "Table", "TuningError", "load"]

FORMAT = 1
#: A table has a line for each change of algorithm; more is another file.
MOST_BYTES = 4 << 20


class TuningError(ValueError):
    """A file that is no table, or names algorithms that there are not."""


class Table:
    """A table that has been read and checked."""

    def __init__(self, name: str, data: object) -> None:
        self.name = name
        self._ladders: dict[tuple[str, int], list[tuple[int | None, str]]] = {}
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise TuningError(f"{name} is no tuning table of format {FORMAT}")
        try:
            for collective, by_ranks in data["tables"].items():
                for ranks, steps in by_ranks.items():
                    ladder = [(step["up_to"], step["algorithm"]) for step in steps]
                    self._ladders[collective, int(ranks)] = self._checked(collective, ladder)
        except TuningError:
            raise
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise TuningError(f"{name} is no tuning table: {error}") from None

    def _checked(
        self, collective: str, ladder: list[tuple[int | None, str]]
    ) -> list[tuple[int | None, str]]:
        for _, algorithm in ladder:
            find(collective, algorithm)  # says which there are
        bounds = [bound for bound, _ in ladder]
        if not bounds or bounds[-1] is not None or bounds[:-1] != sorted(set(bounds[:-1])):
            raise TuningError(f"{self.name}: 'up_to' of {collective} must ascend, null being last")
        return ladder

    def rule(
        self,
        collective: str,
        size: int,
        nbytes: int | None,
        commutative: bool,
        equal_blocks: bool,
    ) -> tuple[str, str] | None:
        """The algorithm's name and the reason; None if the table does not speak of the call."""
        ladder = self._ladders.get((collective, size))
        if ladder is None or nbytes is None or not (commutative and equal_blocks):
            return None
        for bound, algorithm in ladder:
            if bound is None or nbytes <= bound:
                until = f"up to {bound} bytes" if bound is not None else "for all longer ones"
                return algorithm, f"the fastest {until} on {size} ranks, as measured in {self.name}"
        return None


def load(path: str | os.PathLike[str]) -> Table:
    """Read a table; TuningError says what is wrong with it. Read once per file."""
    return _load(os.fspath(os.path.abspath(path)))


@lru_cache(maxsize=16)
def _load(path: str) -> Table:
    try:
        data = read_json(path, "tuning table", MOST_BYTES)
    except FileError as error:
        raise TuningError(str(error)) from None
    return Table(os.path.basename(path), data)
