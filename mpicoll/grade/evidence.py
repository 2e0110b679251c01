"""What messages give away about a wrong result: each function gives causes, most telling first.

A cause is a code, a sentence, a rank (-1: none) and a line of the submission (0: none).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mpicoll.grade.finding import plural
from mpicoll.grade.messages import Traffic

__all__ = ["Cause", "alone", "disagreed", "dropped", "lengths", "mixed_calls", "remarked", "types"]

Cause = tuple[str, str, int, int]

#: Remarks of the communicator that by themselves explain a wrong result.
_CAUSES = (
    "received-into-copy",
    "changed-before-wait",
    "written-before-wait",
    "list-concatenated",
    "overlap",
    "native-collective",
    "barrier",
    "rank-out-of-range",
    "request-freed",
)


def remarked(answers: list[dict[str, Any]]) -> list[Cause]:
    """What the communicator remarked and what explains a wrong result by itself."""
    return [
        (remark["code"], remark["text"], rank, remark["line"])
        for code in _CAUSES
        for rank, answer in enumerate(answers)
        for remark in answer["remarks"]
        if remark["code"] == code
    ][:3]


def types(seen: Traffic) -> list[Cause]:
    """Messages that mean one thing to the sender and another to the receiver."""
    for rank, ops in seen.ops.items():
        for op in ops:
            own = op.get("array_dtype")
            if own and op.get("dtype") not in (own, "uint8", "int8", "", None):
                if np.dtype(own).name != op["dtype"] and op["dtype"].islower():
                    return [
                        (
                            "datatype-argument",
                            f"rank {rank} gives {op['call']} an array of {own}, and says that it "
                            f"holds {op['dtype']}: MPI believes what is said, and moves "
                            f"{op.get('nbytes')} bytes of it",
                            rank,
                            op["line"],
                        )
                    ]
    for pair in seen.pairs:
        send, recv = pair.send, pair.recv
        kinds = send.get("dtype"), recv.get("dtype")
        if send.get("comm_kind") == "objects" or not all(kinds) or kinds[0] == kinds[1]:
            continue
        if "uint8" in kinds or "int8" in kinds:
            continue
        return [
            (
                "dtype-mismatch",
                f"rank {pair.source} sends {send['count']} {kinds[0]} (line {send['line']}), and "
                f"rank {pair.target} receives them as {kinds[1]} (line {recv['line']}): MPI moves "
                "bytes and converts nothing, so the numbers are garbage",
                pair.target,
                recv["line"],
            )
        ]
    return []


def lengths(seen: Traffic) -> list[Cause]:
    """Messages shorter than the memory that they were received into."""
    for pair in seen.pairs:
        recv, got = pair.recv, pair.recv.get("got")
        if got is None or recv.get("nbytes") is None or got >= recv["nbytes"]:
            continue
        item = recv["nbytes"] // max(1, recv["count"])
        return [
            (
                "receive-too-large",
                f"rank {pair.target} receives into {plural(recv['count'], 'element')} (line "
                f"{recv['line']}), and rank {pair.source} sends {got // max(1, item)} (line "
                f"{pair.send['line']}): the rest is left as it was, and MPI says nothing; ask "
                "Status.Get_count",
                pair.target,
                recv["line"],
            )
        ]
    return []


def dropped(answers: list[dict[str, Any]]) -> list[Cause]:
    """Requests that nobody waited for."""
    for rank, answer in enumerate(answers):
        for op in answer["ops"]:
            if op["done"] is None and op.get("immediate") and not op.get("failed"):
                what = "nothing has arrived" if op["kind"] == "recv" else "its memory is not free"
                return [
                    (
                        "request-dropped",
                        f"rank {rank} never waited for its {op['call']} of line {op['line']}: "
                        f"until Wait returns, {what}",
                        rank,
                        op["line"],
                    )
                ]
    return []


def alone(answers: list[dict[str, Any]]) -> list[Cause]:
    """Split with color and key exchanged: everybody is alone."""
    calls = [[o for o in a["ops"] if o["kind"] == "split"] for a in answers]
    if len(calls) > 1 and all(calls) and all(c[0]["size"] == 1 for c in calls):
        keys = [c[0]["key"] for c in calls]
        if len(set(keys)) < len(keys):
            op = calls[0][0]
            said = (
                "Split made a communicator of one rank for every rank: its first argument is the "
                "color (who belongs together), the second the key (the order)"
            )
            return [("split-swapped", said, 0, op["line"])]
    return []


def disagreed(answers: list[dict[str, Any]]) -> list[Cause]:
    """Collective calls that ended although ranks did not agree."""
    calls = [[o for o in a["ops"] if o["kind"] == "collective"] for a in answers]
    for each in zip(*calls, strict=False):
        names = {o["call"] for o in each}
        if len(names) > 1:
            other = next(r for r, o in enumerate(each) if o["call"] != each[0]["call"])
            said = (
                f"collective {each[0]['number']} is {each[0]['call']} on rank 0 (line "
                f"{each[0]['line']}) and {each[other]['call']} on rank {other} (line "
                f"{each[other]['line']}): all ranks must call the same in the same order"
            )
            return [("collective-order", said, other, each[other]["line"])]
        for what in ("root", "op", "count", "dtype"):
            said_by = [o["arguments"].get(what) for o in each]
            if len(set(said_by)) > 1:
                other = next(r for r, v in enumerate(said_by) if v != said_by[0])
                said = (
                    f"{each[0]['call']} has {what} {said_by[0]} on rank 0 (line "
                    f"{each[0]['line']}) and {what} {said_by[other]} on rank {other} (line "
                    f"{each[other]['line']}): it must be the same on all ranks"
                )
                return [(f"different-{what}s", said, other, each[other]["line"])]
    return []


def mixed_calls(seen: Traffic) -> list[Cause]:
    """Receives from any source, which take messages of the next call."""
    for rank, ops in seen.ops.items():
        for op in ops:
            if op["kind"] == "recv" and (op["peer"] is None):
                said = (
                    f"two calls in a row mix: rank {rank} receives from any source (line "
                    f"{op['line']}), and takes a message of the next call for one of this call. "
                    "Name the source"
                )
                return [("wildcard-mixes-calls", said, rank, op["line"])]
    return []
