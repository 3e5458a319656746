"""Joins and features of a loop, from what was saved and from the entries that followed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from rankloop.exceptions import DataError
from rankloop.serving.engine.joins import Joins
from rankloop.serving.journal.cache import EntryCache, make_fetch
from rankloop.serving.live_features.fold import FeatureFold
from rankloop.serving.live_features.saving import restore_fold
from rankloop.serving.threads.live_joins import LiveJoins

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankloop.serving.journal.base import Journal
    from rankloop.serving.settings.loop import LoopSettings

_log = logging.getLogger("rankloop.serving")

_REPORT_EVERY = 100_000  # entries


def load_features(
    journal: Journal,
    settings: LoopSettings,
    columns: int,
    now: int,
    until: int | None = None,
    recent: EntryCache | None = None,
    report: Callable[[int], object] | None = None,
) -> LiveJoins:
    """Return joins and features after an entry, from saved ones or from the whole journal.

    If the definitions of the features are new, they are computed from the first entry on, as if
    the loop had always had them.

    Parameters
    ----------
    settings : they define the features
    columns : position of these settings in the journal
    now : milliseconds since 1970
    until : the last entry; None: all
    report : called with the position, now and then
    """
    recent = recent or EntryCache()
    fetch = make_fetch(recent, journal)
    restored = restore_fold(journal, settings, fetch, until)
    if restored is not None:
        fold = restored.fold
        fold.columns = columns
        live = LiveJoins(fold.position, restored.settings, restored.joins, now, fold)
    elif journal.base():
        raise DataError(
            f"{journal.where}: entries up to {journal.base()} were compacted, and no features were "
            "saved after them with the present definitions; stop all services, and run `rankloop "
            "journal recompute` with the archives, which computes them"
        )
    else:
        live = LiveJoins(0, None, Joins(), now, FeatureFold(settings, columns, fetch))
    for record in recent.follow(journal, live.position, until):
        live.follow([record], now)
        if report is not None and record.position % _REPORT_EVERY == 0:
            report(record.position)
    return live
