"""A collective call on one rank, as observers see it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import NamedTuple

from mpicoll.execution.bind import Bound
from mpicoll.execution.calls import Call
from mpicoll.execution.objects import Job
from mpicoll.execution.state import State

__all__ = ["Event", "Where", "caller"]

PACKAGE = str(Path(__file__).parents[1])
#: What lies inside the seam are observers, wherever their files are.
SEAM = str(Path(__file__).with_name("observe.py"))


class Where(NamedTuple):
    """A line of the program."""

    file: str
    line: int
    function: str


def caller(frame: FrameType | None = None) -> Where:
    """The innermost line, from `frame` outwards, that is not the package's."""
    frame = frame or sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(PACKAGE):
        frame = frame.f_back
    return Where(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)


class Event:
    """One collective call on one rank.

    `collective` is the operation, such as "allgather"; `method` the name that was called, such as
    "Iallgatherv"; `form` is "blocking", "non-blocking", "objects", "prepared" (the making of a
    persistent one) or "persistent" (each start of it, the number of which is `start`). `number`
    counts the calls on this communicator from 1 and is the same on all ranks; a start has that of
    its making. `algorithm` and `parameters` are those that will run. `call` has buffers, bytes and
    operation, and is None for objects, as are `nbytes` and `reduction`. `operation` is MPI's, or a
    function of the user's. `tag` is the call's own on `state.channel` (the first of three for
    objects). `bound` is there once memory is bound, `job` for objects. An observer may give a
    started collective a `gate`: it sends nothing until ``gate(block)`` is true, which must wait if
    `block`, and raises what the gate raises to whoever waits for it.
    """

    __slots__ = (
        "_sent",
        "_where",
        "algorithm",
        "bound",
        "call",
        "collective",
        "form",
        "gate",
        "job",
    )
    __slots__ += ("method", "number", "operation", "parameters", "root", "start", "state", "tag")
    __slots__ += ("__weakref__",)

    def __init__(
        self,
        state: State,
        form: str,
        tag: int,
        algorithm: str,
        parameters: dict[str, object],
        call: Call | None = None,
        job: Job | None = None,
    ) -> None:
        what = call or job
        self.state, self.form, self.tag, self.call, self.job = state, form, tag, call, job
        self.algorithm, self.parameters = algorithm, parameters
        self.collective, self.root = what.collective, what.root
        self.method = job.collective if call is None else call.method
        if call is None:
            self.operation = job.operation
        else:
            self.operation = None if call.reduction is None else call.reduction.op
        self.number, self.start = state.calls - state.spare_tags, 0
        self.bound: Bound | None = None
        self.gate: Callable[[bool], bool] | None = None
        self._sent: int | None = None
        self._where: Where | None = None

    @property
    def nbytes(self) -> int | None:
        """The m of the cost formulas, if all ranks know it."""
        return None if self.call is None else self.call.nbytes

    @property
    def where(self) -> Where:
        """The line of the program that called: ask in `before`, which is the call itself."""
        if self._where is None:
            frame = sys._getframe()
            while frame is not None and frame.f_code.co_filename != SEAM:
                frame = frame.f_back
            self._where = caller(frame)
        return self._where

    @property
    def bytes_sent(self) -> int:
        """What this rank sends to others; known in `after`."""
        if self.job is not None:
            return self.job.nbytes
        if self._sent is None and self.bound is not None:
            self._sent = self.bound.bytes_sent
        return self._sent or 0

    def binds(self, bound: Bound, lasts: bool) -> None:
        """Take note of what runs; one that does not last has no datatypes left in the end."""
        self.bound, self._sent = bound, None
        if not lasts:
            self._sent = self.bytes_sent

    def started(self, number: int) -> Event:
        """The event of a start of this prepared collective."""
        again = Event.__new__(Event)
        for name in Event.__slots__[:-1]:
            setattr(again, name, getattr(self, name))
        again.form, again.start, again._where = "persistent", number, None
        return again
