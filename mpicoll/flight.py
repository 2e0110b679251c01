"""The flight recorder for programs: ``import mpicoll.flight``.

``MPICOLL_FLIGHT=DIR`` opens it without a line in the program. `mpicoll autopsy DIR` reads what it
has written, while the job lives or afterwards.
"""

from __future__ import annotations

import os
from pathlib import Path

from mpicoll.diagnosis.flight import dump, open_recorder, recorder
from mpicoll.diagnosis.reading import read_records
from mpicoll.execution import native

__all__ = ["dump", "entries", "open"]


def open(directory: str | os.PathLike[str]) -> Path:
    """Record the collectives of this rank in `directory` from now on; the directory.

    Call it on all ranks. Nothing happens if a recorder is open already. Raises OSError if the files
    cannot be made.
    """
    return open_recorder(directory).directory


def entries() -> list[dict]:
    """The recorded collectives of this rank, oldest first, with the fields of torch's recorder.

    Raises RuntimeError if no recorder is open.
    """
    opened = recorder()
    if opened is None:
        raise RuntimeError("no flight recorder is open: set MPICOLL_FLIGHT or call open()")
    rank = native.COMM_WORLD.Get_rank()
    return next(r for r in read_records(opened.directory) if r.rank == rank).collectives
