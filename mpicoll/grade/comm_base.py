"""What all methods of the instrumented communicator share: who is meant, and what is noted."""

from __future__ import annotations

from typing import Any

import numpy as np
from mpi4py import MPI

from mpicoll.grade.watch import Memory, Watch

__all__ = ["ANY_SOURCE", "PROC_NULL", "SYNCHRONOUS", "Base", "whole"]


class Constant(int):
    """A rank with a special meaning, told apart from a number that arithmetic gave by chance."""


ANY_SOURCE, PROC_NULL = Constant(MPI.ANY_SOURCE), Constant(MPI.PROC_NULL)
_ANY_TAG = int(MPI.ANY_TAG)
SYNCHRONOUS = {"send": "ssend", "isend": "issend", "Send": "Ssend", "Isend": "Issend"}


def whole(value: Any) -> int | None:
    """The value as an int, if it is one."""
    return int(value) if isinstance(value, int | np.integer) else None


class Base:
    """A communicator of the grader's; methods are mpi4py's."""

    def __init__(
        self, real: Any, objects: Any, watch: Watch, members: list[int], title: str
    ) -> None:
        self._real, self._objects, self._watch = real, objects, watch
        self._members, self._title, self._made = members, title, 0

    def Get_rank(self) -> int:
        """This rank."""
        return self._real.Get_rank()

    def Get_size(self) -> int:
        """How many ranks there are."""
        return self._real.Get_size()

    rank, size = property(Get_rank), property(Get_size)

    def Get_name(self) -> str:
        """The communicator's name."""
        return self._title

    name = property(Get_name)

    def Get_group(self) -> Any:
        """The group of its ranks."""
        return self._real.Get_group()

    # --- what is checked before anything is sent

    def _peer(self, value: Any, role: str) -> int:
        """The other end as a rank of this communicator."""
        if value is PROC_NULL or (role == "source" and value is ANY_SOURCE):
            return value
        size = self._real.Get_size()
        if isinstance(value, int | np.integer) and not 0 <= value < size:
            rank = self._real.Get_rank()
            wrap = "(rank - 1) % size" if value < 0 else "(rank + 1) % size"
            self._watch.refuse(
                "rank-out-of-range",
                f"rank {rank} names {role} {int(value)}, but ranks are 0 to {size - 1}: on a ring, "
                f"write {wrap}",
            )
        return value

    def _allow(self, call: str) -> None:
        if call in self._watch.forbidden:
            self._watch.refuse("method-forbidden", f"this exercise does not allow {call}")

    def _world(self, peer: int) -> int | None:
        return self._members[peer] if 0 <= peer < len(self._members) else None

    def _open(
        self, kind: str, call: str, peer: Any, tag: Any, memory: Memory | None, **facts: Any
    ) -> dict[str, Any]:
        self._allow(call)
        if kind in ("recv", "probe") and not self._watch.wildcards:
            if peer is ANY_SOURCE or tag == _ANY_TAG:
                self._watch.refuse(
                    "wildcard-forbidden", f"{call} must name its source and tag in this exercise"
                )
        known = self._world(peer) if isinstance(peer, int | np.integer) else None
        any_tag = kind != "send" and tag == _ANY_TAG
        facts |= {"comm": self._title, "null": peer is PROC_NULL}
        op = self._watch.start(kind, call, known, None if any_tag else whole(tag), **facts)
        if memory is not None and not self._watch.light:
            self._watch.describe(op, memory)
        return op

    def _close(self, op: dict[str, Any], status: Any = None, memory: Memory | None = None) -> None:
        self._watch.done(op, status, memory)
        if "source" in op:
            op["source"] = self._world(op["source"])
