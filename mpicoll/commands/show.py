"""``mpicoll show``: an algorithm step by step, and its text."""

from __future__ import annotations

import argparse

from mpicoll.commands import CommandError, Exit
from mpicoll.registry import Algorithm, RequirementError, find
from mpicoll.show.text import story

__all__ = ["add_algorithm", "add_settings", "chosen_algorithm", "configure", "run"]
__all__ += ["the_algorithm"]

EXAMPLES = """\
A2 is block 2 of rank 0's data, B2 that of rank 1; A2+B2 is their combination in this order.

examples:
  mpicoll show allreduce ring -p 4
  mpicoll show bcast binomial -p 6 --root 2
  mpicoll show bcast pipelined -p 3 --set segments=4
"""


def add_algorithm(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that name one algorithm, size, root and parameters."""
    parser.add_argument("collective", metavar="COLLECTIVE")
    parser.add_argument("algorithm", metavar="ALGORITHM")
    parser.add_argument(
        "-p", dest="size", type=int, default=4, metavar="P", help="ranks (default 4)"
    )
    add_settings(parser)


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the root and the algorithm's own parameters."""
    parser.add_argument("--root", type=int, default=0, metavar="R", help="the root (default 0)")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the algorithm, such as radix=3",
    )


def the_algorithm(args: argparse.Namespace) -> tuple[Algorithm, dict[str, object]]:
    """The algorithm that the arguments name, and its parameters; all of it usable, or an error."""
    return chosen_algorithm(args, args.collective, args.algorithm)


def chosen_algorithm(
    args: argparse.Namespace, collective: str, name: str
) -> tuple[Algorithm, dict[str, object]]:
    """The algorithm of that name, usable with the size, root and parameters of the arguments."""
    try:
        algorithm = find(collective, name)
        parameters = dict(map(_parameter, args.set))
        if args.size < 1:
            raise CommandError(f"the number of ranks must be 1 or more, not {args.size}")
        algorithm.plan(0, args.size, args.root, **parameters)
    except (ValueError, TypeError, RequirementError) as error:
        raise CommandError(str(error)) from None
    return algorithm, parameters


def _parameter(text: str) -> tuple[str, object]:
    """``radix=3``, or ``nodes=0,0,1,1``."""
    name, equals, value = text.partition("=")
    try:
        numbers = tuple(int(part) for part in value.split(","))
    except ValueError:
        numbers = ()
    if not (name and equals and numbers):
        raise CommandError(f"expected NAME=NUMBER or NAME=NUMBER,NUMBER,..., not {text!r}")
    return name, numbers if len(numbers) > 1 else numbers[0]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments and examples."""
    parser.epilog = EXAMPLES
    add_algorithm(parser)


def run(args: argparse.Namespace) -> int:
    """Print the step table and the text of the algorithm."""
    algorithm, parameters = the_algorithm(args)
    print(story(algorithm, args.size, args.root, **parameters))
    print()
    print(algorithm.source.rstrip())
    return Exit.OK
