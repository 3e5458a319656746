"""A loop over time, as the page draws it: differences of running totals."""

from __future__ import annotations

import math
from collections import deque
from itertools import pairwise
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from rankloop.serving.dashboard.traffic import quantile, times_between

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloop.serving.dashboard.board import Board, Look, Total
    from rankloop.serving.dashboard.boards import Boards
    from rankloop.serving.dashboard.series import Point

Values = list[float | None]

WINDOW = 200
"""Least number of rankings in a point of a quality curve; fewer at the start."""
_FEWEST = 30
_FEATURES = 8
_DAY = 86_400.0


class Curve(msgspec.Struct):
    """Means of nDCG@10, with 95% bounds of the true mean.

    nDCG is between 0 and 1, so its variance around a mean m is at most m (1 - m). The bounds
    use this value, so they are rather too wide than too narrow.
    """

    mean: Values
    low: Values
    high: Values


class Weights(msgspec.Struct):
    """Weights of today's champion over time: one row for each of the most important features."""

    features: list[str]
    values: list[Values]


class Change(msgspec.Struct):
    """A weight of the champion a day ago, or at the start if that is later, and now."""

    feature: str
    before: float
    now: float


class Traffic(msgspec.Struct):
    """Requests per second and times in seconds over the last hour of this process."""

    at: list[float]
    requests: list[float]
    failed: list[float]
    p50: Values
    p99: Values


class Past(msgspec.Struct):
    """A loop over time; `at` begins with the first look of this process."""

    at: list[float]
    rankings: list[float]
    events: list[float]
    lag: list[int]
    open_rankings: list[int]
    shown: Curve
    models: dict[str, Curve]
    weights: Weights
    changes: list[Change]
    traffic: Traffic


def past_of(boards: Boards, board: Board) -> Past:
    """Return a loop over time."""
    points = board.looks.points
    seen = [point.seen for point in points]
    now = board.loop.published
    names = now.settings.names
    return Past(
        [point.at for point in points],
        _rates(points, [look.counters.rankings for look in seen]),
        _rates(points, [look.counters.events for look in seen]),
        [look.lag for look in seen],
        [look.open_rankings for look in seen],
        quality([look.shown for look in seen]),
        {name: quality([look.models.get(name) for look in seen]) for name in now.models},
        _weights(seen, now.champion, names),
        _changes(points, now.champion, names),
        _traffic(boards),
    )


def quality(totals: Sequence[Total | None]) -> Curve:
    """Return the mean of the rankings before each point, up to the length of the window."""
    curve = Curve([], [], [])
    run: deque[Total] = deque()  # the window, and the point before it
    for total in totals:
        if total is None or (run and total.n < run[-1].n):  # not there, or begun anew
            run.clear()
        values: tuple[float | None, ...] = (None, None, None)
        if total is not None:
            run.append(total)
            while len(run) > 1 and total.n - run[1].n >= WINDOW:
                run.popleft()
            n = total.n - run[0].n
            if n >= _FEWEST:
                mean = min(max((total.sum - run[0].sum) / n, 0.0), 1.0)
                away = 1.96 * math.sqrt(mean * (1 - mean) / n)
                values = (
                    _drawn(mean),
                    _drawn(max(mean - away, 0.0)),
                    _drawn(min(mean + away, 1.0)),
                )
        for column, value in zip((curve.mean, curve.low, curve.high), values, strict=True):
            column.append(value)
    return curve


def _drawn(value: float) -> float:
    """Return a number as finely as a chart can show it; it is sent again and again."""
    return float(f"{value:.4g}")


def _rates(points: Sequence[Point[Look]], totals: Sequence[int]) -> list[float]:
    """Return the number per second between each point and the previous one."""
    found = [0.0] * min(len(points), 1)
    for i in range(1, len(points)):
        rate = (totals[i] - totals[i - 1]) / (points[i].at - points[i - 1].at)
        found.append(_drawn(rate))
    return found


def _weights(seen: Sequence[Look], model: str, names: tuple[str, ...]) -> Weights:
    rows = [look.weights.get(model) for look in seen]
    known = [row for row in rows if row is not None]
    if not known:
        return Weights([], [])
    largest = np.abs(known[-1])
    best = np.argsort(-largest, kind="stable")[:_FEATURES].tolist()
    values: list[Values] = [
        [None if row is None else _drawn(row[feature]) for row in rows] for feature in best
    ]
    return Weights([names[feature] for feature in best], values)


def _changes(points: Sequence[Point[Look]], model: str, names: tuple[str, ...]) -> list[Change]:
    known = [(at, look.weights[model]) for at, look in points if model in look.weights]
    if len(known) < 2:
        return []
    latest, now = known[-1]
    then = next(weights for at, weights in known if at >= latest - _DAY)
    order = np.argsort(-np.abs(now - then), kind="stable")[:_FEATURES].tolist()
    return [Change(names[i], float(then[i]), float(now[i])) for i in order if now[i] != then[i]]


def _traffic(boards: Boards) -> Traffic:
    points = boards.traffic.points
    found = Traffic([], [], [], [], [])
    for before, after in pairwise(points):
        seconds = after.at - before.at
        bounds, counts = times_between(before.seen, after.seen)
        found.at.append(after.at)
        found.requests.append(_drawn((after.seen.requests - before.seen.requests) / seconds))
        found.failed.append(_drawn((after.seen.failed - before.seen.failed) / seconds))
        found.p50.append(quantile(bounds, counts, 0.5))
        found.p99.append(quantile(bounds, counts, 0.99))
    return found
