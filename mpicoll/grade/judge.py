"""The verdict on one case, from data: outputs against what must come, and what ranks noted."""

from __future__ import annotations

from typing import Any

import numpy as np

from mpicoll.grade.cases import Case
from mpicoll.grade.exercise import Collective, Exercise
from mpicoll.grade.explain import explain_wrong
from mpicoll.grade.failures import explain_failure
from mpicoll.grade.finding import Finding, ranges
from mpicoll.grade.job import Answers
from mpicoll.grade.messages import traffic
from mpicoll.grade.structure import judge_structure
from mpicoll.grade.submission import Submission
from mpicoll.grade.values import error_bound, expected

__all__ = ["Given", "judge"]


class Given:
    """What the parent knows of a case and the ranks do not: all inputs, in calls by rank."""

    def __init__(self, case: Case, calls: list[list[Any]]) -> None:
        self.case, self.calls = case, calls


def judge(exercise: Exercise, given: Given, found: Answers, text: Submission) -> list[Finding]:
    """All that is wrong with a case; nothing if all is right."""
    case = given.case
    tricks = _tricks(case, found)
    if tricks:
        return tricks
    errors = {r: a["error"] for r, a in found.answers.items() if a.get("error")}
    if not found.complete or errors:
        return explain_failure(exercise, case, found, text)
    ops = {rank: answer.get("ops", []) for rank, answer in found.answers.items()}
    seen = traffic(ops)
    answers = [found.answers[rank] for rank in range(case.size)]
    if isinstance(exercise.task, Collective):
        wrong = _compare(exercise, given, answers)
    else:
        wrong = _own_judge(exercise, given, answers)
    if wrong:
        return explain_wrong(exercise, given, answers, seen, wrong, text)
    found_besides = _besides(case, answers, seen, text)
    if isinstance(exercise.task, Collective):
        found_besides += _kept(exercise, given, answers, text) + _same_bits(exercise, case, answers)
    return found_besides + judge_structure(exercise, case, seen)


def _tricks(case: Case, found: Answers) -> list[Finding]:
    """Attempts to be graded by other means than a right function."""
    for rank, answer in sorted(found.answers.items()):
        if answer.get("tampered"):
            names = ", ".join(answer["tampered"][:3])
            text = f"the program changed the grader itself on rank {rank}: {names}"
            return [Finding(case.check, "tampered", text, rank, 0, case)]
        if answer.get("attempts"):
            text = f"rank {rank} tried to {answer['attempts'][0]}, which a submission may not"
            line = (answer.get("error") or {}).get("line", 0)
            return [Finding(case.check, "forbidden-action", text, rank, line, case)]
    return []


def _compare(
    exercise: Exercise, given: Given, answers: list[dict[str, Any]]
) -> list[tuple[int, int, str, np.ndarray | None]]:
    """Wrong outputs: (call, rank, how, which elements)."""
    case, task, wrong = given.case, exercise.task, []
    for call, inputs in enumerate(given.calls):
        bound = error_bound(case, inputs)
        for rank, want in enumerate(expected(task, case, inputs)):
            if want is None:
                continue
            got = answers[rank]["outputs"][call]
            if not isinstance(got, np.ndarray) or got.size != want.size or got.dtype != want.dtype:
                wrong.append((call, rank, "no such array", None))
                continue
            got, want = got.reshape(-1), want.reshape(-1)
            with np.errstate(all="ignore"):
                if bound:
                    magnitude = np.abs(want) + max(
                        (float(np.abs(a).max()) for a in inputs if a is not None and a.size),
                        default=0.0,
                    )
                    bad = ~(np.abs(got - want) <= bound * magnitude)
                else:
                    bad = got != want
            if bad.any():
                wrong.append((call, rank, "wrong", bad))
    return wrong


def _own_judge(
    exercise: Exercise, given: Given, answers: list[dict[str, Any]]
) -> list[tuple[int, int, str, np.ndarray | None]]:
    wrong: list[tuple[int, int, str, np.ndarray | None]] = []
    for call, inputs in enumerate(given.calls):
        outputs = [answer["outputs"][call] for answer in answers]
        case = dict(given.case.given)
        try:
            said = exercise.task.judge(case, given.case.size, inputs, outputs)
        except Exception as error:  # outputs may be anything
            said = [f"the result has another form than it should: {type(error).__name__}: {error}"]
        for item in said:
            rank, sentence = item if isinstance(item, tuple) else (-1, item)
            wrong.append((call, rank, str(sentence), None))
    return wrong


def _besides(
    case: Case, answers: list[dict[str, Any]], seen: Any, text: Submission
) -> list[Finding]:
    """What is wrong although the result is right."""
    found = []
    for rank, answer in enumerate(answers):
        for remark in answer["remarks"]:
            # Of a right result, only what MPI itself forbids counts.
            if remark["code"] in _ALWAYS:
                check = _ALWAYS[remark["code"]]
                found.append(
                    Finding(check, remark["code"], remark["text"], rank, remark["line"], case)
                )
    for rank, answer in enumerate(answers):
        open_ones = [o for o in answer["ops"] if o["done"] is None and not o.get("failed")]
        if open_ones:
            op = open_ones[0]
            lines = ranges(sorted({o["line"] for o in open_ones}))
            said = (
                f"rank {rank} returned without waiting for {len(open_ones)} of its requests "
                f"({op['call']}, line {lines}): keep the request and call Wait or Waitall"
            )
            found.append(Finding("messages", "request-dropped", said, rank, op["line"], case))
            return found
    if seen.sends:
        pair = seen.sends[0]
        said = (
            f"rank {pair.source} sent a message to rank {pair.target} (tag {pair.send['tag']}) "
            f"that nobody received; {len(seen.sends)} such in all"
        )
        found.append(
            Finding("messages", "message-left-over", said, pair.source, pair.send["line"], case)
        )
    return found


_ALWAYS = {
    "overlap": "messages",
    "changed-before-wait": "messages",
    "written-before-wait": "messages",
    "request-freed": "messages",
    "native-collective": "messages",
    "barrier": "messages",
    "method-forbidden": "messages",
    "abort": "messages",
}


def _kept(
    exercise: Exercise, given: Given, answers: list[dict[str, Any]], text: Submission
) -> list[Finding]:
    case, found = given.case, []
    for rank, answer in enumerate(answers):
        for call, inputs in enumerate(given.calls):
            before, after = inputs[rank], answer["inputs"][call]
            if isinstance(after, np.ndarray) and before is not None:
                if before.tobytes() != after.tobytes():
                    bad = np.flatnonzero((before != after).reshape(-1)).tolist()
                    name = text.parameter("sendbuf")
                    said = (
                        f"the caller's input was changed on rank {rank}: {name} has other values "
                        f"in elements {ranges(bad[:50])}; work on a copy, or in "
                        f"{text.parameter('recvbuf')}"
                    )
                    line = _writes_into(answer, "sendbuf")
                    found.append(Finding("input", "input-changed", said, rank, line, case))
                    return found
            if not answer["margins"][call]:
                said = f"rank {rank} wrote beyond the end of {text.parameter('recvbuf')}"
                found.append(Finding("input", "written-outside", said, rank, 0, case))
                return found
    return found


def _writes_into(answer: dict[str, Any], name: str) -> int:
    for op in answer["ops"]:
        if op["kind"] == "recv" and op.get("array") == name:
            return op["line"]
    return 0


def _same_bits(exercise: Exercise, case: Case, answers: list[dict[str, Any]]) -> list[Finding]:
    if exercise.task.name not in ("allreduce", "allgather", "bcast"):
        return []
    for call in range(len(answers[0]["outputs"])):
        first = answers[0]["outputs"][call].tobytes()
        for rank, answer in enumerate(answers):
            if answer["outputs"][call].tobytes() != first:
                said = (
                    f"ranks 0 and {rank} hold results that differ in their last bits: every rank "
                    "must get the same sum, made once, not one made in its own order"
                )
                return [Finding("bits", "different-bits", said, rank, 0, case)]
    return []
