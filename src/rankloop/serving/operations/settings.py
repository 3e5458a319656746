"""The settings of a loop, as its journal has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rankloop.serving.config import LoopSettings
from rankloop.serving.journal.base import Draft, JournalError
from rankloop.serving.journal.entries import Configured
from rankloop.serving.snapshots import brought_back
from rankloop.serving.state import ENGINE

if TYPE_CHECKING:
    from rankloop.serving.journal.base import Journal


def configured(journal: Journal, settings: LoopSettings, at: int = 0) -> None:
    """Store settings in the journal if they are new, as a service does when it starts.

    at : the time, in milliseconds
    """
    known = None if journal.head() == 0 else settings_of(journal)
    if settings.change(known, journal.where):
        journal.append([Draft(Configured(settings.journaled(), ENGINE), at)])


def settings_of(journal: Journal) -> LoopSettings:
    """Return the settings at the end of a journal; raise if it has none."""
    found = None
    for record in journal.scan(journal.base()):
        if isinstance(record.entry, Configured):
            found = msgspec.json.decode(record.entry.settings, type=LoopSettings)
    if found is None:
        saved = brought_back(journal).settings if journal.saved() else None
        if saved is None:
            raise JournalError(f"{journal.where}: it has no settings; start the loop once first")
        return saved
    return found
