"""Uses of replay: return to a position, leave out entries, and recompute what was shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.rankers.model_files.saving import dumps
from rankloop.serving.epochs import check_same_epoch
from rankloop.serving.journal.base import JournalError
from rankloop.serving.journal.entries import JUDGED, LOGGED, Ranked, RolledBack
from rankloop.serving.policy import OWN_ORDER, choose
from rankloop.serving.snapshots import brought_back, replayed

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankloop.serving.engine import Engine
    from rankloop.serving.journal.base import Journal, Record


def rolled_back(
    journal: Journal, act_id: str, position: int, reason: str, by: str = ""
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
    engine = brought_back(journal, until=position)
    check_same_epoch(engine, f"the state after entry {position}")
    return _entry(engine, act_id, reason, by)


def quarantined(
    journal: Journal, act_id: str, without: Callable[[Record], bool], reason: str, by: str = ""
) -> RolledBack:
    """Return the entry that makes all models what they would be without some entries."""
    return _entry(replayed(journal, without=without), act_id, reason, by)


def _entry(engine: Engine, act_id: str, reason: str, by: str) -> RolledBack:
    models = {name: dumps(model.ranker) for name, model in engine.models.items()}
    if not models:
        raise DataError("there were no models yet at that position; choose a later one")
    return RolledBack(act_id, models, engine.champion, reason, by)


def audited(journal: Journal, ranking_id: str) -> list[str]:
    """Recompute a ranking from the entries before it, and return a list of differences.

    The loop is restored as it was when it ranked. It scores the features again, and chooses the
    order again.
    """
    found = journal.find(f"ranking:{ranking_id}")
    if found is None or not isinstance(found.entry, Ranked):
        raise JournalError(f"{journal.where}: there is no ranking {ranking_id!r}")
    entry = found.entry
    if entry.policy in (LOGGED, JUDGED):
        return []  # somebody else's order: there is nothing to recompute
    engine = brought_back(journal, until=entry.seen)
    check_same_epoch(engine, f"ranking {ranking_id!r}")
    own = entry.policy == OWN_ORDER
    choice = choose(engine.published(), entry.matrix(), entry.id, len(entry.order), own)
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
