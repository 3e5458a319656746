"""The settings of a loop, as its journal has them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import msgspec

from rankloop.serving.engine.snapshots import load_engine
from rankloop.serving.engine.state import ENGINE
from rankloop.serving.journal.action_entries import Configured
from rankloop.serving.journal.base import JournalError, make_row
from rankloop.serving.journal.opening import choose_name
from rankloop.serving.settings.loop import LoopSettings
from rankloop.serving.settings.service import read_settings

if TYPE_CHECKING:
    from pathlib import Path

    from rankloop.serving.journal.base import Journal


def choose_loop(address: str, config: Path | None) -> str:
    """Return the loop whose journal is meant if nobody names one.

    It is the only one in the settings, otherwise the only one in the database.
    """
    loops = {} if config is None else read_settings(config, os.environ).loops
    return next(iter(loops)) if len(loops) == 1 else choose_name(address)


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
