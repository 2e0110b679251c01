"""Why a call gets the algorithm that it gets: the rule, the others, and what each would cost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mpicoll.analysis.network import Network, place
from mpicoll.analysis.path import closed_form
from mpicoll.analysis.simulate import simulate
from mpicoll.registry import REQUIREMENTS, Algorithm, RequirementError, algorithms_of
from mpicoll.selection import SELECTORS, decide

__all__ = ["Candidate", "Explanation", "Verdict", "explain"]

#: Candidates are simulated up to this many ranks; beyond, their closed form is given.
MOST_SIMULATED = 64


@dataclass(frozen=True)
class Verdict:
    """What the rules of one selector say: an algorithm, or why they have none."""

    selector: str
    algorithm: str | None
    reason: str


@dataclass(frozen=True)
class Candidate:
    """An algorithm of the collective: its seconds, or the requirements that it does not meet."""

    algorithm: str
    seconds: float | None
    simulated: bool
    unmet: tuple[str, ...]


@dataclass(frozen=True)
class Explanation:
    """The verdict asked for, those of the other selectors, and the candidates, fastest first."""

    verdict: Verdict
    others: tuple[Verdict, ...]
    candidates: tuple[Candidate, ...]


def explain(
    selector: str,
    collective: str,
    size: int,
    nbytes: int,
    network: Network,
    *,
    commutative: bool = True,
    equal_blocks: bool = True,
    progress: Callable[[str, int, int], None] = lambda what, done, total: None,
) -> Explanation:
    """Explain a choice; ValueError if there is no such selector or collective."""
    if selector not in SELECTORS:
        raise ValueError(f"no selector {selector!r}: expected one of {', '.join(SELECTORS)}")
    family = algorithms_of(collective)
    if not family:
        raise ValueError(f"there are no algorithms for {collective!r}")
    # Only the root of an uneven scatter, and nobody in an uneven all-to-all, knows all the bytes.
    known = equal_blocks or collective not in ("scatter", "gather", "alltoall")
    call = (collective, size, nbytes if known else None, commutative, equal_blocks)
    nodes = tuple(place(network, size))
    call = (*call, nodes if len(set(nodes)) > 1 else None)
    verdicts = {name: _verdict(name, call) for name in SELECTORS}
    candidates = []
    for number, algorithm in enumerate(family, start=1):
        candidates.append(_candidate(algorithm, size, nbytes, network, commutative, equal_blocks))
        progress("candidates", number, len(family))
    candidates.sort(key=lambda found: (found.seconds is None, found.seconds or 0.0))
    return Explanation(verdicts.pop(selector), tuple(verdicts.values()), tuple(candidates))


def _verdict(selector: str, call: tuple) -> Verdict:
    try:
        choice = decide(selector, *call)
    except RequirementError as error:
        return Verdict(selector, None, str(error))
    return Verdict(selector, choice.algorithm.name, choice.reason)


def _candidate(
    algorithm: Algorithm,
    size: int,
    nbytes: int,
    network: Network,
    commutative: bool,
    equal_blocks: bool,
) -> Candidate:
    nodes = place(network, size)
    parameters = {"nodes": nodes} if "nodes" in algorithm.parameters else {}
    unmet = algorithm.unmet(size, commutative=commutative, equal_blocks=equal_blocks, nodes=nodes)
    if unmet:
        reasons = tuple(REQUIREMENTS[name] for name in unmet)
        return Candidate(algorithm.name, None, False, reasons)
    if size > MOST_SIMULATED:
        seconds = closed_form(algorithm, size, nbytes, network, **parameters)
        return Candidate(algorithm.name, seconds, False, ())
    return Candidate(algorithm.name, simulate(algorithm, size, nbytes, network).seconds, True, ())
