"""Runs exported models in their real engines: ONNX Runtime, a C compiler, and databases."""

from __future__ import annotations

import ctypes
import shutil
import sqlite3
import subprocess
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError, MissingExtraError
from rankloop.export.to_sql import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import onnxruntime
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Rows = NDArray[np.float32]
    Offsets = NDArray[np.int64]

TABLE = "rankloop_documents"


def query_by_query(score: Callable[[Rows], Floats], X: Rows, offsets: Offsets) -> Floats:
    """Score each query's documents alone."""
    found = np.zeros(len(X))
    for first, end in pairwise(offsets.tolist()):
        if end > first:
            found[first:end] = score(np.ascontiguousarray(X[first:end], np.float32))
    return found


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


def run_onnx(model: bytes, X: Rows, offsets: Offsets) -> Floats:
    """Score with ONNX Runtime."""
    session = onnx_session(model)
    return query_by_query(lambda rows: session.run(None, {"features": rows})[0], X, offsets)


def compiled(
    source: str, folder: str | Path, name: str = "score", level: int = 2
) -> Callable[[Rows], Floats]:
    """Compile C source into a folder; return the function that scores one query's documents."""
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
    function = ctypes.CDLL(str(library)).rankloop_score
    function.argtypes = (ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p)

    def score(rows: Rows) -> Floats:
        scores = np.zeros(len(rows))
        if function(rows.ctypes.data, len(rows), scores.ctypes.data):
            raise MemoryError("there is not enough memory for the exported function")
        return scores

    return score


def run_c(source: str, X: Rows, offsets: Offsets) -> Floats:
    """Compile and score."""
    with tempfile.TemporaryDirectory(prefix="rankloop-export-") as folder:
        return query_by_query(compiled(source, folder, level=1), X, offsets)


def run_sql(
    text: str, dialect: str, names: Sequence[str], X: Rows, offsets: Offsets, database: str | None
) -> Floats:
    """Score in a database: in memory, or PostgreSQL at an address.

    The text must select from the table `rankloop_documents` with the columns qid and doc.
    """
    runner = {"sqlite": _in_sqlite, "duckdb": _in_duckdb, "postgresql": _in_postgresql}[dialect]
    scores = np.full(len(X), np.nan)
    for _, document, score in runner(text, names, X, offsets, database):
        scores[document] = score
    return scores


def _rows(X: Rows, offsets: Offsets) -> Iterable[tuple[float | None, ...]]:
    queries = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    for k, (query, row) in enumerate(zip(queries.tolist(), X.tolist(), strict=True)):
        yield (query, k, *(None if value != value else value for value in row))


def _create_table(names: Sequence[str], kind: str) -> str:
    columns = ", ".join(f"{quoted(name)} {kind}" for name in names)
    return f"CREATE TABLE {TABLE} (qid INTEGER, doc INTEGER, {columns})"


def _in_sqlite(
    text: str,
    names: Sequence[str],
    X: Rows,
    offsets: Offsets,
    database: str | None,  # noqa: ARG001
) -> list[tuple[int, int, float]]:
    connection = sqlite3.connect(":memory:")
    try:
        connection.execute(_create_table(names, "REAL"))
        marks = ", ".join("?" * (len(names) + 2))
        connection.executemany(f"INSERT INTO {TABLE} VALUES ({marks})", _rows(X, offsets))
        return connection.execute(text).fetchall()
    finally:
        connection.close()


def _in_duckdb(
    text: str,
    names: Sequence[str],
    X: Rows,
    offsets: Offsets,
    database: str | None,  # noqa: ARG001
) -> list[tuple[int, int, float]]:
    try:
        import duckdb
        import pyarrow as pa
    except ImportError:
        raise MissingExtraError("duckdb", "duckdb", "verifying SQL in DuckDB") from None
    with duckdb.connect() as connection:
        queries = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
        columns = [queries, np.arange(len(X)), *np.asarray(X, np.float32).T]
        table = pa.table([pa.array(column) for column in columns], ["qid", "doc", *names])
        connection.register(TABLE, table)
        found: list[tuple[int, int, float]] = connection.execute(text).fetchall()
        return found


def _in_postgresql(
    text: str, names: Sequence[str], X: Rows, offsets: Offsets, database: str | None
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
        cursor.execute(_create_table(names, "real").replace("CREATE TABLE", "CREATE TEMP TABLE"))
        with cursor.copy(f"COPY {TABLE} FROM STDIN") as copy:
            for row in _rows(X, offsets):
                copy.write_row(row)
        found: list[tuple[int, int, float]] = cursor.execute(text.encode()).fetchall()
        connection.rollback()
        return found
