"""`/v1/{loop}/models`, `/promote`, `/rollback`, `/experiments`: what operators do."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec
from msgspec import Meta

from rankloop.exceptions import RankloopError
from rankloop.feedback.ids import new_id
from rankloop.rankers.model_files.saving import loads
from rankloop.serving.experiments.intervals import share_of_errors
from rankloop.serving.journal.entries import (
    Entry,
    ExperimentEnded,
    ExperimentStarted,
    ModelAdded,
    ModelRemoved,
    Promoted,
)
from rankloop.serving.learning.fitting import check_model
from rankloop.serving.learning.trial import try_model
from rankloop.serving.problems import HTTPProblem
from rankloop.serving.routes.base import Endpoint, answer
from rankloop.serving.routes.candidates import Id

if TYPE_CHECKING:
    from starlette.responses import Response

    from rankloop.serving.engine.state import Published
    from rankloop.serving.routes.base import Call


_PATIENCE = 10.0  # seconds to wait until an action takes effect; it may take longer

Share = Annotated[float, Meta(ge=0, le=1)]


class ActionAnswer(msgspec.Struct, omit_defaults=True):
    """An action: its id, and its position in the journal."""

    id: str
    status: str
    position: int | None = None


class PromoteRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Make a model the champion; a second request with the same id has no effect.

    holdback : the share of rankings on which it is then compared with the previous champion, which
        is restored if it is proven better; 0: none
    """

    model: Id
    holdback: Share = 0.0
    id: Id | None = None
    reason: Annotated[str, Meta(max_length=1000)] = ""


class RollbackRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Restore all models as they were after a position, or as they would be without some events.

    Give either `position`, or `without_events`: ids of events, in which `*` stands for any
    characters.
    """

    position: Annotated[int, Meta(ge=1)] | None = None
    without_events: Annotated[list[Id], Meta(min_length=1, max_length=10_000)] | None = None
    id: Id | None = None
    reason: Annotated[str, Meta(max_length=1000)] = ""


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


async def add_model(call: Call) -> Response:
    """Add a model from the bytes of its file."""
    name, body = call.path["name"], call.body
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.:=,-]{0,100}", name):
        raise HTTPProblem(422, f"the name {name!r:.80} may contain only letters, digits and _.:=,-")
    try:
        model = await asyncio.to_thread(loads, body)
    except RankloopError as error:
        raise HTTPProblem(422, f"the body is not a model file: {error}") from None
    try:
        settings = call.loop.published.settings
        fitted = call.loop.live.fit_codes(model, settings)
        check_model(fitted, settings)
        if fitted is not model:
            body = fitted.dumps()
        await asyncio.to_thread(try_model, body)
    except RankloopError as error:
        raise HTTPProblem(422, str(error)) from None
    return await _act(call, name, ModelAdded(name, body, call.who))


async def remove_model(call: Call) -> Response:
    """Remove a model that is neither the champion nor in the running experiment."""
    now, name = call.loop.published, call.path["name"]
    _check_model(now, name)
    tried = () if now.experiment is None else now.experiment.names
    if name == now.champion or name in tried:
        role = "the champion" if name == now.champion else "in the running experiment"
        raise HTTPProblem(409, f"the model {name!r} is {role}, and cannot be removed")
    if name in now.settings.rankers:
        raise HTTPProblem(
            409, f"the model {name!r} is in the settings; remove it there, under rankers"
        )
    action_id = new_id()
    return await _act(call, action_id, ModelRemoved(action_id, name, call.who))


async def promote(call: Call) -> Response:
    """Make a model the champion."""
    _check_model(call.loop.published, call.body.model)
    action_id = call.body.id or new_id()
    entry = Promoted(action_id, call.body.model, call.body.reason, call.body.holdback, call.who)
    return await _act(call, action_id, entry)


async def rollback(call: Call) -> Response:
    """Replay in the background, then use the models of the replay."""
    from rankloop.serving.engine.history import make_quarantine, make_rollback

    request, loop = call.body, call.loop
    if (request.position is None) == (request.without_events is None):
        raise HTTPProblem(422, "give either position or without_events")
    action_id = request.id or new_id()

    def replay() -> Entry:
        with loop.reader() as journal:
            if request.position is not None:
                return make_rollback(journal, action_id, request.position, request.reason, call.who)
            events = request.without_events or []
            return make_quarantine(journal, action_id, events, request.reason, call.who)

    return await _act(call, action_id, await asyncio.to_thread(replay))


async def start_experiment(call: Call) -> Response:
    """Start an experiment with its share of the loop's error budget."""
    now, body, experiments = call.loop.published, call.body, call.loop.published.experiments
    for name in body.challengers:
        _check_model(now, name)
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
    if not share_of_errors(now.settings.alpha, experiments.spent, experiments.started):
        raise HTTPProblem(
            409,
            f"all of this loop's error budget (alpha = {now.settings.alpha:g}) has been used up by "
            f"{experiments.started} experiments; raise alpha in its settings",
        )
    action_id = body.id or new_id()
    entry = ExperimentStarted(
        action_id, body.challengers, body.promote, body.share, body.holdback, call.who
    )
    return await _act(call, action_id, entry)


async def end_experiment(call: Call) -> Response:
    """End the running experiment."""
    experiment = call.loop.published.experiment
    if experiment is None or experiment.id != call.path["id"]:
        raise HTTPProblem(404, f"there is no running experiment {call.path['id']!r:.80}")
    return await _act(
        call, experiment.id, ExperimentEnded(experiment.id, call.body.reason, by=call.who)
    )


async def _act(call: Call, action_id: str, entry: Entry) -> Response:
    """Append an entry, and answer once it has taken effect, so that the next request sees it."""
    (outcome,) = await call.loop.submit_from(asyncio.get_running_loop(), [entry])
    if outcome.status == "conflict":
        raise HTTPProblem(
            409, f"{action_id!r} already exists with other contents; use another id or name"
        )
    if outcome.position is not None:
        await asyncio.to_thread(call.loop.wait_for_entry, outcome.position, _PATIENCE)
    return answer(ActionAnswer(action_id, outcome.status, outcome.position))


def _check_model(now: Published, model: str) -> None:
    if model not in now.models:
        raise HTTPProblem(404, f"there is no model {model!r}; there are: {', '.join(now.models)}")


ENDPOINTS = (
    Endpoint(
        "POST",
        "/v1/{loop}/models/{name}",
        add_model,
        "Add a model file as a challenger.",
        "admin",
        answer=ActionAnswer,
        raw=True,
    ),
    Endpoint(
        "DELETE",
        "/v1/{loop}/models/{name}",
        remove_model,
        "Remove a model.",
        "admin",
        answer=ActionAnswer,
    ),
    Endpoint(
        "POST",
        "/v1/{loop}/promote",
        promote,
        "Make a model the champion.",
        "admin",
        PromoteRequest,
        answer=ActionAnswer,
    ),
    Endpoint(
        "POST",
        "/v1/{loop}/rollback",
        rollback,
        "Restore an earlier state of all models, or the state without some events.",
        "admin",
        RollbackRequest,
        answer=ActionAnswer,
    ),
    Endpoint(
        "POST",
        "/v1/{loop}/experiments",
        start_experiment,
        "Interleave challengers with the champion.",
        "admin",
        ExperimentRequest,
        answer=ActionAnswer,
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
