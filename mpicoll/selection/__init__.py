"""Which algorithm a call gets when it does not ask for one, and why.

A choice may depend only on what every rank knows: the number of ranks, the bytes of the whole
collective (None where ranks cannot know them), whether operands may change places, whether blocks
are equal, and on which nodes the ranks are. From outside, ``MPICOLL_ALLREDUCE=ring``, and likewise
for each collective, asks for an algorithm, ``MPICOLL_SELECTOR=mpich`` for the rules of another
library, and ``MPICOLL_TUNING=table.json`` for a table of measured choices that goes before
mpicoll's own rules (see `mpicoll.selection.tuned`). The environment is read when a kind of call
occurs for the first time, so that later calls do not pay for it; after a change,
``mpicoll.selection.forget()`` on every rank makes it count.

Nothing is replaced silently: if the algorithm of a rule is missing or cannot serve, that is an
error which says so.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from mpicoll.registry import Algorithm, RequirementError, find
from mpicoll.selection import mpich, openmpi, own, several
from mpicoll.selection.elsewhere import algorithm_of
from mpicoll.selection.tuned import Table, load

__all__ = [
    "SELECTORS",
    "Choice",
    "choose",
    "decide",
    "forget",
    "reproducible",
    "tuning",
    "tuning_table",
    "wished",
]

#: The rules by name; each gives a name and a reason.
SELECTORS = {"mpicoll": own.rule, "mpich": mpich.rule, "openmpi": openmpi.rule}


#: Called when choices are made anew, by whoever has kept one.
when_forgotten: list[Callable[[], None]] = []


class Choice(NamedTuple):
    """An algorithm and the reason for it."""

    algorithm: Algorithm
    reason: str


#: Algorithms that combine ((0 1) 2) 3 ... for every element, whatever its place.
_REPRODUCIBLE = {
    "reduce": "ordered",
    "allreduce": "ordered",
    "reduce_scatter": "ordered",
    "scan": "linear",
    "exscan": "linear",
}


def reproducible(collective: str, name: str | None) -> str:
    """The algorithm for ``reproducible=True``; RequirementError if another one is asked for.

    Results then have the same bits for every number of elements, in every place of the vector, in
    every one of these collectives, and from run to run. ValueError where nothing is combined.
    """
    wanted = _REPRODUCIBLE.get(collective)
    if wanted is None:
        raise ValueError(f"reproducible=True has no meaning in {collective}: nothing is combined")
    if name not in (None, wanted):
        raise RequirementError(
            f"reproducible=True combines operands in one fixed order, which {collective} {name} "
            f"does not; {collective} {wanted} does"
        )
    return wanted


def wished(collective: str) -> str | None:
    """The name of the algorithm that the environment asks for."""
    return os.environ.get(f"MPICOLL_{collective.upper()}")


def tuning(path: str | os.PathLike[str] | None) -> None:
    """Choose by the table in a file that `mpicoll tune` wrote; None: by the rules alone.

    This sets MPICOLL_TUNING in this process. Call it on every rank, with the same table, before
    the first collective: calls that have been made before keep their algorithm. Raises
    `TuningError`, a ValueError, for a file that cannot be used.
    """
    if path is None:
        os.environ.pop("MPICOLL_TUNING", None)
    else:
        load(path)
        os.environ["MPICOLL_TUNING"] = os.path.abspath(path)
    forget()


def forget() -> None:
    """Make the choices anew, by the environment as it is now; call it on every rank."""
    choose.cache_clear()
    for function in when_forgotten:
        function()


def tuning_table() -> Table | None:
    """The table of measured choices in use, if any."""
    path = os.environ.get("MPICOLL_TUNING")
    return load(path) if path else None


@lru_cache(maxsize=4096)
def choose(
    collective: str,
    size: int,
    nbytes: int | None,
    commutative: bool,
    equal_blocks: bool,
    nodes: tuple[int, ...] | None = None,
) -> Choice:
    """The algorithm for a call that names none; `nodes`: the node of each rank, None for one."""
    wish = wished(collective)
    if wish:
        algorithm = find(collective, wish)
        algorithm.require(size, commutative=commutative, equal_blocks=equal_blocks, nodes=nodes)
        return Choice(algorithm, f"MPICOLL_{collective.upper()}={wish} is set")
    selector = os.environ.get("MPICOLL_SELECTOR") or "mpicoll"
    return decide(selector, collective, size, nbytes, commutative, equal_blocks, nodes)


def decide(
    selector: str,
    collective: str,
    size: int,
    nbytes: int | None,
    commutative: bool,
    equal_blocks: bool,
    nodes: tuple[int, ...] | None = None,
) -> Choice:
    """The choice of the named rules; those of other libraries know no nodes.

    RequirementError if their algorithm is not in the catalogue, or cannot serve the call;
    ValueError if there are no such rules.
    """
    if selector not in SELECTORS:
        raise ValueError(f"no selector {selector!r}: expected one of {', '.join(SELECTORS)}")
    call = (collective, size, nbytes, commutative, equal_blocks)
    found = None
    if selector == "mpicoll":
        table = tuning_table()
        found = (table and table.rule(*call)) or several.rule(*call, nodes)
    name, reason = found or SELECTORS[selector](*call)
    if selector == "mpicoll":
        algorithm = find(collective, name)
    else:
        algorithm = algorithm_of(selector, collective, name)
        reason += f" (there {name})" if name != algorithm.name else ""
    unmet = algorithm.unmet(size, commutative=commutative, equal_blocks=equal_blocks, nodes=nodes)
    if unmet:
        raise RequirementError(
            f"the rules of {selector} take {algorithm} here ({reason}), "
            f"which requires {', '.join(unmet)}"
        )
    return Choice(algorithm, reason)
