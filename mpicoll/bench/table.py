"""Tables for people, and for programs that read those of the OSU micro-benchmarks.

Lines that begin with # are comments; every other line is a row of numbers, the size in bytes first
and the average time in microseconds second. What does not apply is nan.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from mpicoll.bench.result import means
from mpicoll.bench.sizes import CLASSES, size_text

__all__ = ["best_lines", "header", "mean_lines", "series", "table"]

COLUMNS = (
    ("Avg Latency(us)", "avg", 1e6),
    ("Min Latency(us)", "min", 1e6),
    ("Max Latency(us)", "max", 1e6),
    ("Iterations", "iterations", 1),
    ("P50(us)", "p50", 1e6),
    ("P99(us)", "p99", 1e6),
    ("algbw(GB/s)", "algbw", 1e-9),
    ("busbw(GB/s)", "busbw", 1e-9),
    ("time/native", "over_native", 1),
    ("time/floor", "over_floor", 1),
    ("time-floor(us)", "above_floor", 1e6),
)
PINGPONG = COLUMNS[:7]
PERSISTENT = (*COLUMNS, ("time/blocking", "over_blocking", 1))
OVERLAP = (
    ("Overall(us)", "p50", 1e6),
    ("Compute(us)", "computation", 1e6),
    ("Pure Comm.(us)", "collective_alone", 1e6),
    ("Overlap(%)", "overlap", 100),
    ("Iterations", "iterations", 1),
)
BY_GROUP = {"overlap": OVERLAP, "persistent": PERSISTENT, "pingpong": PINGPONG}


def header(environment: dict[str, object]) -> list[str]:
    """The environment of the run, as comments."""
    ranks, cores, hosts = (environment[name] for name in ("ranks", "cores", "hosts"))
    crowd = (
        "OVERSUBSCRIBED: ranks share cores, times say little about a machine with enough of them"
        if environment["oversubscribed"]
        else "not oversubscribed"
    )
    shared = environment["machines"] < hosts
    amount = f"{cores} core{'s' * (cores > 1)} "
    amount += f"that {hosts // environment['machines']} hosts share" if shared else "per host"
    clock = environment["clock"]
    lines = [
        f"# mpicoll {environment['mpicoll']} bench, {environment['date']}",
        f"# MPI: {environment['mpi']}; launcher: {environment['launcher']}",
        f"# ranks: {ranks} on {hosts} host{'s' * (hosts > 1)}, {amount}; {crowd}",
        f"# clock: perf_counter, resolution {clock['resolution'] * 1e9:.0f} ns, "
        f"{clock['reading'] * 1e9:.0f} ns to read",
        "# time of an iteration: that of the slowest rank, after a barrier; ratios are of medians",
    ]
    if settings := environment["settings"]:
        lines.append("# set: " + " ".join(f"{name}={value}" for name, value in settings.items()))
    busy = environment["busy_cores"]
    if busy is not None and busy > 0.25:
        lines.append(f"# BUSY: other programs kept {busy:.1f} cores busy just before the start")
    return lines


def series(rows: Iterable[dict]) -> list[list[dict]]:
    """Rows of one candidate each, in the order of their first appearance; floors left out."""
    found: dict[tuple, list[dict]] = {}
    for each in rows:
        chosen = each["independent"]
        if chosen["library"] != "floor":
            key = tuple(chosen[name] for name in ("group", "collective", "form", "candidate"))
            found.setdefault(key, []).append(each)
    return list(found.values())


def table(rows: Sequence[dict]) -> list[str]:
    """The table of one candidate."""
    chosen = rows[0]["independent"]
    what = {"overlap": "Overlap", "pingpong": "Ping-pong"}.get(chosen["group"], "Latency")
    title = f"{(chosen['collective'] or '').capitalize()} {what} Test".strip()
    lines = ["#", f"# mpicoll {title}: {chosen['candidate']}"]
    typed = f"# Datatype: {chosen['dtype']}."
    lines.append(f"{typed} Op: {chosen['op']}." if chosen["op"] else typed)
    if used := _algorithms(rows):
        lines.append(f"# Algorithm: {used}")
    columns = BY_GROUP.get(chosen["group"], COLUMNS)
    lines.append(f"{'# Size':<12}" + "".join(f"{title:>18}" for title, _, _ in columns))
    for each in rows:
        figures = each["dependent"]
        cells = [_cell(figures.get(name), scale) for _, name, scale in columns]
        lines.append(f"{each['independent']['nbytes']:<12}" + "".join(f"{c:>18}" for c in cells))
        if figures.get("verified") is False:
            lines.append(f"# WRONG RESULT at {each['independent']['nbytes']} bytes")
    return lines


def _algorithms(rows: Sequence[dict]) -> str:
    """Which algorithm served which sizes."""
    runs: list[list] = []
    for each in rows:
        name, nbytes = each["independent"]["algorithm"], each["independent"]["nbytes"]
        if name and runs and runs[-1][0] == name:
            runs[-1][2] = nbytes
        elif name:
            runs.append([name, nbytes, nbytes])
    if len(runs) == 1:
        return runs[0][0]
    return ", ".join(f"{name} to {size_text(last)}" for name, _, last in runs)


def _cell(value: object, scale: float) -> str:
    if isinstance(value, int):
        return str(value * scale)
    number = math.nan if value is None else float(value) * scale
    return f"{number:.4f}" if abs(number) < 10 else f"{number:.2f}"


def best_lines(rows: Sequence[dict]) -> list[str]:
    """Where several algorithms were measured: the fastest of each size, as comments."""
    by_size: dict[int, list[dict]] = {}
    for each in rows:
        if each["independent"]["library"] == "mpicoll":
            by_size.setdefault(each["independent"]["nbytes"], []).append(each)
    if not by_size or max(map(len, by_size.values())) < 3:
        return []
    lines = ["#", "# Fastest:", f"# {'Size':>9}  {'P50(us)':>10}  {'/native':>7}  {'auto/it':>7}"]
    for nbytes, members in by_size.items():
        best = min(members, key=lambda each: each["dependent"]["p50"])
        auto = [m for m in members if m["independent"]["candidate"] == "auto"]
        p50 = best["dependent"]["p50"]
        ratio = f"{auto[0]['dependent']['p50'] / p50:.2f}" if auto else "-"
        lines.append(
            f"# {size_text(nbytes):>9}  {p50 * 1e6:>10.2f}  "
            f"{_ratio(best['dependent']['over_native'])}  {ratio:>7}  "
            f"{best['independent']['candidate']}"
        )
    return lines


def mean_lines(rows: Sequence[dict]) -> list[str]:
    """Geometric means of the ratios over classes of sizes, as comments."""
    found: dict[tuple, dict[str, dict]] = {}
    averaged = means(rows)
    second, title = "over_floor", "time/floor"
    if any(mean["over_blocking"] for mean in averaged):
        second, title = "over_blocking", "time/blocking"
    for mean in averaged:
        if mean["candidate"] != "native":
            found.setdefault((mean["collective"], mean["candidate"]), {})[mean["class"]] = mean
    if not found:
        return []
    names = [name for name, _, _ in CLASSES]
    width = max(len(f"{collective} {candidate}") for collective, candidate in found)
    lines = ["#", f"# Geometric means of time/native, and of {title}:"]
    lines.append(f"# {'':<{width}}" + "".join(f"{name:>16}" for name in names))
    for (collective, candidate), classes in found.items():
        cells = ""
        for name in names:
            mean = classes.get(name, {})
            native, floor = (_ratio(mean.get(key)) for key in ("over_native", second))
            cells += f"{native:>9}{floor:>7}"
        lines.append(f"# {f'{collective} {candidate}':<{width}}{cells}")
    return lines


def _ratio(value: float | None) -> str:
    return f"{'-':>7}" if value is None else f"{value:>7.2f}"
