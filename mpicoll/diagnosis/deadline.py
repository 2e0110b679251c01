"""A deadline for a program that no parent of ours watches: ``MPICOLL_TIMEOUT``.

At the deadline a thread of every rank writes where the rank is; one of them reads all records,
prints the report and ends the job with status 124. Ranks of other hosts are in it if the directory
(MPICOLL_FLIGHT) is on a file system that all share.
"""

from __future__ import annotations

import contextlib
import faulthandler
import os
import shutil
import sys
import tempfile
import threading
import time
from pathlib import Path

from mpicoll.diagnosis import record as form
from mpicoll.diagnosis.hang import hang_lines, report_on
from mpicoll.diagnosis.reading import read_records
from mpicoll.execution import native
from mpicoll.launch import child

__all__ = ["agree_on_directory", "remove_at_the_end", "watch_deadline"]

#: Seconds for all ranks to write where they are, and after that for each to print before the next.
SPEAK, TURN = 1.5, 0.5


def agree_on_directory() -> Path:
    """A directory of this job's own, made by rank 0; collective."""
    comm = native.COMM_WORLD.Dup()
    if comm.Get_rank() == 0:
        name = tempfile.mkdtemp(prefix="mpicoll-")
        for rank in range(1, comm.Get_size()):
            comm.send(name, rank)
    else:
        name = comm.recv(source=0)
        os.makedirs(name, mode=0o700, exist_ok=True)  # on another host
    comm.Free()
    return Path(name)


def remove_at_the_end(directory: Path) -> None:
    """Remove the directory if all ranks of this host have ended; the last one finds it so."""
    ended = (form.FINISHED, form.BROKEN)
    with contextlib.suppress(OSError, ValueError):
        if all(record.inside[0] in ended for record in read_records(directory)):
            shutil.rmtree(directory, ignore_errors=True)


def watch_deadline(directory: Path, timeout: float, keep: bool) -> None:
    """End the job `timeout` seconds from now; the directory is removed then, unless `keep`."""
    rank = native.COMM_WORLD.Get_rank()

    def watch() -> None:
        time.sleep(timeout)
        if not directory.exists():  # all programs have ended
            return
        with open(directory / f"rank-{rank}.stack", "a") as file:
            faulthandler.dump_traceback(file, all_threads=True)
        time.sleep(SPEAK + TURN * rank)
        try:
            os.close(os.open(directory / "reported", os.O_CREAT | os.O_EXCL))
        except OSError:
            time.sleep(60)  # another one reports, and ends the job
        text = f"mpicoll: no end after {timeout:g} s; all ranks are ended:\n"
        try:
            text += "\n".join(hang_lines(*report_on(directory))) + "\n"
        except (OSError, ValueError) as error:
            text += f"  no report: {error}\n"
        print(text, end="", file=sys.__stderr__, flush=True)
        if not keep:
            shutil.rmtree(directory, ignore_errors=True)
        child.abort(child.TIMEOUT_STATUS)
        os._exit(child.TIMEOUT_STATUS)

    threading.Thread(target=watch, name="mpicoll-deadline", daemon=True).start()
