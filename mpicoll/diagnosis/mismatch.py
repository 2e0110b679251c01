"""Collective calls that do not belong together, and ranks that have not come to one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from mpicoll.diagnosis.states import END, Collective, RankState
from mpicoll.launch.stacks import group, ranks_text

__all__ = ["Disagreement", "compare", "disagreements", "missing"]


@dataclass(frozen=True)
class Disagreement:
    """Ranks that called differently; `groups` are those that called alike."""

    communicator: str
    number: int
    groups: tuple[tuple[int, ...], ...]
    text: str

    @property
    def ranks(self) -> tuple[int, ...]:
        """All who called."""
        return tuple(sorted(rank for ranks in self.groups for rank in ranks))

    def concerns(self, call: Collective) -> bool:
        """Whether it is about this call."""
        return (self.communicator, self.number) == (call.communicator, call.number)

    def opposed(self, rank: int) -> set[int]:
        """Those who called otherwise than `rank`."""
        return {other for ranks in self.groups if rank not in ranks for other in ranks}


def compare(calls: Mapping[int, Collective]) -> Disagreement | None:
    """What differs in the calls that ranks made as the same collective; None if nothing does."""
    first = next(iter(calls.values()))
    names = {rank: call.name for rank, call in calls.items()}
    differing = []
    if len(set(names.values())) == 1:
        keys = [key for call in calls.values() for key in call.arguments]
        for key in dict.fromkeys(keys):
            said = {r: call.arguments[key] for r, call in calls.items() if key in call.arguments}
            if len(set(said.values())) > 1:
                differing.append(key)
        if not differing:
            return None
        # The automatic choice follows from the others.
        differing = [key for key in differing if key != "algorithm"] or differing
    shown = {
        rank: "\0".join((call.name, *(call.arguments.get(key, "") for key in differing)))
        for rank, call in calls.items()
    }
    what = f"different {_listed(differing)}" if differing else "different collectives"
    if differing:
        what += f" in {first.name}"
    lines = [f"{what}, collective {first.number} on {first.communicator}:"]
    groups = group(shown)
    for ranks, _ in groups:
        lines += _callers(ranks, calls, differing)
    return Disagreement(
        first.communicator,
        first.number,
        tuple(tuple(ranks) for ranks, _ in groups),
        "\n".join(lines),
    )


def _callers(
    ranks: Sequence[int], calls: Mapping[int, Collective], differing: Sequence[str]
) -> list[str]:
    """A line for each line of the program at which these ranks called."""
    if calls[ranks[0]].name == END:
        return [f"  {ranks_text(ranks)} {'have' if len(ranks) > 1 else 'has'} ended the program"]
    lines = []
    for same, place in group({r: str(calls[r].where or "") for r in ranks}):
        does = "call" if len(same) > 1 else "calls"
        call = calls[same[0]]
        # Which algorithm was chosen is of interest only where it is the difference.
        said = {k: v for k, v in call.arguments.items() if k != "algorithm" or k in differing}
        facts = ", ".join(f"{name} {value}" for name, value in said.items())
        where = f" at {place}" if place else ""
        lines.append(f"  {ranks_text(same)} {does} {call.name}({facts}){where}")
    return lines


def _listed(words: Sequence[str]) -> str:
    names = [word if word.endswith("s") else f"{word}s" for word in words]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def disagreements(states: Iterable[RankState]) -> list[Disagreement]:
    """The first on each communicator: those after it may be its consequences."""
    calls: dict[tuple[str, int], dict[int, Collective]] = {}
    for state in states:
        for call in state.history:
            calls.setdefault((call.communicator, call.number), {})[state.rank] = call
    found: dict[str, Disagreement] = {}
    for communicator, number in sorted(calls, key=lambda key: key[1]):
        if communicator not in found:
            wrong = compare(calls[communicator, number])
            if wrong is not None:
                found[communicator] = wrong
    return list(found.values())


def missing(
    states: Sequence[RankState], wrong: Sequence[Disagreement] = ()
) -> list[tuple[tuple[int, ...], str]]:
    """For each collective that ranks wait in, who has not come to it: ranks, and a sentence.

    Not told is what may follow from those that went `wrong` earlier.
    """
    earlier = {found.communicator for found in wrong}
    ranks = {state.rank: state for state in states}
    begun: dict[str, dict[int, int]] = {}
    for state in states:
        for call in state.history:
            numbers = begun.setdefault(call.communicator, {})
            numbers[state.rank] = max(call.number, numbers.get(state.rank, 0))
    found = []
    seen = set()
    for state in states:
        for call in state.waits if state.status == "blocked" else ():
            if not isinstance(call, Collective) or (call.communicator, call.number) in seen:
                continue
            if call.communicator in earlier:
                continue
            seen.add((call.communicator, call.number))
            numbers = begun.get(call.communicator, {})
            late = [r for r in call.members if r in ranks and numbers.get(r, 0) < call.number]
            if late:
                come = [r for r in call.members if r in ranks and r not in late]
                found.append((tuple(late), _missing_text(call, come, late, ranks)))
    return found


def _missing_text(
    call: Collective, come: list[int], late: list[int], ranks: Mapping[int, RankState]
) -> str:
    lines = [f"{ranks_text(late)} {'have' if len(late) > 1 else 'has'} not called {call}:"]
    verb = "are" if len(come) > 1 else "is"
    where = f" at {call.where}" if call.where else ""
    lines.append(f"  {ranks_text(come)} {verb} in it or past it{where}")
    fates = {rank: _fate(ranks[rank], call.communicator) for rank in late}
    lines += [f"  {ranks_text(same)} {text}" for same, text in group(fates)]
    return "\n".join(lines)


def _fate(state: RankState, communicator: str) -> str:
    """What a rank does instead of coming."""
    if state.status == "finished":
        now = "finished the program"
    elif state.status == "unknown":
        return "somewhere else"
    elif state.status in ("failed", "absent"):
        now = {"failed": "failed", "absent": "never started"}[state.status]
    elif state.status == "running":
        now = "not inside MPI"
    else:
        now = f"in {' and '.join(map(str, state.waits[:2])) or state.call}"
    last = [call for call in state.history if call.communicator == communicator]
    before = f"; the last one there was {last[-1]}" if last else "; there was none before"
    return f"{now}{before}"
