"""What became of each rank, and the text that tells it: the first failure's traceback last."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from dataclasses import dataclass
from pathlib import Path

from mpicoll.launch.child import ASK
from mpicoll.launch.processes import alive
from mpicoll.launch.stacks import describe, group, parse_dump, ranks_text

__all__ = ["Outcome", "RankReport", "failure_text", "gather", "mark_gone", "timeout_text"]

# "... PID 12 RUNNING AT ..." (MPICH), "process rank 1 with PID 12 on node ..." (Open MPI)
CULPRIT = re.compile(r"\bPID (\d+)\b")
SIGNAL = re.compile(r"\(signal (\d+)\)|on\s+signal (\d+)")
ABORTED = re.compile(r"called MPI_Abort|MPI_ABORT was invoked")
TAIL = 20


@dataclass
class RankReport:
    """One rank of a job.

    ``state`` is "finished", "failed" (uncaught exception), "exited" (non-zero ``sys.exit``),
    "gone" (ended without saying so: killed, ``os._exit`` or MPI's Abort), "running" (still at
    work when the job was ended) or "absent" (never started). ``place`` says where a rank was when
    the job was ended, ``output`` what it printed if that was not shown at once (ranks above 0).
    """

    rank: int
    state: str = "absent"
    code: int = 0
    time: float = 0.0
    message: str = ""
    traceback: str = ""
    place: str = ""
    output: str = ""
    pid: int = 0
    thread: int = 0
    host: str = ""

    @property
    def failed(self) -> bool:
        """Whether this rank ended badly by itself."""
        return self.state in {"failed", "exited", "gone"}

    @property
    def here(self) -> bool:
        """Whether its process is one of this host."""
        return self.host == os.uname().nodename

    @property
    def ended(self) -> bool:
        """Whether its process has ended, as far as can be seen from this host."""
        return self.here and not alive(self.pid)


@dataclass
class Outcome:
    """How a job ended.

    ``returncode`` is 0, 124 after a timeout, the first failing rank's status, or the launcher's;
    ``output`` is what rank 0 (and the launcher) printed; ``report`` explains a bad end, else "".
    """

    returncode: int
    timed_out: bool
    seconds: float
    output: str
    ranks: list[RankReport]
    report: str = ""


def gather(directory: Path, n: int) -> list[RankReport]:
    """Read what the ranks have written so far."""
    reports = []
    for rank in range(n):
        report = RankReport(rank)
        try:
            facts = json.loads((directory / f"rank-{rank}.json").read_text())
        except FileNotFoundError:
            facts = {}
        for name, value in facts.items():
            setattr(report, name, value)
        reports.append(report)
    return reports


def ask_places(directory: Path, ranks: list[RankReport], patience: float = 2.0) -> None:
    """Make the running ranks write their stacks, and fill in ``place`` for every rank."""
    waiting = [r for r in ranks if r.state == "running" and not r.ended]
    for report in waiting:
        if report.here:
            os.kill(report.pid, signal.SIGUSR1)
        else:
            (directory / ASK).touch()
    deadline = time.monotonic() + patience
    stacks: dict[int, str] = {}
    while len(stacks) < len(waiting) and time.monotonic() < deadline:
        time.sleep(0.05)
        for report in waiting:
            text = (directory / f"rank-{report.rank}.stack").read_text()
            if frames := parse_dump(text, report.thread):
                stacks[report.rank] = "at " + describe(frames)
    for report in ranks:
        if report.state == "finished":
            report.place = "past its last line" + (
                "" if report.ended else ", waiting in MPI_Finalize"
            )
        elif report.state == "absent":
            report.place = "not started"
        elif report in waiting:
            report.place = stacks.get(report.rank, "silent when asked for its place (stopped?)")


def mark_gone(
    directory: Path, ranks: list[RankReport], status: int, said: str, first: int | None = None
) -> None:
    """Turn running ranks whose process has ended into "gone", and say why as far as known.

    ``status`` is the launcher's exit status and ``said`` its output, which names a process that
    ended badly: maybe one that it killed itself. ``first`` is the one that was seen to end first.
    """
    named = {int(pid) for pid in CULPRIT.findall(said)}
    gone = [r for r in ranks if r.state == "running" and (r.ended or _named(r, named, said))]
    culprits = named & {r.pid for r in gone}
    by_signal = SIGNAL.search(said)
    # After MPI's Abort, whoever called it may be the last to end; and on other hosts, nobody looks.
    near = all(r.here for r in ranks if r.pid)
    if near and first in {r.pid for r in gone} and not ABORTED.search(said):
        culprits = {first}
    for report in gone:
        fatal = (directory / f"rank-{report.rank}.fatal").read_text()
        if not fatal and culprits and report.pid not in culprits:
            continue  # ended by the launcher because of another
        report.state = "gone"
        report.time = report.time or time.time()
        if fatal:
            what = fatal.splitlines()[0]
            report.traceback = f"{what}\n  at {describe(parse_dump(fatal))}"
        report.code = status or 1
        if by_signal and report.pid in culprits & named:
            number = int(by_signal[1] or by_signal[2])
            report.code = 128 + number
            name = signal.Signals(number).name
            report.message = f"killed by signal {number} ({name}), as mpiexec says"
        else:
            report.message = "ended in mid-program (killed, os._exit or MPI Abort)"


def _named(report: RankReport, pids: set[int], said: str) -> bool:
    """Whether mpiexec says that a process of another host has ended badly."""
    return not report.here and report.pid in pids and report.host in said


def _places(ranks: list[RankReport], verb: str) -> list[str]:
    texts = {r.rank: r.place.replace("\n", "\n    ") for r in ranks if r.place}
    return [
        f"  {ranks_text(members)} {verb[len(members) > 1]} {text}" for members, text in group(texts)
    ]


def _outputs(ranks: list[RankReport]) -> list[str]:
    """Show the last lines that ranks above 0 printed, which were held back until now."""
    texts = {r.rank: "\n".join(r.output.splitlines()[-TAIL:]) for r in ranks if r.output.strip()}
    return [
        f"  {ranks_text(members)} printed:\n    " + text.replace("\n", "\n    ")
        for members, text in group(texts)
    ]


def timeout_text(ranks: list[RankReport], timeout: float, records: Path | None = None) -> str:
    """Say where every rank was at the deadline, and why, if they have kept records."""
    lines = [f"mpicoll: no end after {timeout:g} s; all {len(ranks)} ranks were ended:"]
    return "\n".join([*lines, *_outputs(ranks), *_hang(ranks, records)]) + "\n"


def _hang(ranks: list[RankReport], records: Path | None) -> list[str]:
    from mpicoll.diagnosis.hang import hang_lines, has_records, report_on

    if records is not None and has_records(records):
        status = {r.rank: "failed" if r.failed else r.state for r in ranks}
        places = {r.rank: r.place.removeprefix("at ") for r in ranks if r.state == "running"}
        try:
            return hang_lines(*report_on(records, places, status))
        except (OSError, ValueError) as error:
            return [f"  (no explanation: {error})", *_places(ranks, ("is", "are"))]
    return _places(ranks, ("is", "are"))


def failure_text(ranks: list[RankReport], seconds: float, status: int) -> str:
    """Tell the others' fate in a line each, then the first failing rank's traceback.

    Empty when all ranks left with one and the same status: a verdict, which they have printed.
    """
    failed = sorted((r for r in ranks if r.failed), key=lambda r: r.time)
    if not failed:
        started = any(r.state != "absent" for r in ranks)
        what = "after its program" if started else "and started no rank"
        return f"mpicoll: mpiexec ended with status {status} {what}\n" if status else ""
    if len(failed) == len(ranks) and {(r.state, r.code) for r in ranks} == {
        ("exited", failed[0].code)
    }:
        return ""
    first = failed[0]
    alike = [r.rank for r in failed if (r.message, r.state) == (first.message, first.state)]
    # Of a message of several lines the rest stands in the traceback.
    message = first.message.split("\n")[0] if first.traceback else first.message
    lines = [
        f"mpicoll: {ranks_text(alike)} failed after {seconds:.1f} s: {message}"
        + (f"; all {len(ranks)} ranks were ended" if len(alike) < len(ranks) else "")
    ]
    lines += _outputs(ranks)
    also = {r.rank: r.message for r in failed if r.rank not in alike}
    lines += [f"  {ranks_text(members)} also failed: {text}" for members, text in group(also)]
    lines += _places([r for r in ranks if not r.failed], ("was", "were"))
    if first.traceback:
        lines += [f"rank {first.rank}:", first.traceback.rstrip()]
    return "\n".join(lines) + "\n"
