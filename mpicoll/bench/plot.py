"""A plot of a benchmark: time against size, both logarithmic; needs matplotlib."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Sequence

from mpicoll.bench.sizes import size_text

__all__ = ["FORMATS", "available", "draw"]

FORMATS = (".png", ".svg", ".pdf")
#: Beyond so many algorithms a plot shows the fastest ones only.
MOST_LINES = 8


def available() -> bool:
    """True if matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw(path: str, rows: Sequence[dict], environment: dict[str, object]) -> None:
    """Draw medians of all collectives in `rows`, one panel each, into a file.

    A line per algorithm, native MPI dashed, gloo dotted; the area below the floor of the choice
    that a call without a name gets is shaded.
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    panels: dict[str, list[dict]] = {}
    for each in rows:
        chosen = each["independent"]
        if chosen["nbytes"] and chosen["group"] != "startup":
            panels.setdefault(chosen["collective"] or chosen["group"], []).append(each)
    if not panels:
        raise ValueError("there is nothing to plot: no times by size were measured")
    columns = min(len(panels), 4, math.ceil(math.sqrt(len(panels))) + 1)
    lines = math.ceil(len(panels) / columns)
    figure, axes = pyplot.subplots(
        lines,
        columns,
        figsize=(6.2 * columns, 4.0 * lines + 0.4),
        squeeze=False,
        layout="constrained",
    )
    for axis in axes.flat[len(panels) :]:
        axis.set_visible(False)
    for axis, (name, members) in zip(axes.flat, panels.items(), strict=False):
        _panel(axis, name, members)
    crowd = ", oversubscribed" if environment["oversubscribed"] else ""
    figure.suptitle(
        f"{environment['mpi']}, {environment['ranks']} ranks on {environment['cores']} cores"
        f"{crowd}; medians, slowest rank",
        fontsize=10,
    )
    figure.savefig(path, dpi=150)
    pyplot.close(figure)


def _panel(axis, name: str, rows: Sequence[dict]) -> None:
    curves: dict[str, tuple[str, dict[int, float]]] = {}
    for each in rows:
        chosen = each["independent"]
        library, times = curves.setdefault(chosen["candidate"], (chosen["library"], {}))
        times[chosen["nbytes"]] = each["dependent"]["p50"]
    mine = {label: times for label, (library, times) in curves.items() if library == "mpicoll"}
    for label in _chosen(mine):
        wide = 2.4 if label == "auto" else 1.3
        axis.plot(*_points(mine[label]), marker=".", linewidth=wide, label=label)
    for label, (library, times) in curves.items():
        if library == "native":
            axis.plot(*_points(times), "k--", linewidth=1.6, label=label)
        elif library == "gloo":
            axis.plot(*_points(times), ":", color="gray", linewidth=1.6, label=label)
    if floor := _floor(rows):
        low = min(min(times.values()) for _, times in curves.values()) * 1e6 / 2
        axis.fill_between(*_points(floor), low, color="0.88", linewidth=0, label="below the floor")
        axis.set_ylim(bottom=low)
    axis.set_xscale("log", base=2)
    axis.set_yscale("log")
    sizes = sorted({each["independent"]["nbytes"] for each in rows})
    ticks = sizes[:: max(1, math.ceil(len(sizes) / 6))]
    axis.set_xticks(ticks, [size_text(nbytes).replace(" ", "\n") for nbytes in ticks])
    axis.minorticks_off()
    axis.set_ylabel("time (us)")
    axis.set_title(name)
    axis.grid(True, which="major", linewidth=0.4, alpha=0.6)
    axis.legend(fontsize=7, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _chosen(mine: dict[str, dict[int, float]]) -> list[str]:
    """The lines to draw: all, or those that are the fastest anywhere, and the next best."""
    if len(mine) <= MOST_LINES:
        return list(mine)
    sizes = {nbytes for times in mine.values() for nbytes in times}
    best = {n: min(times.get(n, math.inf) for times in mine.values()) for n in sizes}
    closest = {
        label: min(seconds / best[nbytes] for nbytes, seconds in times.items())
        for label, times in mine.items()
    }
    kept = sorted(mine, key=lambda label: (label != "auto", closest[label]))[:MOST_LINES]
    return [label for label in mine if label in kept]


def _floor(rows: Sequence[dict]) -> dict[int, float]:
    """The floor of `auto`, or of the first algorithm, by size."""
    floors: dict[int, float] = {}
    for each in rows:
        chosen, measured = each["independent"], each["dependent"]
        if chosen["library"] == "mpicoll" and measured.get("over_floor"):
            if chosen["candidate"] == "auto" or chosen["nbytes"] not in floors:
                floors[chosen["nbytes"]] = measured["p50"] / measured["over_floor"]
    return floors


def _points(times: dict[int, float]) -> tuple[list[int], list[float]]:
    """Sizes in bytes, times in microseconds."""
    sizes = sorted(times)
    return sizes, [times[nbytes] * 1e6 for nbytes in sizes]
