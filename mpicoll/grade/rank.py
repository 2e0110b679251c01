"""What runs on every rank: ``python -m mpicoll.grade.rank SOCKET``.

The parent sends what to do and gets what came of it; nothing that this process says is a verdict.
Two connections: one for the cases, one on which a thread says at any time what the rank is doing.
"""

from __future__ import annotations

import os
import socket
import sys
import threading
import traceback
from types import ModuleType
from typing import Any

from mpi4py import MPI

from mpicoll.grade import wire
from mpicoll.grade.calls import Caller
from mpicoll.grade.comm import Comm
from mpicoll.grade.comm_base import ANY_SOURCE, PROC_NULL
from mpicoll.grade.exercise import known_exercises, load_exercises
from mpicoll.grade.limits import fence, limit
from mpicoll.grade.request import Request
from mpicoll.grade.watch import Watch

__all__ = ["Rank", "main"]


def failure(error: BaseException, file: str) -> dict[str, Any]:
    """An exception as data, with the line of the student's file."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if f.filename == file]
    if isinstance(error, SyntaxError) and error.filename == file:
        line = error.lineno or 0
    else:
        line = own[-1].lineno if own else 0
    text = "".join(traceback.format_exception_only(error)).strip()
    facts = {"type": type(error).__name__, "text": text[:2000], "line": line}
    if own:
        facts["function"], facts["source"] = own[-1].name, own[-1].line
    if isinstance(error, SystemExit):
        facts["text"] = f"sys.exit({error.code!r})"
    if isinstance(error, MPI.Exception):
        facts["class"] = error.Get_error_class()
    if not own:
        facts["trace"] = "".join(traceback.format_exception(error))[-2000:]
    return facts


class Rank:
    """One rank's side of a grading."""

    def __init__(self, setup: dict[str, Any]) -> None:
        own = setup["exercises"]
        self.exercise = (load_exercises(own) if own else known_exercises())[setup["exercise"]]
        self.file = setup["file"]
        allowed = tuple(self.exercise.collectives)
        self.watch = Watch(self.file, allowed, tuple(self.exercise.forbidden))
        self.world = MPI.COMM_WORLD
        self.comms: dict[tuple[int, int], tuple[Any, Any]] = {}
        self.size, self.comm, self.real, self.function = 0, None, None, None
        self.attempts: list[str] = []
        self.prints = _Prints()
        os.chdir(setup["scratch"])
        sys.dont_write_bytecode = True
        limit(setup["memory"])

    def enter(self, size: int, epoch: int) -> None:
        """Take the first `size` ranks as the world; collective among them."""
        if (size, epoch) not in self.comms:
            group = self.world.Get_group().Incl(range(size))
            made = [self.world.Create_group(group, 2 * epoch + i) for i in (0, 1)]
            self.comms[size, epoch] = tuple(made)
        real, objects = self.comms[size, epoch]
        self.size, self.real = size, real
        self.comm = Comm(real, objects, self.watch, list(range(size)), "COMM_WORLD")
        MPI.COMM_WORLD = self.comm

    def load(self) -> dict[str, Any]:
        """Import the submission afresh."""
        self.watch.begin()
        name = "submission"
        sys.modules.pop(name, None)
        module = ModuleType(name)
        module.__file__ = self.file
        sys.modules[name] = module
        self.function = None
        try:
            with open(self.file, "rb") as source:
                code = compile(source.read(), self.file, "exec")
            exec(code, module.__dict__)
        except BaseException as error:
            return {"error": failure(error, self.file)}
        for candidate in (self.exercise.name, *self.exercise.aka):
            if callable(getattr(module, candidate, None)):
                self.function = getattr(module, candidate)
                return {"error": None}
        defined = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
        return {"error": None, "missing": self.exercise.name, "defined": defined[:20]}

    def snapshot(self, everything: bool) -> dict[str, Any]:
        """What this rank is doing now; runs in the other thread."""
        frame = sys._current_frames().get(threading.main_thread().ident)
        while frame is not None and frame.f_code.co_filename != self.file:
            frame = frame.f_back
        watch = self.watch
        facts = {"clock": watch.clock, "current": watch.current}
        facts["line"] = frame.f_lineno if frame else 0
        facts["function"] = frame.f_code.co_name if frame else ""
        if everything:
            facts |= {"ops": [dict(op) for op in list(watch.ops)], "remarks": list(watch.remarks)}
        return facts


class _Prints:
    """Standard output and error of student code, in a file of limited length."""

    def __init__(self) -> None:
        rank = MPI.COMM_WORLD.Get_rank()
        self.path = os.path.abspath(f"printed-{rank}.txt")

    def __enter__(self) -> None:
        if sys.stdout is None or sys.stdout.closed or sys.stdout is sys.__stdout__:
            file = open(self.path, "a", buffering=1, errors="replace")
            sys.stdout = sys.stderr = file

    def __exit__(self, *error: Any) -> None:
        try:
            sys.stdout.flush()
        except (ValueError, OSError, AttributeError):
            pass  # student code closed it, or it is as long as it may be


def main() -> None:
    """Connect, and do what the parent says until it hangs up."""
    path = sys.argv[1]
    connections = [socket.socket(socket.AF_UNIX) for _ in range(2)]
    for connection, role in zip(connections, ("cases", "asks"), strict=True):
        connection.connect(path)
        facts = {"rank": MPI.COMM_WORLD.Get_rank(), "role": role, "pid": os.getpid()}
        wire.send(connection, facts | {"library": MPI.Get_library_version().split("\n")[0]})
    cases, asks = connections
    setup = wire.receive(cases)
    os.chdir(setup["scratch"])
    rank = Rank(setup)
    caller = Caller(rank.exercise, rank.watch, rank.file, failure)
    thread = threading.Thread(target=_answer, args=(asks, rank), daemon=True)
    thread.start()
    _replace()
    _serve(cases, rank, caller, fence(setup["scratch"], rank.attempts.append))


def _replace() -> None:
    """Put the grader's classes where student code looks for MPI's."""
    MPI.Request = MPI.Prequest = Request
    MPI.Comm = MPI.Intracomm = Comm
    MPI.PROC_NULL, MPI.ANY_SOURCE = PROC_NULL, ANY_SOURCE


def _answer(connection: socket.socket, rank: Rank) -> None:
    try:
        while True:
            ask = wire.receive(connection)
            wire.send(connection, {"number": ask["number"], **rank.snapshot(ask["everything"])})
    except (wire.Closed, ValueError):
        os._exit(1)  # the parent is gone


def _serve(connection: socket.socket, rank: Rank, caller: Caller, fenced: Any) -> None:
    send, receive, tampered = wire.send, wire.receive, _Seal()
    while True:
        try:
            order = receive(connection)
        except wire.Closed:
            os._exit(0)  # Finalize could wait for ranks that are gone
        if order["do"] == "end":
            return
        rank.enter(order["size"], order["epoch"])
        with rank.prints, fenced():
            if order["do"] == "load":
                answer = rank.load()
            elif order["do"] == "time":
                answer = caller.time(rank.comm, rank.real, order, rank.function)
            else:
                answer = caller.call(rank.comm, order, rank.function)
        answer["tampered"] = tampered.broken()
        answer["attempts"] = list(rank.attempts)
        answer["number"] = order["number"]
        try:
            send(connection, answer)
        except wire.Closed:
            os._exit(0)


class _Seal:
    """Whether the grader's own functions are still the ones that were there at first."""

    def __init__(self) -> None:
        self._then = _everything()

    def broken(self) -> list[str]:
        """The names that are not."""
        now = _everything()
        return sorted(name for name, what in self._then.items() if now.get(name) is not what)


def _everything() -> dict[str, Any]:
    found = {}
    for name, module in list(sys.modules.items()):
        if name.startswith("mpicoll.grade") or name == "__main__":
            for key, value in vars(module).items():
                found[f"{name}.{key}"] = value
                if isinstance(value, type) and value.__module__.startswith("mpicoll.grade"):
                    found |= {f"{name}.{key}.{k}": v for k, v in vars(value).items()}
    return found


if __name__ == "__main__":
    main()
