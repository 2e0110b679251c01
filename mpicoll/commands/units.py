"""Sizes and times as people write them, JSON files, and the progress of what takes long."""

from __future__ import annotations

import json
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from mpicoll.commands import CommandError, Exit
from mpicoll.files import Lines, write_text

__all__ = ["Kept", "Progress", "opened", "parse_bytes", "parse_parameters", "show_bytes"]
__all__ += ["show_seconds", "table", "write_json"]

_UNITS = {"": 1, "k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}


def parse_bytes(text: str) -> int:
    """Bytes from a number with or without a unit; units are powers of 1024.

    >>> parse_bytes("64k"), parse_bytes("1.5 MiB"), parse_bytes("8")
    (65536, 1572864, 8)
    """
    match = re.fullmatch(r"\s*(\d{1,15}(?:\.\d{1,6})?)\s*([kmgt]?)i?b?\s*", text.lower())
    if not match:
        raise CommandError(f"expected bytes such as 8, 64k, 1M or 1.5GiB, not {text!r}")
    return int(float(match[1]) * _UNITS[match[2]])


def show_bytes(nbytes: float) -> str:
    """Bytes with a unit.

    >>> show_bytes(8), show_bytes(1572864)
    ('8 B', '1.5 MiB')
    """
    for unit in ("B", "KiB", "MiB", "GiB"):
        if nbytes < 1024:
            return f"{nbytes:.4g} {unit}"
        nbytes /= 1024
    return f"{nbytes:.4g} TiB"


def show_seconds(seconds: float) -> str:
    """A time with a unit.

    >>> show_seconds(0.0000123), show_seconds(2)
    ('12.3 us', '2 s')
    """
    for unit, factor in (("s", 1), ("ms", 1e3), ("us", 1e6)):
        if seconds * factor >= 1:
            return f"{seconds * factor:.4g} {unit}"
    return f"{seconds * 1e9:.4g} ns"


def parse_parameters(words: list[str] | None) -> dict[str, int]:
    """Parameters of an algorithm from words like ``segments=16``.

    >>> parse_parameters(["segments=16"])
    {'segments': 16}
    """
    found = {}
    for word in words or []:
        match = re.fullmatch(r"([a-z_]{1,30})=(\d{1,9})", word)
        if not match:
            raise CommandError(f"expected a parameter such as segments=16, not {word!r}")
        found[match[1]] = int(match[2])
    return found


def table(head: list[str], rows: list[list[str]], left: int = 1) -> str:
    """Rows under a heading: the first `left` columns and those without a head are flush left."""
    widths = [max(len(line[i]) for line in [head, *rows]) for i in range(len(head))]
    lines = []
    for line in [head, *rows]:
        cells = [
            f"{cell:<{width}}" if i < left or not head[i] else f"{cell:>{width}}"
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    return "\n".join(lines)


def write_json(path: str, data: object) -> None:
    """Write JSON to a file, or to the standard output if the path is "-"."""
    text = json.dumps(data, indent=2)
    if path == "-":
        print(text)
        return
    try:
        write_text(path, text + "\n")
    except OSError as error:
        raise CommandError(f"cannot write {path}: {error.strerror}") from None


class Kept:
    """A file to which results are added as they come, `mpicoll.files.Lines` for a command."""

    def __init__(self, path: str) -> None:
        self.path = path
        with self._complaining():
            self._lines = Lines(path)

    def __call__(self, record: object) -> None:
        """Add a result; CommandError if the file cannot take it, which keeps those before."""
        with self._complaining():
            self._lines.add(record)

    def close(self) -> None:
        """Close the file."""
        self._lines.close()

    @contextmanager
    def _complaining(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            message = f"cannot write {self.path}: {error.strerror}"
            raise CommandError(message, Exit.ENVIRONMENT) from None


def opened(path: str | None, rank: int) -> Kept | None:
    """The file that ``--lines`` names, which only rank 0 writes."""
    return None if path is None or rank else Kept(path)


class Progress:
    """A line on the terminal that says how far it is, once it takes longer than two seconds."""

    def __init__(self, title: str) -> None:
        self.title, self.last, self.shown = title, time.monotonic() + 1.5, False

    def __call__(self, what: str, done: int, total: int) -> None:
        """Say that so many of `total` are done."""
        now = time.monotonic()
        if now - self.last > 0.5 and sys.stderr.isatty():
            self.last, self.shown = now, True
            share = f"{100 * done / total:.0f} %" if total else ""
            print(f"\r{f'{self.title}: {what} {share}':<78}", end="", file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Take the line away."""
        if self.shown:
            print(f"\r{'':<78}\r", end="", file=sys.stderr, flush=True)
