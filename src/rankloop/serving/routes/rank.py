"""`POST /v1/{loop}/rank`: an order for candidates, durable before it is answered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np
from msgspec import Meta

from rankloop import _core
from rankloop.feedback.ids import new_id
from rankloop.serving.journal.entries import Ranked, packed
from rankloop.serving.policy import choose
from rankloop.serving.privacy import About, Text
from rankloop.serving.problems import Problem
from rankloop.serving.routes.base import Endpoint, answer
from rankloop.serving.routes.candidates import Id, Item, check_printable, from_blob, from_items
from rankloop.serving.routes.context import shared_features
from rankloop.serving.routes.pages import further_page
from rankloop.serving.routes.personal import sealed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from starlette.responses import Response

    from rankloop.serving.routes.base import Call
    from rankloop.serving.routes.candidates import Candidates
    from rankloop.serving.service import Loop
    from rankloop.serving.state import Published

PATIENCE = 1.0
"""Seconds to wait for `min_version`."""


class RankRequest(msgspec.Struct, forbid_unknown_fields=True):
    """What to rank.

    id : the id of the ranking; by default, a new one. The same request with the same id gets the
        same answer
    query, user, session, about : personal fields; encrypted, or not stored without a master key.
        One session counts once in an experiment
    items : the candidates; a further page may leave them out
    context : values of features that all candidates share, by name; items have the others
    k : number of items to show; by default, all
    page : from 1; further pages of the ranking with this id continue where the first one ended
    own_order : whether a user sorted the items, for example by price: their order is kept
    explain : whether to return what each feature adds to a score
    min_version : the least position of the models, such as the position of an event
    """

    items: list[Item] = []
    id: Id | None = None
    query: Text | None = None
    user: Id | None = None
    session: Id | None = None
    about: About | None = None
    context: dict[str, float] = {}
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
    context: dict[str, float] = {}
    k: Annotated[int, Meta(ge=1)] | None = None
    page: Annotated[int, Meta(ge=1, le=1_000_000)] = 1
    own_order: bool = False
    explain: bool = False
    min_version: Annotated[int, Meta(ge=0)] = 0


class RankedItem(msgspec.Struct, omit_defaults=True):
    """One place of the answer; in an experiment, `team` 1 is the challenger."""

    id: str
    rank: int
    score: float
    propensity: float | None = None
    team: int | None = None
    contributions: dict[str, float] | None = None


_ITEMS = {"type": "array", "items": msgspec.json.schema(RankedItem)["$defs"]["RankedItem"]}


class RankAnswer(msgspec.Struct, omit_defaults=True):
    """The order to show, from the top; feedback refers to `ranking_id`.

    items : one :class:`RankedItem` per place, which the core writes directly from arrays
    ticket : the ranking's id, signed, for browsers that send feedback directly
    """

    ranking_id: str
    model: str
    model_version: int
    policy: str
    items: Annotated[msgspec.Raw, Meta(extra_json_schema=_ITEMS)]
    position: int
    experiment: str | None = None
    ticket: str | None = None


async def rank(call: Call) -> Response:
    """Score, choose an order, journal it, answer."""
    loop, request = call.loop, call.body
    most = call.service.settings.server.max_items
    if request.page > 1:
        ids = [item if isinstance(item, str) else item.id for item in request.items]
        first = await further_page(loop, request.id, request.page, ids, request.k)
        return answer(rank_answer(first, loop.head, request.page))
    now = await _new_enough(loop, request.min_version)
    shared = shared_features(request.context, now.settings) if request.context else None
    settings = now.settings if shared is None else shared.rest
    candidates = (
        from_items(request.items, settings, most)
        if isinstance(request, RankRequest)
        else from_blob(request.items, request.features, settings, most)
    )
    if shared is not None:
        candidates = shared.added_to(candidates)
    ranking_id = new_id() if request.id is None else request.id
    check_printable([ranking_id])
    entry, key = await sealed(loop, _entry(ranking_id, candidates, now, request), request)
    keys = () if key is None or key.stored else (key.row,)
    (outcome,) = await loop.submit_from(asyncio.get_running_loop(), [entry], keys)
    if key is not None:
        key.stored = True
    if outcome.status == "conflict":
        raise Problem(
            409,
            f"the ranking {ranking_id!r} already exists with other items or features; use a new id "
            "for each request",
        )
    if outcome.status == "duplicate":
        found = await asyncio.to_thread(loop.find_ranking, ranking_id)
        if found is not None and isinstance(found.entry, Ranked):
            entry = found.entry
    added = await asyncio.to_thread(_added, entry, now, candidates) if request.explain else None
    shown = rank_answer(entry, outcome.position or 0, names=now.settings.names, added=added)
    if call.service.tickets is not None:
        shown.ticket = call.service.tickets.sign(loop.name, ranking_id)
    return answer(shown)


async def _new_enough(loop: Loop, version: int) -> Published:
    """Return the models, once they are at least that new."""
    end = asyncio.get_running_loop().time() + PATIENCE
    while loop.published.position < version:
        if asyncio.get_running_loop().time() > end:
            raise Problem(
                503,
                f"the models here are at position {loop.published.position}, but min_version "
                f"is {version}; try again in a moment",
            )
        await asyncio.sleep(0.005)
    return loop.published


def _entry(
    ranking_id: str,
    candidates: Candidates,
    now: Published,
    request: RankRequest | PackedRankRequest,
) -> Ranked:
    n = len(candidates.ids)
    k = min(request.k or n, n)
    choice = choose(now, candidates.X, ranking_id, k, request.own_order)
    features, compressed = packed(candidates.X)
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
    )


def rank_answer(
    entry: Ranked,
    position: int,
    page: int = 1,
    names: Sequence[str] = (),
    added: NDArray[np.float64] | None = None,
) -> RankAnswer:
    """Return the answer for a page of a stored ranking.

    Parameters
    ----------
    added : what each feature adds to each candidate's score, one column per name, or None
    """
    first = page == 1  # those after it belong to no team, and were not drawn by chance
    chances, teams = (entry.propensities, entry.teams) if first else (None, None)
    items = _core.places_json(
        entry.items,
        np.array(entry.page(page), np.int64),
        np.frombuffer(entry.scores, np.float64),
        1 + (page - 1) * len(entry.order),
        None if chances is None else np.frombuffer(chances, np.float64),
        None if teams is None else np.array(teams, np.int64),
        list(names) if added is not None else [],
        added,
    )
    return RankAnswer(
        entry.id,
        entry.model,
        entry.version,
        entry.policy,
        msgspec.Raw(items),
        position,
        entry.experiment if first else None,
    )


def _added(entry: Ranked, now: Published, candidates: Candidates) -> NDArray[np.float64] | None:
    """Return what each feature adds to each score, by the model that made it."""
    duel = now.duel if entry.experiment is not None else None
    tested = None if duel is None or duel.id != entry.experiment else duel.models[0]
    model = tested or now.models.get(entry.model)
    if model is None:
        return None
    return np.ascontiguousarray(model.contributions(candidates.X)[:, :-1], np.float64)


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
