"""How far a check is: lines from rank 0 to the process that shows them, and how they are shown."""

from __future__ import annotations

import time
from typing import TextIO

__all__ = ["MARK", "Bar"]

#: Rank 0 begins a line with this to tell the process that started it how far it is.
MARK = "\x1emark "


class Bar:
    """How far it is: a bar on a terminal, a line every now and then elsewhere."""

    PATIENCE, WIDTH, PLAIN = 0.2, 30, 10.0

    def __init__(self, out: TextIO) -> None:
        self.out, self.bar = out, out.isatty()
        self.next = time.monotonic() + (self.PATIENCE if self.bar else 2.0)
        self.shown = False

    def __call__(self, title: str, done: int, total: int) -> None:
        """Show it, if it is time to."""
        now = time.monotonic()
        if now < self.next or not total:
            return
        self.next = now + (self.PATIENCE if self.bar else self.PLAIN)
        text = f"{title}: {done} of {total} cases"
        if self.bar:
            full = self.WIDTH * done // total
            bar = "#" * full + "." * (self.WIDTH - full)
            print(f"\r[{bar}] {text:<44}", end="", file=self.out, flush=True)
            self.shown = True
        else:
            print(text, file=self.out, flush=True)

    def clear(self) -> None:
        """Make room for other lines."""
        if self.shown:
            print(f"\r{'':<78}\r", end="", file=self.out, flush=True)
            self.shown = False
