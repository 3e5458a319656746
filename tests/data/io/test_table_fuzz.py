"""Damaged tables: a short run of `benchmarks/fuzz_tables.py`, and kinds of damage one by one."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import rankloop as rl
from rankloop.exceptions import DataError, MemoryLimitError, ParseError

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.mark.slow
def test_damaged_files_never_crash():
    command = [sys.executable, "-m", "benchmarks.fuzz_tables", "--inputs", "300", "--seed", "13"]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.stdout.startswith("300 inputs, seed 13: 0 faults;"), done.stdout + done.stderr
    assert "a data set" in done.stdout  # some damage does no harm
    assert "ParseError" in done.stdout


@pytest.fixture
def data(rng):
    return rl.QueryDataset.from_arrays(
        rng.random((2000, 3)), rng.integers(0, 3, 2000), qid=np.arange(2000) // 9
    )


def test_a_flipped_bit_in_our_own_files_is_noticed(data, tmp_path, rng):
    path = tmp_path / "a.parquet"
    rl.data.write_table(data, path)
    whole = path.read_bytes()
    metadata = pq.read_metadata(path)
    chunk = metadata.row_group(0).column(3)
    for _ in range(20):
        flipped = bytearray(whole)
        place = chunk.data_page_offset + int(rng.integers(chunk.total_compressed_size))
        flipped[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(flipped)
        with pytest.raises(ParseError, match="cannot read it"):
            rl.read_table(path)


def replace_metadata(path, **notes):
    """Write the table anew with other notes in its schema."""
    table = pq.read_table(path)
    pq.write_table(table.replace_schema_metadata(notes), path)


@pytest.mark.parametrize(
    "note",
    [
        *("{", "[1]", "7", "[" * 100_000, json.dumps({"features": 5})),
        *(json.dumps({"features": [1, 2]}), json.dumps({"names": "abc"})),
    ],
)
def test_a_note_of_ours_that_was_edited_is_refused(data, tmp_path, note):
    path = tmp_path / "a.parquet"
    rl.data.write_table(data, path)
    replace_metadata(path, rankloop=note)
    with pytest.raises(ParseError, match=r"the note 'rankloop' in its metadata .* damaged"):
        rl.read_table(path)


def test_a_note_of_pandas_that_was_edited_is_refused(data, tmp_path):
    path = tmp_path / "a.parquet"
    rl.data.write_table(data, path)
    replace_metadata(path, pandas="{")
    with pytest.raises(ParseError, match="the note 'pandas' in its metadata is not a JSON object"):
        rl.read_table(path)
    replace_metadata(path, pandas=json.dumps({"index_columns": {"kind": "range"}}))
    assert rl.read_table(path).n_features == 3


@pytest.mark.parametrize("claimed", [1999, 2001, 10**15])
def test_a_table_that_says_another_number_of_rows(data, claimed, monkeypatch, tmp_path):
    """As damaged metadata may say: the features are never left unset, nor the memory taken."""
    path = tmp_path / "a.parquet"
    rl.data.write_table(data, path)
    from rankloop.data.io.tables import sources

    real = sources._parquet

    def lying(file):
        source = real(file)
        return sources.TableSource(source.schema, claimed, source.batches, source.decoding)

    monkeypatch.setattr(sources, "_parquet", lying)
    expected = MemoryLimitError if claimed > 10**9 else ParseError
    with pytest.raises(expected, match=r"the table says that it has|but the limit is"):
        rl.read_table(path)


def test_text_that_is_not_utf8_is_an_error_of_ours(tmp_path):
    bytes_as_text = pa.array([b"\xff\xfe"] * 3).view(pa.string())
    table = pa.table({"qid": bytes_as_text, "label": [0, 1, 2], "x": [1.0, 2.0, 3.0]})
    path = tmp_path / "a.parquet"
    pq.write_table(table, path)
    with pytest.raises(DataError, match="cannot read it"):
        rl.read_table(path)


def test_offsets_in_arrow_files_are_checked_before_they_are_used(tmp_path):
    """A list column whose offsets lead out of its values would be read beyond memory."""
    path = tmp_path / "a.arrow"
    n = 50
    X = np.arange(2.0 * n).reshape(n, 2)
    table = pa.table(
        {
            "qid": np.arange(n),
            "label": np.zeros(n),
            "f": pa.array(X.tolist(), pa.list_(pa.float64())),
        }
    )
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    whole = path.read_bytes()
    offsets = np.arange(0, 2 * n + 1, 2, dtype=np.int32).tobytes()
    at = whole.index(offsets) + 4 * 20
    path.write_bytes(whole[:at] + (2**30).to_bytes(4, "little") + whole[at + 4 :])
    with pytest.raises(ParseError, match="cannot read it"):
        rl.read_table(path)
