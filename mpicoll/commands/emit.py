"""``mpicoll emit``: an algorithm as a straight-line mpi4py program."""

from __future__ import annotations

import argparse
import sys

from mpicoll.commands import CommandError, Exit
from mpicoll.commands.show import add_algorithm, the_algorithm
from mpicoll.show.emit import program

__all__ = ["configure", "run"]

EXAMPLES = """\
The program needs mpi4py and NumPy only; it checks its own result.

examples:
  mpicoll emit allreduce ring -p 4 > ring.py && mpiexec -n 4 python ring.py
  mpicoll emit allreduce ring -p 4 --rank 2     what rank 2 does
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Add arguments and examples."""
    parser.epilog = EXAMPLES
    add_algorithm(parser)
    parser.add_argument("--rank", type=int, metavar="R", help="only this rank's part")


def run(args: argparse.Namespace) -> int:
    """Print the program."""
    algorithm, parameters = the_algorithm(args)
    if args.rank is not None and not 0 <= args.rank < args.size:
        raise CommandError(f"rank must be in 0..{args.size - 1}, not {args.rank}")
    sys.stdout.write(program(algorithm, args.size, args.root, args.rank, **parameters))
    return Exit.OK
