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
from rankloop.serving.experiments import share_of_errors
from rankloop.serving.journal.entries import (
    Entry,
    ExperimentEnded,
    ExperimentStarted,
    Judged,
    ModelAdded,
    Observed,
    Promoted,
)
from rankloop.serving.problems import Problem
from rankloop.serving.routes.base import Endpoint, answer
from rankloop.serving.routes.candidates import Id

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.responses import Response

    from rankloop.serving.journal.base import Record
    from rankloop.serving.routes.base import Call
    from rankloop.serving.state import Published


_PATIENCE = 10.0  # seconds; where rankers are further behind, an act takes effect later

Share = Annotated[float, Meta(ge=0, le=1)]


class Act(msgspec.Struct, omit_defaults=True):
    """An action: its id, and its position in the journal."""

    id: str
    status: str
    position: int | None = None


class PromoteRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Make a model the champion; a second request with the same id has no effect.

    watch : the share of rankings on which it is then compared with the previous champion, which
        is restored if it is proven better; 0: none
    """

    model: Id
    watch: Share = 0.0
    id: Id | None = None
    reason: Annotated[str, Meta(max_length=1000)] = ""


class RollbackRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Restore all models as they were after a position, or as they would be without some events.

    Give either `position`, or `without_events`: ids of events, or regular expressions in /slashes/.
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
    watch : the share of rankings on which a promoted winner is then compared with the previous
        champion, which is restored if it is proven better; 0: none
    """

    challengers: Annotated[list[Id], Meta(min_length=1, max_length=20)]
    id: Id | None = None
    promote: Literal["no", "auto", "snapshot"] = "no"
    share: Annotated[float, Meta(gt=0, le=1)] = 1.0
    watch: Share = 0.1


class EndRequest(msgspec.Struct, forbid_unknown_fields=True):
    """End the running experiment without a winner."""

    reason: Annotated[str, Meta(max_length=1000)] = "ended by hand"


async def add_model(call: Call) -> Response:
    """Add a model from the bytes of its file."""
    name, body = call.path["name"], call.body
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.:=,-]{0,100}", name):
        raise Problem(422, f"the name {name!r:.80} may contain only letters, digits and _.:=,-")
    try:
        model = await asyncio.to_thread(loads, body)
    except RankloopError as error:
        raise Problem(422, f"the body is not a model file: {error}") from None
    now = call.loop.published
    names = now.settings.names
    if not model.is_fitted or model.n_features_in_ != len(names):
        found = model.n_features_in_ if model.is_fitted else 0
        raise Problem(422, f"the model has {found} features, but this loop has {len(names)}")
    if model.feature_names_in_ and model.feature_names_in_ != names:
        raise Problem(
            422, "the model's features differ from the loop's, in their names or their order"
        )
    return await _act(call, name, ModelAdded(name, body, call.who))


async def promote(call: Call) -> Response:
    """Make a model the champion."""
    _known(call.loop.published, call.body.model)
    act_id = call.body.id or new_id()
    entry = Promoted(act_id, call.body.model, call.body.reason, call.body.watch, call.who)
    return await _act(call, act_id, entry)


async def rollback(call: Call) -> Response:
    """Replay in the background, then use the models of the replay."""
    from rankloop.serving.history import quarantined, rolled_back

    request, loop = call.body, call.loop
    if (request.position is None) == (request.without_events is None):
        raise Problem(422, "give either position or without_events")
    act_id = request.id or new_id()

    def replay() -> Entry:
        with loop.reader() as journal:
            if request.position is not None:
                return rolled_back(journal, act_id, request.position, request.reason, call.who)
            without = _named(request.without_events)
            return quarantined(journal, act_id, without, request.reason, call.who)

    return await _act(call, act_id, await asyncio.to_thread(replay))


async def start_experiment(call: Call) -> Response:
    """Start an experiment with its share of the loop's error budget."""
    now, body, contest = call.loop.published, call.body, call.loop.published.contest
    for name in body.challengers:
        _known(now, name)
    if len({now.champion, *body.challengers}) <= len(body.challengers):
        raise Problem(
            422, f"give different challengers; {now.champion!r} is the champion and cannot be one"
        )
    if now.duel is not None and now.duel.id != body.id and now.duel.models[0] is not None:
        raise Problem(
            409, f"experiment {now.duel.id!r} is running and cannot be changed; end it first"
        )
    if not share_of_errors(now.settings.alpha, contest.spent, contest.experiments):
        raise Problem(
            409,
            f"all of this loop's error budget (alpha = {now.settings.alpha:g}) has been used up by "
            f"{contest.experiments} experiments; raise alpha in its settings",
        )
    act_id = body.id or new_id()
    entry = ExperimentStarted(
        act_id, body.challengers, body.promote, body.share, body.watch, call.who
    )
    return await _act(call, act_id, entry)


async def end_experiment(call: Call) -> Response:
    """End the running experiment."""
    duel = call.loop.published.duel
    if duel is None or duel.id != call.path["id"]:
        raise Problem(404, f"there is no running experiment {call.path['id']!r:.80}")
    return await _act(call, duel.id, ExperimentEnded(duel.id, call.body.reason, by=call.who))


async def _act(call: Call, act_id: str, entry: Entry) -> Response:
    """Append an entry, and answer once it took effect: the next request then finds it."""
    (outcome,) = await call.loop.submit_from(asyncio.get_running_loop(), [entry])
    if outcome.status == "conflict":
        raise Problem(409, f"{act_id!r} already exists with other contents; use another id or name")
    if outcome.position is not None:
        await asyncio.to_thread(call.loop.reached, outcome.position, _PATIENCE)
    return answer(Act(act_id, outcome.status, outcome.position))


def _known(now: Published, model: str) -> None:
    if model not in now.models:
        raise Problem(404, f"there is no model {model!r}; there are: {', '.join(now.models)}")


def _named(events: list[str]) -> Callable[[Record], bool]:
    """Return whether an entry is one of these events."""
    exact = {one for one in events if not _is_pattern(one)}
    try:
        patterns = [re.compile(one[1:-1]) for one in events if _is_pattern(one)]
    except re.error as error:
        raise Problem(422, f"without_events: this is not a regular expression: {error}") from None

    def without(record: Record) -> bool:
        entry = record.entry
        return isinstance(entry, Observed | Judged) and (
            entry.id in exact or any(one.search(entry.id) for one in patterns)
        )

    return without


def _is_pattern(text: str) -> bool:
    return len(text) > 2 and text[0] == text[-1] == "/"


ENDPOINTS = (
    Endpoint(
        "POST",
        "/v1/{loop}/models/{name}",
        add_model,
        "Add a model file as a challenger.",
        "admin",
        answer=Act,
        raw=True,
    ),
    Endpoint(
        "POST",
        "/v1/{loop}/promote",
        promote,
        "Make a model the champion.",
        "admin",
        PromoteRequest,
        answer=Act,
    ),
    Endpoint(
        "POST",
        "/v1/{loop}/rollback",
        rollback,
        "Restore an earlier state of all models, or the state without some events.",
        "admin",
        RollbackRequest,
        answer=Act,
    ),
    Endpoint(
        "POST",
        "/v1/{loop}/experiments",
        start_experiment,
        "Interleave challengers with the champion.",
        "admin",
        ExperimentRequest,
        answer=Act,
    ),
    Endpoint(
        "POST",
        "/v1/{loop}/experiments/{id}/end",
        end_experiment,
        "End the running experiment.",
        "admin",
        EndRequest,
        answer=Act,
    ),
)
