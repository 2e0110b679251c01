"""Other libraries' names of algorithms, and which of ours they are."""

from __future__ import annotations

from mpicoll.registry import Algorithm, RequirementError, algorithms_of, find

__all__ = ["algorithm_of", "is_power_of_two"]

#: Where the names that algorithms are declared with (`aka`) do not decide it: the name stands for
#: several of ours, or ours sends the same messages under another name.
NAMES: dict[tuple[str, str, str], str] = {
    ("mpich", "alltoall", "scattered"): "linear",
    ("mpich", "alltoall", "scattered (throttled)"): "windowed",
    ("mpich", "barrier", "k_dissemination"): "dissemination",
    ("mpich", "reduce", "binomial (operations that do not commute)"): "binomial_in_order",
    ("mpich", "reduce_scatter", "noncommutative"): "butterfly",
    ("openmpi", "allgather", "two_proc"): "recursive_doubling",
    ("openmpi", "alltoall", "two_proc"): "pairwise",
    ("openmpi", "scatter", "linear_nb"): "linear",
}


def algorithm_of(library: str, collective: str, name: str) -> Algorithm:
    """Our algorithm that `library` calls `name`; RequirementError if there is none."""
    ours = NAMES.get((library, collective, name))
    if ours is not None:
        return find(collective, ours)
    for algorithm in algorithms_of(collective):
        if algorithm.aka.get(library) == name:
            return algorithm
    raise RequirementError(
        f"the rules of {library} take {name!r} for {collective} here, "
        "and no algorithm of mpicoll's is declared to be that"
    )


def is_power_of_two(size: int) -> bool:
    """True for 1, 2, 4, ..."""
    return size & (size - 1) == 0
