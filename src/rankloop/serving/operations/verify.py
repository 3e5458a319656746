"""Whether a journal is whole, and still leads where it led."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rankloop.exceptions import RankloopError
from rankloop.serving.entries import Ranked
from rankloop.serving.history import audited
from rankloop.serving.snapshots import brought_back, replayed

if TYPE_CHECKING:
    from rankloop.serving.journal.base import Journal


class Verified(NamedTuple):
    """What a check of a journal found; `faults` is empty where all is well."""

    entries: int
    digest: str
    rankings_recomputed: int
    faults: list[str]


def verify(journal: Journal, rankings: int = 20) -> Verified:
    """Replay all entries, compare all digests, and recompute some rankings.

    Parameters
    ----------
    rankings : how many to recompute, spread over the journal; each costs a replay up to it
    """
    faults: list[str] = []
    try:
        engine = replayed(journal)
    except RankloopError as error:
        return Verified(journal.head(), "", 0, [str(error)])
    try:
        if brought_back(journal).digest() != engine.digest():
            faults.append("the saved state is not the one that the entries lead to; delete it")
    except RankloopError as error:
        faults.append(str(error))
    ids = [r.entry.id for r in journal.scan() if isinstance(r.entry, Ranked)]
    chosen = ids[:: max(len(ids) // rankings, 1)][:rankings] if rankings else []
    for ranking_id in chosen:
        faults += [f"ranking {ranking_id}: {fault}" for fault in audited(journal, ranking_id)]
    return Verified(engine.position, engine.digest(), len(chosen), faults)
