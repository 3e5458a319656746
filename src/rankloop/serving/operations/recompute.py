"""New features for a journal that was compacted: computed from its archives and its entries."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from rankloop.exceptions import DataError, MissingExtraError, ParseError
from rankloop.serving.engine.joins import Joins
from rankloop.serving.engine.snapshots import load_engine
from rankloop.serving.journal.base import Row
from rankloop.serving.journal.cache import EntryCache
from rankloop.serving.live_features.fold import FeatureFold
from rankloop.serving.live_features.saving import copy_fold
from rankloop.serving.operations.lease import take_lease
from rankloop.serving.operations.settings import configure
from rankloop.serving.threads.live_joins import LiveJoins

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from rankloop.serving.journal.base import Journal
    from rankloop.serving.journal.entries import Entry
    from rankloop.serving.settings.loop import LoopSettings


class _Group(NamedTuple):
    """Some rows of an archive, which are read together."""

    first: int
    last: int
    file: int
    number: int


class Archives:
    """The rows of archives that `rankloop journal compact` wrote, in order of position.

    Parameters
    ----------
    paths : Parquet files; together, they must have all positions from 1 on, without a gap
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        try:
            import pyarrow as pa
            import pyarrow.parquet as pq
        except ImportError:
            raise MissingExtraError("pyarrow", "arrow", "an archive of entries") from None
        self._open = ExitStack()
        self._files: list[pq.ParquetFile] = []
        groups: list[_Group] = []
        for path in paths:
            try:
                file = self._open.enter_context(pq.ParquetFile(path))
                column = file.schema_arrow.get_field_index("position")
                parts = [file.metadata.row_group(k) for k in range(file.num_row_groups)]
                known = [part.column(column).statistics for part in parts]
                found = [(int(s.min), int(s.max)) for s in known]
            except (OSError, pa.ArrowException, AttributeError, IndexError) as error:
                raise ParseError(str(path), None, f"it is no archive: {error}") from None
            groups += [_Group(*span, len(self._files), k) for k, span in enumerate(found)]
            self._files.append(file)
        self._groups = sorted(groups)
        self.last = 0
        for group in self._groups:
            if group.first != self.last + 1:
                raise DataError(
                    f"the archives have no entry {self.last + 1}; give all archives of the journal"
                )
            self.last = group.last

    def rows(self) -> Iterator[list[Row]]:
        """Yield all rows, some thousands at a time."""
        for group in self._groups:
            yield self._read(group)

    def row(self, position: int) -> Row:
        """Return the row of a position. It reads some thousands for it."""
        group = next(g for g in self._groups if g.first <= position <= g.last)
        return self._read(group)[position - group.first]

    def _read(self, group: _Group) -> list[Row]:
        table = self._files[group.file].read_row_group(group.number)
        return [Row(**row) for row in table.to_pylist()]

    def __enter__(self) -> Archives:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._open.close()


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
            live = _fold(journal, settings, archive, report)
        if live.features is None or live.settings is None:
            raise DataError(f"{journal.where}: it has no settings yet")
        copy = copy_fold(live.features, live.settings, live.joins)
        journal.save_fold(copy.head.position, copy.named_parts)
        configure(journal, settings, at)
        return live.position
    finally:
        journal.release()


def _fold(
    journal: Journal,
    settings: LoopSettings,
    archive: Archives,
    report: Callable[[int], object] | None,
) -> LiveJoins:
    """Apply the entries of archives, and those that the journal still has."""
    base = journal.base()
    if archive.last < base:
        raise DataError(
            f"the archives end at entry {archive.last:,}, but entries up to {base:,} were "
            "compacted; give all archives of the journal"
        )
    recent = EntryCache()

    def fetch(position: int) -> Entry:
        found = recent.get(position)
        if found is None and position <= base:
            (found,) = journal.records(position - 1, [archive.row(position)])
        return recent.record(position, journal).entry if found is None else found.entry

    live = LiveJoins(0, None, Joins(), 0, FeatureFold(settings, 0, fetch))
    for rows in archive.rows():
        left = [row for row in rows if row.position <= base]
        recent.add([(row.position, row.at, row.body) for row in left])
        for record in journal.records(live.position, left):
            live.follow([record], record.at)
        if report is not None:
            report(live.position)
    for record in recent.follow(journal, live.position):
        live.follow([record], record.at)
    return live
