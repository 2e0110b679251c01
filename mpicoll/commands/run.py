"""``mpicoll run``: an unmodified mpi4py program on mpicoll's collectives."""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
from pathlib import Path

from mpicoll.commands import CommandError, Exit
from mpicoll.launch.command import started_by_launcher
from mpicoll.launch.supervise import run as supervise
from mpicoll.running.program import Tracing, run_here

__all__ = ["configure", "run"]

#: Records that a rank keeps if it is not told otherwise: 12 MiB of memory.
RECORDS = 1 << 18

EXAMPLES = """\
MPI.COMM_WORLD, MPI.COMM_SELF, all communicators that are made from them, and the classes of these
are mpicoll's while the program runs. MPICOLL_ALLREDUCE=ring in the environment, and likewise for
every collective, names the algorithm to use.

examples:
  mpicoll run -n 4 program.py --steps 10     on 4 ranks; one that fails ends all
  mpicoll run -n 4 --timeout 60 program.py   after 60 s all end, and say who waited for what
  mpicoll run -n 2 -m package.module         a module, as with python -m
  mpirun -n 4 python -m mpicoll run program.py   where another launcher starts the ranks
  mpicoll run -n 4 --native program.py       the same program on MPI's own collectives
  mpicoll run -n 4 --report program.py       and which collectives ran, by which algorithms
  mpicoll run -n 4 --trace DIR program.py    and every message, for `mpicoll trace DIR`
  mpicoll run -n 4 --check program.py        compare what ranks call before each collective

The exit status is the program's; 124 if the deadline passed.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments and examples."""
    parser.epilog = EXAMPLES
    parser.usage = "mpicoll run [options] (program.py | -m module) [arguments]"
    parser.add_argument("-n", type=int, metavar="P", help="start P ranks (default: run in place)")
    parser.add_argument(
        "--timeout", type=float, metavar="S", help="with -n: end the job after S seconds"
    )
    parser.add_argument("--native", action="store_true", help="leave MPI's own collectives on")
    parser.add_argument(
        "--report", action="store_true", help="say at the end which collectives ran (on stderr)"
    )
    parser.add_argument(
        "--trace", metavar="DIR", help="record every message; see `mpicoll trace --help`"
    )
    parser.add_argument(
        "--trace-records",
        type=int,
        default=RECORDS,
        metavar="N",
        help="records that each rank keeps, the newest (default %(default)s, 48 bytes each)",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="before each collective compare name, root, count, dtype, operation over all ranks; "
        "what differs is an error on all of them (as MPICOLL_CHECK=1)",
    )
    parser.add_argument(
        "--flight",
        metavar="DIR",
        help="keep the last collectives of every rank in DIR, for mpicoll autopsy "
        "(as MPICOLL_FLIGHT=DIR)",
    )
    rest = argparse.REMAINDER
    parser.add_argument("-m", dest="module", nargs=rest, metavar="module", help="run a module")
    parser.add_argument("program", nargs=rest, help="the program and its arguments")


def run(args: argparse.Namespace) -> int:
    """Run the program, on ranks started for it or in this process; its exit status."""
    program = ["-m", *args.module] if args.module else args.program
    if not program:
        raise CommandError("which program? mpicoll run [options] (program.py | -m module) ...")
    if not args.module and not os.path.exists(program[0]):
        raise CommandError(f"no such program: {program[0]}")
    if args.native and args.report:
        raise CommandError("--report is about mpicoll's collectives, and --native leaves them off")
    if args.native and args.check:
        raise CommandError("--check is about mpicoll's collectives, and --native leaves them off")
    tracing = _tracing(args)
    timeout = _timeout(args)
    wished = {"MPICOLL_CHECK": "1"} if args.check else {}
    if args.flight is not None:
        _make_directory(args.flight)
        wished["MPICOLL_FLIGHT"] = os.path.abspath(args.flight)
    if args.n is None:
        if args.timeout is not None:
            raise CommandError(
                "--timeout needs -n, which starts the ranks that it would end; "
                "elsewhere set MPICOLL_TIMEOUT"
            )
        os.environ.update(wished)
        return run_here(program, args.native, args.report, tracing)
    if started_by_launcher() is not None:
        raise CommandError("-n starts ranks, but this process is one of a job already")
    if args.n < 1:
        raise CommandError(f"the number of ranks must be at least 1, not {args.n}")
    options = ["--native"] * args.native + ["--report"] * args.report
    if tracing:
        _prepare(tracing.directory)
        options += ["--trace", str(tracing.directory), "--trace-records", str(tracing.records)]
    argv = ["-m", "mpicoll", "run", *options, *program]
    # A terminal belongs to this process's session, and the job has one of its own.
    stdin = subprocess.DEVNULL if sys.stdin is None or sys.stdin.isatty() else None
    if math.isfinite(timeout):
        wished["MPICOLL_WATCH"] = "1"
    outcome = supervise(args.n, argv, timeout=timeout, env=wished, all_output=True, stdin=stdin)
    if tracing:
        _tell(tracing.directory)
    return Exit.TIMEOUT if outcome.timed_out else outcome.returncode


def _tracing(args: argparse.Namespace) -> Tracing | None:
    if args.trace is None:
        return None
    if args.native:
        raise CommandError("--trace is about mpicoll's collectives, and --native leaves them off")
    if args.trace_records < 1:
        raise CommandError(f"--trace-records must be at least 1, not {args.trace_records}")
    return Tracing(Path(args.trace).absolute(), args.trace_records)


def _prepare(directory: Path) -> None:
    """Make the directory, and take away an older trace."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        for path in directory.glob("rank-*.jsonl"):
            path.unlink()
    except OSError as error:
        raise CommandError(f"cannot write into {directory}: {error.strerror}") from None


def _tell(directory: Path) -> None:
    """Say on stderr what has been recorded, and how to see it."""
    from mpicoll.commands.trace import read
    from mpicoll.trace.text import summary

    sys.stdout.flush()
    try:
        text = summary(read(directory))
    except CommandError as error:
        print(f"mpicoll: no trace: {error.message}", file=sys.stderr)
        return
    print(f"\nmpicoll: trace in {directory}: {text}", file=sys.stderr)
    print(f"look at it with `mpicoll trace {directory} --html trace.html`", file=sys.stderr)


def _timeout(args: argparse.Namespace) -> float:
    """The seconds that were asked for, by the option or the variable."""
    name, given = "--timeout", args.timeout
    if given is None:
        name, given = "MPICOLL_TIMEOUT", os.environ.get("MPICOLL_TIMEOUT") or "inf"
    try:
        seconds = float(given)
    except ValueError:
        seconds = 0.0
    if not seconds > 0:
        raise CommandError(f"{name} must be a number of seconds above 0, not {given}")
    return seconds


def _make_directory(path: str) -> None:
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise CommandError(f"cannot make the directory {path}: {error.strerror}") from None
