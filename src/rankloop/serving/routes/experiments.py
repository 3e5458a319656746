"""`/v1/{loop}/experiments`: models that are compared on live traffic."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from rankloop.feedback.ids import new_id
from rankloop.serving.experiments.forecast import Forecast, Traffic, estimate_traffic, forecast
from rankloop.serving.experiments.intervals import share_of_errors
from rankloop.serving.journal.action_entries import ExperimentEnded, ExperimentStarted
from rankloop.serving.journal.base import JournalError
from rankloop.serving.problems import HTTPProblem
from rankloop.serving.routes.actions import ActionAnswer, Share, require_model, take_action
from rankloop.serving.routes.base import Endpoint, answer
from rankloop.serving.routes.candidates import Id
from rankloop.serving.routes.state import Budget, ExperimentInfo, budget_of, running
from rankloop.serving.security.audit import as_action

if TYPE_CHECKING:
    from starlette.responses import Response

    from rankloop.serving.journal.base import Journal
    from rankloop.serving.routes.base import Call


class ExperimentRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Interleave challengers with the champion, as all are now.

    promote : `auto` makes a winner the champion, with what it has learnt meanwhile; `snapshot`
        promotes it in the state that won; `no` only reports the winner
    share : the share of rankings that are interleaved
    holdback : the share of rankings on which a promoted winner is then compared with the previous
        champion, which is restored if it is proven better; 0: none
    """

    challengers: Annotated[list[Id], Meta(min_length=1, max_length=20)]
    id: Id | None = None
    promote: Literal["no", "auto", "snapshot"] = "no"
    share: Annotated[float, Meta(gt=0, le=1)] = 1.0
    holdback: Share = 0.1


class EndRequest(msgspec.Struct, forbid_unknown_fields=True):
    """End the running experiment without a winner."""

    reason: Annotated[str, Meta(max_length=1000)] = "ended by hand"


class EndedInfo(msgspec.Struct):
    """An experiment that was ended: by whom, why, and which model was proven best, or empty.

    position, at : of its end in the journal, and when that was, in UTC
    """

    id: str
    winner: str
    reason: str
    by: str
    position: int
    at: str


class ExperimentState(msgspec.Struct, omit_defaults=True):
    """The running experiment, if there is one, and what is left of the error budget.

    last : the last experiment that was ended; one that a promotion or a rollback cut short is not
    next : if none is running: how long one takes with one challenger on all rankings
    """

    budget: Budget
    experiment: ExperimentInfo | None = None
    last: EndedInfo | None = None
    next: Forecast | None = None


class StartedAnswer(ActionAnswer):
    """The id of an experiment, the position of its start in the journal, and how long it takes."""

    forecast: Forecast | None = None


async def start_experiment(call: Call) -> Response:
    """Start an experiment with its share of the loop's error budget."""
    now, body, experiments = call.loop.published, call.body, call.loop.published.experiments
    for name in body.challengers:
        require_model(now, name)
    if len({now.champion, *body.challengers}) <= len(body.challengers):
        raise HTTPProblem(
            422, f"give different challengers; {now.champion!r} is the champion and cannot be one"
        )
    if (
        now.experiment is not None
        and now.experiment.id != body.id
        and now.experiment.models[0] is not None
    ):
        raise HTTPProblem(
            409, f"experiment {now.experiment.id!r} is running and cannot be changed; end it first"
        )
    alpha = share_of_errors(now.settings.alpha, experiments.spent, experiments.started)
    if not alpha:
        raise HTTPProblem(
            409,
            f"all of this loop's error budget (alpha = {now.settings.alpha:g}) has been used up by "
            f"{experiments.started} experiments; raise alpha in its settings",
        )
    action_id = body.id or new_id()
    entry = ExperimentStarted(
        action_id, body.challengers, body.promote, body.share, body.holdback, call.who
    )
    expected = await _forecast(call, alpha / len(body.challengers), body.share)
    action = await take_action(call, action_id, entry)
    return answer(StartedAnswer(action.id, action.status, action.position, expected))


async def _forecast(call: Call, alpha: float, share: float = 1.0) -> Forecast:
    def measure(journal: Journal) -> Traffic | None:
        try:
            return estimate_traffic(journal, feedback)
        except JournalError:  # it may be compacted meanwhile; nothing else depends on a forecast
            return None

    feedback = call.loop.published.settings.feedback
    traffic = await asyncio.to_thread(call.loop.read, measure)
    return await asyncio.to_thread(forecast, traffic, alpha, share)


async def end_experiment(call: Call) -> Response:
    """End the running experiment."""
    experiment = call.loop.published.experiment
    if experiment is None or experiment.id != call.path["id"]:
        now = "none is" if experiment is None else f"{experiment.id!r} is"
        raise HTTPProblem(404, f"experiment {call.path['id']!r:.80} is not running; {now}")
    entry = ExperimentEnded(experiment.id, call.body.reason, by=call.who)
    return answer(await take_action(call, experiment.id, entry))


async def show_experiment(call: Call) -> Response:
    """Return what the running experiment has found, and how the last one ended."""
    now = call.loop.published
    last = await asyncio.to_thread(call.loop.read, _last_ended)
    experiments = now.experiments
    alpha = share_of_errors(now.settings.alpha, experiments.spent, experiments.started)
    expected = await _forecast(call, alpha) if now.experiment is None and alpha else None
    return answer(ExperimentState(budget_of(now), running(now), last, expected))


def _last_ended(journal: Journal) -> EndedInfo | None:
    for record in reversed(journal.find_kind("ended")):
        action = as_action(record)
        if action is not None and isinstance(record.entry, ExperimentEnded):
            end = record.entry
            return EndedInfo(end.id, end.winner, end.reason, action.by, record.position, action.at)
    return None


ENDPOINTS = (
    Endpoint(
        "GET",
        "/v1/{loop}/experiments",
        show_experiment,
        "What the running experiment has found, and how the last one ended.",
        "metrics",
        answer=ExperimentState,
    ),
    Endpoint(
        "POST",
        "/v1/{loop}/experiments",
        start_experiment,
        "Interleave challengers with the champion.",
        "admin",
        ExperimentRequest,
        answer=StartedAnswer,
    ),
    Endpoint(
        "POST",
        "/v1/{loop}/experiments/{id}/end",
        end_experiment,
        "End the running experiment.",
        "admin",
        EndRequest,
        answer=ActionAnswer,
    ),
)
