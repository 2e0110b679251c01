"""The communicator that student code gets: point-to-point only, and every message is noted.

Buffers and objects travel on two communicators: `send` never meets `Recv`, which in MPI ends in a
crash or in garbage, here in a hang that says so. It is no subclass of mpi4py's communicators, so
that their collectives cannot be called on it.
"""

from __future__ import annotations

from typing import Any

from mpi4py import MPI

from mpicoll.execution.state import NATIVE_COLLECTIVES
from mpicoll.grade.comm_base import whole
from mpicoll.grade.comm_buffers import Buffers
from mpicoll.grade.comm_objects import Objects
from mpicoll.grade.watch import memory_of

__all__ = ["Comm"]

_STATUS, _NULL, _TRANSLATE = MPI.Status, MPI.COMM_NULL, MPI.Group.Translate_ranks
_INTRACOMM, _OP = MPI.Intracomm, MPI.Op
_COLLECTIVES = frozenset(NATIVE_COLLECTIVES) | {"Barrier", "barrier"}
_NAMES = [(name, getattr(MPI, name)) for name in ("SUM", "PROD", "MAX", "MIN", "LAND", "LOR")]


class Comm(Buffers, Objects):
    """A communicator of the grader's; methods are mpi4py's."""

    def _child(self, real: Any, objects: Any, title: str) -> Any:
        if real == _NULL:
            return real
        group, own = real.Get_group(), self._real.Get_group()
        members = _TRANSLATE(group, None, own)
        return Comm(real, objects, self._watch, [self._members[m] for m in members], title)

    def Dup(self, info: Any = None) -> Any:
        """A duplicate."""
        self._made += 1
        title = f"duplicate {self._made} of {self._title}"
        return self._child(self._real.Dup(), self._objects.Dup(), title)

    Clone = Dup

    def Split(self, color: int = 0, key: int = 0) -> Any:
        """Communicators of the ranks that give the same color, ordered by key."""
        self._made += 1
        real = self._real.Split(color, key)
        title = f"part {color} of split {self._made} of {self._title}"
        op = self._open("split", "Split", None, None, None, color=whole(color), key=whole(key))
        op["size"] = real.Get_size() if real != _NULL else 0
        self._close(op)
        return self._child(real, self._objects.Split(color, key), title)

    def Free(self) -> None:
        """End its use."""

    def Abort(self, errorcode: int = 0) -> None:
        """End everything; here: end this rank's call."""
        self._watch.refuse("abort", f"the program called Abort({errorcode})")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name not in _COLLECTIVES:
            if hasattr(_INTRACOMM, name) or hasattr(_STATUS, name):
                raise AttributeError(f"the grader's communicator has no {name}")
            raise AttributeError(f"communicators have no method {name!r}")

        def collective(*args: Any, **keywords: Any) -> Any:
            return self._collective(name, args, keywords)

        return collective

    def _collective(self, name: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> Any:
        watch = self._watch
        if "*" not in watch.allowed and name not in watch.allowed:
            code = "barrier" if "arrier" in name else "native-collective"
            what = (
                "messages must be in order without it" if code == "barrier" else "write it yourself"
            )
            watch.refuse(code, f"{name} is a collective of MPI's own: {what}")
        number = watch.collectives.get(self._title, 0) + 1
        watch.collectives[self._title] = number
        op = self._open("collective", name, None, None, None, number=number)
        op |= {"members": self._members, "arguments": self._agreed(name, args, keywords)}
        real = self._objects if name[0].islower() else self._real
        with watch.inside(name, [op]):
            value = getattr(real, name)(*args, **keywords)
        self._close(op)
        return value

    def _agreed(self, name: str, args: tuple[Any, ...], keywords: dict[str, Any]) -> dict[str, str]:
        """What all ranks must agree on, in words; arguments that MPI forbids are refused."""
        lower = name.lower()
        order = {"bcast": ["root"], "reduce": ["op", "root"], "allreduce": ["op"]}
        order |= {"gather": ["root"], "scatter": ["root"], "scan": ["op"], "exscan": ["op"]}
        buffers = 0 if "arrier" in name else 1 if name.islower() or lower == "bcast" else 2
        found = dict(zip(order.get(lower, []), args[buffers:], strict=False)) | keywords
        words = {}
        if "root" in order.get(lower, []):
            words["root"] = str(found.get("root", 0))
        if "op" in order.get(lower, []):
            op = found.get("op", MPI.SUM)
            words["op"] = next((n for n, known in _NAMES if known == op), "a user-defined one")
            if name.islower() and args and isinstance(args[0], list):
                self._watch.remark(
                    "list-concatenated", f"{name} of lists joins them: it adds no numbers"
                )
        if not name.islower() and args:
            self._buffers(name, args, keywords, words)
        return words

    def _buffers(
        self, name: str, args: tuple[Any, ...], keywords: dict[str, Any], words: dict[str, str]
    ) -> None:
        one, two = (memory_of(b) for b in (args[0], args[1] if len(args) > 1 else None))
        if one.count is not None and name != "Scatter":
            words |= {"count": str(one.count), "dtype": one.dtype}
        if name != "Bcast" and one.address and one.address == two.address and one.nbytes:
            self._watch.refuse(
                "aliased-buffers",
                f"{name} has the same memory as input and output: give MPI.IN_PLACE as the input",
            )
        if name == "Gather" and int(words.get("root", 0)) == self.rank and one.count is not None:
            wanted = one.count * self.size
            if two.count is None or two.count < wanted:
                has = "none" if two.count is None else f"{two.count} elements"
                self._watch.refuse(
                    "gather-size",
                    f"the root of Gather needs a receive buffer of {self.size} x {one.count} = "
                    f"{wanted} elements, and has {has}",
                )
