"""The flight recorder: the last collectives of this rank, in a file that outlives it.

``MPICOLL_FLIGHT=DIR`` or ``mpicoll run --flight DIR`` opens it on all ranks, and ``mpicoll autopsy
DIR`` tells what the files say. They are memory-mapped: what is recorded is there at once, whatever
becomes of the rank. SIGUSR1, SIGTERM and SIGABRT add the stack of the rank, also while it sits in
C; SIGUSR1 lets it live on.
"""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import threading
from pathlib import Path
from weakref import WeakKeyDictionary

from mpicoll.diagnosis import record as form
from mpicoll.diagnosis.communicators import members, title
from mpicoll.diagnosis.facts import agreed, sizes
from mpicoll.diagnosis.record import Writer
from mpicoll.execution import native
from mpicoll.execution.event import Event
from mpicoll.execution.observe import observe
from mpicoll.execution.operation import Operation
from mpicoll.execution.state import State
from mpicoll.launch import child

__all__ = ["Recorder", "dump", "open_recorder", "recorder"]

MOST_CACHED = 512
_opened: Recorder | None = None


class Recorder:
    """The observer that writes collectives into the record of this rank."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        world = native.COMM_WORLD
        self.directory = Path(directory)
        self.directory.mkdir(parents=True, exist_ok=True)
        thread = threading.main_thread().ident or 0
        self.writer = Writer(self.directory, world.Get_rank(), world.Get_size(), thread)
        self.numbers: WeakKeyDictionary[Operation, int] = WeakKeyDictionary()
        self._begun: dict[Event, int] = {}
        self._titles: WeakKeyDictionary[State, tuple[str, int]] = WeakKeyDictionary()
        self._texts: dict[tuple, bytes] = {}

    def before(self, event: Event) -> None:
        """Write down that it begins."""
        number = self.writer.collective(self._text(event))
        self._begun[event] = number
        if event.form in ("blocking", "objects", "prepared"):
            method = self.writer.name(event.method)
            self.writer.inside(form.IN_COLLECTIVE, method, (number,))

    def after(self, event: Event, error: BaseException | None) -> None:
        """Write down that it has ended."""
        number = self._begun.pop(event)
        self.writer.collective_done(number, form.COMPLETED if error is None else form.FAILED)
        if event.form in ("blocking", "objects", "prepared"):
            self.writer.outside()

    def started(self, operation: Operation | None) -> int | None:
        """The number of a started collective that is still going on."""
        for event, number in list(self._begun.items()):
            if event.bound is not None and operation is not None:
                if event.bound is operation.bound and event.tag == operation.tag:
                    return number
        return None

    def title(self, state: State) -> str:
        """The name of a communicator, which is looked up once."""
        found = self._titles.get(state)
        if found is None:
            name = title(state)
            found = self._titles[state] = name, self.writer.communicator(name, members(state))
        return found[0]

    def _text(self, event: Event) -> bytes:
        """The description of a call; calls like one before are only numbered anew."""
        where = event.where
        key = (event.root, id(event.operation)) if event.call is None else event.call.key
        full = None
        if key is not None:
            more = tuple(sorted(event.parameters.items()))
            full = (event.state, event.method, event.form, event.algorithm, more, key, where)
        rest = self._texts.get(full) if full is not None else None
        if rest is None:
            rest = self._rest(event)
            if full is not None:
                if len(self._texts) >= MOST_CACHED:
                    self._texts.clear()
                self._texts[full] = rest
        return b'{"collective_seq_id": %d, "start": %d, %b' % (event.number, event.start, rest)

    def _rest(self, event: Event) -> bytes:
        found = sizes(event)
        where = event.where
        facts = {
            "process_group": self.title(event.state),
            "p2p_seq_id": 0,
            "is_p2p": False,
            "profiling_name": event.method,
            "form": event.form,
            "frames": [{"name": where.function, "filename": where.file, "line": where.line}],
            "arguments": agreed(event),
        }
        for side in ("input", "output"):
            parts = found.get(side, [])
            facts[f"{side}_sizes"] = [[count] for count, _ in parts]
            facts[f"{side}_dtypes"] = [types for _, types in parts]
        text = json.dumps(facts)
        if len(text) > form.LONGEST - 100:  # one size for each of many ranks
            for side in ("input", "output"):
                facts[f"{side}_sizes"] = facts[f"{side}_dtypes"] = []
            facts["arguments"] = {k: v[:200] for k, v in facts["arguments"].items()}
            text = json.dumps(facts)
        return text[1:].encode()


def open_recorder(directory: str | os.PathLike[str], signals: bool = True) -> Recorder:
    """Record the collectives of this process from now on; with `signals`, stacks too.

    Raises OSError if the files cannot be made.
    """
    global _opened
    if _opened is None:
        _opened = Recorder(directory)
        if signals:
            _register_signals(_opened.directory / f"rank-{native.COMM_WORLD.Get_rank()}.stack")
        observe(_opened)
    return _opened


def _register_signals(path: Path) -> None:
    """Let signals write stacks, from C: Python's own handlers do not run inside MPI."""
    file = path.open("w")
    # It ends the rank as it would have; SIGUSR1 does a living rank no harm.
    faulthandler.register(signal.SIGTERM, file=file, all_threads=True, chain=True)
    if not child.has_parent():  # which asks by SIGUSR1 itself, and reads what others write
        faulthandler.register(signal.SIGUSR1, file=file, all_threads=True)
        faulthandler.enable(file=file, all_threads=True)


def recorder() -> Recorder | None:
    """The recorder of this process, if one is open."""
    return _opened


def dump(directory: str | os.PathLike[str] | None = None) -> Path:
    """Write the stacks of this rank's threads beside its record; the directory with both.

    With a `directory`, a recorder is opened there if none is.
    """
    if _opened is None and directory is None:
        raise RuntimeError("no flight recorder is open: set MPICOLL_FLIGHT or give a directory")
    opened = open_recorder(directory) if _opened is None else _opened
    path = opened.directory / f"rank-{native.COMM_WORLD.Get_rank()}.stack"
    with path.open("a") as file:
        faulthandler.dump_traceback(file, all_threads=True)
    return opened.directory
