"""Network parameters from measurements: a line through the times of ping-pong messages."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from mpicoll.analysis.network import Level, NetworkError

__all__ = ["Fit", "fit_line", "fit_pingpong"]


@dataclass(frozen=True)
class Fit:
    """A level and how well it tells the times it was made from.

    `error` is the largest relative error of a row, `typical` the root of the mean square.
    """

    level: Level
    error: float
    typical: float


def fit_line(rows: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Seconds at 0 bytes and seconds per byte, from rows of (bytes, seconds).

    Least squares of the *relative* errors, so that short messages count as much as long ones;
    neither number is negative.
    """
    points = [(float(n), float(t)) for n, t in rows]
    for n, t in points:
        if not (math.isfinite(n) and math.isfinite(t) and n >= 0 and t > 0):
            raise NetworkError(f"a row must be bytes >= 0 and seconds > 0, not ({n:g}, {t:g})")
    if len({n for n, _ in points}) < 2:
        raise NetworkError("a fit needs rows of at least two different numbers of bytes")
    w = [1 / (t * t) for _, t in points]
    s = sum(w)
    sn = sum(wi * n for wi, (n, _) in zip(w, points, strict=True))
    st = sum(wi * t for wi, (_, t) in zip(w, points, strict=True))
    snn = sum(wi * n * n for wi, (n, _) in zip(w, points, strict=True))
    snt = sum(wi * n * t for wi, (n, t) in zip(w, points, strict=True))
    slope = (s * snt - sn * st) / (s * snn - sn * sn)
    start = (st - slope * sn) / s
    if slope < 0:
        return st / s, 0.0
    if start < 0:
        return 0.0, snt / snn
    return start, slope


def fit_pingpong(
    rows: Iterable[tuple[float, float]], overhead: float | None = None, *, duplex: bool = True
) -> Fit:
    """A level from ping-pong rows of (bytes, seconds one way: half of the round trip).

    A ping-pong shows latency + 2 overhead only as a sum. `overhead`, in seconds, is what a send
    call takes; without it each of the two overheads is taken to be a quarter of the sum.
    """
    rows = list(rows)
    alpha, per_byte = fit_line(rows)
    if overhead is None:
        overhead = alpha / 4
    if not 0 <= overhead or not math.isfinite(overhead):
        raise NetworkError(f"an overhead must be seconds >= 0, not {overhead}")
    overhead = min(overhead, alpha / 2)
    errors = [(alpha + n * per_byte) / t - 1 for n, t in rows]
    return Fit(
        Level(alpha - 2 * overhead, overhead, per_byte, duplex=duplex),
        max(map(abs, errors)),
        math.sqrt(sum(e * e for e in errors) / len(errors)),
    )
