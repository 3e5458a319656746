"""`/v1/{loop}/models`, `/promote`, `/rollback`: what operators do with models."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from rankloop.exceptions import RankloopError
from rankloop.feedback.ids import new_id
from rankloop.rankers.model_files.saving import loads
from rankloop.serving.journal.action_entries import ModelAdded, ModelRemoved, Promoted
from rankloop.serving.journal.entries import Entry
from rankloop.serving.learning.fitting import check_model
from rankloop.serving.learning.trial import try_model
from rankloop.serving.problems import HTTPProblem
from rankloop.serving.routes.actions import ActionAnswer, Share, act, require_model
from rankloop.serving.routes.base import Endpoint
from rankloop.serving.routes.candidates import Id

if TYPE_CHECKING:
    from starlette.responses import Response

    from rankloop.serving.routes.base import Call


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
    return await act(call, name, ModelAdded(name, body, call.who))


async def remove_model(call: Call) -> Response:
    """Remove a model that is neither the champion nor in the running experiment."""
    now, name = call.loop.published, call.path["name"]
    require_model(now, name)
    tried = () if now.experiment is None else now.experiment.names
    if name == now.champion or name in tried:
        role = "the champion" if name == now.champion else "in the running experiment"
        raise HTTPProblem(409, f"the model {name!r} is {role}, and cannot be removed")
    if name in now.settings.rankers:
        raise HTTPProblem(
            409, f"the model {name!r} is in the settings; remove it there, under rankers"
        )
    action_id = new_id()
    return await act(call, action_id, ModelRemoved(action_id, name, call.who))


async def promote(call: Call) -> Response:
    """Make a model the champion."""
    require_model(call.loop.published, call.body.model)
    action_id = call.body.id or new_id()
    entry = Promoted(action_id, call.body.model, call.body.reason, call.body.holdback, call.who)
    return await act(call, action_id, entry)


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

    return await act(call, action_id, await asyncio.to_thread(replay))


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
)
