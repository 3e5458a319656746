"""Options and rows of the compiled LETOR reader: how rows become a data set, and their errors."""

from __future__ import annotations

import io
import os
import sys
import warnings
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypedDict

import numpy as np

from rankloop import _core
from rankloop._utils.messages import count
from rankloop._utils.processors import threads
from rankloop.data.dataset import QueryDataset
from rankloop.data.grouping import TEXT, Grouping, group_by_size, group_runs
from rankloop.data.io.files import open_input
from rankloop.data.memory import show_size
from rankloop.data.sparse_rows import SparseRows, as_dense_type
from rankloop.exceptions import BadRowsWarning, DataError, MemoryLimitError, ParseError

if TYPE_CHECKING:
    from typing import BinaryIO

    from numpy.typing import NDArray

    from rankloop.data.grouping import Ids

PathLike = str | os.PathLike[str]

_MAX_FEATURES = 10_000_000
_LARGEST = float(np.finfo(np.float32).max)
_MUCH_LARGER = 8  # a dense matrix than the nonzeros, from which on they stay sparse
_TEXTS_AT_ONCE = 4096  # ids that are Python objects at the same time


@dataclass(frozen=True)
class LetorOptions:
    """How to read LETOR text.

    Parameters
    ----------
    n_features : number of columns; None means the largest index
    zero_based : whether indices start at 0; None means from 1, unless there is an index 0
    null : the value for `NULL`; with NaN, missing values stay missing, and `nan` and its Microsoft
        spellings (`1.#QNAN`, `-1.#IND`) are missing values instead of errors
    max_index : a larger feature index is an error instead of a huge matrix; None means 100,000,
        or 10 million for sparse rows
    skip_bad_rows : leave out bad rows, with a BadRowsWarning that counts them
    doc_ids : keep the ids of `#docid = ...` comments
    sparse : keep only the features that are not 0 (:class:`SparseRows`): memory and time follow
        from the nonzeros, whatever the largest index is. `"auto"` reads sparse rows and makes them
        dense where they are not at most an eighth of the dense matrix.
    threads : number of threads, at most 1,024; None means one per processor, at most 8. Any number
        gives the same result.
    """

    n_features: int | None = None
    zero_based: bool | None = None
    null: float = 0.0
    max_index: int | None = None
    skip_bad_rows: bool = False
    doc_ids: bool = True
    sparse: bool | Literal["auto"] = False
    threads: int | None = None

    def __post_init__(self) -> None:
        limits = {"n_features": _MAX_FEATURES, "max_index": _MAX_FEATURES, "threads": 1024}
        for name, limit in limits.items():
            value = getattr(self, name)
            if value is None:
                continue
            if not isinstance(value, int | np.integer):
                raise DataError(f"{name} must be a whole number; found {value!r}")
            if value < 1:
                raise DataError(f"{name} must be at least 1; found {value}")
            if value > limit:
                raise DataError(f"{name} must be at most {limit:,}; found {value:,}")
        if self.sparse not in (True, False, "auto"):
            raise DataError(f"sparse must be True, False or 'auto'; found {self.sparse!r}")
        if not isinstance(self.null, int | float | np.number) or abs(self.null) > _LARGEST:
            raise DataError(
                f"null must be a number that float32 can hold, or NaN; found {self.null!r}"
            )

    @property
    def largest_index(self) -> int:
        """The largest index that is not an error."""
        return self.max_index or (_MAX_FEATURES if self.sparse else 100_000)

    @property
    def n_threads(self) -> int:
        """Threads to use."""
        return self.threads or threads()


class LetorRows(TypedDict):
    """Rows as the compiled reader returns them; texts are UTF-8 bytes with the end of each text.

    Sparse rows are the end of each row, columns, values, and the number of features.
    """

    X: NDArray[np.float32] | tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32], int]
    y: NDArray[np.float64]
    run_ids: NDArray[np.int64] | tuple[NDArray[np.uint8], NDArray[np.int64]] | None
    run_starts: NDArray[np.int64]
    doc_ids: tuple[NDArray[np.uint8], NDArray[np.int64]] | None
    bad: list[tuple[int, str]]
    n_bad: int
    error: tuple[int, str] | None
    cost: int


@dataclass(frozen=True)
class Rows:
    """Rows in file order, with the runs of rows that share a query id (None if rows have none).

    `cost` is the number of bytes they need until they are a data set, and `limit` is its maximum.
    """

    X: NDArray[np.float32]
    y: NDArray[np.float64]
    run_ids: Ids | None
    run_starts: NDArray[np.int64]
    doc_ids: Ids | None
    doc_bytes: int
    finite: bool
    cost: int
    limit: int

    def dataset(self, name: str, query_file: PathLike | None = None) -> QueryDataset:
        """Group the rows by query; these rows must not be used any more."""
        n = len(self.y)
        if self.run_ids is None:
            grouping = _side_grouping(name, query_file, n)
        else:
            check = partial(self._check_sorting, name)
            grouping = group_runs(self.run_ids, self.run_starts, n, check)
        return QueryDataset.from_grouping(
            self.X,
            self.y,
            grouping,
            doc_ids=self.doc_ids,
            has_missing=False if self.finite else None,
            in_place=True,
        )

    def _check_sorting(self, name: str) -> None:
        """Raise if grouping rows that are not next to each other would exceed the limit."""
        a_row = 48 if self.doc_ids is None else 72  # a sort's keys and order, grades and ids again
        again = self.X.nbytes if isinstance(self.X, SparseRows) else 0
        if self.cost + a_row * len(self.y) + self.doc_bytes + again > self.limit:
            raise MemoryLimitError(
                f"{name}: bringing the rows of each query together takes more than the limit of "
                f"{show_size(self.limit)}; sort the file by query, or raise memory_limit"
            )


def check_rows(name: str, reader: _core.LetorReader, any_rows: bool) -> None:
    """Raise if a file has no rows."""
    if not any_rows:
        lines = reader.lines
        problem = (
            "the file is empty" if lines == 0 else f"none of its {lines:,} lines is a usable row"
        )
        raise ParseError(name, None, f"{problem}; expected rows such as '2 qid:10 1:0.5 2:0.25'")


def make_reader(
    stream: BinaryIO, options: LetorOptions, limit: int, block: int
) -> _core.LetorReader:
    """Make a reader of a stream, with limits for its memory and for the text read at once."""
    return _core.LetorReader(
        _source(stream),
        n_features=options.n_features or 0,
        base=-1 if options.zero_based is None else int(not options.zero_based),
        null_value=options.null,
        max_index=options.largest_index,
        max_bytes=limit,
        skip_bad=options.skip_bad_rows,
        doc_ids=options.doc_ids,
        sparse=bool(options.sparse),
        block_bytes=block,
    )


def _source(stream: BinaryIO) -> object:
    """Return a file descriptor if the core can read from it, otherwise a `readinto`."""
    plain = isinstance(stream, io.BufferedReader) and isinstance(stream.raw, io.FileIO)
    if plain and stream.seekable():
        os.lseek(stream.fileno(), stream.tell(), os.SEEK_SET)
        return stream.fileno()
    live = sys.stdin is not None and stream is sys.stdin.buffer
    return getattr(stream, "readinto1" if live else "readinto")


def position(stream: BinaryIO) -> float:
    """Return the share of a file that has been read; 0 if that is not known."""
    try:
        descriptor = stream.fileno()
        return os.lseek(descriptor, 0, os.SEEK_CUR) / max(os.fstat(descriptor).st_size, 1)
    except OSError:
        return 0.0


def take_rows(
    name: str,
    reader: _core.LetorReader,
    options: LetorOptions,
    limit: int,
    enough: int | None = None,
    held: int = 0,
) -> Rows:
    """Read all rows, or the next queries that take `enough` bytes; `held` is as in the core."""
    try:
        table = reader.read(enough, options.n_threads, held)
    except ValueError as error:  # a line without end
        raise ParseError(name, reader.lines + 1, f"{error}; is this LETOR text?") from None
    if table["error"] is not None:
        raise ParseError(name, *table["error"])
    n_bad = table["n_bad"]
    if n_bad:
        first = "; ".join(f"line {line}: {message}" for line, message in table["bad"][:3])
        warnings.warn(
            f"{name}: {count(n_bad, 'bad row', 'bad rows')} left out of "
            f"{n_bad + len(table['y']):,}; {first}",
            BadRowsWarning,
            stacklevel=4,
        )
    run_ids, docs = table["run_ids"], table["doc_ids"]
    return Rows(
        _features(table["X"], options, limit - held),
        table["y"],
        _texts(*run_ids) if isinstance(run_ids, tuple) else run_ids,
        table["run_starts"],
        None if docs is None else _texts(*docs),
        0 if docs is None else len(docs[0]),
        bool(np.isfinite(options.null)),
        table["cost"],
        limit - held,
    )


def _features(
    X: NDArray[np.float32] | tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32], int],
    options: LetorOptions,
    limit: int,
) -> NDArray[np.float32]:
    """Return the rows that were read: a matrix, or sparse rows if they are to be sparse."""
    if isinstance(X, np.ndarray):
        return X
    ends, columns, values, width = X
    rows = SparseRows(values, columns, np.concatenate(([0], ends)), width)
    dense = 4 * rows.size
    if options.sparse == "auto" and dense < _MUCH_LARGER * rows.nbytes and 2 * dense <= limit:
        return rows.toarray(limit)
    return as_dense_type(rows)


def _texts(text: NDArray[np.uint8], ends: NDArray[np.int64]) -> Ids:
    """Make an array of consecutive texts, with a few Python objects at a time."""
    result = np.empty(len(ends), TEXT)
    for first in range(0, len(ends), _TEXTS_AT_ONCE):
        end = min(first + _TEXTS_AT_ONCE, len(ends))
        result[first:end] = _core.split_text(text, ends, first, end)
    return result


def _side_grouping(name: str, query_file: PathLike | None, n_rows: int) -> Grouping:
    """Group rows by the sizes in a side file, one whole number per line."""
    beside = [f"{name}.query", f"{name}.group"]
    path = query_file or next((p for p in beside if Path(p).is_file()), None)
    if path is None:
        raise ParseError(
            name,
            None,
            "no row has a query id (qid:...), and there is no side file with query sizes; "
            f"looked for {beside[0]} and {beside[1]}",
        )
    longest = 1 << 20 | 24 * n_rows  # room for one number per row, but not for a decompression bomb
    with open_input(path) as stream:
        text = stream.read(longest + 1)
    try:
        if len(text) > longest:
            raise ParseError(
                os.fspath(path), None, f"it is too long for the {n_rows:,} rows of {name}"
            )
        sizes = np.array([int(word) for word in text.split()], np.int64)
        return group_by_size(sizes, n_rows)
    except (ValueError, OverflowError) as error:
        if isinstance(error, ParseError):
            raise
        raise ParseError(
            os.fspath(path), None, f"expected one query size per line: {error}"
        ) from None
