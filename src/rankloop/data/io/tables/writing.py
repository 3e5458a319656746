"""Write a data set as a table: its schema, its record batches and the file."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankloop._utils.argument_names import argument
from rankloop._utils.messages import show_names
from rankloop.data.dataset import QueryDataset
from rankloop.data.grouping import TEXT
from rankloop.data.io.files import bare_suffix, open_output
from rankloop.data.io.replacing import replace_when_done
from rankloop.data.io.tables.lists import list_note
from rankloop.data.io.tables.roles import ROLES, number_names
from rankloop.data.io.tables.sources import arrow
from rankloop.data.io.tables.values import is_list
from rankloop.data.validation import as_matrix
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow
    from numpy.typing import NDArray

Layout = Literal["wide", "list"]
PARQUET_SUFFIXES = (".parquet", ".pq")
ARROW_SUFFIXES = (".arrow", ".feather", ".ipc")
TEXT_SUFFIXES = (".csv", ".tsv")
_SLICE_BYTES = 2**26


def to_table(dataset: QueryDataset, layout: Layout = "wide") -> pyarrow.Table:
    """Return a pyarrow table with the rows in the caller's order; it copies everything.

    Queries without documents have no row and are lost.

    Parameters
    ----------
    layout : `wide`, one column per feature (`f0`, `f1`, ... if they have no names), or `list`,
        one column `features`

    Examples
    --------
    >>> data = QueryDataset.from_arrays([[1.0, 2.0], [3.0, 4.0]], [0, 1], qid=[7, 7])
    >>> to_table(data).column_names
    ['label', 'qid', 'f0', 'f1']
    """
    schema = table_schema(dataset, layout)
    return arrow().Table.from_batches(record_batches(dataset, schema), schema)


def write_table(
    data: QueryDataset | Iterable[QueryDataset],
    path: str | os.PathLike[str],
    layout: Layout = "wide",
    *,
    format: str | None = None,
) -> None:
    """Write a Parquet, Arrow, CSV or TSV file, completely or not at all, about 64 MB at a time.

    Parameters
    ----------
    data : a data set, or several with the same columns to write one after the other
    path : the file; rows in the caller's order, as in :func:`to_table`
    layout : as in :func:`to_table`
    format : `parquet`, `arrow`, `csv` or `tsv`; by default, the suffix decides: `.parquet`,
        `.pq`, `.arrow`, `.feather` or `.ipc`, `.csv` or `.tsv`; text may be compressed: `.csv.gz`
    """
    suffix = f".{format}" if format else bare_suffix(path)
    known = PARQUET_SUFFIXES + ARROW_SUFFIXES + TEXT_SUFFIXES
    if suffix not in known:
        raise DataError(
            f"cannot tell the format of {os.fspath(path)!r}; end its name in "
            f"{', '.join(known)}, or pass {argument('format')} with parquet, arrow, csv or tsv"
        )
    parts = iter([data] if isinstance(data, QueryDataset) else data)
    first = next(parts, None)
    if first is None:
        raise DataError("there is no data set to write; give at least one")
    schema = table_schema(first, layout)
    kind = "parquet" if suffix in PARQUET_SUFFIXES else "arrow"
    kind = suffix[1:] if suffix in TEXT_SUFFIXES else kind
    with table_writer(path, schema, kind) as writer:
        for i, part in enumerate(itertools.chain([first], parts)):
            if not table_schema(part, layout).equals(schema, check_metadata=True):
                raise DataError(
                    f"data set {i} has different columns from the first: "
                    f"{how_they_differ(part, first)}; write them to separate files, or join "
                    "them with concat"
                )
            for batch in record_batches(part, schema):
                writer.write_batch(batch)


def table_schema(dataset: QueryDataset, layout: Layout) -> pyarrow.Schema:
    """Return the Arrow schema of a data set, with a note so that reading restores it exactly."""
    pa = arrow()
    if layout not in ("wide", "list"):
        raise DataError(f"layout must be 'wide' or 'list'; found {layout!r}")
    fields = [
        (name, pa.string() if values.dtype == TEXT else pa.from_numpy_dtype(values.dtype))
        for name, values, _ in _role_columns(dataset)
    ]
    d = dataset.n_features
    names = number_names(d) if dataset.feature_names is None else list(dataset.feature_names)
    note: dict[str, object] = {"unnamed": dataset.feature_names is None}
    if layout == "wide" or d == 0:
        clash, count = Counter([name for name, _ in fields] + names).most_common(1)[0]
        if count > 1:
            raise DataError(
                f"a wide table would have two columns {clash!r}; rename the feature, or pass "
                f"{argument('layout', 'list')}"
            )
        kinds = _kinds(dataset)
        notes = _list_notes(dataset)
        fields += [
            pa.field(name, _ARROW_TYPE[kind](), metadata=note)
            for name, kind, note in zip(names, kinds, notes, strict=True)
        ]
        note["features"] = names
    elif not all(kind in ("number", "boolean") for kind in _kinds(dataset)):
        raise DataError(
            "a list column holds numbers only; for dates and categories pass "
            f"{argument('layout', 'wide')}"
        )
    else:
        fields.append(("features", pa.list_(pa.float32(), d)))
        note |= {"features": ["features"], "names": dataset.feature_names}
    return pa.schema(fields, metadata={"rankloop": json.dumps(note)})


def record_batches(dataset: QueryDataset, schema: pyarrow.Schema) -> Iterator[pyarrow.RecordBatch]:
    """Yield the rows in the caller's order, in batches that keep memory bounded."""
    pa = arrow()
    n, d = dataset.X.shape
    place = dataset.in_row_order(np.arange(n))
    query_of = np.repeat(np.arange(len(dataset)), dataset.sizes)
    step = max(1, min(2**20, _SLICE_BYTES // (4 * d + 64)))
    for first in range(0, n, step):
        rows = place[first : first + step]
        X = as_matrix(dataset.X[rows], allow_nan=True)
        arrays = []
        for _, values, by_query in _role_columns(dataset):
            part = values[query_of[rows] if by_query else rows]
            arrays.append(
                pa.array(part.tolist(), pa.string()) if part.dtype == TEXT else pa.array(part)
            )
        if is_list(schema.field(len(schema) - 1).type):
            arrays.append(pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), d))
        else:
            arrays += [_as_arrow(X[:, j], dataset, j) for j in range(d)]
        yield pa.record_batch(arrays, schema=schema)


_ARROW_TYPE: dict[str, Callable[[], object]] = {
    "number": lambda: arrow().float32(),
    "boolean": lambda: arrow().bool_(),
    "date": lambda: arrow().timestamp("ms"),
    "category": lambda: arrow().string(),
}


def _list_notes(dataset: QueryDataset) -> list[dict[bytes, bytes] | None]:
    """Return which list of categories each column is a part of."""
    if dataset.features is None:
        return [None] * dataset.n_features
    return [list_note(c.part_of, c.separator) if c.part_of else None for c in dataset.features]


def _kinds(dataset: QueryDataset) -> list[str]:
    if dataset.features is None:
        return ["number"] * dataset.n_features
    return [column.kind for column in dataset.features]


def _as_arrow(values: NDArray[np.float32], dataset: QueryDataset, j: int) -> pyarrow.Array:
    """Return one column of features in the form in which it was read."""
    pa = arrow()
    kind = _kinds(dataset)[j]
    if kind == "number":
        return pa.array(np.ascontiguousarray(values))
    absent = np.isnan(values)
    known = np.where(absent, 0, values)
    if kind == "category":
        assert dataset.features is not None
        words = pa.array(dataset.features.columns[j].categories, pa.string())
        return words.take(pa.array(known.astype(np.int64), mask=absent))
    if kind == "boolean":
        return pa.array(known != 0, mask=absent)
    instants = np.round(known.astype(np.float64) * 86_400_000).astype(np.int64)
    return pa.array(instants, pa.timestamp("ms"), mask=absent)


@contextlib.contextmanager
def table_writer(path: str | os.PathLike[str], schema: pyarrow.Schema, kind: str) -> Iterator[Any]:
    """Open a new file for record batches in one of these formats; see `open_output`."""
    pa = arrow()
    if kind in ("csv", "tsv"):
        from pyarrow import csv

        options = csv.WriteOptions(delimiter="\t" if kind == "tsv" else ",")
        with open_output(path) as sink, csv.CSVWriter(sink, schema, write_options=options) as out:
            yield out
        return
    with replace_when_done(path) as partial:
        if kind == "parquet":
            import pyarrow.parquet as pq

            repeated = [names[0] for names in ROLES.values()]  # features: no dictionaries for them
            settings = {
                "compression": "zstd",
                "use_dictionary": repeated,
                "write_page_checksum": True,
            }
            with pq.ParquetWriter(partial, schema, **settings) as writer:
                yield writer
        else:
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            with (
                pa.OSFile(str(partial), "wb") as sink,
                pa.ipc.new_file(sink, schema, options=options) as writer,
            ):
                yield writer


def how_they_differ(a: QueryDataset, b: QueryDataset) -> str:
    """Return a text about the columns of two data sets, for an error message."""

    def describe(data: QueryDataset) -> str:
        roles = (f"{name} ({v.dtype.name})" for name, v, _ in _role_columns(data))
        names = "" if data.feature_names is None else f" named {show_names(data.feature_names)}"
        return f"{', '.join(roles)}, {data.n_features} features{names}"

    return f"{describe(a)}; not {describe(b)}"


def _role_columns(dataset: QueryDataset) -> list[tuple[str, NDArray[Any], bool]]:
    """List the columns besides the features: name, values, whether one per query."""
    columns = [
        ("label", dataset.y, False),
        ("query", dataset.query_ids, True),
        ("doc_id", dataset.doc_ids, False),
        ("doc_weight", dataset.sample_weight, False),
        ("query_weight", dataset.query_weight, True),
    ]
    return [(ROLES[role][0], v, by_query) for role, v, by_query in columns if v is not None]
