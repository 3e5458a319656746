"""Reading LETOR text into memory, beside the readers people use."""

from __future__ import annotations

import io
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.data import letor_text, without_query_ids
from benchmarks.harness import Contender, Report, Settings, attempt, interleave, optional
from benchmarks.memory import in_fresh_process
from rankloop.data.io.letor import read_letor

if TYPE_CHECKING:
    from pathlib import Path

ONE = "rankloop, 1 thread"
ALL = "rankloop, default threads"


def run(settings: Settings) -> Report:
    with letor_text(8 if settings.quick else 200) as path:
        size = path.stat().st_size
        report = Report(
            "parse_letor",
            f"Reading {size / 1e6:,.0f} MB of LETOR text",
            work=size / 1e6,
            unit="MB/s",
        )
        contenders = [
            Contender(ONE, lambda: read_letor(path, threads=1)),
            Contender(ALL, lambda: read_letor(path)),
            *_sklearn(path, report, 1e6 if settings.quick else 8e6),
            *_lightgbm(path, report),
            *_xgboost(path, report),
            *_polars(path, report),
        ]
        report.timings = interleave(contenders, settings.repeat)
        _hold(report)
        for threads in (1, None):
            used = in_fresh_process("benchmarks.parse_letor", "read_shape", str(path), threads)
            rows, columns = used.result
            ratio = used.peak / (4 * rows * columns)
            name = ONE if threads else ALL
            report.hold(f"{name}: peak memory over the matrix", ratio, 1.5, at_least=False)
    return report


def read_shape(path: str, threads: int | None) -> tuple[int, ...]:
    return read_letor(path, threads=threads).X.shape


def _hold(report: Report) -> None:
    peers = [
        ("scikit-learn", ONE, 40),
        ("LightGBM", ALL, 1),
        ("XGBoost", ALL, 1),
        ("polars", ALL, 1),
    ]
    for peer, ours, bound in peers:
        report.hold(f"{peer} / {ours}", report.ratio(peer, ours), bound)


def _sklearn(path: Path, report: Report, slice_bytes: float) -> list[Contender]:
    if not (datasets := optional("sklearn.datasets", report)):
        return []
    with path.open("rb") as stream:
        text = stream.read(int(slice_bytes))
    text = text[: text.rfind(b"\n") + 1]
    X, y, _ = datasets.load_svmlight_file(io.BytesIO(text), query_id=True)
    ours = read_letor(path).X[: len(y)]
    difference = float(np.abs(X.toarray() - ours).max())
    report.notes.append(f"largest difference from scikit-learn's values: {difference:.1g}")
    share = len(text) / path.stat().st_size
    return [
        Contender(
            "scikit-learn",
            lambda: datasets.load_svmlight_file(io.BytesIO(text), query_id=True),
            against=ONE,
            share=share,
            note=f"load_svmlight_file on the first {len(text) / 1e6:.0f} MB, scaled by bytes",
        )
    ]


def _lightgbm(path: Path, report: Report) -> list[Contender]:
    if not (lightgbm := optional("lightgbm", report)):
        return []
    plain = str(without_query_ids(path))

    def construct() -> Any:
        return lightgbm.Dataset(plain, params={"verbose": -1}).construct()

    note = "Dataset(path).construct(), query sizes beside (it reads no qid); bins the features too"
    return attempt(Contender("LightGBM", construct, against=ALL, note=note), report)


def _xgboost(path: Path, report: Report) -> list[Contender]:
    if not (xgboost := optional("xgboost", report)):
        return []
    xgboost.set_config(verbosity=0)

    def load() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # text input is to go
            return xgboost.DMatrix(f"{path}?format=libsvm")

    note = "DMatrix('file?format=libsvm'), a sparse matrix"
    return attempt(Contender("XGBoost", load, against=ALL, note=note), report)


def _polars(path: Path, report: Report) -> list[Contender]:
    """`1:0.5 2:3` with its colons made spaces is a CSV file, of which every other column counts.

    This took two thirds of the time of splitting columns of text `1:0.5` inside polars.
    """
    if not (polars := optional("polars", report)):
        return []
    with path.open("rb") as stream:
        features = stream.readline().count(b":") - 1
    schema = {"y": polars.Float32, "word": polars.String, "qid": polars.Int64}
    for i in range(1, features + 1):
        schema |= {f"index{i}": polars.Int64, f"x{i}": polars.Float32}
    wanted = ["y", "qid", *(f"x{i}" for i in range(1, features + 1))]
    colons = bytes.maketrans(b":", b" ")

    def scan() -> Any:
        text = path.read_bytes().translate(colons)
        csv = polars.scan_csv(text, separator=" ", has_header=False, schema=schema, quote_char=None)
        return csv.select(wanted).collect()

    note = "colons made spaces, then scan_csv of the value columns; dense rows only, stays columns"
    return attempt(Contender("polars", scan, against=ALL, note=note), report)
