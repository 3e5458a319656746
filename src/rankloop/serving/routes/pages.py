"""Further pages of a ranking, which continue its first page."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rankloop.serving.journal.entries import Paged, Ranked
from rankloop.serving.problems import Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloop.serving.service import Loop


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
        raise Problem(
            422, "id: found none; a further page needs the id of the ranking from the first page"
        )
    found = await asyncio.to_thread(loop.find_ranking, ranking_id)
    if found is None or not isinstance(found.entry, Ranked):
        raise Problem(
            404, f"there is no ranking {ranking_id!r:.80}, so it has no page {page}; request page 1"
        )
    entry = found.entry
    if items and sorted(items) != sorted(entry.items):
        raise Problem(
            409, f"the ranking {ranking_id!r:.80} has other items; request page 1 with a new id"
        )
    if k is not None and k != len(entry.order):
        raise Problem(
            409,
            f"the pages of ranking {ranking_id!r:.80} have {len(entry.order)} items; found k = {k}",
        )
    if entry.page(page):
        await loop.submit_from(asyncio.get_running_loop(), [Paged(ranking_id, page)])
    return entry
