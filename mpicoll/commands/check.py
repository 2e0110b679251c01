"""``mpicoll check``: every collective on real processes, compared with native MPI."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from mpicoll.check.names import CALLS, chosen
from mpicoll.commands import CommandError, Exit
from mpicoll.commands.units import opened
from mpicoll.files import write_text
from mpicoll.launch.child import guard
from mpicoll.launch.command import check_world, cores, started_by_launcher
from mpicoll.launch.place import common_directory
from mpicoll.launch.stacks import group, ranks_text
from mpicoll.registry import RequirementError, algorithms_of

__all__ = ["PROGRAM", "configure", "run"]

EXAMPLES = """\
Runs every algorithm of every collective among real processes, on point-to-point messages only, and
compares the result of each call with that of the MPI library's own collective: equal bits where the
arithmetic is exact; otherwise at most (additions x eps x sum of magnitudes) apart, and equal bits
on all ranks for Allreduce. "worst error" is in eps x sum of magnitudes (of their product in PROD).

Started plainly it starts mpiexec itself; under mpiexec or srun it uses the ranks that there are.
A COLLECTIVE is that of the algorithms (scatter) or one MPI call (Scatterv).

examples:
  mpicoll check                                   a few calls of everything on 4 processes
  mpicoll check allreduce bcast -n 3,8            two collectives on 3, then on 8 processes
  mpicoll check allreduce --algorithm ring --full
  mpiexec -n 4 mpicoll check
"""

#: What the ranks run; the arguments of `mpicoll` follow.
PROGRAM = ["-m", "mpicoll"]

#: Where no core is left over, MPICH's waiting ranks should sleep a moment, not take turns:
#: a check then takes about half as long, and no longer on a busy machine.
CROWDED = {"MPIR_CVAR_ENABLE_HEAVY_YIELD": "1"}

#: The job as a whole may take this many times the deadline of a single case.
LONGEST = 100


class _Stalled(Exception):
    """The ranks say that they do not move on."""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments and examples."""
    parser.epilog = EXAMPLES
    parser.add_argument("collectives", nargs="*", metavar="COLLECTIVE", help="default: all")
    parser.add_argument(
        "-n", metavar="P[,P...]", help="numbers of processes (default: 4, or as many as there are)"
    )
    parser.add_argument("--algorithm", metavar="NAME", help="only this algorithm")
    parser.add_argument("--full", action="store_true", help="many more calls; minutes, not seconds")
    parser.add_argument("--json", metavar="FILE", help="write the results to FILE (- = stdout)")
    parser.add_argument(
        "--lines", metavar="FILE", help="add each result to FILE, a line of JSON, when it is there"
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=60,
        metavar="S",
        help="end if no case ends within S seconds (default: %(default)s)",
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="for the inputs")
    parser.add_argument("--results", metavar="DIR", help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Check in place if a launcher started this process, otherwise start ranks."""
    placement = started_by_launcher()
    in_place = args.results is not None or (placement is not None and placement.size > 1)
    if args.lines and not in_place:
        opened(args.lines, 0).close()
    try:
        sizes = _sizes(args.n, placement.size if in_place and placement else None)
        calls = _calls(args, sizes)
    except CommandError:
        if in_place and placement and placement.rank:
            return Exit.USAGE  # rank 0 says why
        raise
    out = sys.stderr if args.json == "-" else sys.stdout
    if in_place:
        return _in_place(args, calls, out)
    facts = []
    code = Exit.OK
    for size in sizes:
        status, found = _launch(size, args, out)
        facts.append(found)
        code = code or status
        if "ended" in found:
            break
    if len(sizes) > 1 and "ended" not in facts[-1]:
        cases, failed = (sum(each[key] for each in facts) for key in ("cases", "failed"))
        seconds = sum(each["seconds"] for each in facts)
        verdict = f"{failed} FAILED" if failed else "all passed"
        print(f"\nin all: {cases} cases in {seconds:.0f} s: {verdict}", file=out)
    code = code or _nothing(facts)
    _write(args, facts, code)
    return code


def _nothing(facts: list[dict]) -> int:
    """A check of nothing is not passed: --algorithm asks for one that serves none of the calls."""
    checked = any(each["cases"] or "ended" in each for each in facts)
    return Exit.OK if checked else Exit.USAGE


def _sizes(text: str | None, present: int | None) -> list[int]:
    if text is None:
        return [present or 4]
    try:
        sizes = [int(part) for part in text.split(",")]
    except ValueError:
        raise CommandError(f"-n takes numbers such as 4 or 2,3,8, not {text!r}") from None
    if min(sizes) < 1:
        raise CommandError(f"-n takes numbers from 1 on, not {text!r}")
    if present and sizes != [present]:
        raise CommandError(f"-n {text}, but the launcher started {present} processes: leave out -n")
    return sizes


def _calls(args: argparse.Namespace, sizes: list[int]) -> list[str]:
    if args.timeout <= 0:
        raise CommandError(f"--timeout must be positive, not {args.timeout:g}")
    try:
        calls = chosen(args.collectives, args.algorithm)
        if args.algorithm:
            _require(calls, args.algorithm, sizes)
    except (ValueError, RequirementError) as error:
        raise CommandError(str(error)) from None
    return calls


def _require(calls: list[str], name: str, sizes: list[int]) -> None:
    """Refuse an algorithm that serves none of the sizes."""
    families = dict.fromkeys(CALLS[call] for call in calls)
    named = [a for family in families for a in algorithms_of(family) if a.name == name]
    if not any(set(a.unmet(size)) <= {"commutative"} for a in named for size in sizes):
        named[0].require(sizes[0])


def _in_place(args: argparse.Namespace, calls: list[str], out) -> int:
    from mpi4py import MPI

    from mpicoll.check.ranks import Plan, run_ranks

    check_world(MPI.COMM_WORLD.Get_size())
    directory = Path(args.results) if args.results else None
    plan = Plan(calls, args.algorithm, args.full, args.seed, args.timeout, directory)
    with guard(LONGEST * args.timeout):
        facts = run_ranks(plan, out, opened(args.lines, MPI.COMM_WORLD.Get_rank()))
    code = Exit.FAILED if facts["failed"] else Exit.OK
    if directory:
        return code
    code = code or _nothing([facts])
    if MPI.COMM_WORLD.Get_rank() == 0:
        _write(args, [facts], code)
    return code


def _launch(size: int, args: argparse.Namespace, out) -> tuple[int, dict]:
    """Start `size` ranks; the exit status and what they found, or how they were "ended"."""
    from mpicoll.check.marks import MARK, Bar
    from mpicoll.launch.supervise import run as supervise

    bar = Bar(sys.stderr)

    def on_line(line: str) -> None:
        if not line.startswith(MARK):
            bar.clear()
            print(line, file=out, flush=True)
            return
        title, *numbers = line.removeprefix(MARK).split("\t")
        if title == "stalled":
            raise _Stalled
        bar(title, *map(int, numbers))

    words = [*args.collectives, "--seed", str(args.seed), "--timeout", str(args.timeout)]
    words += ["--algorithm", args.algorithm] if args.algorithm else []
    words += ["--full"] * args.full
    words += ["--lines", os.path.abspath(args.lines)] if args.lines else []
    with tempfile.TemporaryDirectory(prefix="mpicoll-check-", dir=common_directory()) as name:
        directory, started = Path(name), time.monotonic()
        try:
            outcome = supervise(
                size,
                [*PROGRAM, "check", "--results", name, *words],
                timeout=LONGEST * args.timeout,
                env=CROWDED if size >= cores() else {},
                echo=False,
                on_line=on_line,
            )
            code, report = outcome.returncode, outcome.report
            if report:
                report += _grouped("the ranks were at:", "at", directory)
        except _Stalled:
            code = Exit.TIMEOUT
            title = "the check does not move on; all ranks were ended:"
            report = _grouped(title, "stalled", directory)
        bar.clear()
        print(report, end="", file=sys.stderr, flush=True)
        path = directory / "facts.json"
        if path.exists():
            return code, json.loads(path.read_text())
    # A rank's own status says nothing here, such as 139 after a crash.
    code = code if code in set(Exit) - {Exit.OK} else Exit.FAILED
    seconds = time.monotonic() - started
    return code, {"size": size, "cases": 0, "failed": 0, "seconds": seconds, "ended": report}


def _grouped(title: str, what: str, directory: Path) -> str:
    """What the ranks wrote into their files of that name, equal texts together."""
    files = sorted(directory.glob(f"{what}-*"))
    said = {int(file.name.split("-")[1]): file.read_text().rstrip("\0") for file in files}
    lines = [f"mpicoll: {title}" if said else "mpicoll: no case was made"]
    for ranks, text in group(said):
        lines.append(f"  {ranks_text(ranks)}: " + text.replace("\n", "\n    "))
    return "\n".join(lines) + "\n"


def _write(args: argparse.Namespace, facts: list[dict], code: int) -> None:
    if args.json is None:
        return
    text = json.dumps({"ok": code == 0, "status": code, "sizes": facts}, indent=2)
    if args.json == "-":
        print(text)
        return
    try:
        write_text(args.json, text + "\n")
    except OSError as error:
        raise CommandError(f"cannot write {args.json}: {error.strerror}") from None
