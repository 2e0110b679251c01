"""`MPI.Comm` for programs: handles and numbers of communicators give ours."""

from __future__ import annotations

from mpi4py import MPI

from mpicoll.communicator import Intercomm, counterpart
from mpicoll.execution import native
from mpicoll.execution.standin import StandIn

__all__ = ["Comm"]


class Comm(native.Comm, metaclass=StandIn):
    """Makes our communicators from MPI's names for them."""

    @classmethod
    def fromhandle(cls, handle: int) -> native.Comm:
        """The communicator of a handle."""
        return _adopted(native.Comm.fromhandle(handle))

    @classmethod
    def fromint(cls, arg: int, /) -> native.Comm:
        """The communicator of MPI's number for it."""
        return _adopted(native.Comm.fromint(arg))

    @classmethod
    def f2py(cls, arg: int) -> native.Comm:
        """The communicator of Fortran's number for it."""
        return _adopted(native.Comm.f2py(arg))


def _adopted(comm: native.Comm) -> native.Comm:
    """The communicator as one of ours; what it owns is looked up, or made, when it is needed."""
    if comm == MPI.COMM_NULL:
        return comm
    ours = counterpart(comm)
    first = native.Intercomm if ours is Intercomm else native.Intracomm
    return first.__new__(ours, comm)
