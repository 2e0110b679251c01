"""A check that does not move on is ended, and every rank says which case it is at."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable

from mpicoll.launch.stacks import current_place

__all__ = ["Watch"]

POLL = 0.25


class Watch:
    """Called with what is about to be done; `stalled` gets a text if that takes too long."""

    def __init__(self, timeout: float, stalled: Callable[[str], None]) -> None:
        self.timeout, self.stalled = timeout, stalled
        self.what: object = "the start"
        self.since = time.monotonic()
        self._main = threading.main_thread().ident
        self._stop = threading.Event()
        threading.Thread(target=self._look, name="mpicoll-check", daemon=True).start()

    def __call__(self, what: object) -> None:
        """Say what is done next."""
        self.what, self.since = what, time.monotonic()

    def stop(self) -> None:
        """End the watch."""
        self._stop.set()

    def _look(self) -> None:
        while not self._stop.wait(POLL):
            if time.monotonic() - self.since > self.timeout:
                sys.stdout.flush()
                what = self.what
                if isinstance(what, tuple):
                    variant, call, form = what
                    what = f"{variant} ({form}): {call}"
                place = current_place(self._main)
                self.stalled(f"no end after {self.timeout:g} s of {what}\nat {place}")
                return
