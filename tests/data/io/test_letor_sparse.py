"""LETOR text read into sparse rows: the same rows and errors as dense, memory by the nonzeros."""

from __future__ import annotations

import os
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.data.io import letor
from rankloop.data.io.letor import iter_letor, read_letor, write_letor
from rankloop.data.joining import concat
from rankloop.data.sparse_rows import SparseRows
from rankloop.exceptions import BadRowsWarning, MemoryLimitError, ParseError

from .letor_twin import letor_files
from .test_letor_errors import BAD_ROWS, GOOD, with_line

LAYOUTS = [(1, 1 << 18), (3, 64)]  # threads, bytes of text parsed at a time


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data.txt"


def read(path, content, block=1 << 18, **options):
    path.write_bytes(content)
    with mock.patch.object(letor, "_BLOCK", block):
        return read_letor(path, **options)


def assert_same(sparse, dense):
    assert isinstance(sparse.X, SparseRows)
    assert np.count_nonzero(sparse.X.values) == sparse.X.nnz
    assert np.array_equal(sparse.X.toarray(), dense.X, equal_nan=True)
    for name in ("y", "offsets", "query_ids", "doc_ids", "rows"):
        one, other = getattr(sparse, name), getattr(dense, name)
        assert (one is None and other is None) or np.array_equal(one, other), name


@pytest.mark.slow
@settings(max_examples=40)
@given(content=letor_files(), layout=st.sampled_from(LAYOUTS))
def test_the_same_rows_as_dense(tmp_path_factory, content, layout):
    path = tmp_path_factory.mktemp("sparse") / "data.txt"
    threads, block = layout
    for options in ({}, {"null": float("nan")}):
        dense = read(path, content, **options)
        assert_same(read(path, content, block, sparse=True, threads=threads, **options), dense)


@pytest.mark.matrix
@pytest.mark.parametrize(("threads", "block"), LAYOUTS)
@pytest.mark.parametrize("kind", BAD_ROWS)
def test_the_same_errors_as_dense(path, kind, threads, block):
    content = with_line(BAD_ROWS[kind][0], 37)
    said = []
    for sparse in (False, True):
        options = {"threads": threads, "max_index": 50, "sparse": sparse}
        with pytest.raises(ParseError) as caught:
            read(path, content, block, **options)
        said.append(str(caught.value))
    assert said[0] == said[1]
    with pytest.warns(BadRowsWarning, match="1 bad row left out of 61; line 38"):
        left = read(path, content, block, skip_bad_rows=True, **options)
    assert_same(left, read(path, GOOD))


def test_indices_in_any_order_and_from_0(path):
    content = b"1 qid:1 9:1 2:3 4:0\n0 qid:1 5:2 0:7\n2 qid:2\n"
    assert_same(read(path, content, sparse=True), read(path, content))
    assert read(path, content, sparse=True).X.nnz == 4


def test_files_and_batches(path):
    lines = [f"{i % 3} qid:{i // 7} {1 + i % 5}:1 {10 + i}:{i}\n" for i in range(300)]
    path.write_text("".join(lines))
    dense = read_letor(path)
    options = {"sparse": True, "n_features": dense.n_features, "memory_limit": 60_000, "threads": 1}
    batches = list(iter_letor(path, **options))
    assert len(batches) > 1
    assert_same(concat(batches), dense)
    other = path.with_name("other.txt")
    other.write_text("1 qid:x 400:1\n")
    assert_same(read_letor(path, other, sparse=True), read_letor(path, other))


def test_rows_of_a_query_apart_from_each_other(path):
    content = b"1 qid:b 3:1\n0 qid:a 2:5\n2 qid:b 1:4\n"
    assert_same(read(path, content, sparse=True), read(path, content))


def test_written_and_read_again(path):
    data = read(path, b"1 qid:1 3:0.1 70000:-2e-7 #docid = a\n0 qid:2 1:NULL\n", sparse=True)
    again = path.with_name("again.txt.gz")
    write_letor(data, again)
    assert read_letor(again, sparse=True).X == data.X
    missing = read_letor(path, sparse=True, null=float("nan"))
    write_letor(missing, again)
    assert read_letor(again, sparse=True, null=float("nan")).X == missing.X


def test_wide_rows_take_memory_for_their_nonzeros(path):
    lines = (f"{i % 2} qid:{i // 20} {i + 1}:1 {9_000_000 - i}:0.5\n" for i in range(2000))
    path.write_text("".join(lines))
    data = read_letor(path, sparse=True, memory_limit="4MB")
    assert data.n_features == 9_000_000
    assert data.X.nnz == 4000
    assert data.X.nbytes == 8 * 4000 + 8 * 2001
    with pytest.raises(ParseError, match="outside 0 to 100000"):
        read_letor(path)
    with pytest.raises(MemoryLimitError, match="more than the limit"):
        read_letor(path, sparse=True, memory_limit=20_000, threads=1)


def test_auto_keeps_rows_sparse_where_that_is_much_smaller(path):
    path.write_text("".join(f"1 qid:{i} 1:1 2:2 3:3\n" for i in range(9)))
    assert not read_letor(path, sparse="auto").is_sparse
    path.write_text("".join(f"1 qid:{i} 1:1 2:2 3000:3\n" for i in range(9)))
    assert read_letor(path, sparse="auto").is_sparse


def test_one_very_long_row(path):
    path.write_text("1 qid:1 " + " ".join(f"{i}:1" for i in range(1, 300_000)) + os.linesep)
    assert read_letor(path, sparse=True).X.nnz == 299_999
