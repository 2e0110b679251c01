"""``mpicoll list``: the algorithms, what they cost and what they are called elsewhere."""

from __future__ import annotations

import argparse
import json
import sys

from mpicoll.commands import CommandError, Exit
from mpicoll.commands.prove import chosen_algorithms
from mpicoll.show.catalogue import markdown, row

__all__ = ["configure", "run"]

EXAMPLES = """\
P ranks, m bytes of the whole vector, q = ceil(log2 P), f = floor(log2 P), C = 2**f, r = P - C.
Rounds, bytes sent and bytes combined are those of the busiest rank. With -p the formulas become
numbers, next to the lower bounds of the collective.

examples:
  mpicoll list                     every algorithm
  mpicoll list allreduce           those of one collective
  mpicoll list allreduce -p 12     in numbers for 12 ranks, with the ratio to the lower bound
  mpicoll list --json              everything that is known, for programs
  mpicoll list --markdown          docs/algorithms.md
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments and examples."""
    parser.epilog = EXAMPLES
    parser.add_argument("collective", nargs="?", metavar="COLLECTIVE", help="default: all")
    parser.add_argument("-p", dest="size", type=int, metavar="P", help="numbers for P ranks")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON")
    form.add_argument("--markdown", action="store_true", help="print the page of the documentation")


def run(args: argparse.Namespace) -> int:
    """Print the catalogue."""
    if args.size is not None and args.size < 1:
        raise CommandError(f"the number of ranks must be 1 or more, not {args.size}")
    if args.markdown:
        sys.stdout.write(markdown())
        return Exit.OK
    rows = [row(algorithm, args.size) for algorithm in chosen_algorithms(args.collective, None)]
    if args.json:
        print(json.dumps(rows, indent=2))
        return Exit.OK
    head, cells = _numbers(rows) if args.size else _formulas(rows)
    widths = [max(len(line[i]) for line in [head, *cells]) for i in range(len(head))]
    for line in [head, *cells]:
        text = "  ".join(f"{cell:<{width}}" for cell, width in zip(line, widths, strict=True))
        print(text.rstrip())
    return Exit.OK


def _formulas(rows: list[dict]) -> tuple[list[str], list[list[str]]]:
    head = ["collective", "algorithm", "rounds", "sent", "order", "bits", "requires", "elsewhere"]
    cells = [
        [
            line["collective"],
            line["algorithm"],
            _short(line["rounds"]),
            _short(line["volume"]),
            line["order"],
            line["determinism"],
            ", ".join(line["requires"]) or "-",
            ", ".join(f"{library} {name}" for library, name in line["aka"].items()),
        ]
        for line in rows
    ]
    return head, cells


def _short(formula: str, width: int = 34) -> str:
    return formula if len(formula) <= width else formula[: width - 3] + "..."


def _numbers(rows: list[dict]) -> tuple[list[str], list[list[str]]]:
    head = ["collective", "algorithm", "rounds", "/ least", "sent / m", "/ least", "combined / m"]
    cells = []
    for line in rows:
        at = line.get("at")
        if at is None:
            values = [f"requires {', '.join(line['requires'])}", "", "", "", ""]
        else:
            ratios = [
                "-" if at[name] is None else f"{at[name]:.2f}"
                for name in ("rounds_ratio", "volume_ratio")
            ]
            values = [
                str(at["rounds"]),
                ratios[0],
                f"{at['volume']:.3f}",
                ratios[1],
                f"{at['reduced']:.3f}",
            ]
        cells.append([line["collective"], line["algorithm"], *values])
    return head, cells
