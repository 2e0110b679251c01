"""The MPI calls that are checked and the collective that each belongs to; needs no MPI."""

from __future__ import annotations

from mpicoll.registry import algorithms_of, collectives, find

__all__ = ["CALLS", "chosen"]

CALLS = {
    "Barrier": "barrier",
    "Bcast": "bcast",
    "Reduce": "reduce",
    "Allreduce": "allreduce",
    "Scatter": "scatter",
    "Scatterv": "scatter",
    "Gather": "gather",
    "Gatherv": "gather",
    "Allgather": "allgather",
    "Allgatherv": "allgather",
    "Reduce_scatter_block": "reduce_scatter",
    "Reduce_scatter": "reduce_scatter",
    "Alltoall": "alltoall",
    "Alltoallv": "alltoall",
    "Alltoallw": "alltoall",
    "Scan": "scan",
    "Exscan": "exscan",
}


def chosen(words: list[str], algorithm: str | None) -> list[str]:
    """The calls that are meant by names of collectives or of calls, all without any.

    With an algorithm, only those whose collective has it. ValueError says what is unknown.
    """
    calls: list[str] = []
    for word in words or CALLS.values():
        # `scatter` means the whole collective, `Scatter` the one call.
        found = [call for call, family in CALLS.items() if word == family]
        found = found or [call for call in CALLS if word == call]
        if not found:
            raise ValueError(
                f"unknown collective {word!r}: expected one of {', '.join(collectives())}, "
                f"or a call such as {', '.join(list(CALLS)[1:6:2])}"
            )
        calls += found
    calls = [call for call in CALLS if call in calls]
    if algorithm:
        families = sorted({CALLS[call] for call in calls})
        having = [
            family
            for family in families
            if algorithm in [known.name for known in algorithms_of(family)]
        ]
        if not having and len(families) == 1:
            find(families[0], algorithm)  # whose error lists the algorithms there are
        if not having:
            raise ValueError(f"no collective here has an algorithm {algorithm!r}: see mpicoll list")
        calls = [call for call in calls if CALLS[call] in having]
    return calls
