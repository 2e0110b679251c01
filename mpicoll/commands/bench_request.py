"""What a command line asks of a benchmark, refused before anything starts if it makes no sense."""

from __future__ import annotations

import argparse
import importlib.util
import math
from pathlib import Path

from mpicoll.bench import plot
from mpicoll.bench.options import Options, Task, check_operation, tasks
from mpicoll.bench.sizes import parse_sizes
from mpicoll.commands import CommandError, Exit
from mpicoll.launch.command import cores

__all__ = ["check"]


def check(args: argparse.Namespace, present: int | None = None) -> tuple[int, Options, list[Task]]:
    """The number of ranks, options and tasks; CommandError if something makes no sense."""
    ranks = _ranks(args.n, present)
    options = _options(args, ranks)
    todo = _tasks(args, ranks)
    _files(args)
    return ranks, options, todo


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
    return Options(
        args.dtype,
        args.op,
        args.root,
        against,
        args.iterations,
        args.seconds_per_size,
        not args.no_floor,
        args.elsewhere,
    )


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
