"""Opens the journal at an address: a file, or a PostgreSQL database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rankloop.exceptions import DataError
from rankloop.serving.journal.sqlite import SqliteJournal

if TYPE_CHECKING:
    from rankloop.serving.journal.base import Journal


def open_journal(address: str, name: str) -> Journal:
    """Open a loop's journal: `postgresql://...`, otherwise an SQLite file."""
    if address.startswith(("postgresql://", "postgres://")):
        from rankloop.serving.journal.postgres import PostgresJournal

        return PostgresJournal(address, name)
    return SqliteJournal(address)


def open_existing_journal(address: str, name: str) -> Journal:
    """Open an existing journal; a command that only reads must not create a file."""
    if "://" not in address and not Path(address).exists():
        raise DataError(f"{address}: there is no such journal")
    return open_journal(address, name)
