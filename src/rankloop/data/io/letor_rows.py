"""Rows of LETOR text as they come from the core: options, batches, and what is wrong with them."""

from __future__ import annotations

import gzip
import os
import sys
import warnings
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop import _core
from rankloop.data.dataset import QueryDataset
from rankloop.data.grouping import TEXT, Grouping, group_by_size, group_runs, ids_from_text
from rankloop.data.io.files import open_input
from rankloop.data.memory import show_size
from rankloop.data.words import count
from rankloop.exceptions import BadRowsWarning, DataError, MemoryLimitError, ParseError
from rankloop.processors import threads

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

    from numpy.typing import NDArray

PathLike = str | os.PathLike[str]


@dataclass(frozen=True)
class LetorOptions:
    """How to read LETOR text.

    Parameters
    ----------
    n_features : number of columns; None: as many as the largest index asks for
    zero_based : whether indices start at 0; None: from 1, unless an index 0 turns up
    null : value that stands for `NULL`; NaN keeps missing values missing
    max_index : a larger feature index is an error rather than a huge matrix
    skip_bad_rows : leave bad rows out, with a BadRowsWarning that counts them
    doc_ids : keep the ids of `#docid = ...` comments
    threads : how many parse; None: one a processor, at most 8. The result is the same for any.
    """

    n_features: int | None = None
    zero_based: bool | None = None
    null: float = 0.0
    max_index: int = 100_000
    skip_bad_rows: bool = False
    doc_ids: bool = True
    threads: int | None = None

    def __post_init__(self) -> None:
        for name in ("n_features", "max_index", "threads"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise DataError(f"{name} must be at least 1; found {value}")
        if self.max_index > 10_000_000:
            raise DataError(f"max_index must be at most 10,000,000; found {self.max_index:,}")

    @property
    def n_threads(self) -> int:
        """Threads to use."""
        return self.threads or threads()


@dataclass(frozen=True)
class Rows:
    """Rows in file order, with the runs of rows that share a query id."""

    X: NDArray[np.float32]
    y: NDArray[np.float64]
    run_ids: list[str | None]
    run_starts: NDArray[np.int64]
    doc_ids: NDArray[Any] | None

    def dataset(self, name: str, query_file: PathLike | None = None) -> QueryDataset:
        """Gather the rows by query."""
        if self.run_ids[0] is None:
            grouping = _side_grouping(name, query_file, len(self.y))
        else:
            ids = ids_from_text([i for i in self.run_ids if i is not None])
            grouping = group_runs(ids, self.run_starts, len(self.y))
        return QueryDataset.from_grouping(self.X, self.y, grouping, doc_ids=self.doc_ids)

    def before_last_query(self) -> tuple[Rows, Rows]:
        """Part the rows before the last query from its own, which may not be complete."""
        cut = int(self.run_starts[-1]) if len(self.run_starts) else 0
        doc_ids = self.doc_ids
        done = Rows(
            self.X[:cut],
            self.y[:cut],
            self.run_ids[:-1],
            self.run_starts[:-1],
            None if doc_ids is None else doc_ids[:cut],
        )
        last = Rows(
            self.X[cut:].copy(),
            self.y[cut:].copy(),
            self.run_ids[-1:],
            self.run_starts[-1:] - cut,
            None if doc_ids is None else doc_ids[cut:].copy(),
        )
        return done, last

    def followed_by(self, more: Rows) -> Rows:
        """Join these rows and more; a query that goes on stays one."""
        if not len(self.y):
            return more
        joins = int(self.run_ids[-1:] == more.run_ids[:1])
        doc_ids = None
        if self.doc_ids is not None or more.doc_ids is not None:
            parts = [(self.doc_ids, len(self.y)), (more.doc_ids, len(more.y))]
            doc_ids = np.concatenate([np.full(n, "", TEXT) if d is None else d for d, n in parts])
        return Rows(
            np.concatenate([self.X, more.X]),
            np.concatenate([self.y, more.y]),
            self.run_ids + more.run_ids[joins:],
            np.r_[self.run_starts, more.run_starts[joins:] + len(self.y)],
            doc_ids,
        )

    def only(self, keep: NDArray[np.bool_], runs: NDArray[np.bool_]) -> Rows:
        """Take some rows: `keep` says which, `runs` which runs they are."""
        lengths = np.diff(np.r_[self.run_starts, len(self.y)])[runs]
        return Rows(
            self.X[keep],
            self.y[keep],
            [i for i, kept in zip(self.run_ids, runs, strict=True) if kept],
            np.r_[0, np.cumsum(lengths)][:-1],
            None if self.doc_ids is None else self.doc_ids[keep],
        )


def check_rows(name: str, reader: _core.LetorReader, any_rows: bool) -> None:
    """Raise where a file has turned out to have no rows."""
    if not any_rows:
        lines = reader.lines
        found = (
            "the file is empty" if lines == 0 else f"none of its {lines:,} lines is a usable row"
        )
        raise ParseError(name, None, f"{found}; expected rows such as '2 qid:10 1:0.5 2:0.25'")


@contextmanager
def open_reader(
    name: str, stream: BinaryIO, options: LetorOptions, limit: int, block: int
) -> Iterator[_core.LetorReader]:
    """Make a reader of a stream; what fails meanwhile becomes an error that names the file."""
    reader = _core.LetorReader(
        _source(stream),
        n_features=options.n_features or 0,
        base=-1 if options.zero_based is None else int(not options.zero_based),
        null_value=options.null,
        max_index=options.max_index,
        max_bytes=limit,
        skip_bad=options.skip_bad_rows,
        doc_ids=options.doc_ids,
        block_bytes=block,
    )
    try:
        yield reader
    except MemoryError:
        raise MemoryLimitError(
            f"{name}: its rows need more than the limit of {show_size(limit)} after "
            f"{reader.lines:,} lines; read it in parts (iter_letor), or raise memory_limit"
        ) from None
    except gzip.BadGzipFile:
        raise
    except OSError as error:
        raise ParseError(name, None, f"cannot read it: {error.strerror or error}") from None


def _source(stream: BinaryIO) -> Any:
    """Give the core a file descriptor where it can read by itself, else a `readinto`."""
    try:
        plain = type(stream).__name__ == "BufferedReader" and stream.seekable()
        if plain and not hasattr(getattr(stream, "raw", None), "_frame"):
            os.lseek(stream.fileno(), stream.tell(), os.SEEK_SET)
            return stream.fileno()
    except OSError:
        pass
    return getattr(stream, "readinto1" if stream is sys.stdin.buffer else "readinto")


def position(stream: BinaryIO) -> float:
    """Return the share of a file that has been read; 0 where that is not known."""
    try:
        descriptor = stream.fileno()
        return os.lseek(descriptor, 0, os.SEEK_CUR) / max(os.fstat(descriptor).st_size, 1)
    except OSError:
        return 0.0


def take_rows(
    name: str,
    reader: _core.LetorReader,
    enough: int,
    options: LetorOptions,
    ids_seen: bool = False,
) -> Rows:
    """Read the next rows; `ids_seen` says that earlier rows had query ids, so these must too."""
    try:
        table = reader.read(enough, options.n_threads)
    except ValueError as error:  # a line without end
        raise ParseError(name, reader.lines + 1, f"{error}; is this LETOR text?") from None
    rows = Rows(
        table["X"],
        table["y"],
        table["run_ids"],
        table["run_starts"],
        None if table["doc_ids"] is None else np.array(table["doc_ids"], dtype=TEXT),
    )
    n_bad, bad = table["n_bad"], table["bad"]
    anonymous = np.array([i is None for i in rows.run_ids], bool)
    some_lack_ids = bool(anonymous.any()) and (ids_seen or not anonymous.all())
    if some_lack_ids:
        line = int(table["run_lines"][anonymous.argmax()])
        message = "the row has no query id, while others have; expected for example 'qid:10'"
    if table["error"] is not None and not (some_lack_ids and line < table["error"][0]):
        raise ParseError(name, *table["error"])
    if some_lack_ids:
        if not options.skip_bad_rows:
            raise ParseError(name, line, message)
        lengths = np.diff(np.r_[rows.run_starts, len(rows.y)])
        rows = rows.only(np.repeat(~anonymous, lengths), ~anonymous)
        n_bad += int(lengths[anonymous].sum())
        bad = sorted([*bad, (line, message)])
    if n_bad:
        first = "; ".join(f"line {line}: {message}" for line, message in bad[:3])
        warnings.warn(
            f"{name}: {count(n_bad, 'bad row', 'bad rows')} left out of {n_bad + len(rows.y):,}; "
            f"{first}",
            BadRowsWarning,
            stacklevel=4,
        )
    return rows


def _side_grouping(name: str, query_file: PathLike | None, n_rows: int) -> Grouping:
    """Group rows by the sizes in a side file: one whole number a line."""
    beside = [f"{name}.query", f"{name}.group"]
    found = query_file or next((p for p in beside if Path(p).is_file()), None)
    if found is None:
        raise ParseError(
            name,
            None,
            "no row has a query id (qid:...), and there is no side file with query sizes; "
            f"looked for {beside[0]} and {beside[1]}",
        )
    with open_input(found) as stream:
        words = stream.read().split()
    try:
        return group_by_size(np.array([int(word) for word in words], np.int64), n_rows)
    except (ValueError, OverflowError) as error:
        raise ParseError(
            os.fspath(found), None, f"expected one query size a line: {error}"
        ) from None
