"""What a proof can find, and how a fault is shown: in words, and as a grid rank x chunk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["KINDS", "Finding", "grid", "letters", "spell"]

#: Every kind of fault, and what it means.
KINDS = {
    "generator raised": "the algorithm itself failed while its rounds were made",
    "no such peer": "a message to or from a rank that does not exist",
    "self message": "a rank sends to itself",
    "no such block": "a chunk names a block that the buffer does not have",
    "mis-sized step": "the operands of a local step differ in size",
    "mis-sized message": "sender and receiver disagree on the size of a message",
    "unknown size": "a rank names a block whose size only the root knows",
    "hazard": "a block is received into while it is sent or received into by the same round",
    "aliasing": "in place, a step reads Input where Output has already replaced it",
    "input modified": "the user's Input is written to",
    "output touched": "a rank writes to an Output block that it should not write",
    "unmatched send": "a message is sent and never received",
    "unmatched receive": "a message is waited for and never sent",
    "deadlock": "ranks wait for each other in a circle",
    "undefined read": "a step reads a block that holds nothing",
    "different pieces": "two different pieces of data are combined",
    "no result": "a block that must hold a result holds nothing",
    "wrong piece": "a block holds another piece of data than it should",
    "missing contribution": "the result lacks a rank's contribution",
    "double contribution": "the result has a rank's contribution more than once",
    "foreign contribution": "the result has the contribution of a rank that does not belong there",
    "wrong order": "the result is right only if the operation commutes",
    "not heard": "a rank leaves the barrier without having heard of another's arrival",
    "false declaration": "the declaration of the algorithm differs from what is counted",
}


@dataclass(frozen=True)
class Finding:
    """One fault: its kind (a key of `KINDS`), where it is, and what was expected there.

    Rounds are counted from 1, as people do; `grid` shows the memory of all ranks at that moment.
    """

    kind: str
    message: str
    rank: int | None = None
    round: int | None = None
    step: str | None = None
    expected: str = ""
    got: str = ""
    grid: str = ""

    @property
    def where(self) -> str:
        """The place as text: ``rank 2, round 3, Send(1, Output[0])``."""
        parts = [
            f"rank {self.rank}" if self.rank is not None else "",
            f"round {self.round}" if self.round is not None else "",
            self.step or "",
        ]
        return ", ".join(filter(None, parts))

    def __str__(self) -> str:
        lines = [f"{self.kind}: {self.message}"]
        if self.where:
            lines.append(f"  at        {self.where}")
        if self.expected:
            lines.append(f"  expected  {self.expected}")
        if self.got:
            lines.append(f"  got       {self.got}")
        if self.grid:
            lines += ["", *(f"  {line}" for line in self.grid.splitlines())]
        return "\n".join(lines)


def letters(rank: int) -> str:
    """The letter that stands for a rank's data: A for rank 0, Z for 25, then AA, AB, ...

    >>> letters(3), letters(26)
    ('D', 'AA')
    """
    head, tail = divmod(rank, 26)
    return (letters(head - 1) if head else "") + chr(ord("A") + tail)


def spell(number: int, ranks: Sequence[int], *, short: bool = False) -> str:
    """A value in the notation of the lecture: piece 2 of ranks 0 and 3 is ``A2+D2``.

    With `short`, consecutive ranks are drawn together, so that a grid stays narrow.

    >>> spell(2, (0, 3))
    'A2+D2'
    >>> spell(0, (4, 5, 6, 7, 1), short=True)
    'E0..H0+B0'
    """
    parts = []
    for first, last in _runs(ranks) if short else ((r, r) for r in ranks):
        name = f"{letters(first)}{number}"
        parts.append(name if first == last else f"{name}..{letters(last)}{number}")
    return "+".join(parts) or "nobody"


def _runs(ranks: Iterable[int]) -> list[tuple[int, int]]:
    """Consecutive ascending ranks as (first, last); a run of two stays two."""
    runs: list[tuple[int, int]] = []
    for rank in ranks:
        if runs and runs[-1][1] == rank - 1:
            runs[-1] = (runs[-1][0], rank)
        else:
            runs.append((rank, rank))
    return [
        piece
        for first, last in runs
        for piece in (((first, first), (last, last)) if last == first + 1 else ((first, last),))
    ]


def grid(title: str, cells: Sequence[Sequence[str]], rank: int, column: int | None) -> str:
    """A table rank x chunk, with the failing place marked; far ranks and chunks are left out.

    >>> print(grid("Output", [["A0", "."], ["A0", "B1"]], 0, 1))
    Output       0     1
    rank 0      A0   [.]  <-- here
    rank 1      A0    B1
    """
    rows = _window(len(cells), rank)
    columns = _window(len(cells[0]), column if column is not None else 0)
    marked = {
        r: [f"[{cells[r][c]}]" if (r, c) == (rank, column) else cells[r][c] for c in columns]
        for r in rows
    }
    widths = [
        max(4, len(str(c)), *(len(marked[r][i]) for r in rows)) for i, c in enumerate(columns)
    ]
    head = f"{title:<8}" + "".join(f"{c:>{w + 2}}" for c, w in zip(columns, widths, strict=True))
    lines = [head]
    for r in rows:
        text = "".join(f"{cell:>{w + 2}}" for cell, w in zip(marked[r], widths, strict=True))
        lines.append(f"rank {r:<3}{text}" + ("  <-- here" if r == rank else ""))
    return "\n".join(lines)


def _window(count: int, around: int, width: int = 12) -> range:
    first = max(0, min(around - width // 2, count - width))
    return range(first, min(count, first + width))
