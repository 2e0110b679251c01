"""From measured medians to a tuning table; needs no MPI."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from mpicoll.bench.figures import geometric_mean
from mpicoll.selection.tuned import FORMAT

__all__ = ["ladder", "table_from"]

#: What is within this of the fastest is as good: a change of algorithm must be worth it.
TOLERANCE = 0.05

#: Median in seconds by algorithm, by size in bytes.
Medians = Mapping[int, Mapping[str, float]]


def ladder(medians: Medians, tolerance: float = TOLERANCE) -> list[tuple[int | None, str]]:
    """(largest size, algorithm) in ascending order, the last size None.

    At each change that algorithm is taken which stays as good as the fastest for the longest.
    Between two measured sizes the change is at their geometric mean.

    >>> ladder({8: {"a": 1.0, "b": 1.04}, 32: {"a": 2.0, "b": 1.5}, 128: {"a": 3.0, "b": 9.0}})
    [(64, 'b'), (None, 'a')]
    """
    sizes = sorted(medians)
    good = []
    for nbytes in sizes:
        fastest = min(medians[nbytes].values())
        good.append({a for a, t in medians[nbytes].items() if t <= fastest * (1 + tolerance)})
    steps: list[tuple[int | None, str]] = []
    start = 0
    while start < len(sizes):
        name, stop = _longest(good, start, medians[sizes[start]])
        last = stop == len(sizes)
        steps.append((None if last else math.isqrt(sizes[stop - 1] * sizes[stop]), name))
        start = stop
    return steps


def _longest(good: Sequence[set[str]], start: int, times: Mapping[str, float]) -> tuple[str, int]:
    """Who of the good ones at `start` stays good for the longest, and where that ends."""
    ends = {}
    for name in good[start]:
        stop = start
        while stop < len(good) and name in good[stop]:
            stop += 1
        ends[name] = stop
    name = max(ends, key=lambda one: (ends[one], -times[one]))
    return name, ends[name]


def table_from(results: Iterable[Mapping], command: str) -> dict[str, object]:
    """The table for all collectives and numbers of ranks in results of `mpicoll bench`.

    Rows count if they are of algorithms with default parameters in blocking form. `over_rules` is
    the geometric mean of the table's times over those of the built-in choice.
    """
    tables: dict[str, dict[str, list[dict]]] = {}
    gains: dict[str, dict[str, float]] = {}
    environments = []
    for result in results:
        environments.append(result["environment"])
        for collective, by_ranks in _grouped(result["rows"]).items():
            for ranks, (medians, auto) in by_ranks.items():
                steps = ladder(medians)
                tables.setdefault(collective, {})[str(ranks)] = [
                    {"up_to": bound, "algorithm": name} for bound, name in steps
                ]
                ratios = [medians[n][_at(steps, n)] / auto[n] for n in sorted(medians) if n in auto]
                if ratios:
                    gain = round(geometric_mean(ratios), 3)
                    gains.setdefault(collective, {})[str(ranks)] = gain
    return {
        "format": FORMAT,
        "made by": command,
        "environments": environments,
        "over_rules": gains,
        "tables": tables,
    }


def _at(steps: Sequence[tuple[int | None, str]], nbytes: int) -> str:
    return next(name for bound, name in steps if bound is None or nbytes <= bound)


def _grouped(rows: Iterable[Mapping]) -> dict[str, dict[int, tuple[dict, dict]]]:
    """By collective and ranks: medians of named algorithms, and those of auto, by size."""
    found: dict[str, dict[int, tuple[dict, dict]]] = {}
    for row in rows:
        chosen, p50 = row["independent"], row["dependent"]["p50"]
        plain = chosen["library"] == "mpicoll" and chosen["group"] == "collectives"
        if not plain or chosen["parameters"] or not row["dependent"]["verified"]:
            continue
        by_ranks = found.setdefault(chosen["collective"], {})
        medians, auto = by_ranks.setdefault(chosen["ranks"], ({}, {}))
        if chosen["candidate"] == "auto":
            auto[chosen["nbytes"]] = p50
        else:
            medians.setdefault(chosen["nbytes"], {})[chosen["algorithm"]] = p50
    return {
        collective: {ranks: pair for ranks, pair in by_ranks.items() if pair[0]}
        for collective, by_ranks in found.items()
    }
