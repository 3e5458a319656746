"""LETOR / SVMlight text: `2 qid:10 1:0.03 46:0.07 #docid = GX01`.

Grades are real numbers, or -1 for unjudged documents. Query ids are numbers or text. Features may
be in any order, counted from 1 or 0, and absent features are 0. `NULL` (and 1.79769e308, the
largest double, as in Istella) is a missing value. Any other number beyond the range of a 32-bit
float is an error. A `#` starts a comment only at the start of a line or after a blank. Blank lines,
CRLF and gz, xz or zst compression are allowed. For files without query ids, the sizes of queries
are read from a side file, as in LightGBM (`.query`) and XGBoost (`.group`).
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop import _core
from rankloop._utils.argument_names import argument
from rankloop._utils.arguments import check_type, path_text
from rankloop.data.dataset import QueryDataset
from rankloop.data.io.decompression import memory_taken
from rankloop.data.io.files import DECOMPRESSION_LIMIT, open_input, open_output
from rankloop.data.io.letor_rows import (
    LetorOptions,
    PathLike,
    check_rows,
    make_reader,
    position,
    take_rows,
)
from rankloop.data.joining import join_within
from rankloop.data.memory import memory_limit_or_default, parse_size, show_size
from rankloop.data.sparse_rows import core_rows
from rankloop.exceptions import DataError, MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import BinaryIO

_BLOCK = 1 << 18  # bytes of text that one thread parses at a time
_LEAST_BLOCK = 1 << 10


def read_letor(
    *paths: PathLike,
    query_file: PathLike | None = None,
    memory_limit: int | str | None = None,
    **options: Any,
) -> QueryDataset:
    r"""Read LETOR text files into one data set; the rows of a query may be anywhere in them.

    Parameters
    ----------
    paths : files, plain or compressed; `-` is standard input
    query_file : text file with the number of rows of each query, for one path without query ids;
        by default, the file with the added suffix `.query` or `.group`
    memory_limit : the memory for reading and for the result, in bytes or as `"4GB"`, in addition to
        what Python needs anyway; by default, three quarters of the free memory
    options : see :class:`LetorOptions`

    Raises
    ------
    ParseError
        with the file, the line, what was found and what was expected.
    MemoryLimitError
        before the limit would be exceeded.

    Notes
    -----
    Cost: one pass, several hundred MB of text per second and thread. Memory: the result, a second
    copy of its ids, and 1.5 MB per thread; with several files, a second copy of the largest one;
    for xz or zst files, up to a third of the limit, at most 256 MB, for decompression.

    Examples
    --------
    >>> from pathlib import Path
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
    limit = memory_limit_or_default(memory_limit)
    parts: list[QueryDataset] = []
    bases: list[int] = []
    taken = 0
    for path in paths:
        part, base, cost = _read_one(path, query_file, limit - taken, chosen)
        taken += cost
        bases.append(base if part.n_features else -1)
        parts.append(part)
        del part
    if {0, 1} <= set(bases):
        from_zero, from_one = paths[bases.index(0)], paths[bases.index(1)]
        raise DataError(
            f"{os.fspath(from_zero)} counts features from 0, {os.fspath(from_one)} apparently "
            "from 1; say which with zero_based=True or False"
        )
    return join_within(parts, limit - taken)


def iter_letor(
    path: PathLike,
    *,
    memory_limit: int | str = "256MB",
    progress: Callable[[float], None] | None = None,
    **options: Any,
) -> Iterator[QueryDataset]:
    """Read a file of any size in batches of whole queries, within a memory limit.

    Consecutive rows with the same id are a query, which must fit into the limit. The first batch
    determines the number of features unless `n_features` is given; a larger index later is an
    error. A batch uses about a sixth of the limit, or the memory of its longest query.

    Parameters
    ----------
    path : file, plain or compressed, with query ids; `-` is standard input, read as it arrives
    memory_limit : the memory for reading and for the batch that the caller holds at the same time,
        in addition to what Python needs anyway
    progress : called before each batch with the share of the file that has been read
    options : see :class:`LetorOptions`
    """
    for batch, share in _batches(path, parse_size(memory_limit), LetorOptions(**options)):
        if progress is not None:
            progress(share)
        yield batch
        del batch  # what is handed over is not kept here


def _batches(
    path: PathLike, limit: int, options: LetorOptions
) -> Iterator[tuple[QueryDataset, float]]:
    """Yield batches of whole queries, each with the share of the file that has been read."""
    name = os.fspath(path)
    held = 0  # by the caller, of the batch before
    any_rows = False
    with _open_text(path, limit, options) as (stream, reader, left):
        while not reader.finished:
            try:
                rows = take_rows(name, reader, options, left, left // 6, held)
            except MemoryError:
                if not reader.met_limit:
                    raise
                raise MemoryLimitError(
                    f"{name}: {_open_query(reader)} too large for the limit of "
                    f"{show_size(limit)}; raise memory_limit"
                ) from None
            reader.fix_width()
            if len(rows.y):
                any_rows, held = True, rows.cost
                batch = rows.dataset(name)
                del rows
                yield batch, position(stream)
                del batch
        check_rows(name, reader, any_rows)


def write_letor(
    data: QueryDataset | Iterable[QueryDataset],
    path: PathLike,
    *,
    zero_based: bool = False,
    sparse: bool = False,
) -> None:
    """Write LETOR text in the caller's row order; reading it gives the same data, bit for bit.

    Parameters
    ----------
    data : a data set, or several to write one after the other
    path : file, compressed if it ends in .gz, .xz or .zst; `-` is standard output
    sparse : whether to leave out features that are 0; sparse rows are always written so
    """
    parts = [data] if isinstance(data, QueryDataset) else data
    wanted = "a QueryDataset, or several"
    check_type("data", parts, Iterable, wanted)
    check_type("zero_based", zero_based, bool, "True or False")
    check_type("sparse", sparse, bool, "True or False")
    with open_output(path) as out:
        for part in parts:
            check_type("data", part, QueryDataset, wanted)
            for text in letor_lines(part, zero_based=zero_based, sparse=sparse):
                out.write(text)


def letor_lines(
    dataset: QueryDataset, *, zero_based: bool = False, sparse: bool = False, step: int = 4096
) -> Iterator[bytes]:
    """Yield the text of a data set in pieces of `step` lines."""
    if dataset.features is not None and not dataset.features.are_numbers:
        strange = [c.name for c in dataset.features if c.kind not in ("number", "boolean")]
        raise DataError(
            f"LETOR text holds numbers only, but these columns are dates or categories: "
            f"{', '.join(map(repr, strange[:10]))}; write Parquet or CSV, or leave them out with "
            f"{argument('drop')}"
        )
    ids = [str(i) for i in dataset.query_ids]
    bad = next((i for i in ids if not i or any(c.isspace() or c == "#" for c in i)), None)
    if bad is not None:
        raise DataError(
            f"the query id {bad!r} cannot be written as LETOR text, because it is "
            "empty or has a blank or a #; rename it"
        )
    if dataset.doc_ids is not None:
        split = next((i for i in dataset.doc_ids if any(c.isspace() for c in i)), None)
        if split is not None:
            raise DataError(
                f"the document id {split!r} cannot be written as LETOR text, because it "
                "has a blank; rename it"
            )
    query_of_row = dataset.in_row_order(np.repeat(np.arange(len(dataset)), dataset.sizes))
    place = dataset.in_row_order(np.arange(dataset.n_documents))
    for first in range(0, dataset.n_documents, step):
        rows = place[first : first + step]
        doc_ids = None if dataset.doc_ids is None else dataset.doc_ids[rows].tolist()
        yield _core.format_letor(
            core_rows(dataset.X[rows]),
            dataset.y[rows],
            [ids[q] for q in query_of_row[first : first + step]],
            doc_ids,
            0 if zero_based else 1,
            sparse=sparse,
        )


def _open_query(reader: _core.LetorReader) -> str:
    if not reader.open_rows:
        return f"its rows after line {reader.lines:,} are"
    if not reader.open_id:
        return f"its first {reader.open_rows:,} rows have no query id (qid:...) and are"
    query = reader.open_id[:40]
    return (
        f"query {query!r} alone has {reader.open_rows:,} rows before line {reader.lines:,}, and is"
    )


@contextmanager
def _open_text(
    path: PathLike, limit: int, options: LetorOptions
) -> Iterator[tuple[BinaryIO, _core.LetorReader, int]]:
    """Open a file with a reader of its text; also return what is left of the limit for its rows."""
    most = min(limit // 3, DECOMPRESSION_LIMIT)
    with open_input(path, decompression_limit=most) as stream:
        left = max(limit - memory_taken(stream), 1)
        block = min(max(left // (64 * options.n_threads), _LEAST_BLOCK), _BLOCK)
        yield stream, make_reader(stream, options, left, block), left


def _read_one(
    path: PathLike, query_file: PathLike | None, limit: int, options: LetorOptions
) -> tuple[QueryDataset, int, int]:
    """Read one file; also return the index of its first feature, and its size in memory."""
    name = path_text(path)
    with _open_text(path, max(limit, 1), options) as (_, reader, left):
        try:
            rows = take_rows(name, reader, options, left)
        except MemoryError:
            if not reader.met_limit:
                raise
            raise MemoryLimitError(
                f"{name}: its rows need more than the limit of {show_size(limit)} after "
                f"{reader.lines:,} lines; read it in parts (iter_letor), or raise memory_limit"
            ) from None
        check_rows(name, reader, len(rows.y) > 0)
        return rows.dataset(name, query_file), reader.base, rows.cost
