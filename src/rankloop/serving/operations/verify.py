"""Whether a journal is complete, and a replay still gives the same states."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rankloop.exceptions import RankloopError
from rankloop.serving.engine.history import audit_ranking
from rankloop.serving.engine.snapshots import load_engine, replay
from rankloop.serving.engine.state import ENGINE
from rankloop.serving.journal.action_entries import EpochStarted
from rankloop.serving.journal.ranking_entries import Ranked
from rankloop.serving.operations.features import FeatureCheck, check_features
from rankloop.serving.security.vault import KEY_ID

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankloop.serving.journal.base import Journal
    from rankloop.serving.security.vault import Vault


class Verification(NamedTuple):
    """What a check of a journal found; `faults` is empty if all is well."""

    entries: int
    digest: str
    rankings_recomputed: int
    faults: list[str]
    features_recomputed: int = 0


def _find_lost_keys(journal: Journal, vault: Vault | None) -> Iterator[str]:
    """Yield the rankings whose personal fields cannot be read, though nobody was forgotten.

    Without a master key, only a missing key is noticed; with one, each key and each field.
    """
    try:
        for record in journal.scan(journal.base()):
            entry = record.entry
            if not isinstance(entry, Ranked) or entry.encrypted is None:
                continue
            if journal.key(entry.encrypted[:KEY_ID]) is None:
                yield f"ranking {entry.id}: the key of its personal fields is missing"
            elif vault is not None:
                try:
                    vault.decrypt(entry.id, entry.encrypted, journal)
                except RankloopError as error:
                    yield f"ranking {entry.id}: {error}"
    except RankloopError:
        return  # a damaged entry, which was found before


def verify(journal: Journal, rankings: int = 20, vault: Vault | None = None) -> Verification:
    """Check what is stored, replay all entries, compare all digests, and recompute some rankings.

    If the loop computes features, those of all rankings are recomputed too.

    A service may continue to append meanwhile; new entries are not checked. Rankings of an older
    epoch, which another version of the engine made, are left out.

    Parameters
    ----------
    rankings : how many to recompute, spread over the journal; each needs a replay up to there
    vault : decrypts the texts of queries, on which features may depend
    """
    faults = journal.find_faults() + list(_find_lost_keys(journal, vault))
    try:
        engine = replay(journal)
    except RankloopError as error:
        unread = [] if str(error) in faults else [str(error)]
        return Verification(journal.head(), "", 0, faults + unread)
    is_present = engine.epoch == ENGINE  # otherwise another version computed what is stored
    try:
        saved = load_engine(journal, until=engine.position)
        if is_present and saved.digest() != engine.digest():
            faults.append("the saved state differs from the state that the entries give; delete it")
    except RankloopError as error:
        faults.append(str(error))
    ids: list[str] = []
    first = journal.states()[-1].position if journal.base() else 0
    for record in journal.scan(first, engine.position):
        if isinstance(record.entry, EpochStarted):
            ids, first = [], record.position
        elif is_present and isinstance(record.entry, Ranked) and record.entry.seen >= first:
            ids.append(record.entry.id)
    chosen = ids[:: max(len(ids) // rankings, 1)][:rankings] if rankings else []
    for ranking_id in chosen:
        faults += [f"ranking {ranking_id}: {fault}" for fault in audit_ranking(journal, ranking_id)]
    features = check_features(journal, vault) if engine.columns else FeatureCheck(0, [])
    faults += features.faults
    return Verification(engine.position, engine.digest(), len(chosen), faults, features.rankings)
