"""Classes of ours in the place of mpi4py's, for programs that do not know about us."""

from __future__ import annotations

__all__ = ["StandIn"]


class StandIn(type):
    """A class whose `isinstance` can be made to accept what MPI itself makes.

    `mpicoll run` puts our classes where mpi4py's are. A program's ``isinstance(request,
    MPI.Request)`` must then hold for the requests of its own messages too: `stands_for`, set on a
    class but not inherited, is the class that decides instead.
    """

    def __instancecheck__(cls, instance: object) -> bool:
        decides = vars(cls).get("stands_for")
        if decides is not None:
            return isinstance(instance, decides)
        return super().__instancecheck__(instance)

    def __subclasscheck__(cls, other: type) -> bool:
        decides = vars(cls).get("stands_for")
        if decides is not None:
            return issubclass(other, decides)
        return super().__subclasscheck__(other)
