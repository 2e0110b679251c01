"""``mpicoll bench``: how fast collectives are, against native MPI, gloo and the floor."""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import sys
import tempfile
from functools import partial
from pathlib import Path

from mpicoll.bench import plot
from mpicoll.bench.busy import busy_cores
from mpicoll.bench.options import DTYPES, OPS, Options, Task, check_operation, tasks
from mpicoll.bench.result import write_csv, write_json
from mpicoll.bench.sizes import parse_sizes
from mpicoll.check.marks import MARK
from mpicoll.commands import CommandError, Exit
from mpicoll.launch.child import guard
from mpicoll.launch.command import check_world, cores, started_by_launcher

__all__ = ["configure", "run"]

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
  mpicoll bench allreduce --algorithm auto,ring_segmented:segments=8 --plot allreduce.svg
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
    add("--iterations", type=int, default=1000, metavar="N", help="at most (default: 1000)")
    add(
        "--seconds-per-size",
        type=float,
        default=1.0,
        metavar="S",
        help="measure for S seconds (default: 1), but 5 iterations at least",
    )
    add("--json", metavar="FILE", help="write rows, means and environment to FILE")
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
        ranks = _ranks(args.n, present)
        options = _options(args, ranks)
        todo = _tasks(args, ranks)
        _files(args)
    except CommandError:
        if in_place and placement and placement.rank:
            return Exit.USAGE  # rank 0 says why
        raise
    if in_place:
        return _in_place(args, todo, options)
    return _launch(args, ranks)


def _ranks(wished: int | None, present: int | None) -> int:
    if wished is None:
        return present or min(max(2, cores()), 8)
    if wished < 1:
        raise CommandError(f"-n must be at least 1, not {wished}")
    if present and wished != present:
        raise CommandError(
            f"-n {wished}, but the launcher started {present} processes: leave out -n"
        )
    return wished


def _options(args: argparse.Namespace, ranks: int) -> Options:
    against = tuple(args.against.split(",")) if args.against != "none" else ()
    for name in against:
        if name not in ("native", "gloo"):
            raise CommandError(f"--against takes native, gloo or none, not {name!r}")
    if "gloo" in against and importlib.util.find_spec("torch") is None:
        raise CommandError(
            "--against gloo needs torch: pip install 'mpicoll[torch]'", Exit.ENVIRONMENT
        )
    if not 0 <= args.root < ranks:
        raise CommandError(f"--root must be in 0..{ranks - 1}, not {args.root}")
    if args.iterations < 1:
        raise CommandError(f"--iterations must be at least 1, not {args.iterations}")
    for name in ("seconds_per_size", "timeout"):
        value = getattr(args, name)
        if not (value > 0 and math.isfinite(value)):
            option = name.replace("_", "-")
            raise CommandError(f"--{option} must be a number of seconds above 0, not {value:g}")
    try:
        check_operation(args.op, args.dtype)
    except ValueError as error:
        raise CommandError(str(error)) from None
    return Options(args.dtype, args.op, args.root, against, args.iterations, args.seconds_per_size)


def _tasks(args: argparse.Namespace, ranks: int) -> list[Task]:
    try:
        sizes = tuple(parse_sizes(args.sizes)) if args.sizes else None
        todo = tasks(args.what, sizes, args.algorithm, ranks, args.root)
    except (ValueError, TypeError) as error:
        raise CommandError(str(error)) from None
    if args.network and not any(task.group == "pingpong" for task in todo):
        raise CommandError(f"--network is what pingpong measures, {' '.join(args.what)} does not")
    if ranks < 2 and any(task.group == "pingpong" for task in todo):
        raise CommandError("pingpong needs two ranks: -n 2")
    return todo


def _files(args: argparse.Namespace) -> None:
    """Find out now, not after the measurement, that something cannot be written."""
    for option in ("json", "csv", "plot", "network"):
        name = getattr(args, option)
        if name is None:
            continue
        path = Path(name)
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise CommandError(f"--{option}: cannot write {name}: no such directory")
        if option == "plot" and path.suffix not in plot.FORMATS:
            raise CommandError(f"--plot takes a name that ends in {', '.join(plot.FORMATS)}")
    if args.plot and args.results is None and not plot.available():
        raise CommandError("--plot needs matplotlib: pip install 'mpicoll[plot]'", Exit.ENVIRONMENT)


def _in_place(args: argparse.Namespace, todo: list[Task], options: Options) -> int:
    from mpi4py import MPI

    from mpicoll.bench.session import run_ranks

    check_world(MPI.COMM_WORLD.Get_size())
    watched = args.results is not None
    show, progress = (partial(print, MARK + kind, sep="", flush=True) for kind in (TABLE, PROGRESS))
    if not watched:
        show, progress = partial(print, flush=True), _report
    with guard(args.timeout):
        facts = run_ranks(todo, options, args.busy, show, progress)
    if MPI.COMM_WORLD.Get_rank() == 0:
        if watched:
            (Path(args.results) / "facts.json").write_text(json.dumps(facts))
        else:
            _deliver(args, facts)
    return Exit.OK if facts["ok"] else Exit.FAILED


def _report(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _launch(args: argparse.Namespace, ranks: int) -> int:
    """Start `ranks` ranks with the same arguments, and write what they found."""
    from mpicoll.launch.supervise import run as supervise

    def on_line(line: str) -> None:
        # What a library says for itself must not get into the tables.
        if line.startswith(MARK + TABLE):
            print(line.removeprefix(MARK + TABLE), flush=True)
        elif line:
            _report(line.removeprefix(MARK + PROGRESS))

    with tempfile.TemporaryDirectory(prefix="mpicoll-bench-") as name:
        words = ["--results", name]
        busy = busy_cores()
        words += [] if busy is None else ["--busy", str(busy)]
        for option in ("sizes", "dtype", "op", "root", "algorithm", "against", "iterations"):
            value = getattr(args, option)
            words += [] if value is None else [f"--{option}={value}"]
        words.append(f"--seconds-per-size={args.seconds_per_size}")
        words.append(f"--timeout={args.timeout}")
        argv = ["-m", "mpicoll", "bench", *args.what, *words]
        outcome = supervise(ranks, argv, timeout=args.timeout, echo=False, on_line=on_line)
        if outcome.report:
            print(outcome.report, end="", file=sys.stderr, flush=True)
        if outcome.timed_out:
            return Exit.TIMEOUT
        facts = Path(name) / "facts.json"
        if facts.exists():
            _deliver(args, json.loads(facts.read_text()))
    return outcome.returncode


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
