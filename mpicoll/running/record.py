"""Keeping account of collectives: which ran, by which algorithms, how often, how much, how long."""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

from mpicoll.execution import native
from mpicoll.execution.observe import Event, observe

__all__ = ["Record", "table"]


class Row(NamedTuple):
    """What is counted together."""

    collective: str
    form: str
    algorithm: str


#: Calls, bytes sent, seconds.
Sums = tuple[int, int, float]


def table(ranks: list[dict[Row, Sums]]) -> str:
    """The accounts of all ranks as one table."""
    lines = [("collective", "form", "algorithm", "calls", "bytes sent", "seconds")]
    for row in sorted({row for rows in ranks for row in rows}):
        calls, nbytes, seconds = zip(*(rows[row] for rows in ranks if row in rows), strict=True)
        lines.append((*row, f"{max(calls):,}", f"{sum(nbytes):,}", f"{max(seconds):.3f}"))
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    text = [
        "  ".join(
            cell.ljust(width) if number < 3 else cell.rjust(width)
            for number, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    title = (
        f"mpicoll: collectives on {len(ranks)} ranks (calls and seconds of the rank with the most, "
        "bytes of all ranks)"
    )
    return "\n".join([title, *text] if len(lines) > 1 else [title, "none was called"])


class Record:
    """The account of this rank, opened by making it; collective, as it has a communicator."""

    def __init__(self) -> None:
        self.rows: dict[Row, Sums] = {}
        self.comm = native.COMM_WORLD.Dup()
        self._lock = threading.Lock()
        self._begun: dict[Event, float] = {}
        observe(self)

    def everybody(self) -> list[dict[Row, Sums]] | None:
        """The accounts of all ranks on rank 0, None elsewhere; collective."""
        if self.comm.Get_rank():
            self.comm.send(self.rows, 0)
            return None
        return [self.rows, *(self.comm.recv(source=r) for r in range(1, self.comm.Get_size()))]

    def before(self, event: Event) -> None:
        """Look at the clock."""
        self._begun[event] = time.perf_counter()

    def after(self, event: Event, error: BaseException | None) -> None:
        """Add what was called, if it succeeded; a persistent one with each start."""
        seconds = time.perf_counter() - self._begun.pop(event)
        if error is not None or event.form == "prepared":
            return
        row = Row(event.collective, event.form, event.algorithm)
        nbytes = event.bytes_sent
        with self._lock:
            calls, before, so_far = self.rows.get(row, (0, 0, 0.0))
            self.rows[row] = calls + 1, before + nbytes, so_far + seconds
