"""Sparse rows, and data sets that have them, beside dense ones."""

from __future__ import annotations

import copy
import functools
import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import rankloop as rl
from rankloop import _core
from rankloop.data.folds import _widen
from rankloop.data.sparse_rows import SparseRows, stack_rows
from rankloop.exceptions import DataError

VALUES = st.sampled_from([0.0, 0.0, 0.0, 1.0, -2.5, 0.1])
MATRICES = st.tuples(st.integers(0, 9), st.integers(0, 70)).flatmap(
    lambda shape: arrays(np.float32, shape, elements=VALUES)
)


@pytest.fixture
def data():
    rng = np.random.default_rng(3)
    X = np.where(rng.random((90, 40)) < 0.1, rng.normal(size=(90, 40)), 0).astype(np.float32)
    return rl.QueryDataset.from_arrays(
        X,
        rng.integers(-1, 4, 90),
        qid=rng.integers(0, 9, 90),
        doc_ids=[f"d{i}" for i in range(90)],
        sample_weight=rng.integers(0, 3, 90),
        query_weight=rng.integers(0, 3, 9),
    )


def assert_same(sparse, dense):
    assert sparse.is_sparse
    assert not dense.is_sparse
    for name, value in dense._values().items():
        other = getattr(sparse, name)
        if name == "X":
            assert np.array_equal(other.toarray(), value)
        elif isinstance(value, np.ndarray):
            assert np.array_equal(other, value), name
        else:
            assert other == value


@given(X=MATRICES, seed=st.integers(0, 99))
def test_sparse_rows_stand_for_dense_ones(X, seed):
    rows, rng = SparseRows.from_dense(X), np.random.default_rng(seed)
    n, d = X.shape
    assert (rows.shape, len(rows), rows.size) == (X.shape, n, X.size)
    assert rows.nnz == np.count_nonzero(X)
    assert np.array_equal(rows.toarray(), X)
    assert SparseRows.from_scipy(sp.coo_array(X)) == rows
    assert np.array_equal(rows.to_scipy().toarray(), X)
    first, end = np.sort(rng.integers(0, n + 1, 2))
    for some in (slice(first, end), rng.permutation(n), rng.random(n) < 0.5):
        assert np.array_equal(rows[some].toarray(), X[some])
        assert np.array_equal(rows[some][1:].toarray(), X[some][1:])
    part = rows[first:end]
    for other in (pickle.loads(pickle.dumps(part)), copy.deepcopy(part)):
        assert other == part
        assert other.tobytes() == part.tobytes()
    order = rng.permutation(d)
    assert np.array_equal(part.with_columns(order).toarray(), X[first:end][:, order])
    both = stack_rows([part, rows], d + 2).toarray()
    assert np.array_equal(both, np.pad(np.vstack([X[first:end], X]), ((0, 0), (0, 2))))


@given(X=MATRICES, seed=st.integers(0, 99))
def test_scores_have_the_bits_of_dense_rows_and_sums_nearly(X, seed):
    rows, rng = SparseRows.from_dense(X), np.random.default_rng(seed)
    n, d = X.shape
    w, r, h = rng.normal(size=d), rng.normal(size=n), rng.random(n)
    cut = int(rng.integers(0, n + 1))
    offsets = np.array([0, cut, n])
    for threads in (1, 2):
        for name in ("score_rows", "row_products"):
            function = getattr(_core, name)
            whole = function(X, w, threads)
            assert np.array_equal(function(rows.core, w, threads), whole)
            assert np.array_equal(function(rows[cut:].core, w, threads), whole[cut:])
        near = {"rtol": 1e-12, "atol": 1e-12}
        np.testing.assert_allclose(_core.column_products(rows.core, r, threads), r @ X, **near)
        np.testing.assert_allclose(
            _core.column_spreads(rows.core, offsets, h, threads),
            _core.column_spreads(X, offsets, h, threads),
            **near,
        )


def test_scores_beyond_the_range_of_a_float_are_as_those_of_dense_rows():
    X = np.full((2, 70), 3e38, np.float32)
    X[1, ::2] *= -1
    w = np.full(70, 10.0)
    assert np.array_equal(
        _core.score_rows(SparseRows.from_dense(X).core, w, 1), _core.score_rows(X, w, 1)
    )


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_sums_have_the_same_bits_on_any_number_of_threads(threads):
    rng = np.random.default_rng(0)
    n, k, d = 9000, 30, 4000  # enough for threads
    columns = np.sort(rng.integers(0, d // k, (n, k)) + np.arange(k) * (d // k))
    rows = SparseRows(
        rng.normal(size=n * k).astype(np.float32),
        columns.ravel().astype(np.int32),
        np.arange(0, n * k + 1, k),
        d,
    )
    r, offsets = rng.random(n), np.arange(0, n + 1, 30)
    for name, arguments in (("column_products", (r,)), ("column_spreads", (offsets, r))):
        function = getattr(_core, name)
        one = function(rows.core, *arguments, 1)
        assert np.array_equal(function(rows.core, *arguments, threads), one)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": np.array([1, 1, 0], np.int32)}, "must rise"),
        ({"indices": np.array([0, 5, 0], np.int32)}, "below the number of features"),
        ({"indices": np.array([-1, 1, 0], np.int32)}, "must rise"),
        ({"indptr": np.array([0, 3, 2])}, "must not leave the arrays"),
        ({"indptr": np.array([0, 2, 4])}, "must not leave the arrays"),
        ({"indptr": np.zeros(0, np.int64)}, "one number more than there are rows"),
        ({"indices": np.array([0, 1], np.int32)}, "one value a column"),
        ({"data": np.ones(3)}, "data must be a float32 array"),
        ({"indices": np.array([0, 1, 0])}, "indices must be a int32 array"),
    ],
)
def test_what_are_not_sparse_rows_is_refused(change, message):
    good = {
        "data": np.ones(3, np.float32),
        "indices": np.array([0, 1, 0], np.int32),
        "indptr": np.array([0, 2, 3]),
        "n_features": 2,
    }
    assert SparseRows(**good).nnz == 3
    with pytest.raises(DataError, match=message):
        SparseRows(**{**good, **change})


def test_rows_that_change_after_the_check_are_noticed():
    rows = SparseRows.from_dense(np.eye(3, dtype=np.float32))
    rows.indices[1] = 2**30
    with pytest.raises(ValueError, match="columns of a row must rise"):
        _core.score_rows(rows.core, np.ones(3), 1)


def test_matrices_of_scipy_are_brought_in_order():
    doubled = sp.coo_array(([1.0, 2, 0, 4], ([0, 0, 1, 1], [2, 2, 0, 1])), shape=(2, 3))
    rows = SparseRows.from_scipy(doubled)
    assert rows.toarray().tolist() == [[0, 0, 3], [0, 4, 0]]
    assert rows.nnz == 2  # a stored 0 is left out
    plain = sp.csr_array(np.eye(3, dtype=np.float32))
    assert np.shares_memory(SparseRows.from_scipy(plain).data, plain.data)
    with pytest.raises(DataError, match="sparse X must be real numbers"):
        SparseRows.from_scipy(sp.csr_array(np.eye(2) * 1j))


def test_columns_cannot_be_taken():
    with pytest.raises(DataError, match=r"taken whole, not by columns; toarray\(\)"):
        SparseRows.from_dense(np.eye(3, dtype=np.float32))[:, 0]


# Data sets


def test_a_data_set_of_sparse_rows_is_that_of_dense_ones(data):
    rng = np.random.default_rng(0)
    sparse = data.to_sparse()
    assert_same(sparse, data)
    assert_same(sparse, sparse.to_dense())
    assert sparse.nbytes < data.nbytes
    assert not sparse.has_missing
    assert repr(sparse) == repr(data)
    for q in (0, 5):
        assert np.array_equal(sparse.query(q).X.toarray(), data.query(q).X)
    for chosen in (slice(2, 5), rng.permutation(9), rng.random(9) < 0.5):
        assert_same(sparse.select(chosen), data.select(chosen))
    mask = rng.random(90) < 0.5
    assert_same(sparse.keep(mask), data.keep(mask))
    assert_same(sparse.shuffle(np.random.default_rng(1)), data.shuffle(np.random.default_rng(1)))
    halves = [data.select(slice(0, 4)), data.select(slice(4, 9))]
    assert_same(rl.data.concat([half.to_sparse() for half in halves]), rl.data.concat(halves))
    assert_same(rl.data.concat([halves[0].to_sparse(), halves[1]]), rl.data.concat(halves))
    assert_same(_widen(sparse, 45), _widen(data, 45))
    split = functools.partial(rl.data.random_split, fractions=(0.5, 0.5))
    parts = [split(some, rng=np.random.default_rng(2)) for some in (sparse, data)]
    for one, other in zip(*parts, strict=True):
        assert_same(one, other)


def test_slices_of_queries_are_views(data):
    sparse = data.to_sparse()
    assert np.shares_memory(sparse.query(3).X.data, sparse.X.data)
    assert np.shares_memory(sparse.select(slice(1, 4)).X.data, sparse.X.data)


def test_from_arrays_keeps_a_sparse_matrix_sparse(data):
    rows = data.in_row_order(np.arange(90))
    X, y, qid = data.X[rows], data.y[rows], data.qid[rows]
    dense = rl.QueryDataset.from_arrays(X, y, qid=qid)
    for kind in (sp.csr_array, sp.csc_matrix, sp.coo_array):
        assert_same(rl.QueryDataset.from_arrays(kind(X), y, qid=qid), dense)
    X[3, 7] = np.nan
    with pytest.raises(DataError, match="feature 7 of row 3 is missing"):
        rl.QueryDataset.from_arrays(sp.csr_array(X), y, qid=qid)
    kept = rl.QueryDataset.from_arrays(sp.csr_array(X), y, qid=qid, allow_nan=True)
    assert kept.has_missing


def test_a_table_of_sparse_rows_is_that_of_dense_ones(data, tmp_path):
    rl.data.write_table(data.to_sparse(), tmp_path / "a.parquet")
    read = rl.data.read_table(tmp_path / "a.parquet")
    again = read.in_row_order(np.arange(90)), data.in_row_order(np.arange(90))
    assert np.array_equal(read.X[again[0]], data.X[again[1]])


@given(X=MATRICES.filter(lambda X: X.shape[1] < 20), seed=st.integers(0, 99))
def test_the_summary_is_that_of_dense_rows(X, seed):
    rng = np.random.default_rng(seed)
    X = np.where(rng.random(X.shape) < 0.1, rng.choice([-1.0, -999.0, np.nan]), X)
    X = np.concatenate([X, X[:, :2], X[:, :1] * 0 + seed % 2], axis=1).astype(np.float32)
    X = np.concatenate([X, X[:2]])
    cut = int(rng.integers(0, len(X) + 1))
    group = [cut, len(X) - cut]
    data = rl.QueryDataset.from_arrays(X, rng.integers(0, 3, len(X)), group=group, allow_nan=True)
    dense, sparse = (rl.data.summarise(d).to_dict() for d in (data, data.to_sparse()))
    dense.pop("memory"), sparse.pop("memory")
    for one, other in zip(
        dense.pop("feature_summaries"), sparse.pop("feature_summaries"), strict=True
    ):
        assert one == pytest.approx(other)
    assert dense == sparse
