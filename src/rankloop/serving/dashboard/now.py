"""A loop at this moment, as the page asks for it every few seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rankloop.serving.dashboard.board import Health
from rankloop.serving.dashboard.marks import Mark
from rankloop.serving.dashboard.traffic import quantile, times_between
from rankloop.serving.routes.state import running
from rankloop.serving.state import Counters

if TYPE_CHECKING:
    from rankloop.serving.app import Service
    from rankloop.serving.dashboard.board import Board
    from rankloop.serving.dashboard.boards import Boards
    from rankloop.serving.experiments import Tally
    from rankloop.serving.state import Published

_MINUTE = 60.0
_MAX_SHIFTS = 8
_MAX_OUTCOMES = 10_000_000


class ModelNow(msgspec.Struct):
    """A model: rankings it was measured on, its nDCG@10 on all of them, and on recent ones."""

    name: str
    champion: bool
    version: int
    rankings: int
    mean: float
    recent: float


class ChallengerNow(msgspec.Struct):
    """A challenger; `needs` more outcomes would decide, if they continue as so far."""

    name: str
    outcomes: int
    wins: int
    losses: int
    low: float
    high: float
    needs: int | None


class ExperimentNow(msgspec.Struct):
    """A running experiment; `watch`: it compares a promoted champion with the previous one."""

    id: str
    champion: str
    challengers: list[ChallengerNow]
    watch: bool
    share: float


class PlaceNow(msgspec.Struct):
    """A place: rankings that had it, and how many of them saw feedback there."""

    place: int
    shown: float
    clicked: float


class ShiftNow(msgspec.Struct):
    """How far a feature's recent mean is from its mean, in standard deviations."""

    feature: str
    shift: float


class TrafficNow(msgspec.Struct):
    """The last minute of this process; times are seconds."""

    per_second: float
    failed: float
    p50: float | None
    p99: float | None


class Now(msgspec.Struct):
    """A loop at this moment.

    started : when this process started; series begin there
    answered : events of this process by their status
    closed, joined : of a sample of closed rankings, all, and those with feedback
    since, passed_over : the first entry of the sample, and the number of skipped entries
    """

    loop: str
    started: float
    health: Health
    champion: str
    policy: str
    learn_from: str
    position: int
    lag: int
    waiting: int
    open_rankings: int
    leads: bool
    counters: Counters
    answered: dict[str, int]
    closed: float
    joined: float
    since: int
    passed_over: int
    traffic: TrafficNow
    shown: ModelNow
    models: list[ModelNow]
    experiment: ExperimentNow | None
    places: list[PlaceNow]
    shifts: list[ShiftNow]
    shift_rankings: int
    marks: list[Mark]


def now_of(service: Service, board: Board) -> Now:
    """Return a loop at this moment."""
    loop, watch = board.loop, board.watch
    now = loop.published
    return Now(
        loop.name,
        service.boards.started,
        board.health,
        now.champion,
        now.settings.policy,
        now.settings.learn_from,
        loop.head,
        loop.lag,
        loop.waiting,
        loop.open_rankings,
        loop.leads,
        now.counters,
        _answered(service, loop.name),
        watch.closed,
        watch.joined,
        watch.since,
        watch.passed_over,
        _traffic(service.boards),
        ModelNow("shown", False, 0, now.shown.n, now.shown.mean, now.shown.recent),
        [
            ModelNow(
                name, name == now.champion, now.versions[name], curve.n, curve.mean, curve.recent
            )
            for name, curve in now.curves.items()
        ],
        _experiment(now),
        [
            PlaceNow(place, shown, clicked)
            for place, (shown, clicked) in enumerate(
                zip(watch.shown.tolist(), watch.clicked.tolist(), strict=True), start=1
            )
            if shown
        ],
        _shifts(board, now.settings.names),
        watch.drift.rankings,
        list(watch.marks),
    )


def still_needed(tally: Tally, alpha: float) -> int | None:
    """Return how many more outcomes would decide, if they continue as so far; None if none would.

    Outcomes, their sum and their variance grow alike; the smallest multiple at which the interval
    leaves 0 out is found by halving.
    """
    if tally.n == 0 or tally.total == 0:
        return None

    def decided(n: int) -> bool:
        share = n / tally.n
        grown = msgspec.structs.replace(
            tally, n=n, total=tally.total * share, variance=tally.variance * share
        )
        return grown.interval(alpha).sign != 0

    if decided(tally.n):
        return 0
    low, high = tally.n, 2 * tally.n
    while not decided(high):
        low, high = high, 2 * high
        if high > _MAX_OUTCOMES:
            return None
    while high - low > max(1, low // 50):
        middle = (low + high) // 2
        low, high = (low, middle) if decided(middle) else (middle, high)
    return high - tally.n


def _experiment(now: Published) -> ExperimentNow | None:
    found = running(now)
    if found is None:
        return None
    alpha = now.alpha / len(now.tallies)
    challengers = [
        ChallengerNow(
            one.name,
            one.outcomes,
            one.wins,
            one.losses,
            one.low,
            one.high,
            still_needed(tally, alpha),
        )
        for one, tally in zip(found.challengers, now.tallies, strict=True)
    ]
    return ExperimentNow(found.id, found.champion, challengers, found.watch, found.share)


def _traffic(boards: Boards) -> TrafficNow:
    points = boards.traffic.points
    if len(points) < 2:
        return TrafficNow(0.0, 0.0, None, None)
    last = points[-1]
    first = next(point for point in points if last.at - point.at <= _MINUTE)
    if first is last:
        first = points[-2]
    seconds = last.at - first.at
    bounds, counts = times_between(first.seen, last.seen)
    return TrafficNow(
        (last.seen.requests - first.seen.requests) / seconds,
        last.seen.failed - first.seen.failed,
        quantile(bounds, counts, 0.5),
        quantile(bounds, counts, 0.99),
    )


def _shifts(board: Board, names: tuple[str, ...]) -> list[ShiftNow]:
    found = [
        ShiftNow(name, shift)
        for name, shift in zip(names, board.watch.drift.shifts().tolist(), strict=True)
    ]
    return sorted(found, key=lambda one: -abs(one.shift))[:_MAX_SHIFTS]


def _answered(service: Service, loop: str) -> dict[str, int]:
    return {
        sample.labels["status"]: int(sample.value)
        for family in service.metrics.events.collect()
        for sample in family.samples
        if sample.name.endswith("_total") and sample.labels["loop"] == loop
    }
