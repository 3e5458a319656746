"""The settings of a loop, as its journal has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rankloop.serving.engine.snapshots import load_engine
from rankloop.serving.engine.state import ENGINE
from rankloop.serving.journal.base import JournalError, make_row
from rankloop.serving.journal.entries import Configured
from rankloop.serving.settings.loop import LoopSettings

if TYPE_CHECKING:
    from rankloop.serving.journal.base import Journal


def configure(journal: Journal, settings: LoopSettings, at: int = 0) -> None:
    """Store settings in the journal if they are new, as a service does when it starts.

    at : the time, in milliseconds
    """
    known = None if journal.head() == 0 else settings_of(journal)
    if settings.change(known, journal.where):
        journal.append([make_row(Configured(settings.to_bytes(), ENGINE), at)])


def settings_of(journal: Journal) -> LoopSettings:
    """Return the settings at the end of a journal; raise if it has none."""
    settings = None
    for record in journal.scan(journal.base()):
        if isinstance(record.entry, Configured):
            settings = msgspec.json.decode(record.entry.settings, type=LoopSettings)
    if settings is None:
        saved = load_engine(journal).settings if journal.states() else None
        if saved is None:
            raise JournalError(f"{journal.where}: it has no settings; start the loop once first")
        return saved
    return settings
