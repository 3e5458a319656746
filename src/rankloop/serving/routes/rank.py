"""`POST /v1/{loop}/rank`: an order for candidates, durable before it is answered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import numpy as np
from msgspec import Meta

from rankloop.feedback.ids import new_id
from rankloop.serving.journal.ranking_entries import Ranked, pack_features
from rankloop.serving.policy import choose
from rankloop.serving.problems import HTTPProblem
from rankloop.serving.routes.base import Endpoint, answer
from rankloop.serving.routes.candidates import Id, Item, check_printable, from_blob, from_items
from rankloop.serving.routes.computed import ComputedItems, Person, compute_items
from rankloop.serving.routes.context import ContextValue, read_context
from rankloop.serving.routes.explaining import explain_scores
from rankloop.serving.routes.personal import encrypt_personal
from rankloop.serving.routes.rankings import RankAnswer, further_page, rank_answer
from rankloop.serving.security.vault import About, Text

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from starlette.responses import Response

    from rankloop.serving.engine.state import Published
    from rankloop.serving.loop import Loop
    from rankloop.serving.routes.base import Call
    from rankloop.serving.routes.candidates import Candidates

PATIENCE = 1.0
"""Seconds to wait for `min_version`."""


class RankRequest(msgspec.Struct, forbid_unknown_fields=True):
    """What to rank.

    id : the id of the ranking; by default, a new one. The same request with the same id gets the
        same answer
    query, user, session, about : personal fields; encrypted, or not stored without a master key.
        One session, or one user without a session, counts once in an experiment
    items : the candidates; a further page may leave them out
    context : values of features that all candidates share, by name; items have the others
    fields : fields of the request, by name, for features that the loop computes
    k : number of items to show; by default, all
    page : from 1; further pages of the ranking with this id continue where the first one ended
    own_order : whether a user sorted the items, for example by price: their order is kept
    explain : whether to return what each feature adds to a score
    min_version : the least position of the models, such as the position of an event
    """

    items: list[Item | Id] = []
    id: Id | None = None
    query: Text | None = None
    user: Id | None = None
    session: Id | None = None
    about: About | None = None
    context: dict[str, ContextValue] = {}
    fields: dict[str, Any] = {}
    k: Annotated[int, Meta(ge=1)] | None = None
    page: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    own_order: bool = False
    explain: bool = False
    min_version: Annotated[int, Meta(ge=0)] = 0


class PackedRankRequest(msgspec.Struct, forbid_unknown_fields=True):
    """The same in MessagePack: ids, and features as one block of little-endian float32."""

    items: list[Id] = []
    features: bytes = b""
    id: Id | None = None
    query: Text | None = None
    user: Id | None = None
    session: Id | None = None
    about: About | None = None
    context: dict[str, ContextValue] = {}
    fields: dict[str, Any] = {}
    k: Annotated[int, Meta(ge=1)] | None = None
    page: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    own_order: bool = False
    explain: bool = False
    min_version: Annotated[int, Meta(ge=0)] = 0


async def rank(call: Call) -> Response:
    """Score, choose an order, journal it, answer."""
    loop, request = call.loop, call.body
    max_items = call.service.settings.server.max_items
    if request.page > 1:
        ids = [item if isinstance(item, str) else item.id for item in request.items]
        first = await further_page(loop, request.id, request.page, ids, request.k)
        return answer(rank_answer(first, loop.head, request.page))
    now = await _wait_for_models(loop, request.min_version)
    candidates = (
        _given_candidates(request, now, max_items)
        if loop.live.features is None
        else _computed_candidates(request, loop, max_items)
    )
    ranking_id = new_id() if request.id is None else request.id
    check_printable([ranking_id])
    entry, key = await encrypt_personal(loop, _entry(ranking_id, candidates, now, request), request)
    keys = () if key is None or key.stored else (key.row,)
    (outcome,) = await loop.submit_from(asyncio.get_running_loop(), [entry], keys)
    if key is not None:
        key.stored = True
    if outcome.status == "duplicate":
        record = await asyncio.to_thread(loop.find_ranking, ranking_id)
        if record is not None and isinstance(record.entry, Ranked):
            asked, entry = entry, record.entry
            if len(asked.order) != len(entry.order):
                raise _already_exists(ranking_id)
    if outcome.status == "conflict":
        raise _already_exists(ranking_id)
    names, added = (
        await asyncio.to_thread(_explain_scores, entry, now, candidates)
        if request.explain
        else ((), None)
    )
    shown = rank_answer(entry, outcome.position or 0, names=names, added=added)
    if isinstance(candidates, ComputedItems):
        shown.unknown = list(candidates.unknown)
    if call.service.tickets is not None:
        shown.ticket = call.service.tickets.sign(loop.name, ranking_id)
    return answer(shown)


def _already_exists(ranking_id: str) -> HTTPProblem:
    return HTTPProblem(
        409,
        f"the ranking {ranking_id!r} already exists with other items or features, or another k; "
        "use a new id for each request",
    )


async def _wait_for_models(loop: Loop, version: int) -> Published:
    """Return the models, once they are at least that new."""
    end = asyncio.get_running_loop().time() + PATIENCE
    while loop.published.position < version:
        if asyncio.get_running_loop().time() > end:
            raise HTTPProblem(
                503,
                f"the models here are at position {loop.published.position}, but min_version "
                f"is {version}; try again in a moment",
            )
        await asyncio.sleep(0.005)
    return loop.published


def _given_candidates(
    request: RankRequest | PackedRankRequest, now: Published, max_items: int
) -> Candidates:
    """Return the items with the features that the caller sent."""
    if request.fields:
        raise HTTPProblem(422, "fields: this loop computes no features; leave them out")
    shared = read_context(request.context, now.settings) if request.context else None
    settings = now.settings if shared is None else shared.rest
    candidates = (
        from_items(request.items, settings, max_items)
        if isinstance(request, RankRequest)
        else from_blob(request.items, request.features, settings, max_items)
    )
    return candidates if shared is None else shared.add_to(candidates)


def _computed_candidates(
    request: RankRequest | PackedRankRequest, loop: Loop, max_items: int
) -> ComputedItems:
    """Return the items with the features that the loop computes."""
    person = Person(request.query, request.user, request.session)
    block = b"" if isinstance(request, RankRequest) else request.features
    items = request.items
    return compute_items(loop, items, person, request.fields, request.context, max_items, block)


def _entry(
    ranking_id: str,
    candidates: Candidates | ComputedItems,
    now: Published,
    request: RankRequest | PackedRankRequest,
) -> Ranked:
    n = len(candidates.ids)
    k = min(request.k or n, n)
    computed = candidates.computed if isinstance(candidates, ComputedItems) else None
    names = candidates.names if isinstance(candidates, ComputedItems) else ()
    choice = choose(now, candidates.X, ranking_id, k, request.own_order, names)
    features, compressed = pack_features(candidates.X)
    chances = choice.propensities
    return Ranked(
        ranking_id,
        candidates.ids,
        candidates.X.shape[1],
        features,
        choice.order.tolist(),
        choice.scores.tobytes(),
        choice.version,
        choice.seen,
        choice.model,
        choice.policy,
        None if chances is None else chances.tobytes(),
        choice.teams,
        choice.experiment,
        compressed=compressed,
        computed=computed,
    )


def _explain_scores(
    entry: Ranked, now: Published, candidates: Candidates | ComputedItems
) -> tuple[tuple[str, ...], NDArray[np.float64] | None]:
    """Return what each feature adds to each score, by the model that made it; and their names."""
    experiment = now.experiment if entry.experiment is not None else None
    tested = (
        None if experiment is None or experiment.id != entry.experiment else experiment.models[0]
    )
    model = tested or now.models.get(entry.model)
    if model is None:
        return (), None
    if isinstance(candidates, ComputedItems):
        definitions = now.settings.definitions
        return explain_scores(model, candidates.X, candidates.names, definitions)
    added = np.ascontiguousarray(model.contributions(candidates.X)[:, :-1], np.float64)
    return now.settings.names, added


RANK = Endpoint(
    "POST",
    "/v1/{loop}/rank",
    rank,
    "Rank candidates.",
    "rank",
    RankRequest,
    PackedRankRequest,
    RankAnswer,
)
