"""Parquet and Arrow files, and tables in memory: pyarrow, pandas, polars.

A table has one row a document, in any query order. Its features are either *wide*, one column of
numbers each, or one *list* column. Files are known by their first bytes. What `write_table`
writes, `read_table` reads back exactly.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankloop import _core
from rankloop.data.dataset import QueryDataset
from rankloop.data.files import replaced_when_done
from rankloop.data.grouping import TEXT, group_by_id
from rankloop.data.memory import check_fits
from rankloop.exceptions import DataError, MissingExtraError, ParseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from rankloop.data.grouping import Grouping

PARQUET_SUFFIXES = (".parquet", ".pq")
ARROW_SUFFIXES = (".arrow", ".feather", ".ipc")
Layout = Literal["wide", "list"]

_GUESSES = {
    "label": ("label", "y", "relevance", "grade", "target"),
    "query": ("qid", "query_id", "query", "group"),
    "doc_id": ("doc_id", "docid", "document_id"),
    "doc_weight": ("doc_weight",),
    "query_weight": ("query_weight",),
}
_WRITTEN = {role: names[0] for role, names in _GUESSES.items()}
_SLICE_BYTES = 2**26


def read_table(
    path: str | os.PathLike[str],
    *,
    label: str | None = None,
    query: str | None = None,
    doc_id: str | None = None,
    features: str | Sequence[str] | None = None,
    doc_weight: str | None = None,
    query_weight: str | None = None,
    allow_nan: bool = False,
    memory_limit: int | str | None = None,
) -> QueryDataset:
    """Read a Parquet or Arrow (IPC, Feather 2) file.

    Ids and grades are read first, then the features straight into their place: the peak is the
    float32 matrix and one row group, whatever the order of the rows.

    Parameters
    ----------
    path : a file; its first bytes tell the format
    label : the column of grades. None: `label`, `y`, `relevance`, `grade` or `target`
    query : the column of query ids, whole numbers or text. None: `qid`, `query_id`, `query` or
        `group`
    doc_id : the column of document ids. None: `doc_id`, `docid` or `document_id`, if there
    features : the columns of features, or the name of one list column. None: all other columns,
        a pandas index left aside
    doc_weight, query_weight : columns of weights; a query's rows share theirs. None: those names,
        if there
    allow_nan : read null and NaN features as NaN
    memory_limit : refuse a matrix above this many bytes (or `"4GB"`); default: memory at hand

    Raises
    ------
    ParseError
        naming the file and the column or row (counted from 0) that cannot be used.
    """
    with _reading(path) as source:
        columns = _resolve(source, features, label, query, doc_id, doc_weight, query_weight)
        return _build(source, columns, allow_nan, memory_limit)


def from_table(
    table: Any,
    *,
    label: str | None = None,
    query: str | None = None,
    doc_id: str | None = None,
    features: str | Sequence[str] | None = None,
    doc_weight: str | None = None,
    query_weight: str | None = None,
    allow_nan: bool = False,
    memory_limit: int | str | None = None,
) -> QueryDataset:
    """Take a pyarrow table, a pandas or polars frame, or any Arrow stream in memory.

    Parameters as in :func:`read_table`. Costs one float32 copy of the features.

    Examples
    --------
    >>> import pyarrow as pa
    >>> table = pa.table({"qid": ["a", "b", "a"], "label": [0, 1, 2], "bm25": [0.5, 1.5, 2.5]})
    >>> data = from_table(table)
    >>> data
    QueryDataset(2 queries, 3 documents, 1 feature, grades 0 to 2)
    >>> data.feature_names, data.X.ravel().tolist()
    (('bm25',), [0.5, 2.5, 1.5])
    """
    source = _memory_source(_as_arrow(table))
    columns = _resolve(source, features, label, query, doc_id, doc_weight, query_weight)
    return _build(source, columns, allow_nan, memory_limit)


def iter_table(
    path: str | os.PathLike[str],
    *,
    batch_rows: int = 65_536,
    label: str | None = None,
    query: str | None = None,
    doc_id: str | None = None,
    features: str | Sequence[str] | None = None,
    doc_weight: str | None = None,
    query_weight: str | None = None,
    allow_nan: bool = False,
    memory_limit: int | str | None = None,
) -> Iterator[QueryDataset]:
    """Read a file in batches of whole queries; each query's rows must stand together.

    Holds about two batches (or the longest query, if longer), one row group and the ids of the
    queries seen, by which a query that starts again is found and refused.

    Parameters
    ----------
    batch_rows : rows a batch, at least one query; the other parameters as in :func:`read_table`
    """
    if batch_rows < 1:
        raise DataError(f"batch_rows must be at least 1; found {batch_rows}")
    with _reading(path) as source:
        columns = _resolve(source, features, label, query, doc_id, doc_weight, query_weight)
        seen: set[int | str] = set()
        for table, first in _whole_queries(source, columns, batch_rows):
            part = _build(_memory_source(table), columns, allow_nan, memory_limit, first)
            del table
            ids = part.query_ids.tolist()
            again = seen.intersection(ids)
            if part.rows is not None or again:
                which = f"query {min(again)!r}" if again else "a query"
                raise DataError(
                    f"{which} in rows {first} to {first + part.n_documents - 1} starts again after "
                    "other queries; sort the rows by query, or use read_table"
                )
            seen.update(ids)
            yield part
            del part


def to_table(dataset: QueryDataset, layout: Layout = "wide") -> Any:
    """Return a pyarrow table, its rows in the caller's order; costs a copy of everything.

    Queries without documents have no row and are lost.

    Parameters
    ----------
    layout : `wide`, one column a feature (`f0`, `f1`, ... where they have no names), or `list`,
        one column `features`

    Examples
    --------
    >>> data = QueryDataset.from_arrays([[1.0, 2.0], [3.0, 4.0]], [0, 1], qid=[7, 7])
    >>> to_table(data).column_names
    ['label', 'qid', 'f0', 'f1']
    """
    schema = _schema(dataset, layout)
    return _arrow().Table.from_batches(_slices(dataset, schema), schema)


def write_table(
    data: QueryDataset | Iterable[QueryDataset],
    path: str | os.PathLike[str],
    layout: Layout = "wide",
    *,
    format: Literal["parquet", "arrow"] | None = None,  # noqa: A002 - what users call it
) -> None:
    """Write a Parquet or Arrow file, whole or not at all, in row groups of about 64 MB.

    Parameters
    ----------
    data : a data set, or several with the same columns to write one after the other
    path : the file; rows in the caller's order, as in :func:`to_table`
    layout : as in :func:`to_table`
    format : None: as the suffix says, `.parquet` or `.pq`, `.arrow`, `.feather` or `.ipc`
    """
    pa = _arrow()
    suffix = f".{format}" if format else Path(path).suffix.lower()
    if suffix not in PARQUET_SUFFIXES + ARROW_SUFFIXES:
        raise DataError(
            f"cannot tell the format of {os.fspath(path)!r}; end its name in "
            f"{', '.join(PARQUET_SUFFIXES + ARROW_SUFFIXES)}, or pass format='parquet' or 'arrow'"
        )
    parts = iter([data] if isinstance(data, QueryDataset) else data)
    first = next(parts, None)
    if first is None:
        raise DataError("there is no data set to write; give at least one")
    schema = _schema(first, layout)
    with replaced_when_done(path) as partial, contextlib.ExitStack() as stack:
        if suffix in PARQUET_SUFFIXES:
            import pyarrow.parquet as pq

            repeated = list(_WRITTEN.values())  # features seldom are: no dictionaries for them
            writer = stack.enter_context(
                pq.ParquetWriter(partial, schema, compression="zstd", use_dictionary=repeated)
            )
        else:
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            sink = stack.enter_context(pa.OSFile(str(partial), "wb"))
            writer = stack.enter_context(pa.ipc.new_file(sink, schema, options=options))
        for i, part in enumerate(itertools.chain([first], parts)):
            if not _schema(part, layout).equals(schema, check_metadata=True):
                raise DataError(
                    f"data set {i} has other columns than the first: {_differ(part, first)}; write "
                    "them to files of their own, or join them with concat"
                )
            for batch in _slices(part, schema):
                writer.write_batch(batch)


# --- sources: what can be read more than once, some columns at a time ---


@dataclass(frozen=True)
class _Source:
    schema: Any
    n_rows: int
    batches: Callable[[Sequence[str], int], Iterator[Any]]  # columns, rows at most


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError:
        raise MissingExtraError("pyarrow", "arrow", "Parquet and Arrow tables") from None
    return pyarrow


def _as_arrow(table: Any) -> Any:
    pa = _arrow()
    try:
        return table if isinstance(table, pa.Table) else pa.table(table)
    except (TypeError, ValueError, pa.ArrowException) as error:
        raise DataError(
            f"cannot take a {type(table).__name__} as a table: {error}; give a pyarrow table or a "
            "pandas or polars frame"
        ) from None


def _memory_source(table: Any) -> _Source:
    return _Source(
        table.schema,
        table.num_rows,
        lambda names, rows: iter(table.select(names).to_batches(max_chunksize=rows)),
    )


@contextlib.contextmanager
def _reading(path: str | os.PathLike[str]) -> Iterator[_Source]:
    """Open a file by its first bytes; errors name it."""
    pa, name = _arrow(), os.fspath(path)
    try:
        with contextlib.ExitStack() as stack:
            yield _file_source(name, stack)
    except (OSError, pa.ArrowException) as error:
        what = getattr(error, "strerror", None) or error
        raise ParseError(name, None, f"cannot read it: {what}") from None
    except DataError as error:
        if type(error) is not DataError:
            raise
        raise ParseError(name, None, str(error)) from None


def _file_source(name: str, stack: contextlib.ExitStack) -> _Source:
    with Path(name).open("rb") as file:
        head = file.read(6)
    if head[:4] == b"PAR1":
        import pyarrow.parquet as pq

        parquet = stack.enter_context(pq.ParquetFile(name, pre_buffer=False))

        def batches(names: Sequence[str], rows: int) -> Iterator[Any]:
            for group in range(parquet.num_row_groups):  # one at a time: bounds the memory
                yield from parquet.iter_batches(rows, row_groups=[group], columns=list(names))

        return _Source(parquet.schema_arrow, parquet.metadata.num_rows, batches)
    if head == b"ARROW1":
        return _ipc_source(stack.enter_context(_arrow().memory_map(name)))
    raise DataError(
        f"it starts with {head!r}; expected a Parquet file (PAR1) or an Arrow file (ARROW1): "
        "convert it, or use the reader of its format"
    )


def _ipc_source(mapped: Any) -> _Source:
    import pyarrow as pa
    import pyarrow.dataset as ds

    def batches(names: Sequence[str], rows: int) -> Iterator[Any]:
        fields = [schema.get_field_index(name) for name in names]
        options = pa.ipc.IpcReadOptions(included_fields=fields)
        reader = pa.ipc.open_file(mapped, options=options)
        for i in range(reader.num_record_batches):
            batch = reader.get_batch(i)
            for first in range(0, batch.num_rows, rows):
                yield batch.slice(first, rows)

    schema = pa.ipc.open_file(mapped).schema
    n_rows = ds.IpcFileFormat().make_fragment(mapped).count_rows()  # from the batches' headers
    return _Source(schema, n_rows, batches)


# --- which column is what ---


@dataclass(frozen=True)
class _Columns:
    roles: dict[str, str]  # those of _GUESSES that the table has
    features: tuple[str, ...]
    listed: bool  # features are one list column
    width: int
    names: tuple[str, ...] | None

    @property
    def rows_at_once(self) -> int:
        return max(256, min(8192, 2**21 // max(self.width, 1)))


def _resolve(source: _Source, features: str | Sequence[str] | None, *roles: str | None) -> _Columns:
    """Decide what each column is, or say which columns there are."""
    schema, given = source.schema, dict(zip(_GUESSES, roles, strict=True))
    present: list[str] = schema.names
    twice = [name for name, count in Counter(present).items() if count > 1]
    if twice:
        raise DataError(f"two columns are named {twice[0]!r}; rename one")
    ours = json.loads((schema.metadata or {}).get(b"rankloop", b"{}"))
    chosen = [features] if isinstance(features, str) else features
    named = [*(name for name in given.values() if name is not None), *(chosen or ())]
    for name, count in Counter(named).items():
        if name not in present:
            raise DataError(f"there is no column {name!r}; the columns are {_show(present)}")
        if count > 1:
            raise DataError(f"column {name!r} is given twice; give each column one use")
    free = [name for name in present if name not in {*named, *ours.get("features", ())}]
    guessed = {role: name or _guess(role, free, present) for role, name in given.items()}
    found = {role: name for role, name in guessed.items() if name is not None}
    if chosen is None:
        aside = {*found.values(), *_index_columns(schema)}
        chosen = [name for name in present if name not in aside]
    listed = len(chosen) == 1 and _is_list(schema.field(chosen[0]).type)
    for name in chosen:
        kind = schema.field(name).type
        if not _is_number(kind.value_type if listed else kind):
            raise DataError(
                f"column {name!r} holds {kind}, not numbers; pass features=[...] to choose columns "
                f"of numbers, or one list column; the columns are {_show(present)}"
            )
    width = _list_width(source, chosen[0]) if listed else len(chosen)
    names = ours.get("names") if listed else list(chosen)
    if names is not None and (
        len(names) != width or (ours.get("unnamed") and names == _numbered(width))
    ):
        names = None
    return _Columns(found, tuple(chosen), listed, width, None if names is None else tuple(names))


def _guess(role: str, free: list[str], present: list[str]) -> str | None:
    usual = _GUESSES[role]
    fit = [name for name in free if name.lower() in usual]
    if len(fit) > 1:
        raise DataError(f"{_show(fit)} could each be the {role}; pass {role}= to choose one")
    if not fit and role in ("label", "query"):
        raise DataError(
            f"no column is named {_show(usual, ' or ')}; pass {role}= to name the column; "
            f"the columns are {_show(present)}"
        )
    return fit[0] if fit else None


def _show(names: Sequence[str], joint: str = ", ") -> str:
    more = f" and {len(names) - 20} more" if len(names) > 20 else ""
    return (joint.join(map(repr, names[:20])) or "none") + more


def _numbered(width: int) -> list[str]:
    return [f"f{j}" for j in range(width)]


def _index_columns(schema: Any) -> set[str]:
    """Columns that were a pandas index: row labels, not features."""
    stored = json.loads((schema.metadata or {}).get(b"pandas", b"{}")).get("index_columns", [])
    unnamed = (name for name in schema.names if name.startswith("__index_level_"))
    return {*(name for name in stored if isinstance(name, str)), *unnamed}


def _is_list(kind: Any) -> bool:
    types = _arrow().types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _is_number(kind: Any) -> bool:
    t = _arrow().types
    return any(
        test(kind) for test in (t.is_integer, t.is_floating, t.is_boolean, t.is_decimal, t.is_null)
    )


def _list_width(source: _Source, name: str) -> int:
    kind = source.schema.field(name).type
    if _arrow().types.is_fixed_size_list(kind):
        return int(kind.list_size)
    first = next((b.column(name) for b in source.batches([name], 1) if b.num_rows), None)
    return 0 if first is None or first.null_count else len(first[0])


# --- from columns to a data set ---


def _build(
    source: _Source,
    columns: _Columns,
    allow_nan: bool,
    memory_limit: int | str | None,
    first_row: int = 0,
) -> QueryDataset:
    check_fits(source.n_rows, columns.width, memory_limit)
    values = _read_roles(source, columns.roles, first_row)
    grouping = group_by_id(values["query"])
    place = None  # where each row goes
    if grouping.rows is not None:
        place = np.empty_like(grouping.rows)
        place[grouping.rows] = np.arange(source.n_rows)
    X = np.empty((source.n_rows, columns.width), np.float32)
    done = 0
    for batch in source.batches(columns.features, columns.rows_at_once) if columns.features else ():
        end = done + batch.num_rows
        block = _block(batch, columns, first_row + done, allow_nan)
        X[slice(done, end) if place is None else place[done:end]] = block
        done = end

    def gathered(role: str) -> NDArray[Any] | None:
        found = values.get(role)
        return found if found is None or grouping.rows is None else found[grouping.rows]

    y = gathered("label")
    assert y is not None
    return QueryDataset(
        X,
        y,
        grouping.offsets,
        grouping.ids,
        gathered("doc_id"),
        columns.names,
        gathered("doc_weight"),
        _one_a_query(gathered("query_weight"), grouping, columns.roles),
        grouping.rows,
    )


def _one_a_query(
    weights: NDArray[np.float64] | None, grouping: Grouping, roles: dict[str, str]
) -> NDArray[np.float64] | None:
    if weights is None:
        return None
    each = weights[grouping.offsets[:-1]]
    differs = np.flatnonzero(weights != np.repeat(each, np.diff(grouping.offsets)))
    if len(differs):
        q = np.searchsorted(grouping.offsets, differs[0], side="right") - 1
        raise DataError(
            f"query {grouping.ids[q]} has two weights, {each[q]} and {weights[differs[0]]}, in "
            f"column {roles['query_weight']!r}; give all its rows the same"
        )
    return each


def _read_roles(source: _Source, roles: dict[str, str], first_row: int) -> dict[str, NDArray[Any]]:
    pa = _arrow()
    parts = {
        role: [_role_values(pa.nulls(0, source.schema.field(name).type), role, name, 0)]
        for role, name in roles.items()
    }
    row = first_row
    for batch in source.batches(tuple(roles.values()), 65_536):
        for role, name in roles.items():
            parts[role].append(_role_values(batch.column(name), role, name, row))
        row += batch.num_rows
    return {role: np.concatenate(found) for role, found in parts.items()}


def _role_values(array: Any, role: str, name: str, row: int) -> NDArray[Any]:
    """Convert ids, grades or weights whose first row is `row`; each value is there and fits."""
    pa = _arrow()
    if pa.types.is_dictionary(array.type):
        words = array.dictionary  # of polars: views, which `take` does not know
        words = words.cast(pa.string()) if words.type == pa.string_view() else words
        array = words.take(array.indices)
    if array.null_count:
        null = row + array.is_null().to_numpy(zero_copy_only=False).argmax()
        raise DataError(f"{name!r} is null in row {null}; every row needs its {role}")
    kind, types = array.type, pa.types
    integer = types.is_integer(kind)
    if role in ("query", "doc_id"):
        try:
            if types.is_binary(kind) or types.is_large_binary(kind):
                array = array.cast(pa.string())
            elif integer and role == "query":
                return np.asarray(array.cast(pa.int64()))
        except pa.ArrowInvalid as error:
            raise DataError(f"column {name!r} does not hold ids: {error}") from None
        if integer or array.type in (pa.string(), pa.large_string(), pa.string_view()):
            return np.asarray(array.to_numpy(zero_copy_only=False)).astype(TEXT)
        if not types.is_floating(kind):
            raise DataError(f"column {name!r} holds {kind}; ids must be whole numbers or text")
    elif not _is_number(kind):
        raise DataError(f"column {name!r} holds {kind}; a {role} must be a number")
    values = _floats(array, np.float64)
    wrong, expected = ~np.isfinite(values), "a finite number"
    if role in ("query", "doc_id"):  # as frames make them of whole numbers
        wrong |= (values != np.floor(values)) | (np.abs(values) >= 2**63)
        expected = "a whole number or text"
    elif role != "label":
        wrong |= values < 0
        expected = "a finite number >= 0"
    if wrong.any():
        i = wrong.argmax()
        raise DataError(f"{name!r} of row {row + i} is {values[i]}; a {role} must be {expected}")
    if role == "query":
        return values.astype(np.int64)
    return values.astype(np.int64).astype(TEXT) if role == "doc_id" else values


def _floats(array: Any, dtype: Any) -> NDArray[Any]:
    """Arrow numbers as floats, null as NaN, too large as inf."""
    kind = _arrow().from_numpy_dtype(dtype)
    return np.asarray(array.cast(kind, safe=False).to_numpy(zero_copy_only=False))


def _block(batch: Any, columns: _Columns, row: int, allow_nan: bool) -> NDArray[np.float32]:
    """Return the features of a batch whose first row is `row`."""
    if columns.listed:
        block = _list_block(batch.column(columns.features[0]), columns, row)
    else:
        block = np.empty((batch.num_rows, columns.width), np.float32)
        for j, name in enumerate(columns.features):
            block[:, j] = _floats(batch.column(name), np.float32)
    bad = _core.first_not_finite(block, allow_nan)
    if bad >= 0:
        i, j = divmod(bad, columns.width)
        value = block[i, j]
        name = columns.names[j] if columns.names else str(j)
        raise DataError(
            f"feature {name} of row {row + i} is "
            f"{'missing (null or NaN)' if np.isnan(value) else f'{value} as float32'}; features "
            "must be finite: remove the row, replace the value"
            + ("" if allow_nan else ", or pass allow_nan=True where NaN means missing")
        )
    return block


def _list_block(array: Any, columns: _Columns, row: int) -> NDArray[np.float32]:
    lengths = _floats(_arrow().compute.list_value_length(array), np.float64)
    bad = np.flatnonzero(lengths != columns.width)
    if len(bad):
        length = lengths[bad[0]]
        raise DataError(
            f"{columns.features[0]!r} of row {row + bad[0]} "
            f"{'is null' if np.isnan(length) else f'has {length:.0f} values'}; expected "
            f"{columns.width}, as many in every row"
        )
    return _floats(array.flatten(), np.float32).reshape(len(array), columns.width)


def _whole_queries(
    source: _Source, columns: _Columns, batch_rows: int
) -> Iterator[tuple[Any, int]]:
    """Tables of complete queries with their first row; the last query waits for its end."""
    pa = _arrow()
    names = (*columns.roles.values(), *columns.features)
    query = columns.roles["query"]
    held: list[Any] = []
    first = 0
    for batch in source.batches(names, min(batch_rows, columns.rows_at_once)):
        held.append(batch)
        if sum(b.num_rows for b in held) < batch_rows:
            continue
        table = pa.Table.from_batches(held)
        qid = _read_roles(_memory_source(table), {"query": query}, first)["query"]
        ends = np.flatnonzero(qid[1:] != qid[:-1])
        if len(ends):
            end = int(ends[-1]) + 1
            held = table.slice(end).to_batches()
            ready = [table.slice(0, end)]
            del table, batch  # what is handed over is not kept here
            yield ready.pop(), first
            first += end
    if held:
        yield pa.Table.from_batches(held), first


# --- from a data set to columns ---


def _role_columns(dataset: QueryDataset) -> list[tuple[str, NDArray[Any], bool]]:
    """List the columns besides the features: name, values, whether one a query."""
    columns = [
        ("label", dataset.y, False),
        ("query", dataset.query_ids, True),
        ("doc_id", dataset.doc_ids, False),
        ("doc_weight", dataset.doc_weights, False),
        ("query_weight", dataset.query_weights, True),
    ]
    return [(_WRITTEN[role], v, by_query) for role, v, by_query in columns if v is not None]


def _differ(a: QueryDataset, b: QueryDataset) -> str:
    def told(data: QueryDataset) -> str:
        roles = (f"{name} ({v.dtype.name})" for name, v, _ in _role_columns(data))
        names = "" if data.feature_names is None else f" named {_show(data.feature_names)}"
        return f"{', '.join(roles)}, {data.n_features} features{names}"

    return f"{told(a)}; not {told(b)}"


def _schema(dataset: QueryDataset, layout: Layout) -> Any:
    pa = _arrow()
    if layout not in ("wide", "list"):
        raise DataError(f"layout must be 'wide' or 'list'; found {layout!r}")
    fields = [
        (name, pa.string() if values.dtype == TEXT else pa.from_numpy_dtype(values.dtype))
        for name, values, _ in _role_columns(dataset)
    ]
    d = dataset.n_features
    names = _numbered(d) if dataset.feature_names is None else list(dataset.feature_names)
    note: dict[str, Any] = {"unnamed": dataset.feature_names is None}
    if layout == "wide" or d == 0:
        clash, count = Counter([name for name, _ in fields] + names).most_common(1)[0]
        if count > 1:
            raise DataError(
                f"a wide table would have two columns {clash!r}; rename the feature, or write "
                "layout='list'"
            )
        fields += [(name, pa.float32()) for name in names]
        note["features"] = names
    else:
        fields.append(("features", pa.list_(pa.float32(), d)))
        note |= {"features": ["features"], "names": dataset.feature_names}
    return pa.schema(fields, metadata={"rankloop": json.dumps(note)})


def _slices(dataset: QueryDataset, schema: Any) -> Iterator[Any]:
    """Record batches in the caller's row order, so many rows at once that memory stays bounded."""
    pa = _arrow()
    n, d = dataset.X.shape
    place = dataset.in_row_order(np.arange(n))
    query_of = np.repeat(np.arange(len(dataset)), dataset.sizes)
    step = max(1, min(2**20, _SLICE_BYTES // (4 * d + 64)))
    for first in range(0, n, step):
        rows = place[first : first + step]
        X = dataset.X[rows]
        arrays = []
        for _, values, by_query in _role_columns(dataset):
            part = values[query_of[rows] if by_query else rows]
            arrays.append(
                pa.array(part.tolist(), pa.string()) if part.dtype == TEXT else pa.array(part)
            )
        if _is_list(schema.field(len(schema) - 1).type):
            arrays.append(pa.FixedSizeListArray.from_arrays(pa.array(X.ravel()), d))
        else:
            arrays += [pa.array(np.ascontiguousarray(X[:, j])) for j in range(d)]
        yield pa.record_batch(arrays, schema=schema)
