"""Which messages an exercise demands, and whether those that were sent are they."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from mpicoll.grade.cases import Case
from mpicoll.grade.exercise import Collective, Exercise
from mpicoll.grade.finding import Finding, plural
from mpicoll.grade.messages import Traffic
from mpicoll.registry import find
from mpicoll.spec import SPECS
from mpicoll.steps import Recv, Send

__all__ = ["Demand", "demand", "judge_structure"]


class Demand:
    """What is demanded of each rank in one case; None where anything will do."""

    def __init__(self) -> None:
        self.messages: list[int] | None = None
        self.elements: list[int] | None = None
        self.peers: list[set[int]] | None = None
        self.rounds: int | None = None


@lru_cache(maxsize=256)
def _planned(
    collective: str, name: str, size: int, root: int, count: int, parameters: tuple
) -> Demand:
    algorithm, keywords, found = find(collective, name), dict(parameters), Demand()
    blocks = algorithm.number_of_blocks(size, keywords)
    vector = SPECS[collective].vector
    lengths = [
        count // blocks + (b < count % blocks) if vector else count * size // blocks
        for b in range(blocks)
    ]
    plans = [algorithm.plan(rank, size, root, **keywords) for rank in range(size)]
    sends = [[step for steps in plan for step in steps if type(step) is Send] for plan in plans]
    found.messages = [len(steps) for steps in sends]
    found.elements = [sum(lengths[b] for s in steps for b in s.chunk.blocks) for steps in sends]
    found.peers = [{step.peer for step in steps} for steps in sends]
    found.rounds = max(
        sum(any(type(step) in (Send, Recv) for step in steps) for steps in plan) for plan in plans
    )
    return found


def demand(exercise: Exercise, case: Case) -> Demand | None:
    """What the exercise demands in this case, None if it demands nothing."""
    structure = exercise.structure
    if structure is None:
        return None
    found = Demand()
    size, ranks = case.size, range(case.size)
    if structure.like:
        algorithm = find(*structure.like)
        if algorithm.unmet(size):
            return None
        parameters = tuple(sorted(structure.parameters.items()))
        root = case.root if algorithm.spec.rooted else 0
        planned = _planned(*structure.like, size, root, case.count, parameters)
        found.__dict__.update(planned.__dict__)
        if structure.any_peers:
            found.peers = None
    if structure.messages:
        found.messages = [structure.messages(rank, size) for rank in ranks]
    if structure.elements:
        found.elements = [structure.elements(rank, size, case.count) for rank in ranks]
    if structure.rounds:
        found.rounds = structure.rounds(size)
    if structure.peers:
        found.peers = [structure.peers(rank, size) for rank in ranks]
    return found


def suitable(exercise: Exercise, case: Case) -> bool:
    """Whether the demand can be compared: whole chunks, one call."""
    if not isinstance(exercise.task, Collective):
        return not case.twice
    if case.twice or case.width or case.count > 4 * case.size:
        return False
    # Where vectors are cut is free if they cannot be cut evenly.
    vector = SPECS[exercise.task.name].vector
    return case.count > 0 and (not vector or case.count % case.size == 0)


def judge_structure(exercise: Exercise, case: Case, seen: Traffic) -> list[Finding]:
    """Compare what was sent with what is demanded."""
    wanted = demand(exercise, case)
    if wanted is None or not suitable(exercise, case):
        return []
    sent = [seen.sent(rank) for rank in range(case.size)]
    free = bool(exercise.structure and exercise.structure.any_peers)
    what = f"{exercise.structure.like[1]} " if exercise.structure.like else ""
    found = []
    if wanted.messages is not None:
        found += _numbers(case, [len(s) for s in sent], wanted.messages, free, sent, what)
    lengths = [[o.get("count") for o in ops] for ops in sent]
    if wanted.elements is not None and not any(n is None for row in lengths for n in row):
        moved = [sum(row) for row in lengths]
        found += _elements(case, moved, wanted.elements, free, sent) if not found else []
    if wanted.peers is not None and not found:
        for rank, ops in enumerate(sent):
            odd = sorted({o["peer"] for o in ops if o["peer"] is not None} - wanted.peers[rank])
            if odd:
                line = next(o["line"] for o in ops if o["peer"] == odd[0])
                text = (
                    f"rank {rank} sends to rank {odd[0]}, but this algorithm sends to "
                    f"{sorted(wanted.peers[rank]) or 'nobody'} only"
                )
                found.append(Finding("structure", "wrong-partner", text, rank, line, case))
                break
    if wanted.rounds is not None and not found:
        most = max(wanted.rounds * exercise.structure.slack, wanted.rounds + 1)
        if seen.depth > most:
            text = (
                f"the messages wait for each other in a chain of {seen.depth}, and {wanted.rounds} "
                "would do: ranks that could send at the same time send one after the other "
                "(everybody receives before it sends, say)"
            )
            found.append(Finding("structure", "serialised", text, -1, _line(sent), case))
    return found


def _line(sent: list[list[dict[str, Any]]]) -> int:
    return next((o["line"] for ops in sent for o in ops), 0)


def _numbers(
    case: Case,
    own: list[int],
    wanted: list[int],
    free: bool,
    sent: list[list[dict[str, Any]]],
    what: str,
) -> list[Finding]:
    for rank in range(case.size):
        if own[rank] == wanted[rank] or (free and own[rank] < max(wanted)):
            continue
        if free and own[rank] <= max(wanted):
            continue
        line = sent[rank][-1]["line"] if sent[rank] else 0
        most = f"at most {max(wanted)}" if free else f"{wanted[rank]}"
        few = own[rank] < wanted[rank]
        code = "too-few-messages" if few else "too-many-messages"
        text = (
            f"rank {rank} sends {plural(own[rank], 'message')}, and the {what}algorithm sends "
            f"{most} on {case.size} ranks: "
            + (
                "steps are missing"
                if few
                else "there are more steps than needed, or another algorithm"
            )
        )
        return [Finding("structure", code, text, rank, line, case)]
    if free and sum(own) != sum(wanted):
        text = f"{plural(sum(own), 'message')} in all, and {sum(wanted)} would do"
        code = "too-many-messages" if sum(own) > sum(wanted) else "too-few-messages"
        return [Finding("structure", code, text, -1, _line(sent), case)]
    return []


def _elements(
    case: Case,
    own: list[int],
    wanted: list[int],
    free: bool,
    sent: list[list[dict[str, Any]]],
) -> list[Finding]:
    for rank in range(case.size):
        right = own[rank] <= max(wanted) if free else own[rank] == wanted[rank]
        if not right:
            most = max(wanted) if free else wanted[rank]
            line = sent[rank][0]["line"] if sent[rank] else 0
            text = (
                f"rank {rank} sends {plural(own[rank], 'element')} in "
                f"{plural(len(sent[rank]), 'message')}, and the algorithm sends {most}: messages "
                + ("are longer than one chunk" if own[rank] > most else "are too short")
            )
            return [Finding("structure", "wrong-volume", text, rank, line, case)]
    return []
