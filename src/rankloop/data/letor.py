"""LETOR / SVMlight text: `2 qid:10 1:0.03 46:0.07 #docid = GX01`.

Grades may be real numbers, or -1 for unjudged; query ids numbers or text; features in any order,
counted from 1 or 0, absent ones being 0; `NULL` (and 1.79e308, as in Istella) is a missing value;
blank lines, comments, CRLF and gz, xz or zst compression are understood. Files without query ids
take their query sizes from a side file, as LightGBM (`.query`) and XGBoost (`.group`) do.
"""

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
from rankloop.data.dataset import QueryDataset, concat
from rankloop.data.files import open_input, open_output
from rankloop.data.grouping import TEXT, Grouping, group_by_size, group_runs, ids_from_text
from rankloop.data.memory import available_memory, parse_size, show_size
from rankloop.data.words import count
from rankloop.exceptions import BadRowsWarning, DataError, MemoryLimitError, ParseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import BinaryIO

    from numpy.typing import NDArray

PathLike = str | os.PathLike[str]
_BLOCK = 1 << 18  # bytes of text that one thread parses at a time


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
        return self.threads or min(os.cpu_count() or 1, 8)


def read_letor(
    *paths: PathLike,
    query_file: PathLike | None = None,
    memory_limit: int | str | None = None,
    **options: Any,
) -> QueryDataset:
    r"""Read LETOR text files into one data set; rows of a query may stand anywhere in them.

    Parameters
    ----------
    paths : files, plain or compressed; `-` is standard input
    query_file : text file with the number of rows of each query, for one path without query ids;
        default: the file beside it with the added suffix `.query` or `.group`
    memory_limit : largest matrix, in bytes or as `"4GB"`; default: the memory at hand
    options : see :class:`LetorOptions`

    Raises
    ------
    ParseError
        naming the file, the line, what was found and what was expected.

    Notes
    -----
    Cost: one pass, several hundred MB of text a second and thread; memory is that of the result
    and a few MB a thread.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "train.txt")
    ...     _ = path.write_text("2 qid:10 1:0.5 #docid = D1\n0 qid:10 2:0.25 #docid = D2\n")
    ...     data = read_letor(path)
    >>> data
    QueryDataset(1 query, 2 documents, 2 features, grades 0 to 2)
    >>> data.doc_ids.tolist()
    ['D1', 'D2']
    """
    if not paths:
        raise DataError("read_letor needs at least one path")
    if query_file is not None and len(paths) > 1:
        raise DataError("query_file belongs to one file; read the files one by one")
    chosen = LetorOptions(**options)
    limit = available_memory() if memory_limit is None else parse_size(memory_limit)
    parts, bases = zip(*(_read_one(path, query_file, limit, chosen) for path in paths), strict=True)
    bases = tuple(base if part.n_features else -1 for part, base in zip(parts, bases, strict=True))
    if {0, 1} <= set(bases):
        zero, one = paths[bases.index(0)], paths[bases.index(1)]
        raise DataError(
            f"{os.fspath(zero)} counts features from 0, {os.fspath(one)} apparently from 1; say "
            "which with zero_based=True or False"
        )
    return concat(parts)


def iter_letor(
    path: PathLike,
    *,
    memory_limit: int | str = "256MB",
    progress: Callable[[float], None] | None = None,
    **options: Any,
) -> Iterator[QueryDataset]:
    """Read a file of any size in batches of whole queries, within a memory limit.

    A query is a run of consecutive rows with one id; a query must fit the limit. The first batch
    fixes the number of features unless `n_features` is given: a later, larger index is an error.

    Parameters
    ----------
    path : file, plain or compressed, with query ids; `-` is standard input, read as it comes
    memory_limit : what reading and one batch may take together, besides what Python takes anyway
    progress : called after each batch with the share of the file that has been read
    options : see :class:`LetorOptions`
    """
    chosen = LetorOptions(**options)
    limit = parse_size(memory_limit)
    name = os.fspath(path)
    block = max(min(_BLOCK, limit // (16 * chosen.n_threads)), 1 << 14)
    held: _Rows | None = None
    ids_seen = False
    with open_input(path) as stream, _reader(name, stream, chosen, limit, block) as reader:
        while not reader.finished:
            rows = _take(name, reader, limit // 6, chosen, ids_seen)
            ids_seen = ids_seen or None not in (rows.run_ids or [None])
            reader.fix_width()
            if progress is not None:
                progress(_position(stream))
            if held is not None:
                rows = held.followed_by(rows)
            batch, held = (rows, None) if reader.finished else rows.before_last_query()
            if held is not None and held.X.nbytes > limit // 2:
                raise MemoryLimitError(
                    f"{name}: query {held.run_ids[0]!r} alone has at least {len(held.y):,} rows, "
                    f"too many for the limit of {show_size(limit)}; raise memory_limit"
                )
            if len(batch.y):
                yield batch.dataset(name)
        _check_rows(name, reader, ids_seen)


def write_letor(
    data: QueryDataset | Iterable[QueryDataset],
    path: PathLike,
    *,
    zero_based: bool = False,
    sparse: bool = False,
) -> None:
    """Write LETOR text, in the caller's row order; it reads back as the same data, bit for bit.

    Parameters
    ----------
    data : a data set, or several to write one after the other
    path : file, compressed where it ends in .gz, .xz or .zst; `-` is standard output
    sparse : leave features that are 0 out
    """
    with open_output(path) as out:
        for part in [data] if isinstance(data, QueryDataset) else data:
            for text in letor_lines(part, zero_based=zero_based, sparse=sparse):
                out.write(text)


def letor_lines(
    dataset: QueryDataset, *, zero_based: bool = False, sparse: bool = False, step: int = 4096
) -> Iterator[bytes]:
    """Give the text of a data set in pieces of `step` lines."""
    ids = [str(i) for i in dataset.query_ids]
    bad = next((i for i in ids if not i or any(c.isspace() or c == "#" for c in i)), None)
    if bad is not None:
        raise DataError(f"the query id {bad!r} cannot stand in LETOR text: it has a blank or a #")
    if dataset.doc_ids is not None:
        split = next((i for i in dataset.doc_ids if any(c.isspace() for c in i)), None)
        if split is not None:
            raise DataError(f"the document id {split!r} cannot stand in LETOR text: it has a blank")
    query_of_row = dataset.in_row_order(np.repeat(np.arange(len(dataset)), dataset.sizes))
    place = dataset.in_row_order(np.arange(dataset.n_documents))
    for first in range(0, dataset.n_documents, step):
        rows = place[first : first + step]
        doc_ids = None if dataset.doc_ids is None else dataset.doc_ids[rows].tolist()
        yield _core.format_letor(
            dataset.X[rows],
            dataset.y[rows],
            [ids[q] for q in query_of_row[first : first + step]],
            doc_ids,
            0 if zero_based else 1,
            sparse,
        )


@dataclass(frozen=True)
class _Rows:
    """Rows in file order, with the runs of rows that share a query id."""

    X: NDArray[np.float32]
    y: NDArray[np.float64]
    run_ids: list[str | None]
    run_starts: NDArray[np.int64]
    doc_ids: NDArray[Any] | None

    def dataset(self, name: str, query_file: PathLike | None = None) -> QueryDataset:
        if self.run_ids[0] is None:
            grouping = _side_grouping(name, query_file, len(self.y))
        else:
            ids = ids_from_text([i for i in self.run_ids if i is not None])
            grouping = group_runs(ids, self.run_starts, len(self.y))
        return QueryDataset.from_grouping(self.X, self.y, grouping, doc_ids=self.doc_ids)

    def before_last_query(self) -> tuple[_Rows, _Rows]:
        cut = int(self.run_starts[-1]) if len(self.run_starts) else 0
        doc_ids = self.doc_ids
        done = _Rows(
            self.X[:cut],
            self.y[:cut],
            self.run_ids[:-1],
            self.run_starts[:-1],
            None if doc_ids is None else doc_ids[:cut],
        )
        last = _Rows(
            self.X[cut:].copy(),
            self.y[cut:].copy(),
            self.run_ids[-1:],
            self.run_starts[-1:] - cut,
            None if doc_ids is None else doc_ids[cut:].copy(),
        )
        return done, last

    def followed_by(self, more: _Rows) -> _Rows:
        if not len(self.y):
            return more
        joins = int(self.run_ids[-1:] == more.run_ids[:1])
        doc_ids = None
        if self.doc_ids is not None or more.doc_ids is not None:
            parts = [(self.doc_ids, len(self.y)), (more.doc_ids, len(more.y))]
            doc_ids = np.concatenate([np.full(n, "", TEXT) if d is None else d for d, n in parts])
        return _Rows(
            np.concatenate([self.X, more.X]),
            np.concatenate([self.y, more.y]),
            self.run_ids + more.run_ids[joins:],
            np.r_[self.run_starts, more.run_starts[joins:] + len(self.y)],
            doc_ids,
        )

    def only(self, keep: NDArray[np.bool_], runs: NDArray[np.bool_]) -> _Rows:
        lengths = np.diff(np.r_[self.run_starts, len(self.y)])[runs]
        return _Rows(
            self.X[keep],
            self.y[keep],
            [i for i, kept in zip(self.run_ids, runs, strict=True) if kept],
            np.r_[0, np.cumsum(lengths)][:-1],
            None if self.doc_ids is None else self.doc_ids[keep],
        )


def _read_one(
    path: PathLike, query_file: PathLike | None, limit: int, options: LetorOptions
) -> tuple[QueryDataset, int]:
    """Read one file; also tell the index of its first feature."""
    name = os.fspath(path)
    with open_input(path) as stream, _reader(name, stream, options, limit, _BLOCK) as reader:
        rows = _take(name, reader, sys.maxsize, options)
        base = reader.base
        _check_rows(name, reader, len(rows.y) > 0)
    return rows.dataset(name, query_file), base


def _check_rows(name: str, reader: _core.LetorReader, any_rows: bool) -> None:
    if not any_rows:
        lines = reader.lines
        found = (
            "the file is empty" if lines == 0 else f"none of its {lines:,} lines is a usable row"
        )
        raise ParseError(name, None, f"{found}; expected rows such as '2 qid:10 1:0.5 2:0.25'")


@contextmanager
def _reader(
    name: str, stream: BinaryIO, options: LetorOptions, limit: int, block: int
) -> Iterator[_core.LetorReader]:
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


def _position(stream: BinaryIO) -> float:
    try:
        descriptor = stream.fileno()
        return os.lseek(descriptor, 0, os.SEEK_CUR) / max(os.fstat(descriptor).st_size, 1)
    except OSError:
        return 0.0


def _take(
    name: str,
    reader: _core.LetorReader,
    enough: int,
    options: LetorOptions,
    ids_seen: bool = False,
) -> _Rows:
    """Read the next rows; `ids_seen` says that earlier rows had query ids, so these must too."""
    try:
        table = reader.read(enough, options.n_threads)
    except ValueError as error:  # a line without end
        raise ParseError(name, reader.lines + 1, f"{error}; is this LETOR text?") from None
    rows = _Rows(
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
