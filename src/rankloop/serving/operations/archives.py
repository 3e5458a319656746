"""Archives of entries that were compacted, and a journal together with them."""

from __future__ import annotations

from bisect import bisect_right
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

from rankloop.exceptions import DataError, MissingExtraError, ParseError
from rankloop.serving.journal.base import Row
from rankloop.serving.journal.cache import EntryCache

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from types import TracebackType

    from rankloop.serving.journal.base import Journal, Record
    from rankloop.serving.journal.entries import Entry

_GROUPS = 4  # of rows of archives, that are in memory


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
        self._recent: dict[_Group, list[Row]] = {}
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

    def rows(self, after: int, until: int) -> list[Row]:
        """Return rows that follow a position, some thousands at most, up to another one."""
        if after >= min(until, self.last):
            return []
        group = self._groups[bisect_right(self._groups, after + 1, key=lambda g: g.first) - 1]
        return self._read(group)[after + 1 - group.first : until + 1 - group.first]

    def _read(self, group: _Group) -> list[Row]:
        """Read a group, or take it from the last few: neighbours are mostly read together."""
        if group not in self._recent:
            table = self._files[group.file].read_row_group(group.number)
            self._recent[group] = [Row(**row) for row in table.to_pylist()]
            if len(self._recent) > _GROUPS:
                del self._recent[next(iter(self._recent))]
        return self._recent[group]

    def __enter__(self) -> Archives:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self._open.close()


class Entries:
    """The entries of a journal, with those that were compacted if there are archives of them.

    journal : what is left
    first : the first position that there is
    """

    def __init__(self, journal: Journal, archives: Archives | None = None) -> None:
        self._journal, self._archives, self._base = journal, archives, journal.base()
        self._recent = EntryCache()
        self.first = 1 if archives is not None else self._base + 1
        if archives is not None and archives.last < self._base:
            raise DataError(
                f"the archives end at entry {archives.last:,}, but entries up to {self._base:,} "
                "were compacted; give all archives of the journal"
            )

    def fetch(self, position: int) -> Entry:
        """Return the entry at a position."""
        found = self._recent.get(position)
        if found is None and self._archives is not None and position <= self._base:
            rows = self._archives.rows(position - 1, position)
            (found,) = self._journal.records(position - 1, rows)
        return self._recent.record(position, self._journal).entry if found is None else found.entry

    def follow(self, after: int, until: int | None = None) -> Iterator[Record]:
        """Yield all entries that follow a position, and keep the last ones in memory."""
        if self._archives is not None:
            last = self._base if until is None else min(self._base, until)
            while rows := self._archives.rows(after, last):
                self._recent.add([(row.position, row.at, row.body) for row in rows])
                yield from self._journal.records(after, rows)
                after = rows[-1].position
        yield from self._recent.follow(self._journal, after, until)
