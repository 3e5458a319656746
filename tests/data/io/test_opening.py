"""The format of a file is decided once: counts of how often readers open a file."""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest

import rankloop as rl
from rankloop.data.io.format_names import decide_format, detect
from rankloop.data.io.formats import read_batches, write_batches

DATA = rl.QueryDataset.from_arrays(
    np.arange(12, dtype=np.float32).reshape(6, 2), [0, 1, 2, 0, 1, 2], group=[3, 3]
)
_watched: list[str] = []
_opened: list[str] = []


def _count(event, args):
    if event == "open" and _watched and args[0] == _watched[0]:
        _opened.append(args[0])


sys.addaudithook(_count)  # it cannot be removed, so it counts only while a file is watched


@pytest.fixture
def opened():
    """Return a function that says how often Python opens a file during a call."""

    def count(path, call):
        _watched.append(os.fspath(path))
        _opened.clear()
        try:
            call()
        finally:
            _watched.clear()
        return len(_opened)

    return count


@pytest.fixture(params=["txt", "csv", "csv.gz", "parquet", "arrow", "rlds"])
def file(request, tmp_path):
    path = tmp_path / f"data.{request.param}"
    write_batches([DATA], path)
    return os.fspath(path)


@pytest.mark.parametrize("reader", [rl.read, lambda *a, **k: list(read_batches(*a, **k))])
def test_a_decided_format_saves_one_opening(file, opened, reader):
    known = detect(file)
    detected = opened(file, lambda: reader(file))
    assert opened(file, lambda: reader(file, format=known)) == detected - 1


def test_detection_happens_once_for_each_file(file, monkeypatch):
    calls = []

    def counting(path):
        calls.append(os.fspath(path))
        return detect(path)

    monkeypatch.setattr("rankloop.data.io.format_names.detect", counting)
    rl.read(file)
    list(read_batches(file))
    assert calls == [file, file]


def test_a_file_of_text_is_opened_to_detect_and_to_read(tmp_path, opened):
    path = tmp_path / "data.txt"
    write_batches([DATA], path)
    assert opened(path, lambda: rl.read(path)) == 2


def test_tables_of_different_formats_are_detected_once_each(tmp_path, monkeypatch):
    paths = [tmp_path / "a.csv", tmp_path / "b.parquet"]
    for path in paths:
        write_batches([DATA], path)
    calls = []
    monkeypatch.setattr(
        "rankloop.data.io.format_names.detect", lambda path: calls.append(path) or detect(path)
    )
    assert rl.read(*paths).n_documents == 12
    assert calls == [os.fspath(path) for path in paths]


def test_the_given_format_is_not_detected(tmp_path):
    assert decide_format(tmp_path / "absent", "csv") == "csv"
    assert decide_format("duckdb:shop.db?select 1", "csv") == "sql"
    with pytest.raises(rl.DataError, match="unknown format 'cvs'"):
        decide_format(tmp_path / "absent", "cvs")
