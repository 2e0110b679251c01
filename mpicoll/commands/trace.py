"""``mpicoll trace``: what a real run did, step by step, as text and pictures."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

from mpicoll.commands import CommandError, Exit
from mpicoll.commands.check import CROWDED
from mpicoll.commands.run import RECORDS
from mpicoll.commands.show import add_settings, chosen_algorithm
from mpicoll.commands.units import Progress, parse_bytes
from mpicoll.launch.command import cores, started_by_launcher
from mpicoll.launch.supervise import run as supervise
from mpicoll.registry import Algorithm
from mpicoll.trace.compare import comparison
from mpicoll.trace.files import TraceError, read_directory
from mpicoll.trace.merge import merge
from mpicoll.trace.model import Call, Trace
from mpicoll.trace.names import check_dtype, check_op
from mpicoll.trace.outputs import write_comparison, write_outputs
from mpicoll.trace.text import call_text, summary

__all__ = ["configure", "record", "run"]

#: Options that name a file.
FILES = ("html", "picture", "svg", "png", "chrome", "json")

EXAMPLES = """\
Runs one collective on P processes, records every message and every local step on each of them,
and shows what happened. The messages, their bytes and times are those of the run; what each chunk
holds is what the algorithm's plan says of it, and the run is compared with the plan.

A trace of a program, made by `mpicoll run --trace DIR`, is shown by `mpicoll trace DIR`.

examples:
  mpicoll trace allreduce ring -n 4                      every step as text
  mpicoll trace allreduce ring -n 4 --html ring.html     to play in a browser
  mpicoll trace bcast binomial -n 8 --root 2 --chrome trace.json    for ui.perfetto.dev
  mpicoll trace allgather bruck -n 4 --bytes 1M --svg bruck.svg     a space-time diagram
  mpicoll trace allreduce -n 4 --compare ring,reduce_bcast,recursive_doubling
  mpicoll run -n 4 --trace DIR program.py; mpicoll trace DIR; mpicoll trace DIR --call 3
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments and examples."""
    parser.epilog = EXAMPLES
    parser.usage = "mpicoll trace (COLLECTIVE ALGORITHM | COLLECTIVE --compare A,B | DIR) [options]"
    parser.add_argument("words", nargs="+", metavar="COLLECTIVE ALGORITHM", help="or a directory")
    parser.add_argument("-n", dest="size", type=int, metavar="P", help="ranks (default 4)")
    add_settings(parser)
    parser.add_argument(
        "--bytes", default="4k", metavar="M", help="the vector, or all ranks' blocks (default 4k)"
    )
    parser.add_argument("--dtype", default="float64", help="element type (default %(default)s)")
    parser.add_argument("--op", default="SUM", help="SUM, MAX, ... (default %(default)s)")
    parser.add_argument("--compare", metavar="A,B,...", help="several algorithms side by side")
    parser.add_argument("--call", type=int, metavar="K", help="of a directory: one call (from 0)")
    group = parser.add_argument_group("what to show (default: text)")
    group.add_argument(
        "--text",
        nargs="?",
        const="auto",
        choices=["auto", "table", "grid"],
        help="the step table, or a compact grid (default: the one that fits the terminal)",
    )
    for name, what in (
        ("html", "a page to step through, for any browser"),
        ("picture", "what every chunk holds after each step (SVG)"),
        ("svg", "a space-time diagram for papers and slides (needs matplotlib)"),
        ("png", "the same"),
        ("chrome", "trace events, for ui.perfetto.dev and chrome://tracing"),
        ("json", "everything (- = stdout)"),
    ):
        group.add_argument(f"--{name}", metavar="F", help=what)
    parser.add_argument(
        "--timeout", type=float, default=120, metavar="S", help="for the run (default %(default)s)"
    )


def run(args: argparse.Namespace) -> int:
    """Run or read, then show."""
    if started_by_launcher() is not None:
        raise CommandError("trace starts its ranks itself: start it without mpiexec")
    if args.compare:
        return _compare(args, _several(args))
    if len(args.words) == 1 and Path(args.words[0]).is_dir():
        trace = read(Path(args.words[0]))
    elif len(args.words) == 2:
        trace = record(args, the_algorithm(args, args.words[1]))
    elif len(args.words) == 1:
        raise CommandError(
            f"{args.words[0]!r} is no directory; for a collective name its algorithm too, or "
            "several by --compare"
        )
    else:
        raise CommandError("expected COLLECTIVE ALGORITHM, or a directory")
    return show(args, trace)


def the_algorithm(args: argparse.Namespace, name: str) -> tuple[Algorithm, dict[str, object]]:
    """The algorithm that the arguments name, with its parameters."""
    args.size = 4 if args.size is None else args.size
    return chosen_algorithm(args, args.words[0], name)


def _several(args: argparse.Namespace) -> list[Trace]:
    if len(args.words) != 1:
        raise CommandError("--compare takes the algorithms, so name the collective only")
    names = [name for name in args.compare.split(",") if name]
    if len(names) < 2:
        raise CommandError("--compare takes two algorithms or more, such as ring,reduce_bcast")
    chosen = [the_algorithm(args, name) for name in names]
    return [record(args, algorithm) for algorithm in chosen]


def _compare(args: argparse.Namespace, traces: list[Trace]) -> int:
    """The table, and the figures that are asked for."""
    if args.html or args.picture or args.chrome:
        raise CommandError("--compare has --text, --svg, --png and --json only")
    calls = [trace.calls[0] for trace in traces]
    if args.text or not (args.json or args.svg or args.png):
        print(
            f"{calls[0].collective} of {calls[0].nbytes} bytes on {calls[0].size} ranks, traced\n"
        )
        print(comparison(calls))
        _crowded(calls[0].size)
    write_comparison(args, calls)
    return _verdict([problem for trace in traces for problem in trace.problems])


def record(args: argparse.Namespace, chosen: tuple[Algorithm, dict[str, object]]) -> Trace:
    """Run one call on ranks of its own, and merge what they recorded."""
    algorithm, parameters = chosen
    with tempfile.TemporaryDirectory(prefix="mpicoll-trace-") as directory:
        asked = {
            "collective": algorithm.collective,
            "algorithm": algorithm.name,
            "parameters": parameters,
            "nbytes": parse_bytes(args.bytes),
            "dtype": check_dtype(args.dtype),
            "op": check_op(args.op),
            "root": args.root,
            "records": RECORDS,
            "directory": directory,
        }
        argv = ["-m", "mpicoll.trace.program", json.dumps(asked)]
        crowded = CROWDED if args.size >= cores() else {}
        outcome = supervise(args.size, argv, timeout=args.timeout, env=crowded, echo=False)
        if outcome.timed_out:
            raise CommandError(outcome.report.rstrip(), Exit.TIMEOUT)
        if outcome.returncode:
            text = outcome.report.rstrip() or outcome.output.rstrip()
            raise CommandError(f"the traced run failed:\n{text}", Exit.FAILED)
        return read(Path(directory))


def read(directory: Path) -> Trace:
    """The merged trace of a directory."""
    progress = Progress("trace")
    try:
        return merge(read_directory(directory), progress)
    except TraceError as error:
        raise CommandError(str(error)) from None
    finally:
        progress.clear()


def show(args: argparse.Namespace, trace: Trace) -> int:
    """Text and files, as asked for."""
    call = _the_call(args, trace)
    quiet = any(getattr(args, name) for name in FILES)
    if args.text or not quiet:
        style = args.text if args.text in ("table", "grid") else None
        text = summary(trace) if call is None else _text(call, style)
        print(text)
        _crowded(trace.size)
    write_outputs(args, trace, call)
    for path in (getattr(args, name) for name in FILES):
        if path and str(path) != "-":
            print(f"mpicoll: wrote {path}", file=sys.stderr)
    return _verdict(trace.problems)


def _crowded(size: int) -> None:
    if size > cores():
        print(f"times: {size} ranks on {cores()} cores, so ranks wait for processors too")


def _verdict(problems: list[str]) -> int:
    if not problems:
        return Exit.OK
    print(f"mpicoll: not as planned: {problems[0]}", file=sys.stderr)
    return Exit.FAILED


def _the_call(args: argparse.Namespace, trace: Trace) -> Call | None:
    if args.call is None:
        return trace.calls[0] if len(trace.calls) == 1 else None
    if not 0 <= args.call < len(trace.calls):
        raise CommandError(f"--call takes 0 to {len(trace.calls) - 1}, not {args.call}")
    call = trace.calls[args.call]
    if not call.whole:
        raise CommandError(f"call {args.call} is not whole: records of it have been dropped")
    return call


def _text(call: Call, style: str | None) -> str:
    columns = shutil.get_terminal_size().columns
    text = call_text(call, style or "table")
    # Elsewhere than on a terminal there is no width to fit.
    if (
        style is None
        and sys.stdout.isatty()
        and call.contents
        and max(map(len, text.splitlines())) > columns
    ):
        compact = call_text(call, "grid")
        if max(map(len, compact.splitlines())) <= columns:
            return compact
    return text
