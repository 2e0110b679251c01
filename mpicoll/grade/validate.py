"""Whether an answer has the form that the grader's own code gives it.

What comes from a rank was made in the same process as student code runs in. Nothing here is a
verdict: only what has the right form is looked at at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mpicoll.grade.exercise import Collective, Exercise

__all__ = ["valid", "valid_state"]

MOST_OPERATIONS = 2_000_000
_KINDS = {"send", "recv", "probe", "collective", "split"}
_MAYBE_WHOLE = ("peer", "tag", "done", "count", "nbytes", "first", "got", "source", "got_tag")
_MAYBE_WHOLE += ("color", "key", "size", "number", "waited")


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def valid(answer: Any, exercise: Exercise, calls: int) -> bool:
    """Whether the answer of a rank to so many calls can be judged."""
    if not isinstance(answer, dict):
        return False
    lists = ("outputs", "inputs", "margins", "ops", "remarks", "tampered", "attempts")
    if not all(isinstance(answer.get(name), list) for name in lists):
        return False
    error = answer.get("error")
    if error is not None:
        if not (isinstance(error, dict) and _texts(error, ("type", "text"))):
            return False
        if not _whole(error.get("line")):
            return False
    else:
        several = ("outputs", "inputs", "margins")
        several = several if isinstance(exercise.task, Collective) else ("outputs",)
        if any(len(answer[name]) != calls for name in several):
            return False
    return _record(answer)


def valid_state(state: Any) -> bool:
    """Whether what a silent rank says of itself can be read."""
    if state == {}:
        return True
    current = state.get("current")
    if current is not None:
        known = isinstance(current, dict) and _texts(current, ("call", "function"))
        if not known or not _whole(current.get("line")):
            return False
        if not isinstance(current.get("ops"), list) or "any" not in current:
            return False
    return _whole(state.get("line")) and _texts(state, ("function",)) and _record(state)


def _record(facts: dict[str, Any]) -> bool:
    ops, remarks = facts.get("ops"), facts.get("remarks")
    if not isinstance(ops, list) or not isinstance(remarks, list) or len(ops) > MOST_OPERATIONS:
        return False
    return all(map(_operation, ops)) and all(map(_remark, remarks))


def _texts(facts: dict[str, Any], names: tuple[str, ...]) -> bool:
    return all(isinstance(facts.get(name), str) for name in names)


def _operation(op: Any) -> bool:
    if not isinstance(op, dict) or op.get("kind") not in _KINDS:
        return False
    if not _texts(op, ("call", "comm", "function")) or "done" not in op:
        return False
    if not all(_whole(op.get(name)) for name in ("id", "line", "post")):
        return False
    if not all(op.get(name) is None or _whole(op[name]) for name in _MAYBE_WHOLE):
        return False
    if not {"peer", "tag"} <= set(op):
        return False
    if op["kind"] == "recv" and op["done"] is not None and not {"source", "got_tag"} <= set(op):
        return False
    values = op.get("values")
    if values is not None and not (isinstance(values, np.ndarray) and values.dtype == np.float64):
        return False
    if op["kind"] == "collective" and "members" in op:
        members, words = op["members"], op.get("arguments")
        return isinstance(members, list) and isinstance(words, dict) and _whole(op.get("number"))
    return True


def _remark(remark: Any) -> bool:
    if not isinstance(remark, dict) or not _whole(remark.get("line")):
        return False
    return _texts(remark, ("code", "text"))
