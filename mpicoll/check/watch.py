"""A check that does not move on is ended, and every rank says which case it is at."""

from __future__ import annotations

import mmap
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

from mpicoll.launch.stacks import current_place

__all__ = ["Watch"]

POLL = 0.25
NOTE = 300


class Watch:
    """Called with what is about to be done; `stalled` gets a text if that takes too long.

    `note` is a file in which that stays readable even if this process crashes.
    """

    def __init__(self, timeout: float, stalled: Callable[[str], None], note: Path | None) -> None:
        self.timeout, self.stalled = timeout, stalled
        self._note: mmap.mmap | None = None
        if note:
            note.write_bytes(bytes(NOTE))
            with note.open("r+b") as file:
                self._note = mmap.mmap(file.fileno(), NOTE)
        self._main = threading.main_thread().ident
        self._stop = threading.Event()
        self("starting")
        threading.Thread(target=self._look, name="mpicoll-check", daemon=True).start()

    def __call__(self, what: str) -> None:
        """Say what is done next."""
        self.what, self.since = what, time.monotonic()
        if self._note:
            self._note[:] = what.encode()[:NOTE].ljust(NOTE, b"\0")

    def stop(self) -> None:
        """End the watch."""
        self._stop.set()

    def _look(self) -> None:
        while not self._stop.wait(POLL):
            if time.monotonic() - self.since > self.timeout:
                sys.stdout.flush()
                place = current_place(self._main)
                self.stalled(f"no end after {self.timeout:g} s of {self.what}\nat {place}")
                return
