"""Errors that carry MPI's error class and say what was expected and what was given."""

from __future__ import annotations

from mpi4py import MPI

__all__ = ["ArgumentError", "MismatchError", "PeerError", "fail"]


class ArgumentError(MPI.Exception, ValueError):
    """An argument of a collective that MPI would refuse.

    It is an `MPI.Exception` with MPI's error class and a `ValueError`; raised before any message
    is sent.
    """

    def __init__(self, code: int, message: str) -> None:
        super().__init__(code)
        self.message = message

    def __str__(self) -> str:
        return f"{self.message} [{MPI.Get_error_string(self.Get_error_class())}]"


class PeerError(RuntimeError):
    """Another rank failed in a collective on objects, so that this one has no result.

    `rank` is the rank that failed and `account` its traceback.
    """

    def __init__(self, collective: str, rank: int, account: str) -> None:
        super().__init__(collective, rank, account)
        self.collective, self.rank, self.account = collective, rank, account

    def __str__(self) -> str:
        return f"no result of {self.collective}, as rank {self.rank} failed:\n{self.account}"


class MismatchError(RuntimeError):
    """Ranks called collectives that do not belong together; raised on all of them.

    The message lists who called what, from which line.
    """


def fail(code: int, message: str) -> ArgumentError:
    """The error to raise for a wrong argument, of MPI class `code`."""
    return ArgumentError(code, message)
