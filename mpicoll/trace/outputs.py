"""Writing the pictures of a trace into the files that a command names."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from mpicoll.commands import CommandError, Exit
from mpicoll.commands.units import write_json
from mpicoll.trace import figure
from mpicoll.trace.chrome import chrome_events
from mpicoll.trace.compare import facts_of
from mpicoll.trace.export import as_json
from mpicoll.trace.model import Call, Trace
from mpicoll.trace.page import page
from mpicoll.trace.picture import picture

__all__ = ["write_comparison", "write_outputs"]


def write_outputs(args: argparse.Namespace, trace: Trace, call: Call | None) -> None:
    """Write every file that is asked for; CommandError says what cannot be."""
    if args.json:
        write_json(args.json, as_json(trace))
    if args.chrome:
        write_text(args.chrome, json.dumps(chrome_events(trace)) + "\n")
    if args.svg or args.png:
        if call is None or not call.whole:
            raise CommandError("--svg and --png show one call: name it by --call K")
        _figures(args, [call])
    try:
        if args.picture:
            if call is None:
                raise ValueError("--picture shows one call: name it by --call K")
            write_text(args.picture, picture(call))
        if args.html:
            write_text(args.html, page(trace, call))
    except ValueError as error:
        raise CommandError(str(error)) from None


def write_text(path: str, text: str) -> None:
    """Write a file; CommandError if that is not possible."""
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from None


def write_comparison(args: argparse.Namespace, calls: Sequence[Call]) -> None:
    """Write what is asked for of a comparison."""
    if args.json:
        write_json(args.json, [facts_of(call) for call in calls])
    _figures(args, calls)


def _figures(args: argparse.Namespace, calls: Sequence[Call]) -> None:
    for kind in ("svg", "png"):
        path = getattr(args, kind)
        if path is None:
            continue
        if not path.endswith(f".{kind}"):
            raise CommandError(f"--{kind} takes a name that ends in .{kind}, not {path!r}")
        if not figure.available():
            raise CommandError(
                f"--{kind} needs matplotlib: pip install 'mpicoll[plot]'", Exit.ENVIRONMENT
            )
        try:
            figure.draw(path, calls)
        except OSError as error:
            raise CommandError(f"cannot write {path}: {error.strerror}") from None
