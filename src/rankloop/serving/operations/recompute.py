"""New features for a journal that was compacted: computed from its archives and its entries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop.exceptions import DataError
from rankloop.serving.engine.joins import Joins
from rankloop.serving.engine.snapshots import load_engine
from rankloop.serving.live_features.fold import FeatureFold
from rankloop.serving.live_features.saving import copy_fold
from rankloop.serving.operations.archives import Archives, Entries
from rankloop.serving.operations.lease import take_lease
from rankloop.serving.operations.settings import configure
from rankloop.serving.threads.live_joins import LiveJoins

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rankloop.serving.journal.base import Journal
    from rankloop.serving.settings.loop import LoopSettings

_REPORT_EVERY = 2000  # entries


def recompute(
    journal: Journal,
    settings: LoopSettings,
    archives: Sequence[Path],
    at: int = 0,
    report: Callable[[int], object] | None = None,
) -> int:
    """Compute new features from the first entry on, save them, and store the settings.

    The features are then those that the loop would have if it had always had these definitions.
    Returns the last position. No service may use the journal meanwhile.

    Parameters
    ----------
    settings : they define the new features
    archives : all that were ever made of the journal
    at : the time, in milliseconds
    report : called with the position, now and then
    """
    if not settings.computes:
        raise DataError("these settings define no features")
    take_lease(journal)
    try:
        known = load_engine(journal).settings
        settings.change(known, journal.where)
        with Archives(archives) as archive:
            live = _fold(settings, Entries(journal, archive), report)
        if live.features is None or live.settings is None:
            raise DataError(f"{journal.where}: it has no settings yet")
        copy = copy_fold(live.features, live.settings, live.joins)
        journal.save_fold(copy.head.position, copy.named_parts)
        configure(journal, settings, at)
        return live.position
    finally:
        journal.release()


def _fold(
    settings: LoopSettings, entries: Entries, report: Callable[[int], object] | None
) -> LiveJoins:
    """Apply the entries of archives, and those that the journal still has."""
    live = LiveJoins(0, None, Joins(), 0, FeatureFold(settings, 0, entries.fetch))
    for record in entries.follow(0):
        live.follow([record], record.at)
        if report is not None and record.position % _REPORT_EVERY == 0:
            report(live.position)
    return live
