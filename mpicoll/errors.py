"""Errors that carry MPI's error class and say what was expected and what was given."""

from __future__ import annotations

from mpi4py import MPI

__all__ = ["ArgumentError", "fail"]


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


def fail(code: int, message: str) -> ArgumentError:
    """The error to raise for a wrong argument, of MPI class `code`."""
    return ArgumentError(code, message)
