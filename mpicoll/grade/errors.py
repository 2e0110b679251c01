"""Exceptions in student code, in words that say what was meant."""

from __future__ import annotations

from typing import Any

from mpicoll.grade.cases import Case
from mpicoll.grade.exercise import Exercise
from mpicoll.grade.explain import ONLY_1D
from mpicoll.grade.finding import Finding
from mpicoll.grade.job import Answers
from mpicoll.grade.messages import Traffic
from mpicoll.grade.submission import Submission
from mpicoll.launch.stacks import ranks_text

__all__ = ["explain_error"]


def explain_error(
    exercise: Exercise,
    case: Case,
    found: Answers,
    seen: Traffic,
    errors: dict[int, dict[str, Any]],
    text: Submission,
) -> list[Finding]:
    """The first exception, what it means, and who waits for the rank because of it."""
    remarks = {r: a.get("remarks", []) for r, a in found.answers.items()}
    # What the communicator refused is the cause of what came after it.
    rank = min(errors, key=lambda r: (errors[r]["type"] != "Refused", r))
    error = errors[rank]
    line, said = error.get("line", 0), error.get("text", "")
    code, meaning = _meaning(error, rank, seen, text)
    if error["type"] == "Refused" and remarks[rank]:
        remark = remarks[rank][-1]
        code, said, meaning, line = remark["code"], remark["text"], "", remark["line"] or line
    elif error["type"] == "Forbidden":
        code, meaning = "forbidden-action", ""
    if remarks.get(rank) and not meaning and code == "exception":
        remark = remarks[rank][-1]
        code, meaning = remark["code"], remark["text"]
    if case.width and case.check == "counts":
        meaning = f"{meaning}. {ONLY_1D}" if meaning else ONLY_1D
    same = [r for r, e in errors.items() if e.get("text") == error.get("text")]
    who = ranks_text(same)
    sentence = f"{who}: {said}" + (f". {meaning}" if meaning else "")
    details = [f"on {who}, {text.at(line)}"] if line else []
    if found.states:
        waiting = sorted(found.states)
        details.append(
            f"the failure is on {who} only; {ranks_text(waiting)} "
            f"{'wait' if len(waiting) > 1 else 'waits'} for it and would hang"
        )
        for other in waiting:
            at = text.at(found.states[other].get("line", 0))
            details.append(f"rank {other} is at {at}" if at else f"rank {other} does not answer")
    details += [error["trace"]] if error.get("trace") else []
    return [Finding(case.check, code, sentence, rank, line, case, tuple(details))]


def _meaning(error: dict[str, Any], rank: int, seen: Traffic, text: Submission) -> tuple[str, str]:
    kind, said = error["type"], error.get("text", "")
    low = said.lower()
    if kind == "SystemExit":
        return "exit", "A function must return, not end the program"
    if kind in ("SyntaxError", "IndentationError", "ImportError", "ModuleNotFoundError"):
        return "cannot-load", ""
    if kind == "MemoryError":
        return "memory", "It asked for more memory than a submission may have"
    if kind == "OSError" and "too large" in low:
        return "endless-output", "It printed more than a submission may"
    if "truncat" in low:
        return _truncated(rank, seen)
    if kind == "UnpicklingError" or "pickle data" in low:
        return "mixed-case", "Lower-case recv got what an upper-case Send sent"
    if "not contiguous" in low or "ndarray is not contiguous" in low or "contiguous" in low:
        return (
            "not-contiguous",
            "A column or a slice with a step cannot be sent as it is: send a copy of it "
            "(np.ascontiguousarray), and receive into an array of its own",
        )
    if "truth value" in low:
        return (
            "truth-value",
            "MPI.MAX(a, b) and MPI.MIN(a, b) compare whole arrays: use op.Reduce_local(a, b), or "
            "the op that the function is given",
        )
    memoryless = any(
        o.get("failed") and o.get("count") is None and o["call"][0].isupper()
        for o in seen.ops.get(rank, [])
        if o["kind"] in ("send", "recv") and o.get("comm_kind") != "objects"
    )
    if kind in ("TypeError", "BufferError", "ValueError", "KeyError") and memoryless:
        return (
            "no-buffer",
            "Upper-case methods take arrays: a list, a number or None has no memory to send; use "
            "an array, or the lower-case method",
        )
    if "aliased" in low:
        return "aliased-buffers", "Input and output must be different memory"
    if "err_rank" in low or "invalid rank" in low:
        return "rank-out-of-range", "That rank does not exist"
    if kind in ("TypeError", "AttributeError", "NameError", "IndexError", "KeyError"):
        return "exception", ""
    if kind == "ValueError" and "broadcast" in low:
        return "shapes", "Two arrays of different lengths are combined: are chunks cut alike?"
    return "exception", ""


def _truncated(rank: int, seen: Traffic) -> tuple[str, str]:
    """A message was longer than the memory for it: say by how much, in elements."""
    failed = [o for o in seen.ops.get(rank, []) if o["kind"] == "recv" and o.get("failed")]
    failed = failed or [o for o in seen.ops.get(rank, []) if o["kind"] == "recv" and not o["done"]]
    if not failed:
        return "receive-too-small", "A message is longer than the memory it is received into"
    op = failed[0]
    if op.get("comm_kind") == "objects":
        return (
            "object-too-large",
            f"irecv (line {op['line']}) has room for 32 KiB unless it is given a buffer: "
            "comm.irecv(bytearray(n), ...), or use Irecv with an array",
        )
    # A Sendrecv that failed in receiving has sent all the same.
    met = {(pair.source, pair.send["id"]) for pair in seen.pairs}
    sends = [
        (source, send)
        for source, ops in seen.ops.items()
        for send in ops
        if send["kind"] == "send" and send["peer"] == rank and (source, send["id"]) not in met
        if op["peer"] in (None, source) and op["tag"] in (None, send["tag"])
    ]
    if not sends or op.get("count") is None:
        return "receive-too-small", "A message is longer than the memory it is received into"
    source, send = sends[0]
    words = (
        f"rank {source} sends {send.get('count')} {send.get('dtype')} (line {send['line']}), and "
        f"rank {rank} has room for {op.get('count')} {op.get('dtype')} (line {op['line']})"
    )
    code = "receive-too-small" if send.get("dtype") == op.get("dtype") else "dtype-mismatch"
    return code, words
