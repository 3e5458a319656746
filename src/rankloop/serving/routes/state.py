"""`GET /v1/{loop}`: the state of a loop: models, learning curves, counts, running experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rankloop.serving.engine.state import Totals
from rankloop.serving.experiments.intervals import intervals
from rankloop.serving.learning.changes import adaptive_part
from rankloop.serving.learning.failures import Failure
from rankloop.serving.routes.base import Endpoint, answer
from rankloop.serving.security.audit import Action

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

    from rankloop.serving.engine.state import Published
    from rankloop.serving.loop import Loop
    from rankloop.serving.routes.base import Call

_MOVED = 5
"""So many of the weights that moved are shown."""


class QualityInfo(msgspec.Struct):
    """Mean nDCG@10 on feedback, before learning from it: of all rankings, and of recent ones."""

    rankings: int
    mean: float
    recent: float


class MovedInfo(msgspec.Struct):
    """A feature whose weight moved: before, and now, of weights whose squares sum to 1."""

    feature: str
    before: float
    now: float


class AdaptationInfo(msgspec.Struct):
    """How a model that adapts follows changes.

    memory : how many queries its rankings rest on
    changes : the entries after which it noticed a change; the latest 16
    moved : while something more recent ranks than all of the past: the weights that differ most
    """

    memory: float
    changes: list[int]
    moved: list[MovedInfo]


class ModelInfo(msgspec.Struct, omit_defaults=True):
    """A model: the position of its last change, its quality, and how it adapts, if it does.

    refused : the number of examples from which it could not learn
    """

    name: str
    champion: bool
    version: int
    quality: QualityInfo
    adaptation: AdaptationInfo | None = None
    refused: int = 0


class ChallengerInfo(msgspec.Struct):
    """How often a challenger won against the champion, with an interval."""

    name: str
    outcomes: int
    wins: int
    losses: int
    low: float
    high: float


class ExperimentInfo(msgspec.Struct):
    """A running experiment; `holdback`: it compares a promoted champion with the previous one."""

    id: str
    champion: str
    challengers: list[ChallengerInfo]
    holdback: bool
    share: float
    alpha: float


class Budget(msgspec.Struct):
    """The probability of a wrong winner in all experiments, and the part that is used up."""

    alpha: float
    spent: float
    experiments: int
    promotions: int
    rollbacks: int


class LoopNames(msgspec.Struct):
    """The loops of the service."""

    loops: list[str]


class LoopState(msgspec.Struct, omit_defaults=True):
    """The state of a loop.

    position, lag : the last durable entry, and how many the rankers are behind
    shown : quality of what people saw; judged data that was imported does not count
    personal : whether personal fields are `encrypted`, or `not stored`
    actions : recent actions: who did what and when, oldest first
    failures : the latest entries, examples and models that failed, and were left out
    rejected : events that this process answered with `rejected` since it started, as in `/metrics`;
        `totals` counts those that are in the journal
    """

    name: str
    features: tuple[str, ...]
    policy: str
    learn_from: str
    position: int
    lag: int
    open_rankings: int
    leads: bool
    models: list[ModelInfo]
    shown: QualityInfo
    totals: Totals
    personal: str
    actions: list[Action]
    budget: Budget
    experiment: ExperimentInfo | None = None
    failures: list[Failure] = []
    rejected: int = 0


def loop_state(loop: Loop, now: Published) -> LoopState:
    """Return the state of a loop, as it was published."""
    labels = loop.live.labels()
    models = [
        ModelInfo(
            name,
            name == now.champion,
            now.versions[name],
            QualityInfo(curve.n, curve.mean, curve.recent),
            adaptation(now, name, labels),
            now.refused[name],
        )
        for name, curve in now.curves.items()
    ]
    return LoopState(
        loop.name,
        now.settings.names,
        now.settings.policy,
        now.settings.learn_from,
        loop.head,
        loop.head - now.position,
        loop.open_rankings,
        loop.leads,
        models,
        QualityInfo(now.shown.n, now.shown.mean, now.shown.recent),
        now.totals,
        "not stored" if loop.vault is None else "encrypted",
        loop.actions.last(),
        budget_of(now),
        running(now),
        list(now.failures),
        loop.rejected,
    )


def budget_of(now: Published) -> Budget:
    """Return how much of a loop's error budget is used up."""
    experiments = now.experiments
    return Budget(
        now.settings.alpha,
        experiments.spent,
        experiments.started,
        experiments.promotions,
        experiments.rollbacks,
    )


def adaptation(now: Published, name: str, labels: Mapping[str, str]) -> AdaptationInfo | None:
    """Return how a model follows changes; None if it does not.

    labels : readable names of features
    """
    adaptive = adaptive_part(now.models[name])
    if adaptive is None:
        return None
    moved = [
        MovedInfo(labels.get(weight["feature"], weight["feature"]), weight["before"], weight["now"])
        for weight in adaptive.moved_weights()[:_MOVED]
    ]
    return AdaptationInfo(adaptive.memory_, now.changes[name].positions, moved)


def running(now: Published) -> ExperimentInfo | None:
    """Return what the running experiment has found; None if there is none."""
    experiment = now.experiment
    if experiment is None:
        return None
    bounds = intervals(now.outcomes, now.alpha)
    challengers = [
        ChallengerInfo(name, outcomes.n, outcomes.wins, outcomes.losses, bound.low, bound.high)
        for name, outcomes, bound in zip(experiment.names[1:], now.outcomes, bounds, strict=True)
    ]
    holdback = experiment.models[0] is None
    return ExperimentInfo(
        experiment.id, experiment.names[0], challengers, holdback, experiment.share, now.alpha
    )


async def state(call: Call) -> Response:
    """Return the present state of a loop."""
    return answer(loop_state(call.loop, call.loop.published))


async def loops(call: Call) -> Response:
    """Return the names of all loops."""
    return answer(LoopNames(list(call.service.loops)))


LOOPS = Endpoint("GET", "/v1", loops, "The names of the loops.", None, answer=LoopNames)
STATE = Endpoint("GET", "/v1/{loop}", state, "The state of a loop.", "metrics", answer=LoopState)
