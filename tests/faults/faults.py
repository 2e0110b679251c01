"""Faults, and what becomes of a job that has one; `python tests/faults/faults.py` prints a table.

Each fault is caused while 4 ranks are in the middle of collectives, on a cluster of one host and of
two, where the culprit is on the other one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "cluster"))
from cluster import Cluster, unavailable

__all__ = ["FAULTS", "SHAPES", "Seen", "cause"]

HERE = Path(__file__).resolve().parent
RANKS = 4
#: How long a job may take by itself, and how long it may then take to end.
DEADLINE, ENDING = 20, 40
SHAPES = {"one host": (1, 4), "two hosts": (2, 2)}


class Fault(NamedTuple):
    """Something that goes wrong: the job's exit statuses that will do, and words of its report."""

    status: tuple[int, ...]
    words: tuple[str, ...]
    where: tuple[str, ...] = tuple(SHAPES)


FAULTS = {
    "kill": Fault((137, 9, 14, 15, 1, 255), ("rank 3 failed", "killed")),
    "stop": Fault((124,), ("no end after", "rank 3 is silent when asked for its place")),
    "object operation": Fault((1,), ("rank 3 failed", "ArithmeticError: no sum of")),
    "operation": Fault((1, 13, 14, 15, 16), ("rank", "failed", "ArithmeticError: no sum of these")),
    "cut": Fault((124,), ("no end after", "ranks 0-1", "ranks 2-3"), ("two hosts",)),
}


class Seen(NamedTuple):
    """How a job ended: its status and report, seconds since the fault, and what was left."""

    status: int
    report: str
    seconds: float
    processes: list[str]
    files: list[str]


def cause(fault: str, cluster: Cluster, folder: Path) -> Seen:
    """Start a job, let it have the fault, and look at its end."""
    (folder / "tmp").mkdir()
    started, mark = folder / "started", f"MPICOLL_FAULT={folder}"
    command = [sys.executable, "-m", "mpicoll", "run", "-n", str(RANKS), "--timeout"]
    command += [str(DEADLINE), str(HERE / "program.py"), fault, str(started)]
    name, _, value = mark.partition("=")
    env = {**cluster.environment, name: value, "TMPDIR": str(folder / "tmp")}
    process = cluster.popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    since = time.monotonic()
    while not started.exists() and process.poll() is None and time.monotonic() - since < 120:
        time.sleep(0.02)
    since = time.monotonic()
    if fault == "cut":
        cluster.cut("h2")
    try:
        report, _ = process.communicate(timeout=DEADLINE + ENDING)
    except subprocess.TimeoutExpired:
        cluster.end_all()
        report = "the job did not end: " + process.communicate()[0]
    seconds = time.monotonic() - since - (1 if fault in ("kill", "stop") else 0)
    processes = _left(mark)
    files = os.listdir(folder / "tmp")
    # What MPI leaves in the shared memory of other hosts, nobody is there to remove.
    files += cluster.call(["ls", "/dev/shm"], timeout=ENDING).stdout.split()
    cluster.end_all()
    return Seen(process.returncode, report, seconds, processes, files)


def _left(mark: str, patience: float = 10) -> list[str]:
    """Processes of the job that are there for longer than it takes to end."""
    deadline = time.monotonic() + patience
    while True:
        found = []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                if mark.encode() in (entry / "environ").read_bytes().split(b"\0"):
                    command = (entry / "cmdline").read_bytes().replace(b"\0", b" ")
                    found.append(f"{entry.name} {command.decode(errors='replace')[:80]}")
            except OSError:
                continue
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.1)


def main() -> None:
    """Print the table."""
    if reason := unavailable():
        sys.exit(f"faults.py: {reason}")
    print("| fault | where | seen | status | seconds until all had ended |\n|---|---|---|---|---|")
    for fault, expected in FAULTS.items():
        for where in expected.where:
            with Cluster(*SHAPES[where]) as cluster, tempfile.TemporaryDirectory() as folder:
                seen = cause(fault, cluster, Path(folder))
            said = next((line for line in seen.report.splitlines() if "mpicoll: " in line), "")
            said = said.removeprefix("mpicoll: ")
            left = "".join(f"; LEFT: {each}" for each in seen.processes + seen.files)
            row = (fault, where, said + left, str(seen.status), f"{seen.seconds:.1f}")
            print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
