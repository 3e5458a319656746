"""Tables of many kinds, and what disks, networks and edits do to them: for `fuzz_tables`."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rankloop as rl

if TYPE_CHECKING:
    from collections.abc import Callable


def sources() -> dict[str, bytes]:
    """Make undamaged files: our own and those of pyarrow, pandas and polars."""
    import pandas as pd
    import polars as pl
    import pyarrow as pa
    import pyarrow.feather as feather
    import pyarrow.parquet as pq

    rng = np.random.default_rng(0)
    n = 120
    X = rng.random((n, 5)).astype(np.float32)
    y = rng.integers(0, 3, n).astype(np.float64)
    named = rl.QueryDataset.from_arrays(
        X,
        y,
        qid=[f"query {i // 7}" for i in range(n)],
        doc_ids=[f"document-{i:020d}" for i in range(n)],
        sample_weight=rng.random(n),
        query_weight=rng.random(-(-n // 7)),
        feature_names=["bm25", "age", "clicks", "é", "length"],
    )
    plain = rl.QueryDataset.from_arrays(X, y, qid=rng.integers(0, 9, n))
    table = rl.data.to_table(named)
    columns = {"qid": np.repeat(np.arange(n // 4), 4), "label": y.astype(np.int32)}
    mixed = pa.table(
        {
            **columns,
            "whole": pa.array([None if i % 5 == 0 else i for i in range(n)], pa.int64()),
            "flag": pa.array([i % 2 == 0 for i in range(n)]),
            "half": pa.array(rng.random(n).astype(np.float16)),
            "money": pa.array(range(n), pa.int64()).cast(pa.decimal128(22, 2)),
        }
    )
    lists = pa.table({**columns, "features": pa.array(X.tolist(), pa.list_(pa.float64()))})
    frame = pd.DataFrame({**columns, "a": X[:, 0], "b": X[:, 1]}, index=np.arange(n) * 2)
    words = pa.table({**columns, "doc_id": pa.array(["a", "b"] * (n // 2)).dictionary_encode()})
    made: dict[str, bytes] = {}

    def keep(name: str, write: Callable[[str], Any]) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = str(Path(folder, name))
            write(path)
            made[name] = Path(path).read_bytes()

    keep("ours.parquet", lambda p: rl.data.write_table(named, p))
    keep("ours-list.parquet", lambda p: rl.data.write_table(plain, p, layout="list"))
    keep("ours.arrow", lambda p: rl.data.write_table(named, p))
    keep("ours-list.arrow", lambda p: rl.data.write_table(plain, p, layout="list"))
    for codec, version, page in itertools.product(
        ("none", "snappy", "gzip", "lz4", "brotli"), ("1.0", "2.0"), (200, 2**20)
    ):
        keep(
            f"{codec}-{version}-{page}.parquet",
            lambda p, c=codec, v=version, s=page: pq.write_table(
                table, p, compression=c, data_page_version=v, data_page_size=s, row_group_size=50
            ),
        )
    for name, kind in (("mixed", mixed), ("lists", lists), ("words", words)):
        keep(f"{name}.parquet", lambda p, t=kind: pq.write_table(t, p, row_group_size=31))
        keep(f"{name}.arrow", lambda p, t=kind: feather.write_feather(t, p, compression="lz4"))
        keep(
            f"{name}-plain.arrow",
            lambda p, t=kind: feather.write_feather(t, p, compression="uncompressed", chunksize=40),
        )
    keep("delta.parquet", lambda p: pq.write_table(table, p, use_dictionary=False, **_delta(table)))
    keep("split.parquet", lambda p: pq.write_table(table, p, use_byte_stream_split=["bm25"]))
    keep("pandas.parquet", lambda p: frame.to_parquet(p))
    keep("polars.parquet", lambda p: pl.from_pandas(frame).write_parquet(p))
    keep("polars.arrow", lambda p: pl.from_pandas(frame).write_ipc(p, compression="zstd"))
    for kind in (".csv", ".csv.gz", ".tsv", ".tsv.xz"):
        mark = "," if "csv" in kind else "\t"
        keep(f"text{kind}", lambda p, m=mark: frame.to_csv(p, sep=m, index=False))
    for kind in (".jsonl", ".jsonl.gz"):
        keep(f"text{kind}", lambda p: frame.to_json(p, orient="records", lines=True))
    return made


def _delta(table: Any) -> dict[str, Any]:
    kinds = {"label": "PLAIN", "qid": "DELTA_BYTE_ARRAY", "doc_id": "DELTA_LENGTH_BYTE_ARRAY"}
    return {"column_encoding": {name: kinds.get(name, "PLAIN") for name in table.column_names}}


def damaged(files: dict[str, bytes], rng: np.random.Generator) -> tuple[str, bytes]:
    """Take one of the files and damage it once or a few times."""
    name = str(rng.choice(sorted(files)))
    data = bytearray(files[name])
    for _ in range(int(rng.choice([1, 1, 1, 2, 4]))):
        damage = DAMAGES[rng.integers(len(DAMAGES))]
        damage(data, rng, files)
        if len(data) < 12:
            break
    return name, bytes(data)


def _place(data: bytearray, rng: np.random.Generator) -> int:
    """Choose a byte: anywhere, or in the metadata at the end, which steers the reader."""
    if rng.random() < 0.25:
        footer = int.from_bytes(data[-8:-4], "little") if len(data) > 8 else 0
        return len(data) - 1 - int(rng.integers(min(max(footer, 64) + 12, len(data))))
    return int(rng.integers(len(data)))


def _span(data: bytearray, rng: np.random.Generator) -> tuple[int, int]:
    first = _place(data, rng)
    return first, min(first + int(rng.choice([1, 2, 4, 8, 64, 500])), len(data))


def _flip(data: bytearray, rng: np.random.Generator, _: Any) -> None:
    for _ in range(int(rng.choice([1, 1, 2, 8]))):
        data[_place(data, rng)] ^= 1 << int(rng.integers(8))


def _set(data: bytearray, rng: np.random.Generator, _: Any) -> None:
    data[_place(data, rng)] = int(rng.choice([0, 1, 0x7F, 0x80, 0xFF, rng.integers(256)]))


def _number(data: bytearray, rng: np.random.Generator, _: Any) -> None:
    at, size = _place(data, rng), int(rng.choice([4, 8]))
    number = int(rng.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1, len(data), rng.integers(2**31)]))
    data[at : at + size] = number.to_bytes(8, "little")[:size]


def _cut(data: bytearray, rng: np.random.Generator, _: Any) -> None:
    del data[_place(data, rng) :]


def _zero(data: bytearray, rng: np.random.Generator, _: Any) -> None:
    first, end = _span(data, rng)
    data[first:end] = bytes(end - first)


def _delete(data: bytearray, rng: np.random.Generator, _: Any) -> None:
    first, end = _span(data, rng)
    del data[first:end]


def _double(data: bytearray, rng: np.random.Generator, _: Any) -> None:
    first, end = _span(data, rng)
    data[first:first] = data[first:end]


def _swap(data: bytearray, rng: np.random.Generator, _: Any) -> None:
    a, end = _span(data, rng)
    b = int(rng.integers(len(data)))
    size = min(end - a, len(data) - b)
    data[a : a + size], data[b : b + size] = data[b : b + size], data[a : a + size]


def _splice(data: bytearray, rng: np.random.Generator, files: dict[str, bytes]) -> None:
    other = files[str(rng.choice(sorted(files)))]
    first, end = _span(data, rng)
    at = int(rng.integers(len(other)))
    data[first:end] = other[at : at + int(rng.choice([end - first, 32]))]


def _word(data: bytearray, rng: np.random.Generator, _: Any) -> None:
    """Put what does not belong there in the place of some text."""
    first, end = _span(data, rng)
    data[first:end] = WORDS[rng.integers(len(WORDS))]


def _swap_pages(data: bytearray, rng: np.random.Generator, _: Any) -> None:
    """Exchange the pages of two column chunks."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        metadata = pq.read_metadata(pa.BufferReader(bytes(data)))
        groups = [metadata.row_group(g) for g in range(metadata.num_row_groups)]
        chunks = [group.column(c) for group in groups for c in range(group.num_columns)]
        a, b = (chunks[int(i)] for i in rng.integers(len(chunks), size=2))
    except (OSError, ValueError, pa.ArrowException):
        return _swap(data, rng, None)
    at, size = a.data_page_offset, a.total_compressed_size
    to, room = b.data_page_offset, b.total_compressed_size
    size = min(size, room)
    data[at : at + size], data[to : to + size] = data[to : to + size], data[at : at + size]
    return None


WORDS = (b"", b'"', b",", b"\n", b"\r", b"\0", b"1e400", b"-inf", b"nan", b"1" * 400, b"9" * 19)
WORDS += (
    b"null",
    b"true",
    b"{",
    b"}",
    b"[" * 3000,
    b'{"qid": ',
    b"\\ud800",
    b"\xff\xfe",
    b"2026-01-01",
)
DAMAGES = (_flip, _flip, _set, _number, _cut, _zero, _delete, _double, _swap, _splice, _swap_pages)
DAMAGES += (_word, _word)
