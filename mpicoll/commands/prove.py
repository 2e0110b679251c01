"""``mpicoll prove``: all plans of an algorithm run together on names instead of numbers."""

from __future__ import annotations

import argparse
import gc
import sys

from mpicoll.analysis.sweep import Summary, sweep
from mpicoll.analysis.symbolic import Proof
from mpicoll.commands import CommandError, Exit
from mpicoll.commands.units import Progress, write_json
from mpicoll.registry import Algorithm, algorithms_of, collectives, find

__all__ = ["chosen_algorithms", "configure", "parse_sizes", "run"]

EXAMPLES = """\
Proves without MPI, for every number of ranks, root, parameter and mode: the result and its operand
order, no deadlock under rendezvous semantics, matching messages, no undefined or aliased memory,
and that the declared rounds, volume, order and requirements are exactly what is counted.

examples:
  mpicoll prove                                every algorithm, 1 to 33 ranks
  mpicoll prove allreduce ring --sizes 1-64    one algorithm, more ranks
  mpicoll prove bcast --sizes 2,3,16-20        the algorithms of one collective
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments and examples."""
    parser.epilog = EXAMPLES
    parser.add_argument("collective", nargs="?", metavar="COLLECTIVE", help="default: all")
    parser.add_argument("algorithm", nargs="?", metavar="ALGORITHM", help="default: all")
    parser.add_argument(
        "--sizes",
        default="1-33",
        metavar="SIZES",
        help="numbers of ranks, such as 1-33 or 2,3,16-20 (default: %(default)s)",
    )
    parser.add_argument("--json", metavar="FILE", help="write the results to FILE (- = stdout)")


def parse_sizes(text: str) -> list[int]:
    """Numbers and ranges of numbers, separated by commas.

    >>> parse_sizes("2,5-7")
    [2, 5, 6, 7]
    """
    sizes: set[int] = set()
    try:
        for part in text.split(","):
            first, dash, last = part.partition("-")
            sizes.update(range(int(first), int(last if dash else first) + 1))
    except ValueError:
        raise CommandError(f"expected sizes such as 1-33 or 2,3,16-20, not {text!r}") from None
    if not sizes or min(sizes) < 1:
        raise CommandError(f"sizes must be numbers from 1 on, not {text!r}")
    return sorted(sizes)


def chosen_algorithms(collective: str | None, name: str | None) -> list[Algorithm]:
    """The algorithms that the command line names."""
    try:
        if name:
            return [find(collective, name)]
        chosen = [collective] if collective else collectives()
        return [algorithm for each in chosen for algorithm in algorithms_of(each)]
    except ValueError as error:
        raise CommandError(str(error)) from None


def run(args: argparse.Namespace) -> int:
    """Prove what the arguments name, print a line for each, explain the first failures."""
    sizes = parse_sizes(args.sizes)
    algorithms = chosen_algorithms(args.collective, args.algorithm)
    out = sys.stderr if args.json == "-" else sys.stdout
    width = max(len(str(algorithm)) for algorithm in algorithms)
    print(f"{'algorithm':<{width}}  {'proofs':>7} {'messages':>10} {'seconds':>8}", file=out)
    # Millions of small tuples and no cycles among them: the collector would only look at them.
    gc.disable()
    try:
        summaries = [_line(algorithm, sizes, width, out) for algorithm in algorithms]
    finally:
        gc.enable()
    failed = [summary for summary in summaries if not summary.ok]
    for summary in failed[:3]:
        print(f"\n{summary.explain()}", file=out)
    proofs = sum(summary.proofs for summary in summaries)
    messages = sum(summary.messages for summary in summaries)
    seconds = sum(summary.seconds for summary in summaries)
    verdict = f"{len(failed)} FAILED" if failed else "all proved" if proofs else "nothing proved"
    print(
        f"\n{len(summaries)} algorithms, {proofs} proofs, {messages} messages checked "
        f"in {seconds:.1f} s: {verdict}",
        file=out,
    )
    if args.json:
        _write(args.json, sizes, summaries)
    if not proofs:
        raise CommandError(f"nothing was proved: no algorithm serves the sizes {args.sizes}")
    return Exit.FAILED if failed else Exit.OK


def _line(algorithm: Algorithm, sizes: list[int], width: int, out) -> Summary:
    progress = Progress(str(algorithm))

    def tick(summary: Summary, proof: Proof) -> None:
        progress(f"P = {proof.size}, {summary.proofs} proofs", 0, 0)

    summary = sweep(algorithm, sizes, tick)
    progress.clear()
    if not summary.proofs:
        verdict = f"not for these sizes: requires {', '.join(algorithm.requires)}"
    elif summary.ok:
        verdict = "ok"
    else:
        verdict = f"FAILED {summary.failed}" if summary.failed else "FAILED: declaration"
    print(
        f"{algorithm!s:<{width}}  {summary.proofs:>7} {summary.messages:>10} "
        f"{summary.seconds:>8.2f}  {verdict}",
        file=out,
        flush=True,
    )
    return summary


def _write(path: str, sizes: list[int], summaries: list[Summary]) -> None:
    results = [
        {
            "collective": summary.algorithm.collective,
            "algorithm": summary.algorithm.name,
            "proofs": summary.proofs,
            "messages": summary.messages,
            "seconds": round(summary.seconds, 3),
            "ok": summary.ok,
            "failed": summary.failed,
            "explanation": summary.explain(),
        }
        for summary in summaries
    ]
    write_json(path, {"sizes": sizes, "algorithms": results})
