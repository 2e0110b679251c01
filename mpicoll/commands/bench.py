"""``mpicoll bench``: how fast collectives are, against native MPI, gloo and the floor."""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

from mpicoll.bench import plot
from mpicoll.bench.busy import busy_cores
from mpicoll.bench.options import DTYPES, OPS, Options, Task
from mpicoll.bench.result import write_csv, write_json
from mpicoll.check.marks import MARK
from mpicoll.commands import CommandError, Exit
from mpicoll.commands.bench_request import check
from mpicoll.commands.units import opened
from mpicoll.launch.child import guard
from mpicoll.launch.command import check_world, started_by_launcher
from mpicoll.launch.place import common_directory

__all__ = ["configure", "launch", "run"]

#: What rank 0's lines are, for the process that started it; follows MARK.
TABLE, PROGRESS = "t ", "p "

EXAMPLES = """\
Each WHAT is a collective (allreduce, bcast, ...) or a group:
  collectives   allreduce reduce_scatter reduce bcast allgather alltoall gather scatter
  pingpong      messages between two ranks; fits alpha and beta, for `mpicoll simulate`
  overlap       what of a non-blocking collective computation hides; overlap:bcast for another one
  persistent    persistent forms against blocking ones; persistent:alltoall likewise
  startup       imports, planning, binding, the first call and later ones

All candidates have their turn in every iteration, after a barrier, in an order that changes; the
time of an iteration is that of its slowest rank. Results are compared with native MPI's. The floor
is the algorithm's own messages and local reductions, called directly. A size is that of the vector,
or of the blocks of all ranks together. Tables are those of the OSU micro-benchmarks.

examples:
  mpicoll bench allreduce -n 2 --algorithm all --sizes 8:64M:8
  mpicoll bench allreduce --algorithm auto,segmented_ring:segments=8 --plot allreduce.svg
  mpicoll bench collectives -n 2 --json all.json --csv all.csv
  mpicoll bench bcast --against native,gloo
  mpicoll bench pingpong --network this-machine.json
  mpiexec -n 4 mpicoll bench allgather

Exit status 1: a result was wrong. docs/benchmarking.md says how to read it all.
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments and examples."""
    parser.epilog = EXAMPLES
    add = parser.add_argument
    add("what", nargs="+", metavar="WHAT", help="a collective or a group, see below")
    add("-n", type=int, metavar="P", help="number of ranks (default: as many as cores, 2 to 8)")
    add("--sizes", metavar="SIZES", help="8:64M (doubling), 8:64M:4 (times 4), or 8,1K,1M")
    add("--dtype", default="float32", metavar="NAME", help=f"of {', '.join(DTYPES)}")
    add("--op", default="SUM", metavar="NAME", help=f"of {', '.join(OPS)}")
    add("--root", type=int, default=0, metavar="R", help="the root, where there is one (default 0)")
    add(
        "--algorithm",
        default="auto",
        metavar="NAMES",
        help="auto, all, or names with commas; NAME:radix=4 sets a parameter (default: auto)",
    )
    add(
        "--against",
        default="native",
        metavar="NAMES",
        help="native, gloo (needs torch), both with a comma, or none (default: native)",
    )
    add("--no-floor", action="store_true", help="leave the floors out")
    add(
        "--elsewhere",
        action="store_true",
        help="overlap: with a computation that leaves the core free, as one on an accelerator does",
    )
    add("--iterations", type=int, default=1000, metavar="N", help="at most (default: 1000)")
    add(
        "--seconds-per-size",
        type=float,
        default=1.0,
        metavar="S",
        help="measure for S seconds (default: 1), but 5 iterations at least",
    )
    add("--json", metavar="FILE", help="write rows, means and environment to FILE")
    add("--lines", metavar="FILE", help="add each row to FILE, a line of JSON, when it is there")
    add("--csv", metavar="FILE", help="write the rows to FILE")
    add("--plot", metavar="FILE", help="draw a plot: .png, .svg or .pdf (needs matplotlib)")
    add("--network", metavar="FILE", help="with pingpong: write a network for `mpicoll simulate`")
    add("--timeout", type=float, default=7200, metavar="S", help="end after S seconds (7200)")
    add("--results", metavar="DIR", help=argparse.SUPPRESS)
    add("--busy", type=float, help=argparse.SUPPRESS)


def run(args: argparse.Namespace) -> int:
    """Measure in place if a launcher started this process, otherwise start ranks."""
    placement = started_by_launcher()
    in_place = args.results is not None or (placement is not None and placement.size > 1)
    present = placement.size if in_place and placement else None
    try:
        ranks, options, todo = check(args, present)
    except CommandError:
        if in_place and placement and placement.rank:
            return Exit.USAGE  # rank 0 says why
        raise
    if in_place:
        return _in_place(args, todo, options)
    if args.lines:
        opened(args.lines, 0).close()
    code, facts = launch(args, ranks, partial(print, flush=True))
    if facts is not None:
        _deliver(args, facts)
    return code


def _in_place(args: argparse.Namespace, todo: list[Task], options: Options) -> int:
    from mpi4py import MPI

    from mpicoll.bench.session import run_ranks

    check_world(MPI.COMM_WORLD.Get_size())
    watched = args.results is not None
    show, progress = (partial(print, MARK + kind, sep="", flush=True) for kind in (TABLE, PROGRESS))
    if not watched:
        show, progress = partial(print, flush=True), _report
    with guard(args.timeout):
        keep = opened(args.lines, MPI.COMM_WORLD.Get_rank())
        facts = run_ranks(todo, options, args.busy, show, progress, keep)
    if MPI.COMM_WORLD.Get_rank() == 0:
        if watched:
            (Path(args.results) / "facts.json").write_text(json.dumps(facts))
        else:
            _deliver(args, facts)
    return Exit.OK if facts["ok"] else Exit.FAILED


def _report(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def launch(
    args: argparse.Namespace, ranks: int, show: Callable[[str], object]
) -> tuple[int, dict | None]:
    """Start `ranks` ranks with the same arguments: the exit status, and what they found.

    `show` gets the lines of the tables.
    """
    from mpicoll.launch.supervise import run as supervise

    def on_line(line: str) -> None:
        # What a library says for itself must not get into the tables.
        if line.startswith(MARK + TABLE):
            show(line.removeprefix(MARK + TABLE))
        elif line:
            _report(line.removeprefix(MARK + PROGRESS))

    with tempfile.TemporaryDirectory(prefix="mpicoll-bench-", dir=common_directory()) as name:
        words = ["--results", name]
        busy = busy_cores()
        words += [] if busy is None else ["--busy", str(busy)]
        for option in ("sizes", "dtype", "op", "root", "algorithm", "against", "iterations"):
            value = getattr(args, option)
            words += [] if value is None else [f"--{option}={value}"]
        words.append(f"--seconds-per-size={args.seconds_per_size}")
        words += [f"--timeout={args.timeout}", *["--no-floor"] * args.no_floor]
        words += ["--elsewhere"] * args.elsewhere
        words += [f"--lines={os.path.abspath(args.lines)}"] if args.lines else []
        argv = ["-m", "mpicoll", "bench", *args.what, *words]
        outcome = supervise(ranks, argv, timeout=args.timeout, echo=False, on_line=on_line)
        if outcome.report:
            print(outcome.report, end="", file=sys.stderr, flush=True)
        facts = Path(name) / "facts.json"
        found = json.loads(facts.read_text()) if facts.exists() else None
    return (Exit.TIMEOUT if outcome.timed_out else outcome.returncode), found


def _deliver(args: argparse.Namespace, facts: dict) -> None:
    """Write the files that were asked for."""
    written = (
        (args.json, lambda path: write_json(path, facts)),
        (args.csv, lambda path: write_csv(path, facts["rows"])),
        (args.network, lambda path: write_json(path, facts["network"])),
        (args.plot, lambda path: plot.draw(path, facts["rows"], facts["environment"])),
    )
    for path, write in written:
        if path is None:
            continue
        try:
            write(path)
        except OSError as error:
            raise CommandError(f"cannot write {path}: {error.strerror}") from None
        except ValueError as error:
            raise CommandError(str(error)) from None
        _report(f"wrote {path}")
