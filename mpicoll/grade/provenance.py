"""Where the data of a wrong result come from: contributions, and the message that brought them."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpicoll.grade.cases import Case
from mpicoll.grade.exercise import Exercise
from mpicoll.grade.finding import plural
from mpicoll.grade.messages import Traffic
from mpicoll.grade.submission import Submission
from mpicoll.grade.trace import Content, decode
from mpicoll.grade.values import expected, inputs
from mpicoll.spec import SPECS

__all__ = ["provenance"]

Cause = tuple[str, str, int, int]


def provenance(
    exercise: Exercise,
    case: Case,
    answers: list[dict[str, Any]],
    seen: Traffic,
    wrong: list[tuple[int, int, str, Any]],
    text: Submission,
) -> list[Cause]:
    """What the worst chunk holds, and which step went wrong if that can be told."""
    size = case.size
    given = inputs(exercise.task, case, np.random.default_rng(0))  # traced: nothing is random
    wants = expected(exercise.task, case, given)
    chunk, facts = 3, []
    for call, rank, _, bad in wrong:
        if bad is None:
            continue
        got = decode(answers[rank]["outputs"][call], size)
        want = decode(wants[rank], size)
        first = int(np.flatnonzero(bad)[0])
        facts.append((rank, first // chunk, got[first], want[first], first))
    if not facts:
        return []
    causes = []
    poison = next((f for f in facts if f[2].state == "poison"), None)
    if poison:
        op = _irecv(seen, poison[0])
        line = op["line"] if op else 0
        said = (
            f"chunk {poison[1]} on rank {poison[0]} was computed from memory whose Irecv (line "
            f"{line}) had not been waited for: call Wait before you read it"
        )
        causes.append(("read-before-wait", said, poison[0], line))
    rank, number, got, want, first = facts[0]
    block = "chunk" if SPECS[exercise.task.name].vector else "block"
    sentence = _sentence(block, number, rank, got, want, chunk)
    step = _phases(exercise, case, seen, text) if SPECS[exercise.task.name].reduces else []
    brought = _brought(seen, rank, first, text)
    if step:
        code, cause, where, line = step[0]
        return [*causes, (code, f"{sentence}. {cause}", where, line)]
    line = brought[1] if brought else 0
    code = "contributions" if got.state == "sum" else "chunk-" + got.state
    return [*causes, (code, sentence + (f". {brought[0]}" if brought else ""), rank, line)]


def _irecv(seen: Traffic, rank: int) -> dict[str, Any] | None:
    ops = seen.ops.get(rank, [])
    return next((o for o in ops if o["kind"] == "recv" and o.get("immediate")), None)


def _sentence(block: str, number: int, rank: int, got: Content, want: Content, chunk: int) -> str:
    name = f"{block} {number} on rank {rank}"
    if got.state != "sum":
        return f"{name} holds {got}; it should hold {want}"
    missing = sorted(set(want.ranks) - set(got.ranks))
    more = sorted(set(got.ranks) - set(want.ranks))
    if want.counts == got.counts:
        if got.index >= 0:
            return (
                f"{name} holds the data of {block} {got.index // chunk}, and should hold those of "
                f"{block} {want.index // chunk}"
            )
        return f"{name} holds a mixture of different elements"
    if len(want.ranks) == 1 and len(got.ranks) == 1:
        said = f"{name} holds data of rank {got.ranks[0]}, and should hold rank {want.ranks[0]}'s"
        return said
    said = f"{name} holds the contributions {got}"
    if missing:
        said += ": " + " and ".join(f"rank {r}'s" for r in missing)
        said += f" {'are' if len(missing) > 1 else 'is'} missing"
    elif more:
        said += f", and should hold {want}"
    else:
        twice = [r for r, n in enumerate(got.counts) if n > 1]
        said += f": rank {twice[0]}'s was added more than once" if twice else ""
    return said


def _brought(seen: Traffic, rank: int, element: int, text: Submission) -> tuple[str, int] | None:
    """The last message that was received into this element of the output."""
    last = None
    for number, pair in enumerate(p for p in seen.pairs if p.target == rank):
        op = pair.recv
        if op.get("array") == "recvbuf" and op["first"] <= element < op["first"] + op["count"]:
            last = (number, pair)
    if last is None:
        return None
    number, pair = last
    said = (
        f"It came with message {number + 1} that rank {rank} received (line {pair.recv['line']}), "
        f"sent by rank {pair.source} (line {pair.send['line']})"
    )
    return said, pair.recv["line"]


def _phases(exercise: Exercise, case: Case, seen: Traffic, text: Submission) -> list[Cause]:
    """For chunks that travel on a ring: the first step that sends another chunk than it should."""
    size, steps = case.size, case.size - 1
    like = exercise.structure.like if exercise.structure else None
    if like not in (("allreduce", "ring"), ("reduce_scatter", "ring")):
        return []
    for rank in range(size):
        sends = [_content(o, size) for o in seen.sent(rank)]
        recvs = [_content(o, size) for o in seen.received(rank)]
        if any(c is None for c in (*sends, *recvs)) or not sends:
            return []
        lines = list(dict.fromkeys(o["line"] for o in seen.sent(rank)))
        first = steps
        if len(lines) == 2:
            first = sum(o["line"] == lines[0] for o in seen.sent(rank))
        total = (2 if like[0] == "allreduce" else 1) * steps
        one = _first_phase(rank, size, seen, sends[:first], recvs[:first], steps)
        if one:
            return one
        if first < steps or (first == steps and len(sends) < total):
            phase = 1 if first < steps else 2
            has = first if phase == 1 else len(sends) - first
            line = lines[0] if phase == 1 else seen.sent(rank)[-1]["line"]
            said = (
                f"Your {'first' if phase == 1 else 'second'} phase has {plural(has, 'step')}; on "
                f"{size} ranks it needs {steps}" + (f" (line {line})" if line else "")
            )
            return [("too-few-steps", said, rank, line)]
        if len(sends) > first == steps:
            two = _second_phase(rank, seen, sends, recvs, steps)
            if two:
                return two
    return []


def _content(op: dict[str, Any], size: int) -> tuple[dict[str, Any], Content, int] | None:
    values = op.get("values")
    if not isinstance(values, np.ndarray) or not values.size:
        return None
    content = decode(values[:1], size)[0]
    return op, content, content.index // 3 if content.index >= 0 else -1


def _first_phase(
    rank: int, size: int, seen: Traffic, sends: list, recvs: list, steps: int
) -> list[Cause]:
    for step in range(1, min(len(sends), len(recvs) + 1)):
        op, content, chunk = sends[step]
        before = recvs[step - 1]
        if chunk == before[2] and content.ranks == (rank,):
            late = before[0]["done"] is None or before[0]["done"] > op["post"]
            said = (
                f"Step {step + 1} on rank {rank} sends chunk {chunk} (line {op['line']}) "
                + (
                    f"before it has received it (line {before[0]['line']})"
                    if late
                    else "without what it received in the step before"
                )
                + ": other ranks' contributions stay behind"
            )
            return [("sent-too-early" if late else "not-combined", said, rank, op["line"])]
        if chunk != before[2]:
            said = (
                f"Step {step + 1} of your first phase sends chunk {chunk} on rank {rank} (line "
                f"{op['line']}), but the partial sum that arrived in step {step} is chunk "
                f"{before[2]}: it must travel on. Look at the chunk's number, and at the direction"
            )
            return [("wrong-chunk-order", said, rank, op["line"])]
    return []


def _second_phase(rank: int, seen: Traffic, sends: list, recvs: list, steps: int) -> list[Cause]:
    op, content, chunk = sends[steps]
    complete = recvs[steps - 1][2]
    if chunk != complete:
        said = (
            f"Your second phase starts at the wrong chunk (line {op['line']}): rank {rank} first "
            f"sends chunk {chunk}, which holds {content}; what it has completed is chunk {complete}"
        )
        return [("second-phase-chunk", said, rank, op["line"])]
    for step in range(steps + 1, len(sends)):
        op, content, chunk = sends[step]
        before = recvs[step - 1][2]
        if chunk != before:
            said = (
                f"Step {step - steps + 1} of your second phase sends chunk {chunk} on rank {rank} "
                f"(line {op['line']}), but the complete chunk that arrived in the step before is "
                f"{before}. Look at the direction"
            )
            return [("wrong-direction", said, rank, op["line"])]
    return []
