"""Tables of docs/performance.md from results: `python tools/performance_tables.py FILE.json ...`.

Each FILE is one that `mpicoll bench collectives --json FILE` wrote. Geometric means of time/native
and time/floor of the automatic choice, and of time/gloo where gloo was measured.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections import defaultdict

KIB, MIB = 1024, 1 << 20
RANGES = (
    ("8 B to 4 KiB", 0, 4 * KIB),
    ("64 KiB to 64 MiB", 64 * KIB, 64 * MIB),
    ("all", 0, 1 << 62),
)


def medians(rows: list[dict]) -> dict[str, dict[int, dict[str, dict]]]:
    """Rows by collective, size and candidate."""
    found: dict = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        chosen = row["independent"]
        found[chosen["collective"]][chosen["nbytes"]][chosen["candidate"]] = row["dependent"]
    return found


def mean(ratios: list[float]) -> str:
    """The geometric mean as text."""
    return f"{statistics.geometric_mean(ratios):.2f}" if ratios else "-"


def ratios(sizes: dict, low: int, high: int, other: str) -> list[float]:
    """Times of the automatic choice over those of another candidate, or over its floor."""
    found = []
    for nbytes, rows in sizes.items():
        if low <= nbytes <= high and "auto" in rows:
            auto = rows["auto"]
            if other == "floor":
                found += [auto["over_floor"]] if auto["over_floor"] else []
            elif other in rows:
                found.append(auto["p50"] / rows[other]["p50"])
    return found


def main() -> None:
    """Print a table for each file."""
    for path in sys.argv[1:]:
        with open(path) as file:
            result = json.load(file)
        everything = medians(result["rows"])
        others = ["native", "floor"]
        if any("gloo" in rows for sizes in everything.values() for rows in sizes.values()):
            others.append("gloo")
        print(f"\n{path}\n")
        heads = [f"{other}, {name}" for other in others for name, _, _ in RANGES]
        print("| collective | " + " | ".join(heads) + " |")
        print("|---" * (1 + len(heads)) + "|")
        groups = {name: [name] for name in everything} | {"together": list(everything)}
        for name, members in groups.items():
            cells = [
                mean([r for c in members for r in ratios(everything[c], low, high, other)])
                for other in others
                for _, low, high in RANGES
            ]
            print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()
