"""Trying a function on the ranks of this run, beside its exercise's specification.

An exercise's ``specification.py`` offers ``inputs(size, n, random)``, a list of the arguments of
each rank, and the specified function itself, slow and obvious.
"""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

__all__ = ["compare", "copied", "differences", "load", "names_of", "show", "spelled", "takes_comm"]

WRONG = 7  # exit status of a run whose result is wrong


def load(path: Path, name: str) -> ModuleType:
    """Import a Python file under a name of its own."""
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def copied(arguments: Sequence[Any]) -> list[Any]:
    """The arguments, arrays as copies."""
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]


def takes_comm(specification: Callable[..., Any]) -> bool:
    """Whether the communicator is the first argument."""
    return next(iter(inspect.signature(specification).parameters), "") == "comm"


def names_of(specification: Callable[..., Any]) -> list[str]:
    """The names of the arguments besides the communicator."""
    return [name for name in inspect.signature(specification).parameters if name != "comm"]


def spelled(value: Any) -> str:
    """A value in a few characters.

    >>> spelled(np.arange(12.0).reshape(2, 6)), spelled(None)
    ('[[ 0.  1.  2.  3.  4.  5.] [ 6.  7.  8.  9. 10. 11.]]', 'None')
    """
    if isinstance(value, np.ndarray):
        text = np.array2string(value, separator=" ", precision=4, threshold=40, max_line_width=999)
        text = " ".join(text.split("\n"))
        return text if len(text) < 160 else f"{text[:120]} ... shape {value.shape}"
    return repr(value)


def _equal(mine: Any, wanted: Any) -> bool:
    if isinstance(wanted, np.ndarray):
        return (
            isinstance(mine, np.ndarray)
            and mine.shape == wanted.shape
            and bool(np.allclose(mine, wanted, rtol=1e-9, atol=1e-9, equal_nan=True))
        )
    if isinstance(wanted, (list, tuple)):
        return (
            isinstance(mine, (list, tuple))
            and len(mine) == len(wanted)
            and all(map(_equal, mine, wanted))
        )
    if isinstance(wanted, float):
        return isinstance(mine, (int, float)) and bool(np.isclose(mine, wanted, rtol=1e-9))
    return bool(mine == wanted)


def differences(
    names: Sequence[str], mine: Sequence[Any], wanted: Sequence[Any], before: Sequence[Any]
) -> list[str]:
    """Say which arguments (or "result") are not as they should be after the call.

    `before` are the values before the call: what should not have changed is called so.
    """
    found = []
    for name, own, right, old in zip(names, mine, wanted, before, strict=True):
        if not _equal(own, right):
            text = f"{name} is {spelled(own)} and should be {spelled(right)}"
            if name != "result" and _equal(old, right):
                text = f"{name} must not change: it was {spelled(old)}, now it is {spelled(own)}"
            elif name != "result" and isinstance(own, np.ndarray) and _equal(own, old):
                text += " (it has not changed at all)"
            found.append(text)
    return found


def _started_alone(size: int) -> None:
    if size == 1:
        name = Path(sys.argv[0]).name
        print(f"note: this is one process. For four: mpicoll run --native -n 4 {name}")


def show(specification: Callable[..., Any], inputs: Callable[..., list[Any]], n: int = 3) -> None:
    """Run the specification on these ranks; print what everyone has before and after."""
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    arguments = copied(inputs(comm.size, n, np.random.default_rng(1))[comm.rank])
    before = copied(arguments)
    result = specification(*[comm] * takes_comm(specification), *arguments)
    names = names_of(specification)
    lines = [
        f"  {name}: {spelled(old)}" + (f"  ->  {spelled(new)}" if not _equal(old, new) else "")
        for name, old, new in zip(names, before, arguments, strict=True)
        if not isinstance(old, MPI.Op)
    ]
    lines += [f"  result: {spelled(result)}"] if result is not None else []
    for rank, text in enumerate(comm.gather("\n".join(lines)) or []):
        print(f"rank {rank}\n{text}", flush=True)
    if comm.rank == 0:
        _started_alone(comm.size)


def compare(
    function: Callable[..., Any],
    specification: Callable[..., Any],
    inputs: Callable[..., list[Any]],
    n: int = 3,
) -> bool:
    """Run a function and its specification on these ranks, and print where they differ.

    Returns:
        Whether all ranks had the specified results; the same on every rank.
    """
    from mpi4py import MPI

    comm = MPI.COMM_WORLD
    before = inputs(comm.size, n, np.random.default_rng(1))[comm.rank]
    mine, wanted = copied(before), copied(before)
    first = [comm] * takes_comm(specification)
    results = function(*first, *mine), specification(*first, *wanted)
    names = [*names_of(specification), "result"]
    found = differences(names, [*mine, results[0]], [*wanted, results[1]], [*before, None])
    everyone = comm.allgather(found)
    if comm.rank == 0:
        for rank, lines in enumerate(everyone):
            print(f"rank {rank}: " + ("\n        ".join(lines) or "as specified"), flush=True)
        _started_alone(comm.size)
    return not any(everyone)


def _main(program: str, folder: str, n: str) -> int:
    name = Path(folder).name
    module = load(Path(program), "tried")
    specified = load(Path(folder) / "specification.py", "specification")
    right = compare(getattr(module, name), getattr(specified, name), specified.inputs, int(n))
    return 0 if right else WRONG


if __name__ == "__main__":
    sys.exit(_main(*sys.argv[1:]))
