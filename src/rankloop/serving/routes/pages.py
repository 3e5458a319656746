"""Further pages of a ranking: what follows on from the page that was shown first."""

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
    """Journal that a page was shown, and return the ranking that its first page came from.

    Parameters
    ----------
    page : from 2
    items : ids of the candidates; they may be left out, and must be those of the ranking else
    k : how many a page holds; it may be left out as well
    """
    if ranking_id is None:
        raise Problem(422, "id: found none; a further page needs the id of the first one's ranking")
    found = await asyncio.to_thread(loop.find_ranking, ranking_id)
    if found is None or not isinstance(found.entry, Ranked):
        raise Problem(
            404, f"there is no ranking {ranking_id!r:.80}, so it has no page {page}; ask for page 1"
        )
    entry = found.entry
    if items and sorted(items) != sorted(entry.items):
        raise Problem(
            409, f"the ranking {ranking_id!r:.80} is about other items; ask for page 1 of a new one"
        )
    if k is not None and k != len(entry.order):
        raise Problem(
            409,
            f"the pages of ranking {ranking_id!r:.80} hold {len(entry.order)} items; found k = {k}",
        )
    if entry.page(page):
        await loop.submit_from(asyncio.get_running_loop(), [Paged(ranking_id, page)])
    return entry
