"""Tables: exact round trips, frames of other libraries, and errors that name the place."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rankloop.data.dataset import QueryDataset
from rankloop.data.grouping import TEXT
from rankloop.data.io.tables import reading, writing
from rankloop.data.io.tables.reading import (
    from_table,
    iter_table,
    read_table,
)
from rankloop.data.io.tables.writing import to_table, write_table
from rankloop.exceptions import DataError, MemoryLimitError, MissingExtraError, ParseError

FLOAT32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
WORD = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
WEIGHT = st.floats(0, 1e300)
FILES = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
SUFFIXES = [".parquet", ".pq", ".arrow", ".feather", ".ipc"]


@st.composite
def datasets(draw: st.DrawFn) -> QueryDataset:
    """Rows in any query order, with and without each of the optional columns."""
    n, d = draw(st.integers(0, 12)), draw(st.integers(0, 4))

    def column(values: st.SearchStrategy) -> list:
        return draw(st.lists(values, min_size=n, max_size=n))

    ids = draw(st.sampled_from([st.integers(-(2**63), 2**63 - 1), WORD]))
    pool = draw(st.lists(ids, min_size=1, max_size=4, unique=True))
    qid = column(st.sampled_from(pool))
    names = st.lists(WORD | st.sampled_from(["y", "target", "doc_id"]), min_size=d, max_size=d)
    query_ids = list(dict.fromkeys(qid))
    weights = st.lists(WEIGHT, min_size=len(query_ids), max_size=len(query_ids))
    return QueryDataset.from_arrays(
        np.array(column(st.lists(FLOAT32, min_size=d, max_size=d)), np.float32).reshape(n, d),
        column(st.floats(-1e300, 1e300)),
        qid=np.array(qid, TEXT if isinstance(pool[0], str) else np.int64),
        doc_ids=_maybe(draw, column, WORD.map(str)),
        feature_names=draw(st.none() | names),
        sample_weight=_maybe(draw, column, WEIGHT),
        query_weight=draw(st.none() | weights),
    )


def _maybe(draw, column, values):
    return column(values) if draw(st.booleans()) else None


def assert_same(a: QueryDataset, b: QueryDataset) -> None:
    for name in ("X", "y", "offsets", "query_ids", "doc_ids", "sample_weight", "query_weight"):
        left, right = getattr(a, name), getattr(b, name)
        assert (left is None) == (right is None), name
        if left is not None:
            assert left.dtype == right.dtype, name
            np.testing.assert_array_equal(left, right, err_msg=name)
    assert a.X.tobytes() == b.X.tobytes()  # -0.0 too
    assert a.feature_names == b.feature_names
    in_order = np.arange(a.n_documents)
    np.testing.assert_array_equal(a.in_row_order(in_order), b.in_row_order(in_order))


def small(n: int = 6, **options) -> QueryDataset:
    X = np.arange(2.0 * n).reshape(n, 2)
    qid = options.pop("qid", [i // 2 for i in range(n)])
    return QueryDataset.from_arrays(X, np.arange(n) % 3, qid=qid, **options)


# --- round trips ---


@pytest.mark.slow
@FILES
@given(data=datasets(), suffix=st.sampled_from(SUFFIXES), step=st.sampled_from([1, 200, 2**26]))
def test_writing_and_reading_changes_nothing(tmp_path, monkeypatch, data, suffix, step):
    with monkeypatch.context() as patch:
        patch.setattr(writing, "_SLICE_BYTES", step)  # several row groups
        for layout in ("wide", "list"):
            columns = ["label", "qid", "doc_id", "doc_weight", "query_weight"]
            names = list(data.feature_names or ())
            if layout == "wide" and (len(set(names)) < len(names) or set(names) & set(columns)):
                layout = "list"
            write_table(data, tmp_path / f"data{suffix}", layout)
            assert_same(read_table(tmp_path / f"data{suffix}"), data)
            assert_same(from_table(to_table(data, layout)), data)


def test_features_may_be_called_like_a_label():
    data = small(feature_names=["target", "doc_id"])
    assert_same(from_table(to_table(data)), data)


def test_wide_names_that_clash_are_refused():
    with pytest.raises(
        DataError, match="two columns 'label'; rename the feature, or pass layout='list'"
    ):
        to_table(small(feature_names=["label", "b"]))
    with pytest.raises(DataError, match="two columns 'b'"):
        to_table(small(feature_names=["b", "b"]))


def test_rows_are_written_in_the_callers_order():
    data = small(4, qid=["b", "a", "b", "a"], doc_ids=[*"wxyz"])
    table = to_table(data)
    assert table.to_pydict() == {
        "label": [0, 1, 2, 0],
        "qid": ["b", "a", "b", "a"],
        "doc_id": [*"wxyz"],
        "f0": [0, 2, 4, 6],
        "f1": [1, 3, 5, 7],
    }
    assert to_table(data, "list").column("features").to_pylist() == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_nan_features_come_back():
    data = QueryDataset.from_arrays([[1, np.nan], [np.nan, 2]], [0, 1], qid=[1, 1], allow_nan=True)
    for layout in ("wide", "list"):
        np.testing.assert_array_equal(from_table(to_table(data, layout), allow_nan=True).X, data.X)
        with pytest.raises(DataError, match=r"of row 0 is missing \(null or NaN\).*allow_nan=True"):
            from_table(to_table(data, layout))


# --- peers ---

COLUMNS = {
    "Query_ID": ["b", "a", "b"],
    "relevance": [0, 2, 1],
    "docid": [7, 8, 9],
    "bm25": [0.5, 1.5, 2.5],
    "clicks": [1, 2, 3],
    "fresh": [True, False, True],
}


def expected() -> QueryDataset:
    return QueryDataset.from_arrays(
        [[0.5, 1, 1], [1.5, 2, 0], [2.5, 3, 1]],
        [0, 2, 1],
        qid=["b", "a", "b"],
        doc_ids=["7", "8", "9"],
        feature_names=["bm25", "clicks", "fresh"],
    )


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame, dict])
def test_frames_of_every_library_are_read_alike(make):
    assert_same(from_table(make(COLUMNS)), expected())


@pytest.mark.parametrize(
    "write",
    [
        lambda path: pq.write_table(pa.table(COLUMNS), path, row_group_size=2),
        lambda path: pd.DataFrame(COLUMNS).to_parquet(path),
        lambda path: pl.DataFrame(COLUMNS).write_parquet(path),
        lambda path: pa.feather.write_feather(pa.table(COLUMNS), path, chunksize=2),
        lambda path: pd.DataFrame(COLUMNS).to_feather(path),
        lambda path: pl.DataFrame(COLUMNS).write_ipc(path),
    ],
)
def test_files_of_every_library_are_known_by_their_content(tmp_path, write):
    write(tmp_path / "data.bin")
    assert_same(read_table(tmp_path / "data.bin"), expected())


def test_other_libraries_read_our_files(tmp_path):
    data = small(doc_ids=[*"abcdef"])
    for layout in ("wide", "list"):
        write_table(data, tmp_path / "a.parquet", layout)
        write_table(data, tmp_path / "a.arrow", layout)
        assert_same(
            from_table(pl.read_ipc(tmp_path / "a.arrow")),
            from_table(pd.read_parquet(tmp_path / "a.parquet")),
        )


def test_a_pandas_index_is_not_a_feature(tmp_path):
    frame = pd.DataFrame(COLUMNS | {"extra": 1}).query("extra == 1").drop(columns="extra")
    frame.index = [5, 3, 4]
    assert_same(from_table(frame), expected())
    frame.to_parquet(tmp_path / "a.parquet")
    assert_same(read_table(tmp_path / "a.parquet"), expected())
    named = frame.set_index("Query_ID")  # but it may be the query
    assert from_table(named).query_ids.tolist() == ["b", "a"]


def test_categories_and_whole_floats_are_ids():
    frame = pd.DataFrame({"qid": pd.Categorical(["x", "y", "x"]), "y": [1.0, 0, 0], "f": 1})
    assert from_table(frame).query_ids.tolist() == ["x", "y"]
    frame = pl.DataFrame({"qid": [1.0, 2.0], "y": [1, 0], "f": [1, 2]})
    data = from_table(frame.with_columns(doc_id=pl.Series(["x", "y"], dtype=pl.Categorical)))
    assert data.query_ids.dtype == np.int64
    assert data.doc_ids is not None
    assert data.doc_ids.tolist() == ["x", "y"]


@pytest.mark.parametrize(
    "kind", [pa.list_(pa.float64()), pa.large_list(pa.float32()), pa.list_(pa.int16(), 2)]
)
def test_a_list_column_holds_the_features(tmp_path, kind):
    values = pa.array([[1, 2], [3, 4], [5, 6]], kind)
    table = pa.table({"qid": [1, 2, 1], "label": [0, 1, 2], "vector": values})
    assert from_table(table.slice(1)).X.tolist() == [[3, 4], [5, 6]]
    pq.write_table(table, tmp_path / "a", row_group_size=1)
    data = read_table(tmp_path / "a")
    assert data.X.tolist() == [[1, 2], [5, 6], [3, 4]]
    assert data.feature_names is None
    wider = table.append_column("other", [[1, 1, 1]])
    assert from_table(wider, features="vector").X.tolist() == data.X.tolist()


def test_columns_can_be_named():
    table = pa.table(
        {"a": [1, 1], "b": [0, 1], "c": ["x", "y"], "d": [1.0, 2], "e": [3, 3], "f": [4, 5]}
    )
    data = from_table(table, label="b", query="a", doc_id="c", features=["e", "d"], doc_weight=None)
    assert data.X.tolist() == [[3, 1], [3, 2]]
    assert data.feature_names == ("e", "d")
    data = from_table(table, label="d", query="a", features="b", doc_weight="f", query_weight="e")
    assert data.query_weight is not None
    assert data.sample_weight is not None
    assert (data.query_weight.tolist(), data.sample_weight.tolist()) == ([3], [4, 5])


# --- batches ---


@pytest.mark.slow
@FILES
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=12),
    batch_rows=st.integers(1, 30),
    suffix=st.sampled_from([".parquet", ".arrow"]),
    step=st.sampled_from([200, 2**26]),
)
def test_batches_are_whole_queries_in_order(tmp_path, monkeypatch, sizes, batch_rows, suffix, step):
    qid = np.repeat(np.arange(len(sizes)), sizes)
    data = small(len(qid), qid=qid, query_weight=np.arange(len(sizes)))
    with monkeypatch.context() as patch:
        patch.setattr(writing, "_SLICE_BYTES", step)
        write_table(data, tmp_path / f"a{suffix}")
    parts = list(iter_table(tmp_path / f"a{suffix}", batch_rows=batch_rows))
    assert [q for part in parts for q in part.query_ids.tolist()] == list(range(len(sizes)))
    np.testing.assert_array_equal(np.concatenate([part.X for part in parts]), data.X)
    assert [n for part in parts for n in part.sizes.tolist()] == sizes
    assert max(part.n_documents for part in parts) <= max(batch_rows, *sizes) + batch_rows


def test_batches_refuse_a_query_that_starts_again(tmp_path):
    write_table(small(6, qid=[1, 2, 2, 1, 1, 3]), tmp_path / "a.parquet")
    for batch_rows in (1, 2, 6):
        with pytest.raises(ParseError, match="starts again after other queries; bring"):
            list(iter_table(tmp_path / "a.parquet", batch_rows=batch_rows))
    with pytest.raises(DataError, match="batch_rows must be at least 1; found 0"):
        next(iter_table(tmp_path / "a.parquet", batch_rows=0))


def test_batches_name_the_row_of_the_file(tmp_path):
    table = pa.table({"qid": [1, 1, 2, 3], "y": [0, 1, 2, None], "f": [1.0, 2, 3, 4]})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(ParseError, match="'y' is null in row 3; every row needs its label"):
        list(iter_table(tmp_path / "a.parquet", batch_rows=1))
    table = pa.table({"qid": [1, 1, 2, 3], "y": [0, 1, 2, 1], "f": [1.0, 2, 3, None]})
    pq.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(ParseError, match=r"feature f of row 3 is missing"):
        list(iter_table(tmp_path / "a.parquet", batch_rows=1))


# --- errors ---

GOOD = {"qid": [1, 1, 2], "label": [0, 1, 2], "f": [1.0, 2.0, 3.0]}


@pytest.mark.parametrize(
    ("change", "options", "message"),
    [
        (
            {"label": None},
            {},
            "no column is named 'label' or 'y' or .*; the columns are 'qid', 'f'",
        ),
        ({"qid": None}, {}, "no column is named 'qid' or 'query_id' .* pass query="),
        ({"y": [1, 2, 3]}, {}, "'label', 'y' could each be the label; pass label= to choose one"),
        ({}, {"label": "grade"}, "there is no column 'grade'; the columns are 'qid', 'label', 'f'"),
        ({}, {"features": ["g"]}, "there is no column 'g'"),
        ({}, {"features": ["qid"], "query": "qid"}, "column 'qid' is given twice"),
        (
            {"u": [b"a", b"b", b"c"], "v": [[1], [2], [3]]},
            {},
            r"2 of 3 columns cannot be used.*'u' \(binary\), 'v' \(list<.*out with drop=",
        ),
        ({"f": [1.0, None, 3]}, {}, "feature f of row 1 is missing.*allow_nan=True"),
        ({"f": [1.0, 2, np.inf]}, {"allow_nan": True}, "feature f of row 2 is inf as float32"),
        ({"f": [1.0, 2, 1e39]}, {}, "feature f of row 2 is inf as float32"),
        ({"f": [[1], [2, 3], [4]]}, {}, "'f' of row 1 has 2 values; expected 1, as many in every"),
        ({"f": [[1], [2], None]}, {}, "'f' of row 2 is null; expected 1"),
        ({"f": [[1.0], [None], [2]]}, {}, "feature 0 of row 1 is missing"),
        ({"label": [0, None, 1]}, {}, "'label' is null in row 1; every row needs its label"),
        ({"label": [0, 1, np.nan]}, {}, "'label' of row 2 is nan; a label must be a finite number"),
        ({"label": [*"abc"]}, {}, "'label' of row 0 is 'a'; a label must be a number"),
        ({"qid": [1, None, 2]}, {}, "'qid' is null in row 1; every row needs its query"),
        ({"qid": [1.0, 1.5, 2]}, {}, "'qid' of row 1 is 1.5; a query must be a whole number or te"),
        (
            {"qid": np.array([1, 2**64 - 1, 2], np.uint64)},
            {},
            "column 'qid' does not hold ids: .*18446744073709551615",
        ),
        (
            {"qid": [[1], [1], [2]]},
            {},
            "column 'qid' holds list.*; ids must be whole numbers or te",
        ),
        ({"doc_id": ["a", None, "b"]}, {}, "'doc_id' is null in row 1"),
        (
            {"doc_weight": [1, -1, 1]},
            {},
            "'doc_weight' of row 1 is -1.0; a doc_weight must be .*>= 0",
        ),
        (
            {"query_weight": [1, 2, 1]},
            {},
            "query 1 has two weights, 1.0 and 2.0, in column 'query_w",
        ),
    ],
)
def test_errors_say_where_and_what_to_do(tmp_path, change, options, message):
    columns = {name: values for name, values in (GOOD | change).items() if values is not None}
    table = pa.table(columns)
    with pytest.raises(DataError, match=message):
        from_table(table, **options)
    pq.write_table(table, tmp_path / "bad.parquet", row_group_size=1)
    pa.feather.write_feather(table, tmp_path / "bad.feather", chunksize=1)
    for name in ("bad.parquet", "bad.feather"):
        with pytest.raises(ParseError, match=message) as caught:
            read_table(tmp_path / name, **options)
        assert caught.value.path == str(tmp_path / name)


def test_two_columns_of_one_name_are_refused():
    table = pa.table([[1], [2]], names=["f", "f"])
    with pytest.raises(DataError, match="two columns are named 'f'"):
        from_table(table)


def test_nulls_are_nan_where_allowed():
    table = pa.table(GOOD | {"f": [1, None, 3], "g": [None, None, None]})
    np.testing.assert_array_equal(
        from_table(table, allow_nan=True).X, [[1, np.nan], [np.nan, np.nan], [3, np.nan]]
    )


def test_what_is_not_a_table_is_refused(tmp_path):
    with pytest.raises(DataError, match="cannot take a int as a table"):
        from_table(3)
    with pytest.raises(ParseError, match=r"missing.parquet: cannot read it: No such file"):
        read_table(tmp_path / "missing.parquet")
    with pytest.raises(ParseError, match="cannot read it: Is a directory"):
        read_table(tmp_path)
    (tmp_path / "a.parquet").write_bytes(b"2 qid:1 1:0.5\n")
    with pytest.raises(
        ParseError, match=r"starts with b'2 qid:'; expected a Parquet file \(PAR1\)"
    ):
        read_table(tmp_path / "a.parquet")


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_a_damaged_file_is_an_error_of_ours(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    write_table(small(100), path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ParseError, match="cannot read it"):
        read_table(path)


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_memory_is_checked_before_reading(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"a{suffix}"
    write_table(small(1000), path)
    monkeypatch.setattr(reading, "read_roles", None)  # must not get there
    with pytest.raises(MemoryLimitError, match=r"1,000 rows and 2 features takes .* with its ids"):
        read_table(path, memory_limit="9KB")


def test_without_pyarrow_the_extra_is_named(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    for call in (lambda: read_table("a"), lambda: from_table({}), lambda: to_table(small())):
        with pytest.raises(MissingExtraError, match=r"pip install 'rankloop\[arrow\]'"):
            call()


# --- writing ---


@pytest.mark.parametrize("suffix", [".parquet", ".arrow"])
def test_an_error_midway_leaves_the_old_file(tmp_path, monkeypatch, suffix):
    path = tmp_path / f"a{suffix}"
    write_table(small(4), path)
    before = path.read_bytes()
    slices = writing.record_batches

    def breaking(*args):
        yield next(slices(*args))
        raise OSError("disk full")

    monkeypatch.setattr(writing, "record_batches", breaking)
    with pytest.raises(OSError, match="disk full"):
        write_table(small(8), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_writing_needs_a_known_suffix_and_layout(tmp_path):
    with pytest.raises(DataError, match=r"cannot tell the format of .*a.xls'; end its name in .pa"):
        write_table(small(), tmp_path / "a.xls")
    with pytest.raises(DataError, match="layout must be 'wide' or 'list'; found 'tall'"):
        write_table(small(), tmp_path / "a.parquet", "tall")
    assert not list(tmp_path.iterdir())


def test_large_tables_are_written_in_row_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(writing, "_SLICE_BYTES", 72 * 10)
    write_table(small(25), tmp_path / "a.parquet")
    assert pq.ParquetFile(tmp_path / "a.parquet").num_row_groups == 3


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_several_data_sets_make_one_file(tmp_path, kind):
    data = small(8, doc_ids=[*"abcdefgh"])
    parts = (data.select(slice(i, i + 2)) for i in (0, 2))
    write_table(parts, tmp_path / "a", format=kind)
    assert_same(read_table(tmp_path / "a"), data)
    for other, told in [
        (
            small(4),
            r"data set 1 has different columns from the first: label \(float64\), qid \(int64\), 2",
        ),
        (small(4, doc_ids=[*"abcd"], qid=[*"aabb"]), "not label .*doc_id"),
        (small(4, doc_ids=[*"abcd"], feature_names=["a", "b"]), "2 features named 'a', 'b'; not"),
    ]:
        with pytest.raises(DataError, match=told):
            write_table([data, other], tmp_path / "a", format=kind)
    with pytest.raises(DataError, match="no data set to write"):
        write_table([], tmp_path / "a", format=kind)
    assert_same(read_table(tmp_path / "a"), data)
    assert list(tmp_path.iterdir()) == [tmp_path / "a"]
