"""Running a program on several ranks so that it always ends, and says why when it ends badly."""

from __future__ import annotations

import codecs
import math
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from mpicoll.launch import child
from mpicoll.launch.command import clean_environment, mpiexec_command
from mpicoll.launch.library import find_launcher, find_library
from mpicoll.launch.place import common_directory
from mpicoll.launch.processes import FirstEnd, end_tree, remove_orphaned_segments
from mpicoll.launch.report import (
    Outcome,
    RankReport,
    ask_places,
    failure_text,
    gather,
    mark_gone,
    timeout_text,
)

__all__ = ["Outcome", "RankReport", "run"]

TICK = 0.05
# After the first failure others may be failing too; after the first non-zero exit others may be
# about to exit alike while rank 0 still prints their common verdict.
GRACE = {"failed": 0.5, "exited": 3.0}
LAUNCHER_PATIENCE = 2.0  # for mpiexec to end by itself, and clean up, when asked or bereft


class _Output:
    """What arrives from rank 0 and the launcher: shown, split into lines, and kept."""

    def __init__(
        self, pipe: IO[bytes], echo: bool, on_line: Callable[[str], object] | None
    ) -> None:
        self._pipe = pipe
        self.echo = echo
        self._on_line = on_line
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._parts: list[str] = []
        self._line = ""
        os.set_blocking(pipe.fileno(), False)

    def pump(self, seconds: float, files: Sequence[int] = ()) -> bool:
        """Pass on what arrives within ``seconds``; False once the other end has closed.

        Returns early when one of ``files`` can be read.
        """
        if self._pipe not in select.select([self._pipe, *files], [], [], seconds)[0]:
            return True
        data = os.read(self._pipe.fileno(), 1 << 16)
        text = self._decoder.decode(data, final=not data)
        self._parts.append(text)
        if self.echo and text:
            sys.stdout.write(text)
            sys.stdout.flush()
        if self._on_line:
            *lines, self._line = (self._line + text).split("\n")
            lines += [self._line] if not data and self._line else []
            for line in lines:
                self._on_line(line)
        return bool(data)

    def drain(self, seconds: float) -> None:
        """Read to the end; a stray process that keeps the pipe open costs ``seconds``."""
        deadline = time.monotonic() + seconds
        while self.pump(TICK) and time.monotonic() < deadline:
            pass

    def hush(self) -> None:
        """Only keep what arrives from now on."""
        self.echo, self._on_line = False, None

    @property
    def text(self) -> str:
        return "".join(self._parts)


def run(
    n: int,
    argv: Sequence[str],
    *,
    timeout: float,
    env: Mapping[str, str] | None = None,
    echo: bool = True,
    directory: str | os.PathLike[str] | None = None,
    on_line: Callable[[str], object] | None = None,
    all_output: bool = False,
    stdin: int | None = subprocess.DEVNULL,
) -> Outcome:
    """Run ``argv`` (``[script.py, ...]`` or ``["-m", module, ...]``) on ``n`` ranks and wait.

    A rank that raises, exits non-zero or dies ends all; so does the deadline, ``timeout`` seconds
    from the start. No process of the job survives this call, not even a KeyboardInterrupt in it.

    Args:
        n: number of ranks, at least 1.
        argv: the program and its arguments, run by this Python on every rank.
        timeout: seconds until the job is ended and its ranks' places are reported; inf for never.
        env: variables to set for the ranks.
        echo: show rank 0's output as it comes and, after a bad end, the report (on stderr).
        directory: where the ranks run (default: here).
        on_line: called with each complete line of rank 0's output.
        all_output: show all ranks' output, as the launcher mixes it, instead of rank 0's alone.
        stdin: where rank 0 reads from, as in subprocess; None is this process's own input.

    Raises:
        LaunchError: no MPI library or no launcher that belongs to it.
    """
    launcher = find_launcher(find_library())
    # Not `with TemporaryDirectory`: a name that outlives no one is all that is needed.
    reports = Path(tempfile.mkdtemp(prefix="mpicoll-", dir=common_directory()))
    try:
        program = [sys.executable, child.__file__, "--report", str(reports)]
        program += ["--parent", f"{os.uname().nodename}:{os.getpid()}"]
        program += ["--limit", str(timeout + 60)] if math.isfinite(timeout) else []
        program += ["--all-output"] * all_output + ["--", *argv]
        command, added = mpiexec_command(n, program, launcher)
        mark = {"MPICOLL_REPORT": str(reports)}
        if echo and sys.stdout.isatty():
            mark["MPICOLL_COLUMNS"] = str(shutil.get_terminal_size().columns)
        variables = clean_environment() | added | dict(env or {}) | mark
        with _termination_as_exit():
            return _supervise(
                n, command, variables, directory, reports, timeout, echo, on_line, stdin
            )
    finally:
        shutil.rmtree(reports)


def _supervise(
    n: int,
    command: list[str],
    variables: dict[str, str],
    directory: str | os.PathLike[str] | None,
    reports: Path,
    timeout: float,
    echo: bool,
    on_line: Callable[[str], object] | None,
    stdin: int | None,
) -> Outcome:
    started = time.monotonic()
    process = subprocess.Popen(
        command,
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=variables,
        cwd=directory,
        # A Ctrl-C is for this process, which then ends the job in order.
        start_new_session=True,
    )
    ranks: list[RankReport] = []
    ends = FirstEnd()
    clock = time.time()
    with process.stdout:
        try:
            output = _Output(process.stdout, echo, on_line)
            verdict, ranks = _watch(process, output, reports, n, started + timeout, ends)
            seconds = time.monotonic() - started
            if verdict != "ended":
                ask_places(reports, ranks)
                output.drain(TICK)
                output.hush()  # what mpiexec says about being ended by us is no news
        finally:
            ends.close()
            pids = [r.pid for r in ranks or gather(reports, n) if r.pid and r.here]
            end_tree(process, f"MPICOLL_REPORT={reports}", pids, LAUNCHER_PATIENCE)
            if process.returncode:
                remove_orphaned_segments(clock)
        output.drain(1.0)
    status = process.returncode if process.returncode >= 0 else 128 - process.returncode
    status = 0 if verdict == "finished" else status
    if verdict != "timeout":
        # A rank that was running when the others failed is not itself at fault.
        mark_gone(reports, [r for r in ranks if not r.place], status, output.text, ends.first)
    for report in ranks:
        path = reports / f"rank-{report.rank}.out"
        report.output = path.read_text(errors="replace") if path.exists() else ""
    records = Path(variables.get("MPICOLL_FLIGHT") or reports)
    if verdict != "ended" and records != reports:
        for path in reports.glob("rank-*.stack"):
            shutil.copy(path, records)
    outcome = Outcome(0, verdict == "timeout", seconds, output.text, ranks)
    if outcome.timed_out:
        outcome.returncode = child.TIMEOUT_STATUS
        outcome.report = timeout_text(ranks, timeout, records)
    else:
        failed = sorted((r for r in ranks if r.failed), key=lambda r: r.time)
        outcome.returncode = failed[0].code if failed else status
        outcome.report = failure_text(ranks, seconds, outcome.returncode)
    if echo and outcome.report:
        sys.stdout.flush()
        sys.stderr.write(outcome.report)
        sys.stderr.flush()
    return outcome


def _watch(
    process: subprocess.Popen,
    output: _Output,
    reports: Path,
    n: int,
    deadline: float,
    ends: FirstEnd,
) -> tuple[str, list[RankReport]]:
    """Wait for the job, passing on its output.

    The verdict is "ended" (mpiexec has), "failed", "timeout", or "finished": all ranks have ended
    well, yet mpiexec waits.
    """
    ranks = [RankReport(rank) for rank in range(n)]
    changed = None
    give_up = None
    while True:
        if not output.pump(TICK, ends.files):
            time.sleep(TICK)
        ends.look()
        # Before the files are read: what a rank wrote before the end is then certainly seen.
        ended = process.poll() is not None
        now = time.monotonic()
        if (stamp := reports.stat().st_mtime_ns) != changed or ended:
            changed, ranks = stamp, gather(reports, n)
            for report in ranks:
                if report.here and report.state == "running":
                    ends.watch(report.pid)
        if ended:
            return "ended", ranks
        if now > deadline:
            return ("failed" if any(r.failed for r in ranks) else "timeout"), ranks
        if give_up is None:
            if states := {r.state for r in ranks if r.failed}:
                give_up = now + min(GRACE[state] for state in states)
            elif any(r.state == "running" and r.ended for r in ranks):
                give_up = now + LAUNCHER_PATIENCE
            elif all(r.state == "finished" and r.ended for r in ranks):
                # mpiexec waits for whatever else they started and left behind.
                give_up = now + LAUNCHER_PATIENCE
        elif now > give_up or all(r.state == "failed" for r in ranks):
            ranks = gather(reports, n)
            finished = all(r.state == "finished" for r in ranks)
            return "finished" if finished else "failed", ranks


@contextmanager
def _termination_as_exit() -> Iterator[None]:
    """Turn a SIGTERM meant for this process into an exception, so that the job is ended too."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    previous = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, previous)
