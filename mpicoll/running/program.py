"""Running a program in this process as Python itself would, on our collectives."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

from mpicoll.launch import child
from mpicoll.running.install import install

__all__ = ["Tracing", "run_here"]


class Tracing(NamedTuple):
    """Where to write a trace, and how many records each rank keeps."""

    directory: Path
    records: int


def run_here(program: list[str], native: bool, report: bool, tracing: Tracing | None = None) -> int:
    """Run ``[script.py, ...]`` or ``["-m", module, ...]`` and return its exit status.

    An exception or a status other than 0 ends all ranks, unless a parent does that. What has been
    traced is written in any case.
    """
    records: list = []
    recorders: list = []

    def opened() -> None:
        if report:
            records.append(_opened())
        if tracing is not None:
            recorders.append(_recorder(tracing.records))

    install(native=True) if native else install(opened)
    try:
        _run(program, recorders, tracing)
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


def _run(program: list[str], recorders: list, tracing: Tracing | None) -> None:
    """Run the program, and write what was recorded before anything else happens."""
    well = False
    try:
        child.run_program(program)
        well = True
    except SystemExit as error:
        well = not error.code
        raise
    finally:
        for recorder in recorders:
            _close(recorder, tracing.directory, well)


def _opened() -> object:
    from mpicoll.running.record import Record

    return Record()


def _recorder(records: int) -> object:
    from mpicoll.trace.recorder import Recorder

    return Recorder(records).open()


def _close(recorder: object, directory: Path, well: bool) -> None:
    from mpi4py import MPI

    try:
        recorder.close(directory, together=well and not MPI.Is_finalized())
    except OSError as error:
        print(f"mpicoll: no trace in {directory}: {error.strerror}", file=sys.stderr)


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
