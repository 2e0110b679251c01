"""Putting watched methods into the communicators that a program uses."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from types import ModuleType

from mpi4py import MPI

from mpicoll.diagnosis import record as form
from mpicoll.diagnosis.communicators import title, world_ranks
from mpicoll.diagnosis.flight import Recorder
from mpicoll.diagnosis.signature import total
from mpicoll.diagnosis.watch import Ways, messaging_methods
from mpicoll.diagnosis.watched_requests import group_methods, watch_own_waits
from mpicoll.execution import native
from mpicoll.execution.event import caller
from mpicoll.execution.message import read_message
from mpicoll.execution.standin import StandIn
from mpicoll.execution.state import NATIVE_COLLECTIVES
from mpicoll.family import MAKERS, Family
from mpicoll.launch.stacks import ranks_text

__all__ = ["watch_native", "watch_ours"]


def watch_ours(recorder: Recorder) -> None:
    """Watch the messages on our communicators, and the waits for their requests."""
    from mpicoll.execution import request

    def ways_of(comm: native.Comm) -> Ways:
        ways = vars(comm).get("_ways")
        if ways is None:
            ways = comm._ways = Ways(recorder, title(comm.state), _others(comm))
        return ways

    for name, method in messaging_methods(recorder, ways_of).items():
        setattr(Family, name, method)
    watch_own_waits(recorder)
    for cls in (request.Request, request.Prequest):
        for name, function in group_methods(recorder, cls).items():
            setattr(cls, name, function)


def _others(comm: native.Comm) -> tuple[int, ...]:
    """The world ranks of those whom messages on a communicator go to."""
    if not isinstance(comm, native.Intercomm):
        return world_ranks(comm)
    group, world = comm.Get_remote_group(), native.COMM_WORLD.Get_group()
    return tuple(MPI.Group.Translate_ranks(group, None, world))


def watch_native(recorder: Recorder, mpi: ModuleType) -> None:
    """Let a program's communicators be MPI's own, watched; to be called before it has any."""
    made: dict[tuple, int] = {}

    def ways_of(comm: native.Comm) -> Ways:
        return comm._ways

    def entered(comm: native.Comm) -> native.Comm:
        """A communicator that MPI has made, as a watched one."""
        if comm == MPI.COMM_NULL:
            return comm
        watched = next(cls for base, cls in classes if isinstance(comm, base))(comm)
        ranks = world_ranks(comm)
        name = {"MPI_COMM_WORLD": "COMM_WORLD", "MPI_COMM_SELF": "COMM_SELF"}.get(comm.Get_name())
        if name is None:
            made[ranks] = made.get(ranks, 0) + 1
            name = f"communicator {made[ranks]} of {ranks_text(ranks)}"
        watched._ways = Ways(recorder, name, _others(comm))
        watched._collectives = _Collectives(recorder, name)
        return watched

    methods: dict[str, object] = dict(messaging_methods(recorder, ways_of))
    methods |= {name: _maker(name, entered) for name in MAKERS}
    methods |= {name: _collective(name) for name in NATIVE_COLLECTIVES if _exists(name)}
    classes = []
    for name in ("Cartcomm", "Graphcomm", "Distgraphcomm", "Intercomm", "Intracomm"):
        base = getattr(native, name)
        own = {key: method for key, method in methods.items() if hasattr(base, key)}
        classes.append((base, type(name, (base,), own)))
    for name in ("COMM_WORLD", "COMM_SELF"):
        setattr(mpi, name, entered(getattr(native, name)))
    functions = group_methods(recorder, native.Request)
    mpi.Request = StandIn("Request", (native.Request,), functions)
    mpi.Request.stands_for = native.Request


def _exists(name: str) -> bool:
    return hasattr(native.Intracomm, name) or hasattr(native.Topocomm, name)


def _maker(name: str, entered: Callable) -> Callable:
    def make(self, *arguments, **keywords):
        for base in type(self).__mro__:
            if base.__module__ == "mpi4py.MPI":
                return entered(getattr(base, name)(self, *arguments, **keywords))

    make.__name__ = name
    return make


class _Collectives:
    """The count of collectives on a communicator of MPI's."""

    def __init__(self, recorder: Recorder, name: str) -> None:
        self.writer, self.name, self.number = recorder.writer, name, 0

    def begin(self, method: str, given: dict[str, object]) -> int:
        """Write one down."""
        self.number += 1
        where = caller()
        facts = {
            "collective_seq_id": self.number,
            "process_group": self.name,
            "profiling_name": method,
            "form": "native",
            "is_p2p": False,
            "frames": [{"name": where.function, "filename": where.file, "line": where.line}],
            "arguments": _arguments(method, given),
        }
        return self.writer.collective(json.dumps(facts).encode())


def _arguments(method: str, given: dict[str, object]) -> dict[str, str]:
    """Root, operation, dtype and count, as far as all ranks must have them alike."""
    from mpicoll.diagnosis.facts import operation_name

    facts = {}
    if "root" in given:
        facts["root"] = str(given["root"])
    plain = method.lower().removesuffix("_init")
    vector = plain.endswith(("v", "w")) or plain.endswith("reduce_scatter")
    buffer = given.get("buf", given.get("sendbuf"))
    if buffer is MPI.IN_PLACE:
        buffer = None
    # Parts of scatters and of exchanges are not to be seen without their number of ranks.
    if buffer is not None and not vector and plain.removeprefix("i") in ALIKE:
        try:
            found = total(read_message(buffer, writable=False))
        except Exception:  # MPI says what is wrong with it
            return facts
        facts["dtype"], facts["count"] = found.types or "none", str(found.count)
    if isinstance(given.get("op"), MPI.Op):
        facts["op"] = operation_name(given["op"])
    return facts


#: Collectives whose send buffer is as long on all ranks.
ALIKE = ("bcast", "reduce", "allreduce", "scan", "exscan", "gather", "allgather", "alltoall")


def _collective(name: str) -> Callable:
    """A collective of MPI's, noted; started ones as begun, since their end is not seen."""
    original = getattr(native.Topocomm, name)
    signature = inspect.signature(original)
    objects = name.islower()
    starts = name.startswith("I") or name.endswith("_init")

    def call(self, *arguments, **keywords):
        method = getattr(super(type(self), self), name)
        try:
            bound = signature.bind(self, *arguments, **keywords)
        except TypeError:
            return method(*arguments, **keywords)
        bound.apply_defaults()
        given = dict(bound.arguments)
        if objects:
            given = {key: given[key] for key in ("root", "op") if key in given}
        collectives = self._collectives
        number = collectives.begin(name, given)
        if starts:
            return method(*arguments, **keywords)
        writer = collectives.writer
        writer.inside(form.IN_COLLECTIVE, writer.name(name), (number,))
        try:
            result = method(*arguments, **keywords)
        finally:
            writer.outside()
            writer.collective_done(number)
        return result

    call.__name__ = name
    return call
