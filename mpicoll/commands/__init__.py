"""The commands of ``mpicoll COMMAND``: a table, so that only the chosen one is imported."""

from __future__ import annotations

import importlib
from enum import IntEnum
from types import ModuleType

__all__ = ["COMMANDS", "CommandError", "Exit", "load"]

# name: (module in this package, one line for the help). A module offers configure(parser), which
# adds arguments, description and examples, and run(args), which returns the exit status.
COMMANDS: dict[str, tuple[str, str]] = {
    "run": ("run", "run an unmodified mpi4py program on these collectives"),
    "doctor": ("doctor", "say what is wrong with this environment, and what to type to mend it"),
    "autopsy": ("autopsy", "say what became of a job, from the records of its ranks"),
    "check": ("check", "run every collective on real processes and compare with native MPI"),
    "grade": ("grade", "grade students' functions on real ranks, and explain their mistakes"),
    "bench": ("bench", "measure collectives against native MPI, gloo and the floor"),
    "tune": ("tune", "measure which algorithm is to be taken when, and write a table"),
    "slurm": ("slurm", "print a batch script for Slurm that runs a command"),
    "prove": ("prove", "prove algorithms for many process counts, without MPI"),
    "list": ("list", "list the algorithms, their costs, and their names elsewhere"),
    "show": ("show", "show an algorithm step by step, and its text"),
    "trace": ("trace", "trace a real run: every message and step, as text and pictures"),
    "emit": ("emit", "print an algorithm as a straight-line mpi4py program"),
    "cost": ("cost", "say what algorithms cost, as declared, as counted, and at least"),
    "simulate": ("simulate", "simulate an algorithm on a network, with its critical path"),
    "learn": ("learn", "a course of exercises, with hints, checks and solutions"),
    "why": ("why", "say which algorithm a call gets, and why"),
}


class Exit(IntEnum):
    """What the exit status of ``mpicoll`` means."""

    OK = 0
    FAILED = 1
    USAGE = 2
    ENVIRONMENT = 3
    TIMEOUT = 124


class CommandError(Exception):
    """An error the user can act on: printed as one line, without a traceback."""

    def __init__(self, message: str, code: int = Exit.USAGE) -> None:
        super().__init__(message)
        self.message = message
        self.code = int(code)


def load(name: str) -> ModuleType:
    """Import the module of the command called ``name`` (a key of ``COMMANDS``)."""
    return importlib.import_module(f"{__name__}.{COMMANDS[name][0]}")
