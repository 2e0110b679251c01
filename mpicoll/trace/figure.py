"""Space-time diagrams of traced calls, for papers and slides; needs matplotlib."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from mpicoll.trace.model import Call
from mpicoll.trace.path import critical_path, exchanges

__all__ = ["available", "draw"]

#: How long stretches are drawn: colour and hatching, for prints without colour too.
STYLES = {
    "waiting for another rank": ("white", "//"),
    "transfer": ("#cfdfee", ""),
    "combining and copying": ("#2b7a5b", ""),
}


def available() -> bool:
    """True if matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw(path: str, calls: Sequence[Call]) -> None:
    """Draw one call, or several below each other on one scale of time, into a file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    # Text stays text, and equal traces give equal files.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "mpicoll"}):
        height = sum(0.9 + 0.32 * call.size for call in calls)
        figure, axes = pyplot.subplots(
            len(calls), 1, figsize=(9, height), squeeze=False, sharex=True, layout="constrained"
        )
        for axis, call in zip(axes[:, 0], calls, strict=True):
            _panel(axis, call)
        axes[-1, 0].set_xlabel("time (ms)")
        handles = [
            matplotlib.patches.Patch(facecolor=color, hatch=hatch, edgecolor="0.4", label=name)
            for name, (color, hatch) in STYLES.items()
        ]
        line = matplotlib.lines.Line2D
        handles += [
            line([], [], color="#c2571a", linewidth=1, label="message"),
            line([], [], color="black", linewidth=2.4, label="critical path"),
        ]
        figure.legend(
            handles=handles, loc="outside lower center", ncols=5, frameon=False, fontsize=8
        )
        figure.savefig(path, dpi=160)
        pyplot.close(figure)


def _panel(axis, call: Call) -> None:
    def ms(at: int) -> float:
        return (at - call.begin) * 1e-6

    stretches: dict[str, dict[int, list[tuple[float, float]]]] = {name: {} for name in STYLES}

    def add(name: str, rank: int, begin: int, end: int) -> None:
        if end > begin:
            stretches[name].setdefault(rank, []).append((ms(begin), (end - begin) * 1e-6))

    for rank, own in exchanges(call).items():
        for each in own:
            add("waiting for another rank", rank, each.posted, each.late)
            add("transfer", rank, each.late, each.end)
        for part in call.parts[rank]:
            if part.kind in ("copy", "reduce"):
                add("combining and copying", rank, part.begin, part.end)
    for name, (color, hatch) in STYLES.items():
        for rank, spans in stretches[name].items():
            axis.broken_barh(
                spans,
                (rank - 0.28, 0.56),
                facecolor=color,
                hatch=hatch,
                edgecolor="0.4",
                linewidth=0.4,
            )
    place = {member: rank for rank, member in enumerate(call.members)}
    for message in call.messages:
        ends = (place[message.source], place[message.peer])
        times = (ms(message.begin), ms(message.end))
        axis.plot(times, ends, color="#c2571a", linewidth=0.8, alpha=0.8)
    way: list[tuple[float, int]] = []
    for segment in critical_path(call):
        to = segment.peer if segment.kind == "message" else segment.rank
        way += [(ms(segment.begin), segment.rank), (ms(segment.end), to)]
    axis.plot(*zip(*way, strict=True), color="black", linewidth=2.2, alpha=0.75)
    axis.set_yticks(range(call.size), [f"rank {member}" for member in call.members])
    axis.invert_yaxis()
    axis.set_title(call.title, fontsize=9, loc="left")
    axis.spines[["top", "right"]].set_visible(False)
