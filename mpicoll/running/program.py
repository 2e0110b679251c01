"""Running a program in this process as Python itself would, on our collectives."""

from __future__ import annotations

import sys

from mpicoll.launch import child
from mpicoll.running.install import install

__all__ = ["run_here"]


def run_here(program: list[str], native: bool, report: bool) -> int:
    """Run ``[script.py, ...]`` or ``["-m", module, ...]`` and return its exit status.

    An exception or a status other than 0 ends all ranks, unless a parent does that.
    """
    records: list = []
    if not native:
        install(lambda: records.append(_opened()) if report else None)
    try:
        child.run_program(program)
    except SystemExit as error:
        if child.has_parent():
            raise
        code = child.exit_code(error)
        if code:
            child.abort(code)
            return code
    except BaseException as error:
        if child.has_parent():
            raise
        return _failed(error)
    for record in records:
        _print(record)
    return 0


def _opened() -> object:
    from mpicoll.running.record import Record

    return Record()


def _print(record: object) -> None:
    from mpi4py import MPI

    from mpicoll.running.record import table

    if MPI.Is_finalized():
        print("mpicoll: no report, as the program has ended MPI itself", file=sys.stderr)
        return
    everybody = record.everybody()
    if everybody is not None:
        sys.stdout.flush()
        print(table(everybody), file=sys.stderr, flush=True)


def _failed(error: BaseException) -> int:
    rank = child.launched_rank()
    heading = "" if rank is None else f"rank {rank}:\n"
    text = child.program_traceback(error, error.__traceback__)
    print(heading + text, end="", file=sys.stderr, flush=True)
    code = 130 if isinstance(error, KeyboardInterrupt) else 1
    child.abort(code)
    return code
