"""Stored rankings: as answers, with their further pages, and `GET /v1/{loop}/rankings/{id}`."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

import msgspec
import numpy as np
from msgspec import Meta

from rankloop import _core
from rankloop.serving.journal.ranking_entries import Paged, Ranked
from rankloop.serving.problems import HTTPProblem
from rankloop.serving.routes.base import Endpoint, answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from starlette.responses import Response

    from rankloop.serving.loop import Loop
    from rankloop.serving.routes.base import Call


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
    unknown : the items that have no fields now, if the loop computes features: their features are
        missing values
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
    unknown: list[str] = []


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
    first = page == 1  # further pages belong to no team, and were not drawn at random
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


async def further_page(
    loop: Loop, ranking_id: str | None, page: int, items: Sequence[str], k: int | None
) -> Ranked:
    """Store in the journal that a page was shown, and return its ranking.

    Parameters
    ----------
    page : from 2
    items : ids of the candidates, which must be those of the ranking; they may be left out
    k : number of items on a page; it may be left out too
    """
    if ranking_id is None:
        raise HTTPProblem(
            422, "id: found none; a further page needs the id of the ranking from the first page"
        )
    record = await asyncio.to_thread(loop.find_ranking, ranking_id)
    if record is None or not isinstance(record.entry, Ranked):
        raise HTTPProblem(
            404, f"there is no ranking {ranking_id!r:.80}, so it has no page {page}; request page 1"
        )
    entry = record.entry
    if items and sorted(items) != sorted(entry.items):
        raise HTTPProblem(
            409, f"the ranking {ranking_id!r:.80} has other items; request page 1 with a new id"
        )
    if k is not None and k != len(entry.order):
        raise HTTPProblem(
            409,
            f"the pages of ranking {ranking_id!r:.80} have {len(entry.order)} items; found k = {k}",
        )
    if entry.page(page):
        await loop.submit_from(asyncio.get_running_loop(), [Paged(ranking_id, page)])
    return entry


async def ranking(call: Call) -> Response:
    """Return a ranking from the journal."""
    ranking_id = call.path["id"]
    record = await asyncio.to_thread(call.loop.find_ranking, ranking_id)
    if record is None or not isinstance(record.entry, Ranked):
        raise HTTPProblem(404, f"there is no ranking {ranking_id!r:.80} in this loop's journal")
    return answer(rank_answer(record.entry, record.position))


RANKING = Endpoint(
    "GET",
    "/v1/{loop}/rankings/{id}",
    ranking,
    "A ranking as it was shown.",
    "rank",
    answer=RankAnswer,
)
