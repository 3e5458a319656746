"""Uses of replay: return to a position, leave out entries, and recompute what was shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.rankers.model_files.saving import dumps
from rankloop.serving.engine.columns import columns_of
from rankloop.serving.engine.epochs import check_same_epoch
from rankloop.serving.engine.selection import EventSelection
from rankloop.serving.engine.snapshots import load_engine, replay
from rankloop.serving.journal.action_entries import RolledBack
from rankloop.serving.journal.base import JournalError
from rankloop.serving.journal.ranking_entries import JUDGED, LOGGED, Ranked
from rankloop.serving.policy import OWN_ORDER, choose

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloop.serving.engine.engine import Engine
    from rankloop.serving.journal.base import Journal, Record


def make_rollback(
    journal: Journal, action_id: str, position: int, reason: str, by: str = ""
) -> RolledBack:
    """Return the entry that restores all models as they were after a position."""
    head = journal.head()
    if not 1 <= position <= head:
        raise DataError(f"position: found {position}, expected one from 1 to {head}")
    if position < journal.base():
        raise DataError(
            f"position: found {position}, but entries up to {journal.base()} were compacted; "
            "choose a later one"
        )
    engine = load_engine(journal, until=position)
    check_same_epoch(engine, f"the state after entry {position}")
    return _entry(engine, action_id, reason, by, to=position)


def make_quarantine(
    journal: Journal, action_id: str, events: Sequence[str], reason: str, by: str = ""
) -> RolledBack:
    """Return the entry that makes all models what they would be without some events.

    Events that an earlier rollback left out stay left out, and a rollback to an earlier position
    is done again, so that the events are left out there too.

    Parameters
    ----------
    events : ids, in which `*` stands for any characters
    """
    before = [r.entry for r in journal.find_kind("action") if isinstance(r.entry, RolledBack)]
    selection = EventSelection(events)
    left_out = EventSelection([*events, *(name for entry in before for name in entry.without)])

    def without(record: Record) -> bool:
        selection(record)
        return left_out(record)

    engine = replay(journal, without=without)
    if not selection.taken:
        raise DataError(
            f"without_events: found no event with the id {events[0]!r:.80}; give ids of events, in "
            "which * stands for any characters"
        )
    return _entry(engine, action_id, reason, by, without=tuple(events))


def _entry(
    engine: Engine, action_id: str, reason: str, by: str, to: int = 0, without: Sequence[str] = ()
) -> RolledBack:
    models = {name: dumps(model.ranker) for name, model in engine.models.items()}
    if not models:
        raise DataError("there were no models yet at that position; choose a later one")
    return RolledBack(action_id, models, engine.champion, reason, by, to, tuple(without))


def audit_ranking(journal: Journal, ranking_id: str) -> list[str]:
    """Recompute a ranking from the entries before it, and return a list of differences.

    The loop is restored as it was when it ranked. It scores the features again, and chooses the
    order again.
    """
    record = journal.find(f"ranking:{ranking_id}")
    if record is None or not isinstance(record.entry, Ranked):
        raise JournalError(f"{journal.where}: there is no ranking {ranking_id!r}")
    entry = record.entry
    if entry.policy in (LOGGED, JUDGED):
        return []  # somebody else's order: there is nothing to recompute
    engine = load_engine(journal, until=entry.seen)
    check_same_epoch(engine, f"ranking {ranking_id!r}")
    own_order = entry.policy == OWN_ORDER
    now = engine.publish()
    names = columns_of(entry, now.columns, now.settings.names)
    choice = choose(now, entry.matrix(), entry.id, len(entry.order), own_order, names)
    differ = []
    if choice.scores.tobytes() != entry.scores:
        worst = float(np.abs(choice.scores - np.frombuffer(entry.scores, np.float64)).max())
        differ.append(f"scores differ by up to {worst:g}")
    if choice.order.tolist() != entry.order:
        differ.append(f"the order is {choice.order.tolist()}, but {entry.order} was shown")
    if (choice.model, choice.version) != (entry.model, entry.version):
        differ.append(
            f"the model is {choice.model} of {choice.version}, but {entry.model} of "
            f"{entry.version} ranked"
        )
    return differ
