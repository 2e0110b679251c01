"""``mpicoll run``: an unmodified mpi4py program on mpicoll's collectives."""

from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys

from mpicoll.commands import CommandError, Exit
from mpicoll.launch.command import started_by_launcher
from mpicoll.launch.supervise import run as supervise
from mpicoll.running.program import run_here

__all__ = ["configure", "run"]

EXAMPLES = """\
MPI.COMM_WORLD, MPI.COMM_SELF, all communicators that are made from them, and the classes of these
are mpicoll's while the program runs. MPICOLL_ALLREDUCE=ring in the environment, and likewise for
every collective, names the algorithm to use.

examples:
  mpicoll run -n 4 program.py --steps 10     on 4 ranks; one that fails ends all
  mpicoll run -n 4 --timeout 60 program.py   after 60 s all end, and say where they were
  mpicoll run -n 2 -m package.module         a module, as with python -m
  mpirun -n 4 python -m mpicoll run program.py   where another launcher starts the ranks
  mpicoll run -n 4 --native program.py       the same program on MPI's own collectives
  mpicoll run -n 4 --report program.py       and which collectives ran, by which algorithms

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
    if args.n is None:
        if args.timeout is not None:
            raise CommandError("--timeout needs -n, which starts the ranks that it would end")
        return run_here(program, args.native, args.report)
    if started_by_launcher() is not None:
        raise CommandError("-n starts ranks, but this process is one of a job already")
    if args.n < 1:
        raise CommandError(f"the number of ranks must be at least 1, not {args.n}")
    timeout = math.inf if args.timeout is None else args.timeout
    if not timeout > 0:
        raise CommandError(f"--timeout must be a number of seconds above 0, not {args.timeout:g}")
    options = ["--native"] * args.native + ["--report"] * args.report
    argv = ["-m", "mpicoll", "run", *options, *program]
    # A terminal belongs to this process's session, and the job has one of its own.
    stdin = subprocess.DEVNULL if sys.stdin is None or sys.stdin.isatty() else None
    outcome = supervise(args.n, argv, timeout=timeout, all_output=True, stdin=stdin)
    return Exit.TIMEOUT if outcome.timed_out else outcome.returncode
