"""Who takes part in a measurement of a collective: ours, native MPI, gloo, and the floors."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial

from mpi4py import MPI

import mpicoll
from mpicoll.bench.floor import Floor
from mpicoll.bench.options import Named
from mpicoll.bench.work import Work
from mpicoll.execution.bind import bind
from mpicoll.registry import RequirementError

__all__ = ["Candidate", "native", "ours", "persistent"]


@dataclass(frozen=True)
class Candidate:
    """One way to perform the collective.

    `library` is "mpicoll", "native", "gloo" or "floor"; `name` is unique within a measurement.
    `algorithm` is the one in use, and `floor` the name of the candidate that is its floor.
    `before` is done before each turn, untimed.
    """

    name: str
    library: str
    run: Callable[[], object]
    form: str = "blocking"
    algorithm: str | None = None
    parameters: tuple[tuple[str, int], ...] = ()
    floor: str | None = None
    before: Callable[[], object] | None = None


def native(comm: MPI.Intracomm, work: Work) -> Candidate:
    """The collective of the MPI library."""
    return Candidate("native", "native", partial(getattr(comm, work.method.name), *work.arguments))


def ours(
    comm: MPI.Intracomm,
    work: Work,
    named: tuple[Named, ...],
    stack: ExitStack,
    note: Callable[[str], None],
    floor_too: bool,
) -> list[Candidate]:
    """The named algorithms and their floors; collective. `stack` frees what they own.

    `note` is told if rules of another library, asked for from outside, have nothing for auto.

    Each algorithm has a communicator of its own: bound plans of all of them at once, for the
    largest sizes, would be more than one communicator keeps.
    """
    candidates, floors = [], {}
    plain = comm.Dup()
    stack.callback(plain.Free)
    for wish in named:
        communicator = _communicator(comm, stack)
        keywords = dict(wish.parameters)
        if wish.algorithm:
            keywords["algorithm"] = wish.algorithm.name
        call = work.call()
        try:
            algorithm, parameters = communicator.state.settle(
                call, keywords.get("algorithm"), dict(wish.parameters)
            )
        except RequirementError as error:
            note(f"{wish.label} is left out: {error}")
            continue
        floor = None
        if floor_too:
            floor = f"floor:{Named(algorithm, wish.parameters).label}"
        if floor is not None and floor not in floors:
            plan = algorithm.plan(work.rank, work.size, call.root, **parameters)
            blocks = algorithm.number_of_blocks(work.size, parameters)
            lowest = Floor(bind(plan, call, blocks), plain)
            stack.callback(lowest.free)
            floors[floor] = Candidate(
                floor, "floor", lowest, algorithm=algorithm.name, parameters=wish.parameters
            )
        run = partial(getattr(communicator, work.method.name), *work.arguments, **keywords)
        candidates.append(
            Candidate(
                wish.label,
                "mpicoll",
                run,
                algorithm=algorithm.name,
                parameters=wish.parameters,
                floor=floor,
            )
        )
    return candidates + list(floors.values())


def persistent(comm: MPI.Intracomm, work: Work, named: Named, stack: ExitStack) -> list[Candidate]:
    """The persistent form of an algorithm, and of native MPI where it has one; collective."""
    keywords = dict(named.parameters)
    if named.algorithm:
        keywords["algorithm"] = named.algorithm.name
    communicator = _communicator(comm, stack)
    algorithm = communicator.state.algorithm_for(work.call(), keywords.get("algorithm"))
    name = f"{work.method.name}_init"
    request = getattr(communicator, name)(*work.arguments, **keywords)
    stack.callback(request.Free)
    found = [
        Candidate(
            f"{named.label} persistent",
            "mpicoll",
            partial(_once, request),
            "persistent",
            algorithm.name,
            named.parameters,
        )
    ]
    try:
        theirs = getattr(comm, name)(*work.arguments)
    except NotImplementedError:  # an MPI library from before MPI 4
        return found
    stack.callback(theirs.Free)
    return [*found, Candidate("native persistent", "native", partial(_once, theirs), "persistent")]


def _once(request: MPI.Prequest) -> None:
    request.Start()
    request.Wait()


def _communicator(comm: MPI.Intracomm, stack: ExitStack) -> mpicoll.Intracomm:
    communicator = mpicoll.Intracomm(comm.Dup())
    stack.callback(communicator.Free)
    return communicator
