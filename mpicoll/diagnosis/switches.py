"""What environment variables ask for, opened as soon as MPI is there and before programs call it.

``MPICOLL_CHECK=1`` compares calls, ``MPICOLL_FLIGHT=DIR`` records collectives, ``MPICOLL_WATCH=1``
records messages too, and ``MPICOLL_TIMEOUT=S`` does so and ends the job after S seconds with a
report. A parent of ours does the last itself.
"""

from __future__ import annotations

import atexit
import os
import sys
from pathlib import Path
from types import ModuleType

from mpi4py import MPI

__all__ = ["open_switches", "timeout_wished", "wished"]

SWITCHES = ("MPICOLL_CHECK", "MPICOLL_FLIGHT", "MPICOLL_WATCH", "MPICOLL_TIMEOUT")


def wished(name: str) -> bool:
    """Whether a variable is set, and not to 0 or nothing."""
    return os.environ.get(name, "") not in ("", "0")


def timeout_wished() -> float | None:
    """The seconds of MPICOLL_TIMEOUT; ValueError if they are none."""
    text = os.environ.get("MPICOLL_TIMEOUT", "")
    if not text:
        return None
    seconds = float(text)
    if not seconds > 0:
        raise ValueError(f"MPICOLL_TIMEOUT must be a number of seconds above 0, not {text}")
    return seconds


_opened = False


def open_switches(mpi: ModuleType | None = None) -> None:
    """Open what is wished; each part is loaded only then.

    With `mpi`, that module's own communicators are watched instead of ours.
    """
    global _opened
    if _opened or not any(map(wished, SWITCHES)):
        return
    from mpicoll.launch import child

    # On a host that cannot see the parent's directory there is nowhere to write to, and no other
    # directory to agree on either, as the ranks beside the parent would not come to that.
    apart = "MPICOLL_APART" in os.environ
    timeout = None if child.has_parent() or apart else timeout_wished()
    watch = (wished("MPICOLL_WATCH") and not apart) or timeout is not None
    _opened = True
    if watch or wished("MPICOLL_FLIGHT"):
        _open_recorder(watch, timeout, mpi)
    if wished("MPICOLL_CHECK") and mpi is None:
        from mpicoll.diagnosis.agreement import open_agreement

        atexit.register(_compare_ends, open_agreement())


def _open_recorder(watch: bool, timeout: float | None, mpi: ModuleType | None) -> None:
    from mpicoll.diagnosis import deadline, flight, watching

    given = os.environ.get("MPICOLL_FLIGHT") or os.environ.get("MPICOLL_REPORT")
    directory = Path(given) if given else deadline.agree_on_directory()
    recorder = flight.open_recorder(directory)
    if mpi is not None:
        watching.watch_native(recorder, mpi)
    elif watch:
        watching.watch_ours(recorder)
    if not given:
        # Registered first, so that it is done last.
        atexit.register(deadline.remove_at_the_end, directory)
    atexit.register(lambda: recorder.writer.ended(failed=_failed()))
    if timeout is not None:
        deadline.watch_deadline(directory, timeout, keep=bool(given))


def _failed() -> bool:
    return getattr(sys, "last_value", None) is not None


def _compare_ends(agreement: object) -> None:
    """Compare the ends of programs too, unless this one failed: that is told otherwise."""
    from mpicoll.errors import MismatchError
    from mpicoll.execution import native
    from mpicoll.execution.state import known_state
    from mpicoll.launch import child

    if MPI.Is_finalized() or _failed():
        return
    state = known_state(native.COMM_WORLD)
    if state is None:
        return
    try:
        agreement.end(state)
    except MismatchError as error:
        # It is too late for this rank to raise, and the others do.
        if not child.has_parent():
            print(f"mpicoll: {error}", file=sys.stderr, flush=True)
            child.abort(1)
