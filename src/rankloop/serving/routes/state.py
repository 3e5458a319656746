"""`GET /v1/{loop}`: the state of a loop: models, learning curves, counts, running experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rankloop.serving.audit import ActInfo
from rankloop.serving.experiments import intervals
from rankloop.serving.routes.base import Endpoint, answer
from rankloop.serving.state import Counters

if TYPE_CHECKING:
    from starlette.responses import Response

    from rankloop.serving.routes.base import Call
    from rankloop.serving.service import Loop
    from rankloop.serving.state import Published


class Quality(msgspec.Struct):
    """Mean nDCG@10 on feedback, before learning from it: of all rankings, and of recent ones."""

    rankings: int
    mean: float
    recent: float


class ModelInfo(msgspec.Struct):
    """A model: the position of its last change, and its quality."""

    name: str
    champion: bool
    version: int
    quality: Quality


class ChallengerInfo(msgspec.Struct):
    """How often a challenger won against the champion, with an interval."""

    name: str
    outcomes: int
    wins: int
    losses: int
    low: float
    high: float


class ExperimentInfo(msgspec.Struct):
    """A running experiment; `watch`: it compares a promoted champion with the previous one."""

    id: str
    champion: str
    challengers: list[ChallengerInfo]
    watch: bool
    share: float
    alpha: float


class Budget(msgspec.Struct):
    """The probability of a wrong winner in all experiments, and the part that is used up."""

    alpha: float
    spent: float
    experiments: int
    promotions: int
    rollbacks: int


class LoopState(msgspec.Struct, omit_defaults=True):
    """The state of a loop.

    position, lag : the last durable entry, and how many the rankers are behind
    shown : quality of what people saw; judged data that was imported does not count
    personal : whether personal fields are `sealed`, or `not stored`
    acts : recent actions: who did what and when, oldest first
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
    shown: Quality
    counters: Counters
    personal: str
    acts: list[ActInfo]
    budget: Budget
    experiment: ExperimentInfo | None = None


def loop_state(loop: Loop, now: Published) -> LoopState:
    """Return the state of a loop, as it was published."""
    models = [
        ModelInfo(
            name,
            name == now.champion,
            now.versions[name],
            Quality(curve.n, curve.mean, curve.recent),
        )
        for name, curve in now.curves.items()
    ]
    contest = now.contest
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
        Quality(now.shown.n, now.shown.mean, now.shown.recent),
        now.counters,
        "not stored" if loop.vault is None else "sealed",
        loop.acts.last(),
        Budget(
            now.settings.alpha,
            contest.spent,
            contest.experiments,
            contest.promotions,
            contest.rollbacks,
        ),
        running(now),
    )


def running(now: Published) -> ExperimentInfo | None:
    """Return what the running experiment has found; None if there is none."""
    duel = now.duel
    if duel is None:
        return None
    bounds = intervals(now.tallies, now.alpha)
    challengers = [
        ChallengerInfo(name, tally.n, tally.wins, tally.losses, bound.low, bound.high)
        for name, tally, bound in zip(duel.names[1:], now.tallies, bounds, strict=True)
    ]
    watch = duel.models[0] is None
    return ExperimentInfo(duel.id, duel.names[0], challengers, watch, duel.share, now.alpha)


async def state(call: Call) -> Response:
    """Return the present state of a loop."""
    return answer(loop_state(call.loop, call.loop.published))


STATE = Endpoint("GET", "/v1/{loop}", state, "The state of a loop.", "metrics", answer=LoopState)
