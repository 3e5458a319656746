"""LETOR / SVMlight text: `2 qid:10 1:0.03 46:0.07 #docid = GX01`.

Grades may be real numbers, or -1 for unjudged; query ids numbers or text; features in any order,
counted from 1 or 0, absent ones being 0; `NULL` (and 1.79e308, as in Istella) is a missing value;
blank lines, comments, CRLF and gz, xz or zst compression are understood. Files without query ids
take their query sizes from a side file, as LightGBM (`.query`) and XGBoost (`.group`) do.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop import _core
from rankloop.data.dataset import QueryDataset, concat
from rankloop.data.io.files import open_input, open_output
from rankloop.data.io.letor_rows import (
    LetorOptions,
    PathLike,
    Rows,
    check_rows,
    open_reader,
    position,
    take_rows,
)
from rankloop.data.memory import available_memory, parse_size, show_size
from rankloop.exceptions import DataError, MemoryLimitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_BLOCK = 1 << 18  # bytes of text that one thread parses at a time


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
    held: Rows | None = None
    ids_seen = False
    with open_input(path) as stream, open_reader(name, stream, chosen, limit, block) as reader:
        while not reader.finished:
            rows = take_rows(name, reader, limit // 6, chosen, ids_seen)
            ids_seen = ids_seen or None not in (rows.run_ids or [None])
            reader.fix_width()
            if progress is not None:
                progress(position(stream))
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
        check_rows(name, reader, ids_seen)


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


def _read_one(
    path: PathLike, query_file: PathLike | None, limit: int, options: LetorOptions
) -> tuple[QueryDataset, int]:
    """Read one file; also tell the index of its first feature."""
    name = os.fspath(path)
    with open_input(path) as stream, open_reader(name, stream, options, limit, _BLOCK) as reader:
        rows = take_rows(name, reader, sys.maxsize, options)
        base = reader.base
        check_rows(name, reader, len(rows.y) > 0)
    return rows.dataset(name, query_file), base
