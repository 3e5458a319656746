"""Runs exported models in their real engines: ONNX Runtime, a C compiler, and databases."""

from __future__ import annotations

import ctypes
import shutil
import sqlite3
import subprocess
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.exceptions import DataError, MissingExtraError
from rankloop.export.sql_dialect import quote

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import onnxruntime
    from numpy.typing import NDArray

    from rankloop.export.originals import Originals
    from rankloop.export.program import InputColumn, Program

    Floats = NDArray[np.float64]
    Rows = NDArray[np.float32]
    Offsets = NDArray[np.int64]

TABLE = "rankloop_documents"


def query_by_query(score: Callable[[Rows], Floats], X: Rows, offsets: Offsets) -> Floats:
    """Score each query's documents alone."""
    scores = np.zeros(len(X))
    for first, end in pairwise(offsets.tolist()):
        if end > first:
            scores[first:end] = score(np.ascontiguousarray(X[first:end], np.float32))
    return scores


def onnx_session(model: bytes) -> onnxruntime.InferenceSession:
    """Return a session of ONNX Runtime with one thread, which adds up trees in order."""
    try:
        import onnxruntime
    except ImportError:
        raise MissingExtraError("onnxruntime", "onnx", "running ONNX") from None
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def run_onnx(model: bytes, columns: Sequence[InputColumn], rows: Originals) -> Floats:
    """Score with ONNX Runtime."""
    session = onnx_session(model)
    kinds = [column.kind for column in columns]
    missing = ""  # or another text that is no category
    while any(missing in column.categories for column in columns):
        missing += "?"
    texts = [
        np.array([missing if text is None else text for text in values.tolist()], dtype=object)
        for values in _of(rows, kinds, "category")
    ]
    every: dict[str, Sequence[NDArray[Any]]] = {
        "features": _of(rows, kinds, "number", "boolean"),
        "categories": texts,
        "dates": [moments.astype(np.int64) for moments in _of(rows, kinds, "date")],
    }
    given = {name: np.column_stack(parts) for name, parts in every.items() if parts}
    scores = np.zeros(len(rows))
    for first, end in pairwise(rows.offsets.tolist()):
        if end > first:
            one_query = {name: values[first:end] for name, values in given.items()}
            scores[first:end] = session.run(None, one_query)[0]
    return scores


def _of(rows: Originals, kinds: Sequence[str], *wanted: str) -> list[NDArray[Any]]:
    return [values for values, kind in zip(rows.columns, kinds, strict=True) if kind in wanted]


def compile_c(
    source: str, folder: str | Path, name: str = "score", level: int = 2
) -> Callable[[Rows], Floats]:
    """Compile C source into a folder; return the function that scores one query's documents."""
    return scoring_function(load_c(source, folder, name, level))


def load_c(source: str, folder: str | Path, name: str = "score", level: int = 2) -> ctypes.CDLL:
    """Compile C source into a folder; return the library."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise DataError("no C compiler was found (cc, gcc or clang); install one to verify C")
    code, library = Path(folder, f"{name}.c"), Path(folder, f"{name}.so")
    code.write_text(source)
    flags = ["-std=c99", f"-O{level}", "-ffp-contract=off", "-shared", "-fPIC"]
    done = subprocess.run(
        [compiler, *flags, str(code), "-o", str(library), "-lm"], capture_output=True, text=True
    )
    if done.returncode:
        raise DataError(f"the C source does not compile: {done.stderr[:500]}")
    return ctypes.CDLL(str(library))


def scoring_function(library: ctypes.CDLL) -> Callable[[Rows], Floats]:
    """Return the function of a compiled source that scores one query's documents."""
    function = library.rankloop_score
    function.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)

    def score(rows: Rows) -> Floats:
        scores = np.zeros(len(rows))
        if function(rows.ctypes.data, len(rows), scores.ctypes.data):
            raise MemoryError("there is not enough memory for the exported function")
        return scores

    return score


def run_c(source: str, columns: Sequence[InputColumn], rows: Originals) -> Floats:
    """Compile and score."""
    with tempfile.TemporaryDirectory(prefix="rankloop-export-") as folder:
        library = load_c(source, folder, level=1)
        X = np.empty((len(rows), len(columns)), np.float32)
        for j, (values, column) in enumerate(zip(rows.columns, columns, strict=True)):
            if column.kind == "category":
                X[:, j] = _c_codes(library, j, values)
            elif column.kind == "date":
                X[:, j] = _c_dates(library, values)
            else:
                X[:, j] = values
        return query_by_query(scoring_function(library), X, rows.offsets)


def _c_codes(library: ctypes.CDLL, feature: int, texts: NDArray[Any]) -> list[float]:
    function = library.rankloop_category
    function.argtypes, function.restype = (ctypes.c_size_t, ctypes.c_char_p), ctypes.c_float
    code: dict[str | None, float] = {
        text: function(feature, None if text is None else text.encode())
        for text in set(texts.tolist())
    }
    return [code[text] for text in texts.tolist()]


def _c_dates(library: ctypes.CDLL, moments: NDArray[Any]) -> list[float]:
    function = library.rankloop_date
    function.argtypes, function.restype = (ctypes.c_longlong,), ctypes.c_float
    absent = np.isnat(moments).tolist()
    instants = moments.astype(np.int64).tolist()
    pairs = zip(absent, instants, strict=True)
    return [float("nan") if missing else function(instant) for missing, instant in pairs]


def run_sql(
    text: str, dialect: str, program: Program, rows: Originals, database: str | None
) -> Floats:
    """Score in a database: in memory, or PostgreSQL at an address.

    The text must select from the table `rankloop_documents` with the columns qid and doc.
    """
    runner = {"sqlite": _in_sqlite, "duckdb": _in_duckdb, "postgresql": _in_postgresql}[dialect]
    scores = np.full(len(rows), np.nan)
    for _, document, score in runner(text, program, rows, database):
        scores[document] = score
    return scores


_TYPES = {
    "sqlite": {"number": "REAL", "boolean": "INTEGER", "date": "TEXT", "category": "TEXT"},
    "postgresql": {
        "number": "real",
        "boolean": "boolean",
        "date": "timestamp",
        "category": "text",
    },
}


def _create_table(program: Program, dialect: str) -> str:
    columns = ", ".join(
        f"{quote(name)} {_TYPES[dialect][column.kind]}"
        for name, column in zip(program.features, program.columns, strict=True)
    )
    return f"CREATE TABLE {TABLE} (qid INTEGER, doc INTEGER, {columns})"


def _rows(program: Program, rows: Originals) -> Iterator[tuple[object, ...]]:
    values = [
        _plain_values(column, part)
        for column, part in zip(program.columns, rows.columns, strict=True)
    ]
    queries = _queries(rows)
    return zip(queries.tolist(), range(len(rows)), *values, strict=True)


def _queries(rows: Originals) -> NDArray[np.int64]:
    return np.repeat(np.arange(len(rows.offsets) - 1), np.diff(rows.offsets))


def _plain_values(column: InputColumn, values: NDArray[Any]) -> list[object]:
    """Return the values of a column as a driver of a database takes them."""
    if column.kind == "category":
        return list(values.tolist())
    if column.kind == "date":
        texts = np.datetime_as_string(values, "us").tolist()
        return [None if text == "NaT" else text for text in texts]
    whole = column.kind == "boolean"
    return [
        None if value != value else bool(value) if whole else value for value in values.tolist()
    ]


def _in_sqlite(
    text: str,
    program: Program,
    rows: Originals,
    database: str | None,  # noqa: ARG001
) -> list[tuple[int, int, float]]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(_create_table(program, "sqlite"))
        marks = ", ".join("?" * (len(program.features) + 2))
        connection.executemany(f"INSERT INTO {TABLE} VALUES ({marks})", _rows(program, rows))
        return connection.execute(text).fetchall()
    finally:
        connection.close()


def _in_duckdb(
    text: str,
    program: Program,
    rows: Originals,
    database: str | None,  # noqa: ARG001
) -> list[tuple[int, int, float]]:
    try:
        import duckdb
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError("duckdb", "duckdb", "verifying SQL in DuckDB") from None
    with duckdb.connect() as connection:
        parts = [_queries(rows), np.arange(len(rows))]
        arrays = [pa.array(part) for part in parts]
        for column, values in zip(program.columns, rows.columns, strict=True):
            if column.kind == "boolean":
                arrays.append(pa.array(_plain_values(column, values), pa.bool_()))
            else:
                arrays.append(pa.array(values, pa.string() if values.dtype == object else None))
        connection.register(TABLE, pa.table(arrays, ["qid", "doc", *program.features]))
        rows_of_scores: list[tuple[int, int, float]] = connection.execute(text).fetchall()
        return rows_of_scores


def _in_postgresql(
    text: str, program: Program, rows: Originals, database: str | None
) -> list[tuple[int, int, float]]:
    if database is None:
        raise DataError(
            "verifying SQL in PostgreSQL needs a server: give its address, as in "
            "postgresql://user@host/database; only a temporary table is made there"
        )
    try:
        import psycopg
    except ImportError:
        raise MissingExtraError("psycopg", "postgres", "verifying SQL in PostgreSQL") from None
    with psycopg.connect(database) as connection, connection.cursor() as cursor:
        table = _create_table(program, "postgresql")
        cursor.execute(table.replace("CREATE TABLE", "CREATE TEMP TABLE", 1).encode())
        with cursor.copy(f"COPY {TABLE} FROM STDIN") as copy:
            for row in _rows(program, rows):
                copy.write_row(row)
        rows_of_scores: list[tuple[int, int, float]] = cursor.execute(text.encode()).fetchall()
        connection.rollback()
        return rows_of_scores
