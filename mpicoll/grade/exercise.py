"""What an exercise demands: the statement from which cases, checks and points are made.

An exercise is named by its student's function, ``ring_allreduce`` say. Most are a collective of
`mpicoll.spec` (`Collective`); what is none gives three functions of its own (`Custom`). Exercises
are found in ``mpicoll.learn.exercises``, a mapping of names to `Exercise`, and in
`mpicoll.grade.standard`.

Student code is never believed. Inputs are made in the parent from a secret seed and reach only the
rank they belong to; the function's outputs go back, and the parent judges them.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = [
    "CHECKS",
    "NEEDS",
    "RUBRIC",
    "Collective",
    "Custom",
    "Exercise",
    "Structure",
    "known_exercises",
    "load_exercises",
]

#: What is checked, and what each check means. A rubric names the ones that give points.
CHECKS: dict[str, str] = {
    "loads": "the file can be imported and has the function",
    "result": "the result is right for small vectors of int64 and float64, summed",
    "sizes": "it is right on every number of ranks, powers of two or not",
    "counts": "it is right for 0, 1, P-1, P, P+1, 12 and 10001 elements, and for 2-D arrays",
    "dtypes": "it is right for every dtype",
    "ops": "it is right for every operation",
    "roots": "it is right for every root",
    "input": "the input is left as it was, and nothing else is written",
    "repeat": "it is right twice in a row, also when one rank is late",
    "bits": "all ranks hold the same bits",
    "structure": "rounds, messages, elements and peers are those of the algorithm",
    "messages": "point-to-point only, all requests completed, no message left over",
    "safe": "it ends even if every send waits for its receive",
    "speed": "it is about as fast as mpicoll's own implementation of the algorithm",
}

#: What a check needs: if one of these fails, the check is not run and gives no points.
NEEDS: dict[str, tuple[str, ...]] = {
    "result": ("loads",),
    **{name: ("result",) for name in ("sizes", "counts", "dtypes", "ops", "roots", "repeat")},
    **{name: ("result",) for name in ("input", "bits", "structure", "messages", "safe")},
    "speed": ("result", "counts", "structure"),
}

#: Points of each check unless an exercise has its own. Checks that do not apply are left out.
RUBRIC: dict[str, float] = {
    "result": 30,
    "sizes": 10,
    "counts": 10,
    "dtypes": 5,
    "ops": 5,
    "roots": 5,
    "input": 5,
    "repeat": 5,
    "bits": 5,
    "structure": 15,
    "messages": 10,
    "safe": 10,
    "speed": 5,
}


@dataclass(frozen=True)
class Structure:
    """Which messages the function may send: those of an algorithm, or explicit numbers.

    Attributes:
        like: a registered algorithm, such as ``("allreduce", "ring")``.
        parameters: its parameters, if not the defaults.
        messages: messages that a rank sends, from ``(rank, size)``.
        elements: elements that a rank sends, from ``(rank, size, count)``.
        rounds: the longest chain of messages, each sent after the one before was received, from
            ``size``.
        peers: the ranks that a rank may send to, from ``(rank, size)``; with ``like``, those of the
            algorithm, unless ``any_peers``.
        any_peers: other partners are as good, if the numbers are right.
        slack: how many times the rounds may be needed: ordering sends and receives by odd and even
            ranks doubles a chain, and is fine.
    """

    like: tuple[str, str] | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    messages: Callable[[int, int], int] | None = None
    elements: Callable[[int, int, int], int] | None = None
    rounds: Callable[[int], int] | None = None
    peers: Callable[[int, int], set[int]] | None = None
    any_peers: bool = False
    slack: float = 2.0


@dataclass(frozen=True)
class Collective:
    """A function that performs a collective of `mpicoll.spec`.

    Attributes:
        name: bcast, reduce, allreduce, scatter, gather, allgather, reduce_scatter, alltoall, scan,
            exscan or barrier.
        arguments: the function's arguments in order, out of comm, sendbuf, recvbuf, buf (bcast),
            op and root. Buffers are contiguous NumPy arrays, given to be filled in place:

            ============== ===================== =======================
            collective     sendbuf               recvbuf
            ============== ===================== =======================
            allreduce, scan, exscan  n           n
            reduce         n                     n at the root, else None
            bcast          buf: n
            gather         n                     P*n at the root, else None
            allgather      n                     P*n
            scatter        P*n at the root, else None   n
            reduce_scatter P*n                   n
            alltoall       P*n                   P*n
            ============== ===================== =======================

            ``op`` is an MPI.Op; ``op(a, b)`` combines arrays, ``op.Reduce_local`` works as well.
        dtypes, ops: names; ops beyond MPI's SUM, PROD, MIN, MAX are "affine" (user-defined, does
            not commute: leave it out where the algorithm needs commutation) and "gcd"
            (user-defined, commutes).
        counts: elements n (per block, where there are blocks), numbers or "P-1", "P", "P+1", or
            words with ``*`` such as "2*P" where the algorithm needs divisible vectors.
        two_d: whether 2-D arrays are passed too.
        roots: "all", or a sequence of roots.
        in_place: whether ``sendbuf`` may be MPI.IN_PLACE too.
    """

    name: str
    arguments: tuple[str, ...]
    dtypes: tuple[str, ...] = ("int64", "float64", "int32", "float32", "complex128")
    ops: tuple[str, ...] = ("SUM", "PROD", "MAX", "MIN", "gcd")
    counts: tuple[int | str, ...] = (0, 1, "P-1", "P", "P+1", 12, 10001)
    two_d: bool = True
    roots: str | Sequence[int] = "all"
    in_place: bool = False


@dataclass(frozen=True)
class Custom:
    """A function that is no collective: three functions say what it gets and must give.

    Attributes:
        cases: parameters of each case; ``{"size": 4}`` may be among them and then limits the case
            to that many ranks, ``{"check": "counts"}`` puts it under another check than "result".
            What else is there is the exercise's own.
        inputs: ``(case, size, random) -> [input of rank 0, input of rank 1, ...]``, run in the
            parent, so that no rank knows another's. An input is any tree of dicts, lists, numbers,
            strings and NumPy arrays; `random` is a ``numpy.random.Generator``.
        call: ``(function, comm, given) -> outputs``, run on every rank: calls the student's
            function with the input `given`, and gives back a tree of the same kind. `comm` is the
            instrumented communicator.
        judge: ``(case, size, inputs, outputs) -> [finding, ...]``, run in the parent: sentences,
            or ``(rank, sentence)``, each a mistake; empty if all is right. `inputs` and `outputs`
            are lists by rank.
    """

    cases: tuple[Mapping[str, Any], ...]
    inputs: Callable[[Mapping[str, Any], int, np.random.Generator], list[Any]]
    call: Callable[[Callable[..., Any], Any, Any], Any]
    judge: Callable[[Mapping[str, Any], int, list[Any], list[Any]], list[Any]]


@dataclass(frozen=True)
class Exercise:
    """An exercise as the grader sees it.

    Attributes:
        name: the exercise's name, which is that of the student's function.
        title: a line for reports.
        task: what the function does: `Collective` or `Custom`.
        sizes: numbers of ranks; the first is where mistakes are explained, best 4.
        structure: which messages are demanded; None for any.
        collectives: collective methods of the communicator that are allowed, such as "Bcast" or
            "allgather"; "*" for all. Point-to-point methods always are, unless `forbidden`.
        forbidden: methods that may not be used, such as "Sendrecv" or "send".
        wildcards: whether ANY_SOURCE and ANY_TAG are allowed.
        rubric: points of each check; by default `RUBRIC`. What does not apply is left out, and the
            rest is scaled to 100. Points for checks of `CHECKS` only.
        speed: give points for speed (where ranks have a core each), from the ratio to mpicoll's
            own: full points up to the first limit, half up to the second.
        safe: whether sends must not rely on buffering.
        hint: where a report should point to, in a sentence; may be empty.
        aka: other names of the function that are accepted.
    """

    name: str
    title: str
    task: Collective | Custom
    sizes: tuple[int, ...] = (4, 2, 3, 5, 8)
    structure: Structure | None = None
    collectives: tuple[str, ...] = ()
    forbidden: tuple[str, ...] = ()
    wildcards: bool = True
    rubric: Mapping[str, float] = field(default_factory=lambda: dict(RUBRIC))
    speed: tuple[float, float] | None = None
    safe: bool = True
    hint: str = ""
    aka: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        unknown = set(self.rubric) - set(CHECKS)
        if unknown:
            raise ValueError(f"{self.name}: no such check: {', '.join(sorted(unknown))}")
        if not self.name.isidentifier():
            raise ValueError(f"{self.name!r} cannot be the name of a function")


def known_exercises() -> dict[str, Exercise]:
    """All exercises by name: the course's, and the grader's own that it does not have."""
    from mpicoll.grade.standard import STANDARD

    known = dict(STANDARD)
    if importlib.util.find_spec("mpicoll.learn"):
        known.update(importlib.import_module("mpicoll.learn").exercises)
    return known


def load_exercises(file: str) -> dict[str, Exercise]:
    """The exercises of a teacher's own file: its mapping ``exercises``."""
    spec = importlib.util.spec_from_file_location("mpicoll_own_exercises", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return dict(module.exercises)
