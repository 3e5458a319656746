"""A journal by its address."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop.serving.journal.sqlite import SqliteJournal

if TYPE_CHECKING:
    from rankloop.serving.journal.base import Journal


def open_journal(address: str, name: str) -> Journal:
    """Open a loop's journal: `postgresql://...`, otherwise an SQLite file."""
    if address.startswith(("postgresql://", "postgres://")):
        from rankloop.serving.journal.postgres import PostgresJournal

        return PostgresJournal(address, name)
    return SqliteJournal(address)
