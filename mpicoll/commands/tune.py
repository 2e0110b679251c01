"""``mpicoll tune``: measure all algorithms here, and write down which one is to be taken when."""

from __future__ import annotations

import argparse
import shlex
import sys
from pathlib import Path

from mpicoll.bench.options import EIGHT
from mpicoll.bench.result import FORMAT, write_json
from mpicoll.bench.sizes import size_text
from mpicoll.bench.tuning import table_from
from mpicoll.commands import CommandError, Exit, bench
from mpicoll.commands.bench_request import check
from mpicoll.files import FileError, read_json
from mpicoll.launch.command import cores, started_by_launcher
from mpicoll.registry import collectives

__all__ = ["configure", "run"]

EXAMPLES = """\
Measures every algorithm that serves so many ranks, in turn within one run, and writes a table:
up to which size which algorithm is to be taken. A change of algorithm must be worth 5 %.
Programs use the table if MPICOLL_TUNING names it, or by mpicoll.tuning("table.json"), in calls with
so many ranks, equal blocks and operations that commute; other calls follow the built-in rules.
`mpicoll why` says what a call gets.

examples:
  mpicoll tune -n 2,4 -o table.json               eight collectives, on 2, then on 4 ranks
  mpicoll tune allreduce -n 4 -o table.json --sizes 8:64M:2
  MPICOLL_TUNING=table.json mpicoll bench allreduce -n 4

where another launcher starts the ranks, measure first:
  srun -n 64 mpicoll bench collectives --algorithm all --no-floor --json here.json
  mpicoll tune --from here.json -o table.json
"""

#: A row of a benchmark has about 800 bytes.
MOST_BYTES = 256 << 20


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments and examples."""
    parser.epilog = EXAMPLES
    add = parser.add_argument
    add("collectives", nargs="*", metavar="COLLECTIVE", help=f"default: {' '.join(EIGHT)}")
    add("-o", dest="out", required=True, metavar="FILE", help="write the table to FILE")
    add("-n", metavar="P[,P...]", help="numbers of ranks (default: as many as cores, at least 2)")
    add("--sizes", default="8:64M:4", metavar="SIZES", help="see bench (default: 8:64M:4)")
    add("--dtype", default="float32", metavar="NAME", help="default: float32")
    add("--op", default="SUM", metavar="NAME", help="default: SUM")
    add(
        "--seconds-per-size",
        type=float,
        default=2.0,
        metavar="S",
        help="for all algorithms together (default: 2)",
    )
    add("--timeout", type=float, default=7200, metavar="S", help="for each P (default: 7200)")
    add(
        "--from",
        dest="sources",
        nargs="+",
        default=[],
        metavar="FILE",
        help="measure nothing, take the JSON files of `mpicoll bench --algorithm all`",
    )


def run(args: argparse.Namespace) -> int:
    """Measure, and write the table."""
    path = Path(args.out)
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise CommandError(f"cannot write {args.out}: no such directory")
    if args.sources and (args.n or args.collectives):
        raise CommandError("--from measures nothing: leave out -n and collectives")
    results = [_read(name) for name in args.sources] or _measure(args)
    table = table_from(results, shlex.join(["mpicoll", *sys.argv[1:]]))
    if not table["tables"]:
        raise CommandError("there are no times of named algorithms: bench with --algorithm all")
    try:
        write_json(args.out, table)
    except OSError as error:
        raise CommandError(f"cannot write {args.out}: {error.strerror}") from None
    _print(table)
    return Exit.OK


def _measure(args: argparse.Namespace) -> list[dict]:
    placement = started_by_launcher()
    if placement is not None and placement.size > 1:
        raise CommandError("tune starts the ranks itself; with another launcher see --from in -h")
    try:
        sizes = [int(word) for word in (args.n or str(max(2, cores()))).split(",")]
    except ValueError:
        raise CommandError(f"-n takes numbers such as 4 or 2,4, not {args.n!r}") from None
    for name in args.collectives:
        if name not in collectives():
            expected = ", ".join(collectives())
            raise CommandError(f"unknown collective {name!r}: expected one of {expected}")
    parser = argparse.ArgumentParser()
    bench.configure(parser)
    words = [*(args.collectives or ["collectives"]), "--algorithm=all", "--no-floor"]
    for option in ("sizes", "dtype", "op", "seconds_per_size", "timeout"):
        words.append(f"--{option.replace('_', '-')}={getattr(args, option)}")
    results = []
    for ranks in sizes:
        wanted = parser.parse_args([*words, f"-n={ranks}"])
        check(wanted)
        code, facts = bench.launch(wanted, ranks, _show)
        if code or facts is None:
            raise CommandError(f"the measurement on {ranks} ranks failed", code or Exit.FAILED)
        results.append(facts)
    return results


def _show(line: str) -> None:
    """Of the benchmark's output only where it ran, and the warnings."""
    if line.startswith(("# MPI:", "# ranks:", "# BUSY", "# WRONG")):
        print(line, flush=True)


def _read(name: str) -> dict:
    try:
        facts = read_json(name, "result of mpicoll bench", MOST_BYTES)
    except FileError as error:
        raise CommandError(str(error)) from None
    if not isinstance(facts, dict) or facts.get("format") != FORMAT or "rows" not in facts:
        raise CommandError(f"{name} is no result of mpicoll bench --json")
    return facts


def _print(table: dict) -> None:
    print("\nup to which size which algorithm is to be taken:")
    for collective, by_ranks in table["tables"].items():
        for ranks, steps in by_ranks.items():
            gain = table["over_rules"].get(collective, {}).get(ranks)
            told = f" ({gain:.2f} of the built-in choice's time)" if gain else ""
            print(f"{collective} on {ranks} ranks{told}")
            for step in steps:
                bound = "longer" if step["up_to"] is None else size_text(step["up_to"])
                print(f"  {bound:>10}  {step['algorithm']}")
