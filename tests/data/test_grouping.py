from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.data.grouping import (
    TEXT,
    as_ids,
    group_by_id,
    group_by_size,
    group_runs,
    ids_from_text,
)
from rankloop.exceptions import DataError

numbers = st.lists(st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3), max_size=30)
texts = st.lists(st.sampled_from(["a", "b", "é", "10", "x" * 40, ""]), max_size=30)


def naive(qid):
    """Ids in order of first appearance, and each one's rows."""
    return {i: [row for row, other in enumerate(qid) if other == i] for i in dict.fromkeys(qid)}


def assert_is(grouping, expected, n):
    assert grouping.ids.tolist() == list(expected)
    sizes = [len(rows) for rows in expected.values()]
    assert grouping.offsets.tolist() == np.cumsum([0, *sizes]).tolist()
    assert grouping.offsets.dtype == np.int64
    rows = list(range(n)) if grouping.rows is None else grouping.rows.tolist()
    assert rows == [row for group in expected.values() for row in group]


@given(qid=numbers | texts)
def test_group_by_id_is_the_naive_grouping(qid):
    grouping = group_by_id(qid)
    assert_is(grouping, naive(qid), len(qid))
    contiguous = all(rows == list(range(rows[0], rows[-1] + 1)) for rows in naive(qid).values())
    assert (grouping.rows is None) == contiguous


@given(qid=numbers | texts)
def test_group_runs_is_group_by_id(qid):
    ids = as_ids(qid, "qid")
    starts = [i for i in range(len(qid)) if i == 0 or qid[i] != qid[i - 1]]
    if starts:
        assert_is(group_runs(ids[starts], np.array(starts), len(qid)), naive(qid), len(qid))


@given(sizes=st.lists(st.integers(0, 5), min_size=1, max_size=10))
def test_group_by_size(sizes):
    grouping = group_by_size(sizes, sum(sizes))
    assert grouping.offsets.tolist() == np.cumsum([0, *sizes]).tolist()
    assert grouping.ids.tolist() == list(range(len(sizes)))
    assert grouping.rows is None


@pytest.mark.parametrize(
    ("group", "message"),
    [
        ([1, 1], r"add up to 2 rows, but there are 3"),
        ([4, -1], "must not be negative; found -1"),
        ([1.5, 1.5], "whole numbers, one size per query; found float64"),
        ([[3]], r"shape \(1, 1\)"),
        (["3"], "whole numbers"),
        (3, r"shape \(\)"),
    ],
)
def test_sizes_that_cannot_be(group, message):
    with pytest.raises(DataError, match=message):
        group_by_size(group, 3)


def test_no_group_for_no_rows():
    assert group_by_size([], 0).offsets.tolist() == [0]


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.int64, np.float32, np.float64])
def test_whole_numbers_of_any_type_are_int64(dtype):
    ids = as_ids(np.array([3, 1, 3], dtype), "qid")
    assert ids.dtype == np.int64
    assert ids.tolist() == [3, 1, 3]


@pytest.mark.parametrize(
    "values",
    [
        ["a", "bb"],
        np.array(["a", "bb"]),
        np.array(["a", "bb"], object),
        np.array(["a", "bb"], TEXT),
        pd.Series(["a", "bb"]),
        pd.Series(["a", "bb"], dtype="category"),
    ],
)
def test_text_of_any_type(values):
    ids = as_ids(values, "qid")
    assert ids.dtype == TEXT
    assert ids.tolist() == ["a", "bb"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1.0, 1.5], "qid must be whole 64-bit numbers or text; found 1.5"),
        ([1.0, np.nan], "missing in row"),
        ([np.inf], "found inf"),
        ([[1], [2]], r"one-dimensional; found shape \(2, 1\)"),
        (7, "one-dimensional"),
        (np.array(["a", None], object), "qid is missing in row 1"),
        (np.array([np.nan, "a"], object), "qid is missing in row 0"),
    ],
)
def test_ids_that_cannot_be(values, message):
    with pytest.raises(DataError, match=message):
        as_ids(values, "qid")


@pytest.mark.parametrize("values", [pd.Series(["a", None], dtype="string"), pd.array([1, None])])
def test_missing_ids_of_pandas(values):
    with pytest.raises(DataError, match="missing in row 1"):
        as_ids(np.asarray(values, object), "qid")


@pytest.mark.filterwarnings("ignore:invalid value encountered")
@pytest.mark.parametrize("values", [np.array([2**63], np.uint64), [1e300, 2e300]])
def test_ids_beyond_int64_are_refused(values):
    with pytest.raises(DataError, match="qid"):
        as_ids(values, "qid")


@given(ids=st.lists(st.integers(0, 10**18 - 1), min_size=1))
def test_plain_numbers_in_text_are_numbers(ids):
    read = ids_from_text([str(i) for i in ids])
    assert read.dtype == np.int64
    assert read.tolist() == ids


@pytest.mark.parametrize("odd", ["007", "a", "1.0", "+1", "²", "٣", " 1", "1" * 20, "9" * 19])
def test_one_id_that_is_no_plain_number_makes_all_text(odd):
    read = ids_from_text(["10", odd, "0"])
    assert read.dtype == TEXT
    assert read.tolist() == ["10", odd, "0"]


def test_a_large_file_with_contiguous_queries_keeps_its_rows():
    qid = np.repeat(np.arange(10_000)[::-1], 7)
    grouping = group_by_id(qid)
    assert grouping.rows is None
    assert grouping.ids.tolist() == list(range(10_000))[::-1]
