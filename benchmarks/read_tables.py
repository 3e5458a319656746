"""Reading CSV and Parquet into a float32 matrix with query offsets, beside polars and DuckDB.

The peers do by hand what a user would: read, sort by query, take the features as float32, find
where queries start. All are warm, in one process and in turn; memory is that of a fresh process.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.harness import Contender, Report, Settings, attempt, interleave
from benchmarks.memory import in_fresh_process

FEATURES = 40


def run(settings: Settings) -> Report:
    rows = 4_000 if settings.quick else 400_000
    report = Report(
        "read_tables",
        f"Reading {rows:,} x {FEATURES} as CSV and Parquet into a matrix with query offsets",
        work=rows * FEATURES * 4 / 1e6,
        unit="MB/s",
    )
    with tempfile.TemporaryDirectory() as folder:
        paths = write(rows, Path(folder))
        for kind, path in paths.items():
            ours = f"rankloop, {kind}"
            contenders = [Contender(ours, lambda p=path: read_rankloop(str(p)))]
            for name, reader in (("polars", read_polars), ("DuckDB", read_duckdb)):
                peer = Contender(f"{name}, {kind}", lambda r=reader, p=path: r(str(p)), ours)
                contenders += attempt(peer, report)
            report.timings += interleave(contenders, settings.repeat)
            peak = {
                name: in_fresh_process("benchmarks.read_tables", function, str(path)).peak
                for name, function in (
                    ("rankloop", "read_rankloop"),
                    ("polars", "read_polars"),
                    ("DuckDB", "read_duckdb"),
                )
            }
            told = ", ".join(f"{name} {taken / 1e6:,.0f} MB" for name, taken in peak.items())
            matrix = rows * FEATURES * 4
            report.notes.append(f"{kind}: peak memory {told}; the matrix is {matrix / 1e6:,.0f} MB")
            for name in ("polars", "DuckDB"):
                slower = report.ratio(f"{name}, {kind}", ours)
                report.hold(
                    f"{kind}: time of rankloop / {name}",
                    None if slower is None else 1 / slower,
                    1.5,
                    at_least=False,
                )
                report.hold(
                    f"{kind}: memory of rankloop / {name}",
                    peak["rankloop"] / peak[name],
                    1.5,
                    at_least=False,
                )
    return report


def write(rows: int, folder: Path) -> dict[str, Path]:
    import pyarrow as pa
    import pyarrow.parquet as pq
    from pyarrow import csv

    rng = np.random.default_rng(3)
    table = pa.table(
        {
            "query_id": rng.permutation(np.arange(rows) // 40),
            "label": rng.integers(0, 5, rows),
            **{f"f{j}": rng.normal(size=rows).round(5) for j in range(FEATURES)},
        }
    )
    paths = {"CSV": folder / "data.csv", "Parquet": folder / "data.parquet"}
    csv.write_csv(table, paths["CSV"])
    pq.write_table(table, paths["Parquet"])
    return paths


def read_rankloop(path: str) -> list[int]:
    import rankloop as rl

    data = rl.read(path)
    return [int(data.X.shape[0]), len(data.offsets)]


def read_polars(path: str) -> list[int]:
    import polars as pl

    scan = pl.scan_csv(path) if path.endswith(".csv") else pl.scan_parquet(path)
    frame = scan.sort("query_id", maintain_order=True).collect()
    X = frame.drop("query_id", "label").cast(pl.Float32).to_numpy(order="c")
    return _offsets(np.ascontiguousarray(X), frame["query_id"].to_numpy())


def read_duckdb(path: str) -> list[int]:
    import duckdb

    with duckdb.connect() as base:
        found: Any = base.sql(f"select * from '{path}' order by query_id").fetchnumpy()
    X = np.empty((len(found["query_id"]), FEATURES), np.float32)
    for j in range(FEATURES):
        X[:, j] = found[f"f{j}"]
    return _offsets(X, found["query_id"])


def _offsets(X: np.ndarray, ids: np.ndarray) -> list[int]:
    starts = np.flatnonzero(np.r_[True, ids[1:] != ids[:-1]])
    return [int(X.shape[0]), len(starts) + 1]
