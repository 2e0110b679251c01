"""How busy the machine is with other programs before a measurement; needs no MPI."""

from __future__ import annotations

import os
import time
from pathlib import Path

__all__ = ["busy_cores"]

STAT = Path("/proc/stat")


def busy_cores(seconds: float = 0.3) -> float | None:
    """How many processors are at work while this process sleeps; None if the system won't say."""
    before = _ticks()
    time.sleep(seconds)
    after = _ticks()
    if before is None or after is None:
        return None
    return round((after - before) / os.sysconf("SC_CLK_TCK") / seconds, 1)


def _ticks() -> int | None:
    """Ticks that all processors together have spent on work."""
    try:
        words = STAT.read_text().splitlines()[0].split()[1:9]
    except OSError:
        return None
    user, nice, system, _idle, _waiting, *interrupts = map(int, words)
    return user + nice + system + sum(interrupts)
