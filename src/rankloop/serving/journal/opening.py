"""Opens the journal at an address: a file, or a PostgreSQL database."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rankloop.exceptions import DataError
from rankloop.serving.journal.sqlite import SqliteJournal

if TYPE_CHECKING:
    from rankloop.serving.journal.base import Journal


_DATABASES = ("postgresql://", "postgres://")
_NAME = "loop"  # unless settings or options give another one


def open_journal(address: str, name: str) -> Journal:
    """Open a loop's journal: `postgresql://...`, otherwise an SQLite file."""
    if address.startswith(_DATABASES):
        from rankloop.serving.journal.postgres import PostgresJournal

        return PostgresJournal(address, name)
    return SqliteJournal(address)


def open_existing_journal(address: str, name: str | None = None) -> Journal:
    """Open an existing journal; a command that only reads must not create a file.

    name : of the loop; it may be left out if the database has only one
    """
    if "://" not in address and not Path(address).exists():
        raise DataError(f"{address}: there is no such journal")
    return open_journal(address, choose_name(address) if name is None else name)


def choose_name(address: str) -> str:
    """Return the name of the only loop in a database; raise if it has several.

    A file has one loop, whose name it does not know.
    """
    if not address.startswith(_DATABASES):
        return _NAME
    from rankloop.serving.journal.postgres import find_names

    names = find_names(address)
    if len(names) > 1:
        raise DataError(
            f"the database has the journals of {len(names)} loops; choose one with --loop: "
            f"{', '.join(names)}"
        )
    return names[0] if names else _NAME
