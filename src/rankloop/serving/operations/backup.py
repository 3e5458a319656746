"""Copies of a journal while services run, and their way back."""

from __future__ import annotations

import os
import shutil
import sqlite3
import time
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from rankloop.exceptions import DataError
from rankloop.serving.journal.sqlite import SqliteJournal, is_led

if TYPE_CHECKING:
    from collections.abc import Callable

_BESIDE = ("", "-wal", "-shm", "-lease")  # the files of a journal, by their endings


def backup(address: str, copy: Path) -> int:
    """Copy a journal into a new file, while services go on; return its last position."""
    _check_file(address)
    if copy.exists():
        raise DataError(f"{copy}: this file already exists; give another name")
    partial = copy.with_name(f"{copy.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        with closing(sqlite3.connect(address)) as source, closing(sqlite3.connect(partial)) as new:
            source.backup(new)
            new.execute("PRAGMA journal_mode=DELETE")  # one file, without a log beside it
        head = _check_copy(partial)
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        partial.replace(copy)
    except sqlite3.Error as error:
        partial.unlink(missing_ok=True)
        raise DataError(f"{address}: cannot be copied to {copy}: {error}") from None
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    return head


def restore(
    copy: Path, address: str, at: float, pause: Callable[[float], None] = time.sleep
) -> tuple[int, Path | None]:
    """Put a copy in the place of a journal; return its last position, and where the old one is.

    The old journal is moved away with its write-ahead log, which would otherwise be applied to the
    copy.

    Parameters
    ----------
    at : seconds since 1970, for the name of the old journal
    """
    if "://" in address:
        raise DataError(f"{address}: restore a database with the tools of PostgreSQL")
    _check_file(str(copy))
    path = Path(address)
    if path.is_dir():
        raise DataError(f"{address}: this is a folder; give the file of the journal")
    if is_led(path, pause):
        raise DataError(f"{address}: a service uses this journal; stop all services first")
    new = path.with_name(f"{path.name}.restoring")
    shutil.copyfile(copy, new)
    try:
        head = _check_copy(new)
    except BaseException:
        new.unlink()
        raise
    old = path.with_name(f"{path.name}.{time.strftime('%Y%m%d-%H%M%S', time.gmtime(at))}")
    for ending in _BESIDE:
        file = path.with_name(path.name + ending)
        if file.exists():
            file.replace(old.with_name(old.name + ending))
    new.replace(path)
    return head, old if old.exists() else None


def _check_file(address: str) -> None:
    if "://" in address:
        raise DataError(f"{address}: back a database up with the tools of PostgreSQL, as pg_dump")
    if not Path(address).exists():
        raise DataError(f"{address}: there is no such journal")


def _check_copy(path: Path) -> int:
    """Return the last position of a copy; raise if it is damaged, or not a journal."""
    with SqliteJournal(path) as journal:
        faults = journal.find_faults()
        if faults:
            raise DataError(f"{path}: the copy is damaged: {faults[0]}")
        journal.scrub()  # an empty log, so that nothing has to be copied with it
        head = journal.head()
    for ending in _BESIDE[1:]:
        path.with_name(path.name + ending).unlink(missing_ok=True)
    return head
