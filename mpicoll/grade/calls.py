"""Calling the student's function on one rank: memory before, memory after, and what went wrong."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from mpi4py import MPI

from mpicoll.communicator import Intracomm
from mpicoll.grade import trace
from mpicoll.grade.exercise import Collective, Exercise
from mpicoll.grade.operations import mpi_operation
from mpicoll.grade.watch import Watch

__all__ = ["Caller"]

#: Elements before and after output memory, which must stay as they are.
MARGIN = 8
_IN_PLACE, _SUM, _MAX = MPI.IN_PLACE, MPI.SUM, MPI.MAX
_clock, _sleep = time.perf_counter, time.sleep


class Output:
    """Output memory with margins, filled with a pattern."""

    def __init__(self, shape: list[int], dtype: str, content: np.ndarray | None = None) -> None:
        length = int(np.prod(shape))
        self.whole = np.empty(length + 2 * MARGIN, np.dtype(dtype))
        trace.fill(self.whole, trace.UNTOUCHED)
        self.array = self.whole[MARGIN : MARGIN + length].reshape(shape)
        if content is not None:
            self.array[...] = content

    def margins_kept(self) -> bool:
        """Whether nothing was written outside."""
        ends = np.concatenate([self.whole[:MARGIN], self.whole[-MARGIN:]])
        return bool(trace.is_filled(ends, trace.UNTOUCHED).all())


class Caller:
    """Calls the function as the parent orders."""

    def __init__(
        self,
        exercise: Exercise,
        watch: Watch,
        file: str,
        failure: Callable[[BaseException, str], dict[str, Any]],
    ) -> None:
        self.exercise, self.watch, self.file, self.failure = exercise, watch, file, failure
        self.operations: dict[str, Any] = {}

    def operation(self, name: str | None) -> Any:
        """The operation of that name, made once."""
        if name not in self.operations and name is not None:
            self.operations[name] = mpi_operation(name)
        return self.operations.get(name)

    def call(self, comm: Any, order: dict[str, Any], function: Any) -> dict[str, Any]:
        """Call it, once for each input of the order, in a row."""
        task, watch = self.exercise.task, self.watch
        wildcards, pause = self.exercise.wildcards, order["delay"] / 5
        watch.begin(order["sync"], False, order["traced"], wildcards, pause)
        answer: dict[str, Any] = {"error": None, "outputs": [], "inputs": [], "margins": []}
        try:
            if isinstance(task, Collective):
                prepared = [self._arguments(comm, order, given) for given in order["given"]]
                if order["delay"]:
                    _sleep(order["delay"])
                for arguments, sendbuf, output in prepared:
                    watch.name_arrays(_names(sendbuf, output))
                    returned = function(*arguments)
                    answer["returned"] = _kind(returned)
                for _, sendbuf, output in prepared:
                    answer["outputs"].append(None if output is None else output.array)
                    answer["inputs"].append(sendbuf)
                    answer["margins"].append(output is None or output.margins_kept())
            else:
                if order["delay"]:
                    _sleep(order["delay"])
                answer["outputs"] = [task.call(function, comm, given) for given in order["given"]]
        except BaseException as error:
            answer["error"] = self.failure(error, self.file)
        answer["ops"], answer["remarks"] = watch.ops, watch.remarks
        return answer

    def _arguments(
        self, comm: Any, order: dict[str, Any], given: Any
    ) -> tuple[list[Any], np.ndarray | None, Output | None]:
        names, shape = self.exercise.task.arguments, order["output"]
        sendbuf, output, place = None, None, given
        if "buf" in names:
            output = Output(shape, order["dtype"], given)
        else:
            if given is not None and not order["in_place"]:
                sendbuf = given
            if shape is not None:
                start = given if order["in_place"] else None
                output = Output(shape, order["dtype"], start)
            place = _IN_PLACE if order["in_place"] else sendbuf
        array = None if output is None else output.array
        values = {"comm": comm, "sendbuf": place, "recvbuf": array, "buf": array}
        values |= {"op": self.operation(order["op"]), "root": order["root"]}
        return [values[name] for name in names], sendbuf, output

    def time(self, comm: Any, real: Any, order: dict[str, Any], function: Any) -> dict[str, Any]:
        """Time it and mpicoll's own, in turn; `sample` are elements of the result."""
        task = self.exercise.task
        random = np.random.default_rng(order["seed"])
        count, ours = order["count"], Intracomm(real)
        factor = {"alltoall": (comm.size, comm.size), "allgather": (1, comm.size)}
        before, after = factor.get(task.name, (1, 1))
        given = random.random(before * count)
        output = np.empty(after * count)
        if task.name == "bcast":
            output[:] = given if comm.rank == 0 else np.nan
        native = _reference(ours, task.name, order["algorithm"], given, output)
        values = {"comm": comm, "sendbuf": given, "recvbuf": output, "buf": output}
        values |= {"op": self.operation("SUM"), "root": 0}
        arguments = [values[name] for name in task.arguments]
        own: list[float] = []
        theirs: list[float] = []
        sample = None
        try:
            for turn in range(order["turns"]):
                for which, times in ((function, own), (native, theirs)):
                    self.watch.begin(light=True)
                    real.Barrier()
                    start = _clock()
                    which(*(arguments if which is function else ()))
                    times.append(_clock() - start)
                    if which is function and turn == 0:
                        sample = output[order["sample"]].copy()
                # Once is enough of what is far too slow; all ranks agree on it.
                if real.allreduce(own[-1], _MAX) > order["enough"]:
                    break
        except BaseException as error:
            return {"error": self.failure(error, self.file)}
        return {"error": None, "own": own, "reference": theirs, "sample": sample}


def _reference(
    ours: Any, name: str, algorithm: str, given: np.ndarray, output: np.ndarray
) -> Callable[[], Any]:
    other = np.empty_like(output)
    if name == "bcast":
        return lambda: ours.Bcast(other, 0, algorithm=algorithm)
    if name in ("allreduce", "scan", "exscan"):
        method = getattr(ours, name.capitalize())
        return lambda: method(given, other, _SUM, algorithm=algorithm)
    method = getattr(ours, name.capitalize())
    return lambda: method(given, other, algorithm=algorithm)


def _names(sendbuf: Any, output: Output | None) -> dict[str, Any]:
    found = {"sendbuf": sendbuf} if isinstance(sendbuf, np.ndarray) else {}
    if output is not None:
        found["recvbuf"] = output.array
    return found


def _kind(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, np.ndarray):
        return f"an array of {value.size} {value.dtype}"
    return type(value).__name__
