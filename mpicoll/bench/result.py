"""Results as JSON and CSV: what was chosen (independent) apart from what came out (dependent)."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable

from mpicoll.bench.figures import Summary, bus_factor, geometric_mean
from mpicoll.bench.sizes import CLASSES
from mpicoll.files import write_text

__all__ = ["DEPENDENT", "FORMAT", "INDEPENDENT", "means", "row", "write_csv", "write_json"]

#: Raised when a reader of the files would have to change.
FORMAT = 1

INDEPENDENT = (
    "group",
    "collective",
    "form",
    "library",
    "candidate",
    "algorithm",
    "parameters",
    "ranks",
    "root",
    "dtype",
    "op",
    "nbytes",
)
DEPENDENT = (
    "iterations",
    "avg",
    "min",
    "max",
    "p50",
    "p99",
    "algbw",
    "busbw",
    "over_native",
    "over_floor",
    "above_floor",
    "over_blocking",
    "verified",
)


def row(independent: dict[str, object], times: Summary, **more: object) -> dict[str, dict]:
    """One row: seconds, bytes per second, ratios of medians; what does not apply is null."""
    nbytes = independent.get("nbytes")
    bandwidth = nbytes / times.p50 if nbytes else None
    factor = bus_factor(independent.get("collective"), independent["ranks"])
    dependent = {
        **vars(times),
        "algbw": bandwidth,
        "busbw": bandwidth and bandwidth * factor,
        **more,
    }
    return {
        "independent": {name: independent.get(name) for name in INDEPENDENT},
        "dependent": {name: dependent.get(name) for name in DEPENDENT}
        | {name: value for name, value in dependent.items() if name not in DEPENDENT},
    }


#: What is averaged over several collectives: a name for it, and which ones.
TOGETHER: dict[str, tuple[str, ...]] = {
    "movers": ("bcast", "allgather", "alltoall", "gather", "scatter"),
    "reducers": ("allreduce", "reduce_scatter", "reduce"),
    "together": (),
}


def means(rows: Iterable[dict]) -> list[dict[str, object]]:
    """Geometric means of the ratios for each collective, candidate and class of sizes.

    Where several collectives were measured with a candidate of the same name, there are entries
    for them together too, with the names in TOGETHER in place of the collective's.
    """
    series: dict[tuple, list[dict]] = {}
    several: dict[tuple, list[dict]] = {}
    for each in rows:
        chosen = each["independent"]
        if chosen["library"] == "floor":
            continue
        group, collective, form, candidate = (
            chosen[name] for name in ("group", "collective", "form", "candidate")
        )
        series.setdefault((group, collective, form, candidate), []).append(each)
        for name, members in TOGETHER.items():
            if collective in members or not members:
                several.setdefault((group, name, form, candidate), []).append(each)
    # In the order of TOGETHER, not in that in which the first of their members came.
    names = list(TOGETHER)
    for key, members in sorted(several.items(), key=lambda item: names.index(item[0][1])):
        if len({each["independent"]["collective"] for each in members}) > 1:
            series[key] = members
    return [mean for key, members in series.items() for mean in _means(key, members)]


def _means(key: tuple, members: list[dict]) -> list[dict[str, object]]:
    group, collective, form, candidate = key
    found = []
    for name, low, high in CLASSES:
        inside = [
            m["dependent"] for m in members if low <= (m["independent"]["nbytes"] or 0) <= high
        ]
        entry = {
            "group": group,
            "collective": collective,
            "form": form,
            "candidate": candidate,
            "class": name,
            "rows": len(inside),
        }
        for ratio in ("over_native", "over_floor", "over_blocking"):
            known = [each[ratio] for each in inside if each.get(ratio)]
            entry[ratio] = geometric_mean(known) if known else None
        if inside:
            found.append(entry)
    return found


def write_json(path: str, facts: dict[str, object]) -> None:
    """Write everything; the file appears whole or not at all."""
    write_text(path, json.dumps(facts, indent=1) + "\n")


def write_csv(path: str, rows: Iterable[dict]) -> None:
    """One line per row, with a column for each variable of either kind."""
    flat = [each["independent"] | each["dependent"] for each in rows]
    columns = dict.fromkeys([*INDEPENDENT, *DEPENDENT, *(name for each in flat for name in each)])
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(columns))
    writer.writeheader()
    writer.writerows(flat)
    write_text(path, text.getvalue())
