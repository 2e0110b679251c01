"""The recorder of one rank: watches its collectives and its own messages until it is closed."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable
from pathlib import Path
from weakref import WeakKeyDictionary

from mpi4py import MPI

from mpicoll.execution import native
from mpicoll.execution.observe import Event, current, observe, unobserve
from mpicoll.execution.state import State, state_of
from mpicoll.trace import executors, messages
from mpicoll.trace.clock import Clocks, Reading, host_name
from mpicoll.trace.files import RankTrace, write_rank
from mpicoll.trace.store import CALL, Store

__all__ = ["Recorder"]


class Recorder:
    """Records from `open` to `close`, both collective on MPI.COMM_WORLD.

    `capacity` is the number of records kept, the newest. `clock` gives nanoseconds, `host` names
    what shares that clock.
    """

    def __init__(
        self,
        capacity: int,
        clock: Callable[[], int] = time.perf_counter_ns,
        host: str | None = None,
    ) -> None:
        self.store, self.clock = Store(capacity), clock
        self.host = host_name() if host is None else host
        self.comms: list[dict] = []
        self.readings: list[Reading] = []
        self._runs: WeakKeyDictionary[Event, executors.Run] = WeakKeyDictionary()
        self._numbers = itertools.count()
        self._known: WeakKeyDictionary[State, int] = WeakKeyDictionary()
        self._copies: dict[tuple[int, ...], int] = {}
        self._undo: list[Callable[[], object]] = []

    def open(self) -> Recorder:
        """Begin; collective."""
        self._world = native.COMM_WORLD.Dup()
        self._group = self._world.Get_group()
        self._place = self._world.Get_rank(), self._world.Get_size()
        # In the order of their making, so that ranks agree on which communicator is which.
        state_of(native.COMM_WORLD), state_of(native.COMM_SELF)
        for state in sorted(State.living, key=lambda state: state.made):
            if state.channel != MPI.COMM_NULL:  # freed, and not yet forgotten
                self.number_of(state)
        made = State.__init__

        def make(state: State, *arguments: object) -> None:
            made(state, *arguments)
            self.number_of(state)

        State.__init__ = make
        self._undo.append(lambda: setattr(State, "__init__", made))
        self._undo.append(executors.install(self._current).close)
        self._undo.append(messages.install(self).close)
        observe(self)
        self._undo.append(lambda: unobserve(self))
        self._clocks = Clocks(self._world, self.host, self.clock)
        self.readings.append(self._clocks.read())
        return self

    def close(self, directory: Path, together: bool = True) -> None:
        """End, and write this rank's file into the directory, which is made if it must be.

        Collective between hosts, unless ranks are no longer `together`: one may have failed.
        """
        while self._undo:
            self._undo.pop()()
        self._write(directory)
        if together and self._clocks.apart:
            # Written already: should a rank be missing now, all but this reading is kept.
            self.readings.append(self._clocks.read())
            self._write(directory)

    def _write(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        rank, size = self._place
        library = MPI.Get_library_version().splitlines()[0].rstrip("\0")
        facts = RankTrace(rank, size, self.host, library, self.store.capacity)
        facts.clock, facts.comms = self.readings, self.comms
        write_rank(directory / f"rank-{rank}.jsonl", facts, self.store)

    def number_of(self, state: State) -> int:
        """The number of a communicator in this rank's table."""
        number = self._known.get(state)
        if number is None:
            group = state.channel.Get_group()
            members = tuple(MPI.Group.Translate_ranks(group, None, self._group))
            group.Free()
            copy = self._copies.get(members, 0)
            self._copies[members] = copy + 1
            number = self._known[state] = len(self.comms)
            self.comms.append({"members": members, "copy": copy})
        return number

    def _current(self) -> executors.Run | None:
        event = current()
        run = None if event is None else self._runs.get(event)
        if run is not None:
            run.bound = event.bound
        return run

    def before(self, event: Event) -> None:
        """A collective begins."""
        if event.form != "prepared":
            event.where  # noqa: B018  (it must be asked for here)
            self._runs[event] = executors.Run(self.store, self.clock, next(self._numbers))

    def after(self, event: Event, error: BaseException | None) -> None:
        """A collective has ended."""
        run = self._runs.pop(event, None)
        if run is None or error is not None:
            return
        where, call = event.where, event.call
        entry = self.store.entry(
            self.number_of(event.state),
            # Between groups, roots and plans are others than those of the same name.
            ("inter_" if event.state.sides else "") + event.collective,
            event.method,
            event.form,
            event.algorithm,
            tuple(sorted(event.parameters.items())),
            event.root or 0,
            event.nbytes,
            _dtype(call),
            _name(event.operation),
            f"{where.file}:{where.line}",
        )
        end = self.clock()
        self.store.add(
            CALL, run.begin, end, run.call, entry, event.start, run.parts, event.tag, event.number
        )


def _dtype(call: object) -> str:
    """The element type of a call's first buffer; "" if there is none."""
    for buffer in call.buffers if call is not None else ():
        kind = getattr(buffer, "kind", None) or next(iter(getattr(buffer, "kinds", ())), None)
        if kind is not None:
            return _type_name(kind.datatype)
    return ""


def _type_name(datatype: MPI.Datatype) -> str:
    name = datatype.Get_name()
    return name.removeprefix("MPI_").lower() or "derived"


def _name(operation: object) -> str:
    if operation is None:
        return ""
    for name in ("SUM", "PROD", "MAX", "MIN", "LAND", "BAND", "LOR", "BOR", "LXOR", "BXOR"):
        if operation == getattr(MPI, name):
            return name
    return str(getattr(operation, "__name__", None) or "user")[:60]
