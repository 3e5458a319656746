"""Moves old entries into an archive, so that the journal stays small."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rankloop.exceptions import DataError, MissingExtraError
from rankloop.serving.engine.snapshots import load_engine, take_snapshot
from rankloop.serving.journal.action_entries import Compacted, Configured, Retried
from rankloop.serving.journal.base import make_row
from rankloop.serving.journal.ranking_entries import Closed, Judged
from rankloop.serving.settings.loop import LoopSettings
from rankloop.serving.threads.loading import load_features

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rankloop.serving.engine.engine import Engine
    from rankloop.serving.journal.base import Journal

_AT_ONCE = 2000  # entries that are read at a time


def compact(journal: Journal, archive: Path, until: int | None = None, at: int = 0) -> int:
    """Move old entries to a Parquet file, keep only their keys, and return the last position moved.

    A state is saved first, from which the loop starts again. Entries that are still needed, such as
    rankings that wait for feedback, stay. Compacted entries can no longer be replayed, and there
    is no rollback to them, but they are still recognised as duplicates. Services may go on
    meanwhile; feedback on a compacted ranking is late, and a judgement of one is refused.

    Parameters
    ----------
    at : the time, in milliseconds
    """
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        raise MissingExtraError("pyarrow", "arrow", "an archive of entries") from None
    engine = load_engine(journal, until=until)
    last = min(_find_needed(engine, journal)) - 1
    first = journal.base() + 1
    if last < first:
        raise DataError(
            f"{journal.where}: nothing to compact, because open rankings still need entry "
            f"{last + 1}"
        )
    if archive.exists():
        raise DataError(f"{archive}: this file already exists; give another name")
    state = take_snapshot(engine)
    journal.save(state)
    _save_features(journal, engine, at)
    # From this entry on, no process refers to what is moved. Entries that were appended just before
    # it may still do, so these are looked for once more.
    journal.append([make_row(Compacted(last), at)])
    last = min(last, min(_find_needed(engine, journal)) - 1)
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
    # A service may have saved several newer states meanwhile, of which only the newest are kept.
    # Now that this one is the oldest, it stays, and what follows it can still be replayed.
    journal.save(state)
    return last


def _save_features(journal: Journal, engine: Engine, at: int) -> None:
    """Save the features after the last entry of the engine, which only replays could compute."""
    if engine.settings is not None and engine.settings.computes:
        columns = max(engine.columns)
        load_features(journal, engine.settings, columns, at, engine.position).save(journal)


def _find_needed(engine: Engine, journal: Journal) -> Iterator[int]:
    """Yield the positions of entries that the engine may still ask for."""
    yield engine.position + 1
    joins, settings = engine.joins, engine.settings
    waiting = list(joins.open.values())
    late = settings is not None and settings.late
    for record in journal.scan(engine.position):
        entry = record.entry
        if isinstance(entry, Judged):
            yield entry.position
        elif isinstance(entry, Retried):
            yield from _find_retried(engine, journal, entry.position)
        elif isinstance(entry, Configured):
            late = late or msgspec.json.decode(entry.settings, type=LoopSettings).late
    if late:  # closed rankings are then learnt again
        waiting += joins.closed.values()
    for ranking in waiting:
        yield ranking.position
        yield from ranking.events
    for places in joins.early.values():
        yield from places


def _find_retried(engine: Engine, journal: Journal, position: int) -> Iterator[int]:
    """Yield the positions of what a failed entry needs when it is applied again."""
    if position <= journal.base():
        return
    entry = journal.at(position)
    yield position
    if isinstance(entry, Judged):
        yield entry.position
    elif isinstance(entry, Closed) and entry.ranking_id in engine.joins.closed:
        ranking = engine.joins.closed[entry.ranking_id]
        yield from (ranking.position, *ranking.events)
