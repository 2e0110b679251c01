"""Remarks on what is right and could be better; they cost no points."""

from __future__ import annotations

from typing import Any

__all__ = ["remarks"]

#: Bytes from which pickling an array is worth a remark.
LONG = 10_000


def remarks(answers: dict[int, dict[str, Any]]) -> list[tuple[int, str]]:
    """Lines of the submission, and what is said of them."""
    found = []
    for answer in answers.values():
        for op in answer.get("ops", []):
            if op.get("at_once"):
                said = (
                    f"{op['call']} with a Wait right after it is the same as Send: put what can be "
                    "done meanwhile in between (wait-at-once)"
                )
                found.append((op["line"], said))
            long = (op.get("nbytes") or 0) >= LONG and op.get("array_dtype")
            if op.get("comm_kind") == "objects" and op["kind"] == "send" and long:
                said = (
                    f"{op['call']} makes a pickle of a long array first: {op['call'].capitalize()} "
                    "sends the memory as it is, several times faster (pickled-arrays)"
                )
                found.append((op["line"], said))
    return list(dict.fromkeys(found))
