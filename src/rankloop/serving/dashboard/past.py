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

    from rankloop.serving.dashboard.board import Board, Boards, LoopSample, Total
    from rankloop.serving.dashboard.series import Point

Values = list[float | None]

WINDOW = 200
"""Least number of rankings in a point of a quality curve; fewer at the start."""
_FEWEST = 30
_FEATURES = 8
_DAY = 86_400.0


class QualityCurve(msgspec.Struct):
    """Means of nDCG@10, with 95% bounds of the true mean.

    nDCG is between 0 and 1, so its variance around a mean m is at most m (1 - m). The bounds
    use this value, so they may be too wide, but not too narrow.
    """

    mean: Values
    low: Values
    high: Values


class Weights(msgspec.Struct):
    """Weights of today's champion over time: one row for each of the most important features."""

    features: list[str]
    values: list[Values]


class WeightChange(msgspec.Struct):
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
    """A loop over time; `at` are the times of the samples of this process."""

    at: list[float]
    rankings: list[float]
    events: list[float]
    lag: list[int]
    open_rankings: list[int]
    shown: QualityCurve
    models: dict[str, QualityCurve]
    weights: Weights
    changes: list[WeightChange]
    traffic: Traffic


def past_of(boards: Boards, board: Board) -> Past:
    """Return a loop over time."""
    points = board.samples.points
    samples = [point.value for point in points]
    now = board.loop.published
    names = now.settings.names
    return Past(
        [point.at for point in points],
        _rates(points, [sample.totals.rankings for sample in samples]),
        _rates(points, [sample.totals.events for sample in samples]),
        [sample.lag for sample in samples],
        [sample.open_rankings for sample in samples],
        quality([sample.shown for sample in samples]),
        {name: quality([sample.models.get(name) for sample in samples]) for name in now.models},
        _weights(samples, now.champion, names),
        _changes(points, now.champion, names),
        _traffic(boards),
    )


def quality(totals: Sequence[Total | None]) -> QualityCurve:
    """Return the mean of the rankings before each point, up to the length of the window."""
    curve = QualityCurve([], [], [])
    run: deque[Total] = deque()  # the window, and the point before it
    for total in totals:
        if total is None or (run and total.n < run[-1].n):  # the model is absent, or was replaced
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
                    _round(mean),
                    _round(max(mean - away, 0.0)),
                    _round(min(mean + away, 1.0)),
                )
        for column, value in zip((curve.mean, curve.low, curve.high), values, strict=True):
            column.append(value)
    return curve


def _round(value: float) -> float:
    """Return a number with the four digits that a chart can show, so that less is sent."""
    return float(f"{value:.4g}")


def _rates(points: Sequence[Point[LoopSample]], totals: Sequence[int]) -> list[float]:
    """Return the number per second between each point and the previous one."""
    rates = [0.0] * min(len(points), 1)
    for i in range(1, len(points)):
        rate = (totals[i] - totals[i - 1]) / (points[i].at - points[i - 1].at)
        rates.append(_round(rate))
    return rates


def _weights(samples: Sequence[LoopSample], model: str, names: tuple[str, ...]) -> Weights:
    rows = [sample.weights.get(model) for sample in samples]
    known = [row for row in rows if row is not None]
    if not known:
        return Weights([], [])
    largest = np.abs(known[-1])
    best = np.argsort(-largest, kind="stable")[:_FEATURES].tolist()
    values: list[Values] = [
        [None if row is None else _round(row[feature]) for row in rows] for feature in best
    ]
    return Weights([names[feature] for feature in best], values)


def _changes(
    points: Sequence[Point[LoopSample]], model: str, names: tuple[str, ...]
) -> list[WeightChange]:
    known = [(at, sample.weights[model]) for at, sample in points if model in sample.weights]
    if len(known) < 2:
        return []
    latest, now = known[-1]
    then = next(weights for at, weights in known if at >= latest - _DAY)
    order = np.argsort(-np.abs(now - then), kind="stable")[:_FEATURES].tolist()
    return [
        WeightChange(names[i], float(then[i]), float(now[i])) for i in order if now[i] != then[i]
    ]


def _traffic(boards: Boards) -> Traffic:
    points = boards.traffic.points
    traffic = Traffic([], [], [], [], [])
    for before, after in pairwise(points):
        seconds = after.at - before.at
        bounds, counts = times_between(before.value, after.value)
        traffic.at.append(after.at)
        traffic.requests.append(_round((after.value.requests - before.value.requests) / seconds))
        traffic.failed.append(_round((after.value.failed - before.value.failed) / seconds))
        traffic.p50.append(quantile(bounds, counts, 0.5))
        traffic.p99.append(quantile(bounds, counts, 0.99))
    return traffic
