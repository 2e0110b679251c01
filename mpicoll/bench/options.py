"""What a benchmark is asked to do; checked without MPI, before any rank is started."""

from __future__ import annotations

from dataclasses import dataclass

from mpicoll.registry import Algorithm, algorithms_of, collectives, find

__all__ = [
    "DTYPES",
    "EIGHT",
    "GROUPS",
    "OPS",
    "Named",
    "Options",
    "Task",
    "check_operation",
    "named",
    "tasks",
]

#: The collectives of the group ``collectives``.
EIGHT = (
    "allreduce",
    "reduce_scatter",
    "reduce",
    "bcast",
    "allgather",
    "alltoall",
    "gather",
    "scatter",
)

#: Group -> (collectives it measures by default, sizes).
GROUPS: dict[str, tuple[tuple[str, ...], str]] = {
    "collectives": (EIGHT, "8:64M"),
    "pingpong": ((), "1:4M"),
    "overlap": (("allreduce",), "64K:16M:4"),
    "persistent": (("allreduce", "bcast", "allgather"), "8:64K:4"),
    "startup": (EIGHT, "8"),
}
SIZES = "8:64M"

#: dtypes that native MPI knows, by NumPy's names and kinds.
DTYPES = {
    **{f"int{bits}": "i" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}": "u" for bits in (8, 16, 32, 64)},
    "float32": "f",
    "float64": "f",
    "complex64": "c",
    "complex128": "c",
}

#: Operation -> kinds of dtype for which it is defined.
OPS = {
    "SUM": "iufc",
    "PROD": "iufc",
    "MAX": "iuf",
    "MIN": "iuf",
    "LAND": "iu",
    "LOR": "iu",
    "LXOR": "iu",
    "BAND": "iu",
    "BOR": "iu",
    "BXOR": "iu",
}


@dataclass(frozen=True)
class Named:
    """An algorithm with parameters, or None for the one that a call without a name gets."""

    algorithm: Algorithm | None
    parameters: tuple[tuple[str, int], ...] = ()

    @property
    def label(self) -> str:
        """As it is written on the command line."""
        name = self.algorithm.name if self.algorithm else "auto"
        return ":".join([name, *(f"{key}={value}" for key, value in self.parameters)])


@dataclass(frozen=True)
class Task:
    """One collective in one group; sizes in bytes, ascending."""

    group: str
    collective: str
    sizes: tuple[int, ...]
    candidates: tuple[Named, ...] = ()


@dataclass(frozen=True)
class Options:
    """What holds for all tasks.

    `against` is a subset of native and gloo, `seconds` is per size; `floor`: measure floors too;
    `elsewhere`: what is to be overlapped with leaves the core free.
    """

    dtype: str = "float32"
    op: str = "SUM"
    root: int = 0
    against: tuple[str, ...] = ("native",)
    iterations: int = 1000
    seconds: float = 1.0
    floor: bool = True
    elsewhere: bool = False


def check_operation(op: str, dtype: str) -> None:
    """ValueError if the operation or the dtype is unknown, or if they do not go together."""
    if dtype not in DTYPES:
        raise ValueError(f"unknown dtype {dtype!r}: expected one of {', '.join(DTYPES)}")
    if op not in OPS:
        raise ValueError(f"unknown operation {op!r}: expected one of {', '.join(OPS)}")
    if DTYPES[dtype] not in OPS[op]:
        raise ValueError(f"MPI.{op} is not defined for {dtype}")


def named(collective: str, text: str, ranks: int, root: int) -> tuple[Named, ...]:
    """The candidates that ``--algorithm`` asks for; ValueError or TypeError if there is none.

    ``all`` is auto and every algorithm that serves so many ranks; ``segmented_ring:segments=8``
    sets a parameter.
    """
    found: dict[Named, None] = {}
    for word in text.split(","):
        if word == "auto":
            found[Named(None)] = None
        elif word == "all":
            serving = [a for a in algorithms_of(collective) if not a.unmet(ranks)]
            found |= dict.fromkeys([Named(None), *map(Named, serving)])
        else:
            name, *settings = word.split(":")
            algorithm = find(collective, name)
            parameters = dict(map(_setting, settings))
            algorithm.plan(0, ranks, root if algorithm.spec.rooted else 0, **parameters)
            found[Named(algorithm, tuple(parameters.items()))] = None
    return tuple(found)


def _setting(text: str) -> tuple[str, int]:
    name, equals, value = text.partition("=")
    if not (name and equals and value.isdigit()):
        raise ValueError(
            f"a parameter is NAME=NUMBER, as in segmented_ring:segments=8, not {text!r}"
        )
    return name, int(value)


def tasks(
    words: list[str], sizes: tuple[int, ...] | None, algorithm: str, ranks: int, root: int
) -> list[Task]:
    """The tasks that words such as ``allreduce``, ``collectives``, ``overlap:bcast`` mean."""
    from mpicoll.bench.sizes import parse_sizes

    found: dict[Task, None] = {}
    for word in words:
        group, _, family = word.partition(":")
        if group in collectives() and not family:
            chosen, default = (group,), SIZES
            group = "collectives"
        elif group in GROUPS:
            chosen, default = GROUPS[group]
            if family and (not chosen or family not in collectives()):
                expected = ", ".join(collectives()) if chosen else "no collective after it"
                raise ValueError(f"{group} is not about {family!r}: expected {expected}")
            chosen = (family,) if family else chosen or ("",)
        else:
            raise ValueError(
                f"unknown collective or group {word!r}: expected one of "
                f"{', '.join([*collectives(), *GROUPS])}, or a group of one collective such as "
                "overlap:bcast"
            )
        given = sizes or tuple(parse_sizes(default))
        for collective in chosen:
            candidates = named(collective, algorithm, ranks, root) if collective else ()
            own = (0,) if collective == "barrier" else given
            found[Task(group, collective, own, candidates)] = None
    return list(found)
