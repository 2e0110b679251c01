"""Message sizes: how they are written on the command line, shown, and grouped; needs no MPI."""

from __future__ import annotations

import re

__all__ = ["CLASSES", "LARGEST", "class_text", "parse_sizes", "size_text"]

UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
LARGEST = 1 << 34

#: Classes of sizes, in bytes, both ends included, over which ratios are averaged.
CLASSES: tuple[tuple[str, int, int], ...] = (
    ("8B-4KiB", 8, 4 << 10),
    ("64KiB-64MiB", 64 << 10, 64 << 20),
    ("all", 0, LARGEST),
)

_SIZE = re.compile(r"(\d+)\s*([KMG]?)(I?B)?", re.IGNORECASE)


def parse_size(text: str) -> int:
    """Bytes from ``8``, ``64K``, ``1MiB``; ValueError says what is wrong."""
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise ValueError(f"a size is a number of bytes such as 8, 64K or 1M, not {text!r}")
    nbytes = int(found[1]) * UNITS[found[2].upper()]
    if not 1 <= nbytes <= LARGEST:
        raise ValueError(f"a size must be from 1 byte to 16G, not {text}")
    return nbytes


def parse_sizes(text: str) -> list[int]:
    """Bytes from ``8:64M`` (doubling), ``8:64M:4`` (times 4), ``8,1K,1M``, or a mixture.

    >>> parse_sizes("8:64,1K")
    [8, 16, 32, 64, 1024]
    """
    sizes: set[int] = set()
    for part in text.split(","):
        first, *rest = part.split(":")
        start = parse_size(first)
        stop = parse_size(rest[0]) if rest else start
        factor = rest[1].strip() if len(rest) > 1 else "2"
        if len(rest) > 2 or not factor.isdigit() or int(factor) < 2:
            raise ValueError(f"sizes are FIRST:LAST or FIRST:LAST:FACTOR (2 or more), not {part!r}")
        if stop < start:
            raise ValueError(f"sizes must ascend, not {part!r}")
        while start <= stop:
            sizes.add(start)
            start *= int(factor)
    return sorted(sizes)


def size_text(nbytes: int) -> str:
    """A size for people.

    >>> size_text(8), size_text(65536), size_text(3 << 19)
    ('8 B', '64 KiB', '1.5 MiB')
    """
    value, unit = float(nbytes), "B"
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            break
        value /= 1024
    return f"{value:.4g} {unit}"


def class_text(name: str, sizes: list[int]) -> str:
    """The class with how many of the measured sizes are in it."""
    low, high = next((low, high) for known, low, high in CLASSES if known == name)
    return f"{name} ({sum(low <= size <= high for size in sizes)})"
