"""The command line, ``mpicoll COMMAND ...`` or ``python -m mpicoll COMMAND ...``."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, version

from mpicoll.commands import COMMANDS, CommandError, Exit, load
from mpicoll.launch import LaunchError
from mpicoll.launch.child import abort

EPILOG = """\
exit status: 0 all well, 1 a check failed, 2 wrong usage, 3 the environment lacks something
(such as an MPI library), 124 a deadline passed.  `mpicoll COMMAND --help` shows examples.
"""


def _version() -> str:
    try:
        return version("mpicoll")
    except PackageNotFoundError:
        return "(not installed)"


def build_parser(chosen: str | None) -> argparse.ArgumentParser:
    """Build the parser; only the ``chosen`` command is imported and gets its arguments."""
    raw = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(
        prog="mpicoll",
        description="MPI collectives on point-to-point messages: checked, proved and shown.",
        epilog=EPILOG,
        formatter_class=raw,
    )
    parser.add_argument("--version", action="version", version=f"mpicoll {_version()}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    for name, (_, summary) in COMMANDS.items():
        sentence = f"{summary[0].upper()}{summary[1:]}."
        sub = commands.add_parser(name, help=summary, description=sentence, formatter_class=raw)
        if name == chosen:
            module = load(name)
            module.configure(sub)
            sub.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status (see ``mpicoll.commands.Exit``)."""
    argv = list(sys.argv[1:] if argv is None else argv)
    # mpicoll itself takes no option with a value, so the first plain word is the command.
    chosen = next((word for word in argv if not word.startswith("-")), None)
    try:
        args = build_parser(chosen).parse_args(argv)
        return int(args.run(args))
    except CommandError as error:
        return _fail(error.message, error.code)
    except LaunchError as error:
        return _fail(str(error), Exit.ENVIRONMENT)
    except KeyboardInterrupt:
        return _fail("interrupted", 130)
    except BrokenPipeError:
        # The reader (`| head`) left. Python's own flush at exit must not complain about it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return Exit.FAILED


def _fail(message: str, code: int) -> int:
    print(f"mpicoll: {message}", file=sys.stderr)
    # Under mpiexec the other ranks may be waiting for this one: end them too.
    abort(code)
    return code


if __name__ == "__main__":
    sys.exit(main())
