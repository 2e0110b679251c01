"""A picture of a traced call: what every chunk holds after each step, and the messages between.

It has no times, so every run of a plan gives the same picture.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from mpicoll.analysis.findings import letters
from mpicoll.trace.contents import COMPLETE, PARTIAL, WRONG, Contents
from mpicoll.trace.model import Call
from mpicoll.trace.schedule import Meeting
from mpicoll.trace.text import cell

__all__ = ["picture"]

HIGH, DOWN, GAP, LEFT, TOP = 24, 16, 40, 62, 58
WIDEST = 1520  # of a line of columns
INK, QUIET, MOVE = "#22262b", "#626a73", "#c2571a"
FILLS = {COMPLETE: "#cfe8dc", PARTIAL: "#f6efd6", WRONG: "#f8d9d6", "": "#ffffff"}
LINES = {
    COMPLETE: 'stroke="#2b7a5b" stroke-width="1.6"',
    PARTIAL: 'stroke="#b59a4a" stroke-dasharray="3 2"',
    WRONG: 'stroke="#b3261e" stroke-width="2.4"',
    "": 'stroke="#dcd9d2"',
}


def picture(call: Call) -> str:
    """The SVG text; ValueError for a call whose plan is not known."""
    contents = call.contents
    if contents is None:
        raise ValueError(f"{call.title}: its plan is no algorithm's, so its chunks are not known")
    return _Drawing(call, contents).text()


class _Drawing:
    def __init__(self, call: Call, contents: Contents) -> None:
        self.call, self.contents = call, contents
        self.rows = [contents.rows(rank) for rank in range(call.size)]
        texts = [cell(contents, held) for row in self.rows for step in row for held in step]
        self.width = max(24, 8 * max(map(len, texts), default=0) + 10)
        self.column = max(18, contents.blocks * self.width) + GAP
        self.columns = contents.schedule.steps + 1
        self.per_line = max(2, min(self.columns, (WIDEST - LEFT) // self.column))
        self.line = TOP + call.size * (HIGH + DOWN) + 10
        self.out: list[str] = []

    def place(self, column: int, rank: int) -> tuple[int, int]:
        """The upper left corner of a rank's row of chunks."""
        line, at = divmod(column, self.per_line)
        return LEFT + at * self.column, line * self.line + TOP + rank * (HIGH + DOWN)

    def text(self) -> str:
        lines = -(-self.columns // self.per_line)
        width, height = LEFT + self.per_line * self.column, lines * self.line + 34
        title = f"{self.call.collective} {self.call.algorithm} on {self.call.size} ranks"
        self.out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            'font-family="Helvetica, Arial, sans-serif" font-size="12" role="img">',
            f"<title>{escape(title)}: what each chunk holds after every step</title>",
            '<defs><marker id="tip" viewBox="0 0 6 6" refX="6" refY="3" markerWidth="5.5" '
            f'markerHeight="5.5" orient="auto"><path d="M0 0L6 3L0 6z" fill="{MOVE}"/></marker>'
            "</defs>",
            f'<rect width="{width}" height="{height}" fill="white"/>',
        ]
        for column in range(self.columns):
            self._column(column)
        for meeting in self._seen():
            self._arrow(meeting.source, meeting.peer, meeting.at + 1)
        self._write(8, height - 12, self._legend(), f'fill="{QUIET}" font-size="11"')
        return "\n".join([*self.out, "</svg>"]) + "\n"

    def _seen(self) -> Iterator[Meeting]:
        """The messages of the plan that the run has sent."""
        place = {member: rank for rank, member in enumerate(self.call.members)}
        seen = {(place[m.source], m.sent, m.step) for m in self.call.messages}
        for meeting in self.contents.schedule.meetings:
            if self.call.form == "objects" or (meeting.source, *meeting.sent) in seen:
                yield meeting

    def _write(self, x: float, y: float, words: str, extra: str = f'fill="{INK}"') -> None:
        self.out.append(f'<text x="{x:g}" y="{y:g}" {extra}>{escape(words)}</text>')

    def _column(self, column: int) -> None:
        x, y = self.place(column, 0)
        phases = self.contents.phases
        if column and (column == 1 or phases[column - 1] != phases[column - 2]):
            self._write(x, y - 36, phases[column - 1], f'fill="{INK}" font-weight="bold"')
        self._write(x, y - 12, f"step {column}" if column else "before", f'fill="{QUIET}"')
        final = column == self.columns - 1
        for rank, steps in enumerate(self.rows):
            x, y = self.place(column, rank)
            if column % self.per_line == 0:
                self._write(8, y + 16, f"rank {rank}")
            if not steps[column]:
                self.out.append(f'<circle cx="{x + 9}" cy="{y + 12}" r="5" fill="{QUIET}"/>')
            for block, held in enumerate(steps[column]):
                state = self.contents.state(rank, block, held, final)
                fresh = column and held != steps[column - 1][block]
                line = f'stroke="{MOVE}" stroke-width="2.2"' if fresh else LINES[state]
                left = x + block * self.width
                self.out.append(
                    f'<rect x="{left}" y="{y}" width="{self.width - 3}" height="{HIGH}" rx="3" '
                    f'fill="{FILLS[state]}" {line}/>'
                )
                if held is not None:
                    weight = ' font-weight="bold"' if state == COMPLETE else ""
                    extra = f'fill="{INK}" text-anchor="middle" font-size="11"{weight}'
                    words = cell(self.contents, held)
                    self._write(left + (self.width - 3) / 2, y + 16, words, extra)

    def _arrow(self, source: int, peer: int, column: int) -> None:
        """In the gap before a column."""
        (x, y), (_, to) = self.place(column, source), self.place(column, peer)
        first = column % self.per_line == 0
        begin, end = x - (18 if first else GAP - 1), x - 3
        self.out.append(
            f'<line x1="{begin}" y1="{y + HIGH / 2:g}" x2="{end}" y2="{to + HIGH / 2:g}" '
            f'stroke="{MOVE}" stroke-opacity="0.7" marker-end="url(#tip)"/>'
        )

    def _legend(self) -> str:
        last = letters(self.call.size - 1)
        names = f"A to {last}: data of rank 0 to {self.call.size - 1}"
        if self.contents.algorithm.spec.reduces:
            names = f"A to {last}: contributions of rank 0 to {self.call.size - 1}, as combined"
        if not self.contents.blocks:
            return "Arrows: messages without content."
        return f"{names}. Green, bold: complete. Dashed: on its way. Orange: messages, changes."
