"""Old entries into an archive, so that the journal stays small."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop.exceptions import DataError, MissingExtraError
from rankloop.serving.journal.entries import Judged
from rankloop.serving.snapshots import brought_back, saved_state

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rankloop.serving.engine import Engine
    from rankloop.serving.journal.base import Journal

_AT_ONCE = 2000  # entries that are read at a time


def compact(journal: Journal, archive: Path, until: int | None = None) -> int:
    """Move old entries to a Parquet file, keep only their keys, and return the last position moved.

    A state is saved first, from which the loop starts again. Entries that are still needed, such as
    rankings that wait for feedback, stay. Compacted entries can no longer be replayed, and there is
    no rollback to them, but they are still recognised as duplicates.
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("pyarrow", "arrow", "an archive of entries") from None
    engine = brought_back(journal, until=until)
    last = min(_needed(engine, journal)) - 1
    first = journal.base() + 1
    if last < first:
        raise DataError(
            f"{journal.where}: nothing to compact, because open rankings still need entry "
            f"{last + 1}"
        )
    if archive.exists():
        raise DataError(f"{archive}: this file already exists; give another name")
    journal.save(saved_state(engine))
    columns = ("position", "at", "key", "fingerprint", "body", "check")
    kinds = (pa.int64(), pa.int64(), pa.string(), pa.binary(), pa.binary(), pa.int64())
    schema = pa.schema(zip(columns, kinds, strict=True))
    with pq.ParquetWriter(archive, schema, compression="zstd") as writer:
        after = first - 1
        while rows := journal.rows(after, last, _AT_ONCE):
            values = {name: [getattr(row, name) for row in rows] for name in columns}
            writer.write_table(pa.table(values, schema))
            after = rows[-1].position
    journal.empty(last, engine.position)
    return last


def _needed(engine: Engine, journal: Journal) -> Iterator[int]:
    """Give the positions of entries that the engine may still ask for."""
    yield engine.position + 1
    joins, settings = engine.joins, engine.settings
    waiting = list(joins.open.values())
    if settings is not None and settings.late:  # late feedback teaches closed rankings again
        waiting += joins.closed.values()
    for ranking in waiting:
        yield ranking.position
        yield from ranking.events
    for places in joins.early.values():
        yield from places
    for record in journal.scan(engine.position):
        if isinstance(record.entry, Judged):
            yield record.entry.position
