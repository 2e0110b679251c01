"""Executors that record: the same rounds as `mpicoll.execution`, with a record of every message.

A round posts the same messages in the same order; each is then waited for by itself, to know when
it was there, and the receiver notes the source, the tag and the bytes that MPI tells it.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack

from mpi4py import MPI

from mpicoll.execution import native
from mpicoll.execution import state as state_module
from mpicoll.execution.bind import Bound, BoundRound, Origin
from mpicoll.execution.objects import Job
from mpicoll.execution.operation import Operation, PersistentOperation
from mpicoll.execution.parcels import exchange
from mpicoll.execution.script import CopySlot
from mpicoll.steps import Reduce
from mpicoll.trace.store import COPY, RECV, REDUCE, SEND, WAIT, Store

__all__ = ["Run", "install"]


class Run:
    """One call that is being recorded: its number here, and how many records it has."""

    __slots__ = ("begin", "bound", "call", "clock", "parts", "store")

    def __init__(self, store: Store, clock: Callable[[], int], call: int) -> None:
        self.store, self.clock, self.call, self.parts = store, clock, call, 0
        self.bound: Bound | None = None
        self.begin = clock()

    def add(self, kind: int, begin: int, end: int, round: int, step: int, *rest: int) -> None:
        """Record a part of the call; `rest` is peer, tag and bytes of a message."""
        self.parts += 1
        self.store.add(kind, begin, end, self.call, round, step, *rest)

    def local(self, calls: tuple[Callable[[], object], ...], origin: Origin) -> None:
        """Run the local steps of a round."""
        for call, step in zip(calls, origin.local, strict=True):
            begin = self.clock()
            call()
            combines = origin.round is not None and isinstance(origin.steps[step], Reduce)
            number = -1 if origin.round is None else origin.round
            self.add(REDUCE if combines else COPY, begin, self.clock(), number, step)


class _Flight:
    """The messages of a round that are on their way."""

    def __init__(self, run: Run, tag: int, number: int) -> None:
        self.run, self.tag, self.number = run, tag, number
        self.requests: list[native.Request] = []
        self.posted: list[tuple[int, int, int, int, int]] = []
        self.left = 0
        self.status = MPI.Status()

    def post(self, channel: native.Intracomm, round_: BoundRound, origin: Origin) -> None:
        """Post all messages, receives first, as the executors do."""
        tag = self.tag
        for (memory, peer), step in zip(round_.receives, origin.receives, strict=True):
            self._note(RECV, step, peer, 0)
            self.requests.append(channel.Irecv(memory, peer, tag))
        for (memory, peer), step in zip(round_.sends, origin.sends, strict=True):
            self._note(SEND, step, peer, memory[1] * memory[2].Get_size())
            self.requests.append(channel.Isend(memory, peer, tag))

    def adopt(self, requests: list, round_: BoundRound, origin: Origin) -> None:
        """Take over prepared messages, in the same order, which are to be started now."""
        for (_, peer), step in zip(round_.receives, origin.receives, strict=True):
            self._note(RECV, step, peer, 0)
        for (memory, peer), step in zip(round_.sends, origin.sends, strict=True):
            self._note(SEND, step, peer, memory[1] * memory[2].Get_size())
        self.requests = requests

    def _note(self, kind: int, step: int, peer: int, nbytes: int) -> None:
        self.posted.append((kind, self.run.clock(), step, peer, nbytes))
        self.left += 1

    def wait(self) -> None:
        """Wait for all messages, and record the wait."""
        if not self.left:
            return
        begin = self.run.clock()
        while self.left:
            self._arrived(native.Request.Waitany(self.requests, self.status))
        self.run.add(WAIT, begin, self.run.clock(), self.number, -1)

    def test(self) -> bool:
        """Take note of what has arrived; True if that is all."""
        while self.left:
            index, arrived = native.Request.Testany(self.requests, self.status)
            if not arrived or index == MPI.UNDEFINED:
                return False
            self._arrived(index)
        return True

    def _arrived(self, index: int) -> None:
        end = self.run.clock()
        kind, begin, step, peer, nbytes = self.posted[index]
        tag = self.tag
        if kind == RECV:
            status = self.status
            peer, tag, nbytes = status.Get_source(), status.Get_tag(), status.Get_count(MPI.BYTE)
        self.left -= 1
        self.run.add(kind, begin, end, self.number, step, peer, tag, nbytes)


def _run_blocking(run: Run, bound: Bound, channel: native.Intracomm, tag: int) -> None:
    for round_, origin in zip(bound.rounds, bound.origins, strict=True):
        if round_.receives or round_.sends:
            flight = _Flight(run, tag, origin.round)
            flight.post(channel, round_, origin)
            flight.wait()
        run.local(round_.local, origin)


class _Recorded:
    """What an operation does differently when it is recorded."""

    _run: Run | None = None
    _flight: _Flight | None = None
    runs: Callable[[], Run | None]

    def posted(self, position: int) -> list[native.Request]:
        self._flight = None
        if self._run is None:
            return super().posted(position)
        round_, origin = self.bound.rounds[position], self.bound.origins[position]
        if round_.receives or round_.sends:
            self._flight = _Flight(self._run, self.tag, origin.round)
            self._send_off(position, round_, origin)
        return self._flight.requests if self._flight else []

    def _send_off(self, position: int, round_: BoundRound, origin: Origin) -> None:
        self._flight.post(self.channel, round_, origin)

    def advance(self, block: bool = False) -> bool:
        if self._run is None or self.complete:
            return super().advance(block)
        try:
            if self.gate is not None:
                if not self.gate(block):
                    return False
                self.gate = None
                self._post()
            while self.position < len(self.bound.rounds):
                if self._flight is not None:
                    if block:
                        self._flight.wait()
                    elif not self._flight.test():
                        return False
                origin = self.bound.origins[self.position]
                self._run.local(self.bound.rounds[self.position].local, origin)
                self.position += 1
                self._post()
        except BaseException as error:  # as in Operation: for whoever waits
            self.error = error
        self.complete = True
        for function in self.at_end:
            function(self.error)
        return True


class _RecordedOperation(_Recorded, Operation):
    def __init__(self, *arguments: object) -> None:
        super().__init__(*arguments)
        # It is made within its call, and may be started after it.
        self._run = type(self).runs()


class _RecordedPersistent(_Recorded, PersistentOperation):
    def start(self) -> bool:
        self._run = type(self).runs()
        return super().start()

    def _send_off(self, position: int, round_: BoundRound, origin: Origin) -> None:
        self._flight.adopt(self._prepared[position], round_, origin)
        native.Prequest.Startall(self._flight.requests)


def _run_objects(run: Run, job: Job, channel: native.Intracomm, tags: tuple[int, ...]) -> None:
    """The rounds of a script; a message is all that travels for one step, in however many parts."""
    for number, (receives, sends, local) in enumerate(job.script.rounds):
        if receives or sends:
            outgoing = [(peer, [job._packed(slot) for slot in slots]) for peer, slots in sends]
            begin = run.clock()
            received, nbytes = exchange(
                channel, tags, [(peer, len(slots)) for peer, slots in receives], outgoing
            )
            end = run.clock()
            job.nbytes += nbytes
            for at, ((peer, slots), values) in enumerate(zip(receives, received, strict=True)):
                run.add(RECV, begin, end, number, at, peer, tags[0], _lengths(values))
                job._store(slots, values)
            for at, (peer, values) in enumerate(outgoing):
                run.add(SEND, begin, end, number, at, peer, tags[0], _lengths(values))
            run.add(WAIT, begin, end, number, -1)
        for at, step in enumerate(local):
            begin, copies = run.clock(), type(step) is CopySlot
            (job._copy if copies else job._reduce)(*step)
            run.add(COPY if copies else REDUCE, begin, run.clock(), number, at)


def _lengths(values: list) -> int:
    return sum(len(part) for value in values if value is not None for part in value.segments)


def install(runs: Callable[[], Run | None]) -> ExitStack:
    """Let calls be run by these executors; `runs` gives the one that this thread is in, if any.

    Closing what is returned puts the others back.
    """
    undo = ExitStack()

    def replace(owner: object, name: str, value: object) -> None:
        undo.callback(setattr, owner, name, getattr(owner, name))
        setattr(owner, name, value)

    plain, plain_objects = state_module.run, Job._run

    def run_blocking(program: tuple, channel: native.Intracomm, tag: int) -> None:
        run = runs()
        if run is None or run.bound is None or run.bound.program is not program:
            plain(program, channel, tag)
        else:
            _run_blocking(run, run.bound, channel, tag)

    def run_objects(job: Job, channel: native.Intracomm, tags: tuple[int, ...]) -> None:
        run = runs()
        if run is None:
            plain_objects(job, channel, tags)
        else:
            _run_objects(run, job, channel, tags)

    replace(state_module, "run", run_blocking)
    replace(Job, "_run", run_objects)
    for name, base in (
        ("Operation", _RecordedOperation),
        ("PersistentOperation", _RecordedPersistent),
    ):
        kind = type(base.__name__, (base,), {"runs": staticmethod(runs)})
        replace(state_module, name, kind)
    return undo
