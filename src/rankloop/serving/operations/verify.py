"""Whether a journal is complete, and a replay still gives the same states."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rankloop.exceptions import RankloopError
from rankloop.serving.history import audited
from rankloop.serving.journal.entries import EpochStarted, Ranked
from rankloop.serving.snapshots import brought_back, replayed

if TYPE_CHECKING:
    from rankloop.serving.journal.base import Journal


class Verified(NamedTuple):
    """What a check of a journal found; `faults` is empty if all is well."""

    entries: int
    digest: str
    rankings_recomputed: int
    faults: list[str]


def verify(journal: Journal, rankings: int = 20) -> Verified:
    """Replay all entries, compare all digests, and recompute some rankings.

    A service may continue to append meanwhile; new entries are not checked. Rankings of an older
    epoch, which another version of the engine made, are left out.

    Parameters
    ----------
    rankings : how many to recompute, spread over the journal; each needs a replay up to there
    """
    faults: list[str] = []
    try:
        engine = replayed(journal)
    except RankloopError as error:
        return Verified(journal.head(), "", 0, [str(error)])
    try:
        if brought_back(journal, until=engine.position).digest() != engine.digest():
            faults.append("the saved state differs from the state that the entries give; delete it")
    except RankloopError as error:
        faults.append(str(error))
    ids: list[str] = []
    first = journal.saved()[-1].position if journal.base() else 0
    for record in journal.scan(first, engine.position):
        if isinstance(record.entry, EpochStarted):
            ids, first = [], record.position
        elif isinstance(record.entry, Ranked) and record.entry.seen >= first:
            ids.append(record.entry.id)
    chosen = ids[:: max(len(ids) // rankings, 1)][:rankings] if rankings else []
    for ranking_id in chosen:
        faults += [f"ranking {ranking_id}: {fault}" for fault in audited(journal, ranking_id)]
    return Verified(engine.position, engine.digest(), len(chosen), faults)
