"""A loop at this moment, as the page asks for it every few seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rankloop.serving.dashboard.board import Health
from rankloop.serving.dashboard.marks import Mark
from rankloop.serving.dashboard.traffic import quantile, times_between
from rankloop.serving.engine.state import Totals
from rankloop.serving.experiments.intervals import Outcomes
from rankloop.serving.routes.state import running

if TYPE_CHECKING:
    from rankloop.serving.dashboard.board import Board, Boards
    from rankloop.serving.engine.state import Published
    from rankloop.serving.loop import Loop
    from rankloop.serving.service import Service

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
    """A challenger; `needs` is how many more outcomes would decide, if they continue as so far."""

    name: str
    outcomes: int
    wins: int
    losses: int
    low: float
    high: float
    needs: int | None


class ExperimentNow(msgspec.Struct):
    """A running experiment; `holdback`: it compares a promoted champion with the previous one."""

    id: str
    champion: str
    challengers: list[ChallengerNow]
    holdback: bool
    share: float


class PlaceNow(msgspec.Struct):
    """A place: rankings that had it, and how many of them saw feedback there."""

    place: int
    shown: float
    clicked: float


class ShiftNow(msgspec.Struct):
    """How far a feature has moved recently: :class:`~rankloop.serving.dashboard.drift.Shift`."""

    feature: str
    shift: float
    missing: float = 0.0
    was_missing: float = 0.0
    is_category: bool = False


class ComputedNow(msgspec.Struct):
    """What the features are computed from, in this process.

    unknown : the share of ranked items that have no fields
    counters : keys, keys that had to go, and bytes of each
    """

    items: int
    users: int
    bytes: int
    unknown: float
    counters: dict[str, dict[str, int]]


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
    totals: Totals
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
    computed: ComputedNow | None = None


def now_of(service: Service, board: Board) -> Now:
    """Return a loop at this moment."""
    loop, summary = board.loop, board.summary
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
        now.totals,
        _count_answers(service, loop.name),
        summary.closed,
        summary.joined,
        summary.since,
        summary.passed_over,
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
                zip(summary.shown.tolist(), summary.clicked.tolist(), strict=True), start=1
            )
            if shown
        ],
        _shifts(board, now.settings.names),
        summary.drift.rankings,
        list(summary.marks),
        _computed(loop),
    )


def _computed(loop: Loop) -> ComputedNow | None:
    """Return what a loop computes features from; None if it computes none."""
    state = loop.live.statistics()
    if not state:
        return None
    recent = loop.live.recent
    unknown = recent.unknown / max(recent.items, 1)
    return ComputedNow(state["items"], state["users"], state["bytes"], unknown, state["counters"])


def still_needed(outcomes: Outcomes, alpha: float) -> int | None:
    """Return how many more outcomes would decide, if they continue as so far; None if none would.

    It assumes that wins and losses grow in proportion to the number of outcomes. The smallest
    number at which the interval does not contain 0 is found by bisection.
    """
    if outcomes.wins == outcomes.losses:
        return None

    def is_decided(n: int) -> bool:
        wins, losses = (round(count * n / outcomes.n) for count in (outcomes.wins, outcomes.losses))
        return Outcomes(wins, losses, n - wins - losses).interval(alpha).sign != 0

    if is_decided(outcomes.n):
        return 0
    low, high = outcomes.n, 2 * outcomes.n
    while not is_decided(high):
        low, high = high, 2 * high
        if high > _MAX_OUTCOMES:
            return None
    while high - low > max(1, low // 50):
        middle = (low + high) // 2
        low, high = (low, middle) if is_decided(middle) else (middle, high)
    return high - outcomes.n


def _experiment(now: Published) -> ExperimentNow | None:
    experiment = running(now)
    if experiment is None:
        return None
    alpha = now.alpha / len(now.outcomes)
    challengers = [
        ChallengerNow(
            challenger.name,
            challenger.outcomes,
            challenger.wins,
            challenger.losses,
            challenger.low,
            challenger.high,
            still_needed(outcomes, alpha),
        )
        for challenger, outcomes in zip(experiment.challengers, now.outcomes, strict=True)
    ]
    return ExperimentNow(
        experiment.id, experiment.champion, challengers, experiment.holdback, experiment.share
    )


def _traffic(boards: Boards) -> TrafficNow:
    points = boards.traffic.points
    if len(points) < 2:
        return TrafficNow(0.0, 0.0, None, None)
    last = points[-1]
    first = next(point for point in points if last.at - point.at <= _MINUTE)
    if first is last:
        first = points[-2]
    seconds = last.at - first.at
    bounds, counts = times_between(first.value, last.value)
    return TrafficNow(
        (last.value.requests - first.value.requests) / seconds,
        last.value.failed - first.value.failed,
        quantile(bounds, counts, 0.5),
        quantile(bounds, counts, 0.99),
    )


def _shifts(board: Board, names: tuple[str, ...]) -> list[ShiftNow]:
    moved = board.summary.drift.shifts()
    if len(moved) != len(names):  # the features have just changed
        return []
    shifts = [ShiftNow(name, *shift) for name, shift in zip(names, moved, strict=True)]
    return sorted(shifts, key=_change, reverse=True)[:_MAX_SHIFTS]


def _change(shift: ShiftNow) -> float:
    """Return how much a feature has changed, in its values or in how often it is missing."""
    return max(abs(shift.shift), abs(shift.missing - shift.was_missing))


def _count_answers(service: Service, loop: str) -> dict[str, int]:
    return {
        sample.labels["status"]: int(sample.value)
        for family in service.metrics.events.collect()
        for sample in family.samples
        if sample.name.endswith("_total") and sample.labels["loop"] == loop
    }
