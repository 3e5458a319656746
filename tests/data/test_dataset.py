from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from rankloop.data.dataset import Query, QueryDataset
from rankloop.data.joining import concat
from rankloop.exceptions import DataError, MemoryLimitError

from_arrays = QueryDataset.from_arrays
X = np.arange(12, dtype=np.float32).reshape(6, 2)
Y = np.array([0.0, 2.0, 1.0, 0.0, -1.0, 3.5])
QID = ["b", "a", "b", "c", "a", "b"]


@pytest.fixture
def data():
    return from_arrays(
        X,
        Y,
        qid=QID,
        doc_ids=[f"D{i}" for i in range(6)],
        sample_weight=np.arange(6.0),
        query_weight=[1.0, 2.0, 3.0],
        feature_names=["p", "q"],
    )


@st.composite
def datasets(draw, min_rows=0):
    n = draw(st.integers(min_rows, 20))
    ids = draw(st.sampled_from([st.integers(0, 5), st.sampled_from("abcdef")]))
    qid = draw(st.lists(ids, min_size=n, max_size=n))
    column = np.arange(n, dtype=np.float64)
    return from_arrays(
        np.stack([column, -column], axis=1),
        column,
        qid=qid,
        doc_ids=[str(i) for i in range(n)],
        sample_weight=column,
        query_weight=np.arange(len(set(qid)), dtype=float),
    )


def rows_of(data):
    """Everything about each document, which was numbered 0, 1, ... when the data were made."""
    number = data.y.astype(int)
    assert data.X.tolist() == [[i, -i] for i in number]
    assert data.doc_ids.tolist() == [str(i) for i in number]
    assert data.sample_weight.tolist() == number.tolist()
    return number.tolist()


def by_query(data):
    return {query.id: (query.y.tolist(), query.weight) for query in data}


# Gathering


def test_rows_in_any_order_are_gathered(data):
    order = [0, 2, 5, 1, 4, 3]
    assert data.query_ids.tolist() == ["b", "a", "c"]
    assert data.offsets.tolist() == [0, 3, 5, 6]
    assert data.rows.tolist() == order
    assert np.array_equal(data.X, X[order])
    assert np.array_equal(data.y, Y[order])
    assert data.doc_ids.tolist() == [f"D{i}" for i in order]
    assert data.sample_weight.tolist() == order
    assert data.qid.tolist() == ["b"] * 3 + ["a"] * 2 + ["c"]
    assert (data.n_queries, data.n_documents, data.n_features, len(data)) == (3, 6, 2, 3)
    assert data.sizes.tolist() == [3, 2, 1]
    assert (data.X.dtype, data.y.dtype) == (np.float32, np.float64)


@given(data=datasets())
def test_row_order_and_back(data):
    values = np.random.default_rng(0).random(data.n_documents)
    assert np.array_equal(data.from_row_order(data.in_row_order(values)), values)
    assert np.array_equal(data.in_row_order(data.from_row_order(values)), values)
    assert data.in_row_order(data.y).tolist() == list(range(data.n_documents))
    pairs = np.stack([values, values], axis=1)
    assert np.array_equal(data.from_row_order(data.in_row_order(pairs)), pairs)


@pytest.mark.parametrize("method", ["in_row_order", "from_row_order"])
def test_row_order_takes_one_value_a_document(data, method):
    with pytest.raises(DataError, match="values has 5 values for 6 rows"):
        getattr(data, method)(np.zeros(5))


@pytest.mark.parametrize("qid", [[3, 1, 3, 7, 1, 3], [3.0, 1.0, 3.0, 7.0, 1.0, 3.0], QID])
def test_ids_may_be_numbers_or_text(qid):
    data = from_arrays(X, Y, qid=qid)
    assert data.query_ids.tolist() == [qid[0], qid[1], qid[3]]
    assert isinstance(data.query(0).id, str if qid is QID else int)


def test_groups_are_taken_by_size():
    data = from_arrays(X, Y, group=[2, 0, 4])
    assert data.offsets.tolist() == [0, 2, 2, 6]
    assert data.query_ids.tolist() == [0, 1, 2]
    assert data.rows is None
    assert [len(query) for query in data] == [2, 0, 4]


def test_contiguous_float32_rows_are_not_copied():
    assert np.shares_memory(from_arrays(X, Y, group=[6]).X, X)
    assert not np.shares_memory(from_arrays(X, Y, qid=QID).X, X)


FORMS = {
    "list": lambda x: x.tolist(),
    "float64": lambda x: x.astype(np.float64),
    "integers": lambda x: x.astype(np.int32),
    "Fortran order": np.asfortranarray,
    "strided": lambda x: np.repeat(x, 2, axis=0)[::2],
    "pandas": lambda x: pd.DataFrame(x, columns=["p", "q"]),
    "polars": lambda x: pl.DataFrame({"p": x[:, 0], "q": x[:, 1]}),
    "arrow": lambda x: pa.table({"p": x[:, 0], "q": x[:, 1]}),
}


@pytest.mark.parametrize("form", FORMS)
def test_features_in_any_form(form):
    data = from_arrays(FORMS[form](X), Y, qid=QID)
    assert np.array_equal(data.X, X[data.rows])
    assert data.X.dtype == np.float32
    assert data.X.flags.c_contiguous
    named = form in ("pandas", "polars", "arrow")
    assert data.feature_names == (("p", "q") if named else None)


def test_columns_of_frames_as_grades_and_ids():
    frame = pd.DataFrame({"f": X[:, 0], "y": Y, "q": QID})
    data = from_arrays(frame[["f"]], frame["y"], qid=frame["q"], doc_ids=frame["q"])
    assert data.query_ids.tolist() == ["b", "a", "c"]
    polar = pl.DataFrame({"f": X[:, 0], "y": Y, "q": QID})
    same = from_arrays(polar[["f"]], polar["y"], qid=polar["q"])
    assert np.array_equal(same.X, data.X)
    assert same.query_ids.tolist() == data.query_ids.tolist()


# Errors


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"qid": None}, "either qid= or group="),
        ({"group": [6]}, "either qid= or group="),
        ({"qid": QID[:5]}, "qid has 5 values for 6 rows"),
        ({"y": Y[:5]}, "y has 5 values for 6 rows"),
        ({"y": [1, 2, np.nan, 0, 0, 0]}, "grade of row 2 is nan.*use -1"),
        ({"y": ["x"] * 6}, "grades must be numbers"),
        ({"y": Y[:, None]}, "y must be one-dimensional"),
        ({"X": X[:, 0]}, r"two dimensions, documents by features; found shape \(6,\)"),
        ({"X": [["x", 1]] * 6}, "features must be numbers"),
        ({"X": [[1], [1, 2]] * 3}, "features must be numbers"),
        ({"X": np.where(X == 5, np.nan, X)}, "feature 1 of row 2 is missing.*allow_nan=True"),
        ({"X": np.where(X == 4, np.inf, X)}, "feature 0 of row 2 is inf"),
        ({"X": np.where(X == 4, 1e39, X.astype(float))}, "feature 0 of row 2 is inf as float32"),
        ({"doc_ids": ["a"]}, "doc_ids has 1 values for 6 rows"),
        ({"sample_weight": [1.0] * 5}, "sample_weight has 5 values"),
        ({"sample_weight": [1, 1, -1, 1, 1, 1]}, r"sample_weight must be .* found -1.0 at 2"),
        ({"query_weight": [1, 2]}, "query_weight has 2 values for 3 queries"),
        ({"query_weight": [1, 2, np.nan]}, "query_weight must be finite"),
        ({"feature_names": ["p"]}, "feature_names has 1 values for 2 features"),
    ],
)
def test_what_cannot_be_right_is_named(change, message):
    arguments = {"X": X, "y": Y, "qid": QID, **change}
    with pytest.raises(DataError, match=message):
        from_arrays(arguments.pop("X"), arguments.pop("y"), **arguments)


def test_missing_values_can_be_kept():
    missing = np.where(X == 5, np.nan, X)
    data = from_arrays(missing, Y, group=[6], allow_nan=True)
    assert np.array_equal(data.X, missing, equal_nan=True)
    with pytest.raises(DataError, match="is inf"):
        from_arrays(np.where(X == 5, np.inf, X), Y, group=[6], allow_nan=True)


def test_a_dense_matrix_too_large_is_refused_before_it_is_made():
    rows = sp.csr_array((10**6, 10**9), dtype=np.float32)
    huge = from_arrays(rows, np.zeros(10**6), group=[10**6])
    assert huge.nbytes < 40e6
    with pytest.raises(MemoryLimitError, match="1,000,000 rows and 1,000,000,000 features"):
        huge.to_dense()  # 4 PB
    small = from_arrays(sp.csr_array((6, 100), dtype=np.float32), Y, qid=QID)
    with pytest.raises(MemoryLimitError, match=r"the limit is 2\.3 KB"):
        small.to_dense(2399)
    assert small.to_dense("2400").X.nbytes == 2400


def test_a_sparse_value_too_large_is_named_without_a_warning():
    with pytest.raises(DataError, match="feature 0 of row 0 is inf"):
        from_arrays(sp.csr_array([[1e300]]), [1], qid=[1])


# Taking queries


def test_queries_are_views(data):
    query = data.query(0)
    assert isinstance(query, Query)
    assert (query.id, len(query), query.weight) == ("b", 3, 1.0)
    assert query.y.tolist() == [0, 1, 3.5]
    assert query.doc_ids.tolist() == ["D0", "D2", "D5"]
    assert query.sample_weight.tolist() == [0, 2, 5]
    assert np.shares_memory(query.X, data.X)
    assert [query.id for query in data] == ["b", "a", "c"]
    assert data.query(-1).id == "c"
    with pytest.raises(IndexError):
        data.query(3)
    assert from_arrays(X, Y, qid=QID).query(0).weight == 1.0


@given(data=datasets(), choose=st.randoms(use_true_random=False))
def test_select_takes_queries_in_the_order_given(data, choose):
    chosen = choose.sample(range(len(data)), choose.randint(0, len(data)))
    taken = data.select(chosen)
    everything = by_query(data)
    assert by_query(taken) == {i: everything[i] for i in data.query_ids[chosen].tolist()}
    rows_of(taken)
    assert taken.rows is None
    mask = np.isin(np.arange(len(data)), chosen)
    assert by_query(data.select(mask)) == by_query(data.select(sorted(chosen)))


@given(data=datasets(min_rows=1), first=st.integers(0, 6), last=st.integers(0, 6))
def test_slices_are_views(data, first, last):
    taken = data.select(slice(first, last))
    assert taken.query_ids.tolist() == data.query_ids[first:last].tolist()
    rows_of(taken)
    if taken.n_documents:
        assert np.shares_memory(taken.X, data.X)
        assert np.shares_memory(taken.y, data.y)
        assert not np.shares_memory(data.select(slice(None, None, -1)).X, data.X) or len(data) == 1


def test_select_refuses_what_is_not_there(data):
    with pytest.raises(DataError, match="at most once"):
        data.select([0, 0])
    with pytest.raises(DataError, match="at most once"):
        data.select([0, -3])
    with pytest.raises(IndexError):
        data.select([3])
    assert data.select([-1]).query_ids.tolist() == ["c"]
    assert data.select([]).n_queries == 0


@given(data=datasets(), seed=st.integers(0, 100))
def test_shuffling_stays_inside_queries(data, seed):
    shuffled = data.shuffle(np.random.default_rng(seed))
    rows_of(shuffled)
    assert shuffled.offsets.tolist() == data.offsets.tolist()
    for before, after in zip(data, shuffled, strict=True):
        assert (before.id, before.weight) == (after.id, after.weight)
        assert sorted(before.y) == sorted(after.y)
    assert shuffled.in_row_order(shuffled.y).tolist() == data.y.tolist()
    again = data.shuffle(np.random.default_rng(seed))
    assert again.y.tolist() == shuffled.y.tolist()


def test_shuffling_shuffles(rng):
    column = np.arange(1000.0)
    data = from_arrays(column[:, None], column, group=[1000])
    assert not np.array_equal(data.shuffle(rng).y, data.y)
    assert np.array_equal(data.y, column)


# Joining


@given(data=datasets(), cut=st.integers(0, 6))
def test_parts_joined_are_the_whole(data, cut):
    joined = concat([data.select(slice(None, cut)), data.select(slice(cut, None))])
    assert by_query(joined) == by_query(data)
    assert rows_of(joined) == rows_of(data)


def test_rows_of_one_query_come_together():
    a = from_arrays([[1.0], [2.0]], [1, 2], qid=["x", "y"])
    b = from_arrays([[3.0, 4.0]], [3], qid=["x"], doc_ids=["D"], sample_weight=[5.0])
    joined = concat([a, b])
    assert joined.query_ids.tolist() == ["x", "y"]
    assert joined.X.tolist() == [[1, 0], [3, 4], [2, 0]]
    assert joined.doc_ids.tolist() == ["", "D", ""]
    assert joined.sample_weight.tolist() == [1, 5, 1]
    assert joined.in_row_order(joined.y).tolist() == [1, 2, 3]
    assert concat([a]) is a


def test_joining_numbers_and_text_makes_text():
    a = from_arrays([[1.0]], [1], qid=[7])
    b = from_arrays([[2.0]], [1], qid=["x"])
    assert concat([a, b]).query_ids.tolist() == ["7", "x"]


def test_what_cannot_be_joined(data):
    with pytest.raises(DataError, match="at least one"):
        concat([])
    with pytest.raises(DataError, match="its weight is ambiguous"):
        concat([data, data])


# The smallest


def test_single_documents():
    data = from_arrays(X, Y, qid=range(6))
    assert [len(query) for query in data] == [1] * 6
    assert data.rows is None
    assert repr(from_arrays([[1.0]], [2], qid=[1])) == (
        "QueryDataset(1 query, 1 document, 1 feature, grades 2 to 2)"
    )


def test_an_empty_data_set(rng):
    data = from_arrays(np.zeros((0, 3)), [], qid=[])
    assert repr(data) == "QueryDataset(0 queries, 0 documents, 3 features)"
    assert list(data) == []
    assert data.select(slice(None)).n_documents == 0
    assert data.shuffle(rng).n_documents == 0
    assert data.in_row_order(np.zeros(0)).shape == (0,)
    assert concat([data, data]).X.shape == (0, 3)
    assert from_arrays(np.zeros((0, 3)), [], group=[0, 0]).n_queries == 2
