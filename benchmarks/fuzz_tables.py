"""A fuzzer of the table readers: damaged Parquet and Arrow files through `read` and `iter_table`.

Real files of many kinds are damaged as disks, networks and edits damage them: bits flipped, ends
cut off, ranges swapped, doubled, deleted or set to zero, whole pages or column chunks exchanged,
metadata edited. Each reading must end in a data set that passes its own checks or in an error of
ours; a crash of the process, an exception of another library, or a reading that takes longer than
a minute is a fault.

    python -m benchmarks.fuzz_tables --inputs 20000
    python -m benchmarks.fuzz_tables --seed 1 --only 4711  # one input again, with its traceback

Inputs are numbered: `seed` and number make an input. They run in child processes, since a fault
may be a crash.
"""

from __future__ import annotations

import argparse
import collections
import itertools
import json
import resource
import signal
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rankloop as rl

if TYPE_CHECKING:
    from collections.abc import Callable

CHUNK = 500  # inputs a child process reads
SECONDS = 60  # for one input
MEMORY = 6 << 30  # address space of a child


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
        doc_weights=rng.random(n),
        query_weights=rng.random(-(-n // 7)),
        feature_names=["bm25", "age", "clicks", "é", "length"],
    )
    plain = rl.QueryDataset.from_arrays(X, y, qid=rng.integers(0, 9, n))
    table = rl.to_table(named)
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

    keep("ours.parquet", lambda p: rl.write_table(named, p))
    keep("ours-list.parquet", lambda p: rl.write_table(plain, p, layout="list"))
    keep("ours.arrow", lambda p: rl.write_table(named, p))
    keep("ours-list.arrow", lambda p: rl.write_table(plain, p, layout="list"))
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


def _swap_pages(data: bytearray, rng: np.random.Generator, _: Any) -> None:
    """Exchange two column chunks, or two pages of the same length found by their headers' bytes."""
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


DAMAGES = (_flip, _flip, _set, _number, _cut, _zero, _delete, _double, _swap, _splice, _swap_pages)


def read_one(path: str, rng: np.random.Generator) -> str:
    """Read a file in one of the ways there are; tell how it ended, or raise what is a fault."""
    options: dict[str, Any] = {"memory_limit": "256MB"}
    way = int(rng.integers(4))
    if way:
        options["allow_nan"] = bool(rng.integers(2))
    try:
        if way == 0:
            parts = [rl.read(path, **options)]
        elif way == 1:
            parts = [rl.read_table(path, **options)]
        elif way == 2:
            features = ["bm25"] if rng.random() < 0.5 else None
            parts = [rl.read_table(path, features=features, label="label", **options)]
        else:
            parts = list(rl.iter_table(path, batch_rows=int(rng.choice([1, 20, 1000])), **options))
    except rl.RankloopError as error:
        return type(error).__name__
    for part in parts:
        checked = rl.QueryDataset(*(getattr(part, name) for name in part.__dataclass_fields__))
        if checked.has_missing and not options.get("allow_nan"):
            raise AssertionError("a data set has missing values that were not allowed")
    return "a data set"


def run(seed: int, numbers: range, state: Path) -> dict[str, int]:
    """Read inputs in this process; `state` holds the number of the one at hand."""
    import pyarrow as pa

    pa.set_cpu_count(1)
    pa.set_io_thread_count(2)
    if sys.platform == "linux":
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    files = sources()
    ends: collections.Counter[str] = collections.Counter()
    with tempfile.TemporaryDirectory() as folder:
        for number in numbers:
            state.write_text(str(number))
            rng = np.random.default_rng([seed, number])
            name, data = damaged(files, rng)
            path = Path(folder, name)
            path.write_bytes(data)
            signal.alarm(SECONDS)
            ends[read_one(str(path), rng)] += 1
            path.unlink()
    signal.alarm(0)
    return ends


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--inputs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", type=int, help="read this input alone, and show what it raises")
    parser.add_argument("--child", nargs=2, type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder, "number")
        if arguments.only is not None:
            print(dict(run(arguments.seed, range(arguments.only, arguments.only + 1), state)))
            return 0
        if arguments.child is not None:
            return _as_child(arguments.seed, range(*arguments.child))
        return _as_parent(arguments.seed, arguments.inputs)


def _as_child(seed: int, numbers: range) -> int:
    state = Path(f"fuzz-{numbers.start}")
    try:
        print(json.dumps(run(seed, numbers, state)))
    except Exception:
        traceback.print_exc()
        return 1
    return 0


def _as_parent(seed: int, inputs: int) -> int:
    root = Path(__file__).resolve().parent.parent
    ends: collections.Counter[str] = collections.Counter()
    faults = done = 0
    with tempfile.TemporaryDirectory() as folder:
        while done < inputs:
            end = min(done + CHUNK, inputs)
            command = [sys.executable, "-m", "benchmarks.fuzz_tables", "--seed", str(seed)]
            child = subprocess.run(
                [*command, "--child", str(done), str(end)],
                cwd=folder,
                env={**_environment(root)},
                capture_output=True,
                text=True,
                check=False,
            )
            if child.returncode == 0:
                ends.update(json.loads(child.stdout.splitlines()[-1]))
                done = end
                continue
            faults += 1
            at = int(Path(folder, f"fuzz-{done}").read_text())
            why = child.stderr.strip().splitlines()[-1:] or ["no message"]
            print(f"FAULT: --seed {seed} --only {at}: exit {child.returncode}: {why[0]}")
            done = at + 1
    shown = ", ".join(f"{count:,} {how}" for how, count in ends.most_common())
    print(f"{inputs:,} inputs, seed {seed}: {faults} faults; {shown}")
    return int(faults > 0)


def _environment(root: Path) -> dict[str, str]:
    import os

    return {**os.environ, "PYTHONPATH": str(root), "OMP_NUM_THREADS": "1"}


if __name__ == "__main__":
    sys.exit(main())
