"""What a data set refuses to be made of, and what it knows of its features."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import rankloop as rl
from rankloop import _core
from rankloop.data.dataset import QueryDataset
from rankloop.data.joining import concat
from rankloop.exceptions import DataError

N, D, Q = 40, 3, 4
GOOD = {
    "X": np.arange(N * D, dtype=np.float32).reshape(N, D),
    "y": np.arange(N) % 3.0,
    "offsets": np.array([0, 9, 20, 20, 40]),
    "query_ids": np.array([7, 3, 5, 4]),
    "doc_ids": np.array([f"D{i}" for i in range(N)], np.dtypes.StringDType()),
    "feature_names": ("a", "b", "c"),
    "sample_weight": np.ones(N),
    "query_weight": np.ones(Q),
    "rows": np.arange(N)[::-1],
}
MISSING = np.where(GOOD["X"] == 50, np.nan, GOOD["X"]).astype(np.float32)


def with_value(name, place, value):
    changed = GOOD[name].copy()
    changed[place] = value
    return {name: changed}


WRONG = {
    "offsets fall": ({"offsets": [0, 9, 3, 20, 40]}, "never decrease.*found 9 followed by 3 at 1"),
    "offsets below 0": ({"offsets": [0, -5, 9, 20, 40]}, "found 0 followed by -5"),
    "offsets beyond the rows": ({"offsets": [0, 1 << 40, 9, 20, 40]}, "followed by 9"),
    "offsets end early": ({"offsets": [0, 9, 20, 30, 39]}, "rows, 40; found 0 first and 39 last"),
    "offsets end late": ({"offsets": [0, 9, 20, 30, 41]}, "found 0 first and 41 last"),
    "offsets start late": ({"offsets": [1, 9, 20, 30, 40]}, "found 1 first and 40 last"),
    "no offsets": ({"offsets": []}, "offsets must be a list of whole numbers"),
    "offsets with fractions": ({"offsets": [0.0, 9.5, 20, 30, 40]}, "found float64"),
    "offsets in a square": ({"offsets": [[0, 40]]}, "found int64 of shape"),
    "offsets unsigned": ({"offsets": np.array([0, 30, 9, 20, 40], np.uint64)}, "never decrease"),
    "features float64": ({"X": GOOD["X"].astype(float)}, "X must be a float32 array.*from_arrays"),
    "features in one dimension": ({"X": GOOD["X"].ravel()}, r"found float32 of shape \(120,\)"),
    "features a list": ({"X": GOOD["X"].tolist()}, "found <class 'list'>"),
    "too few grades": ({"y": np.zeros(39)}, "y has 39 values for 40 rows"),
    "grades NaN": (with_value("y", 5, np.nan), "the grade of row 5 is nan"),
    "grades infinite": (with_value("y", 6, -np.inf), "the grade of row 6 is -inf"),
    "grades text": ({"y": ["x"] * N}, "grades must be numbers"),
    "too few query ids": ({"query_ids": [1, 2, 3]}, "query_ids has 3 values for 4 queries"),
    "query ids with fractions": ({"query_ids": [1.5, 2, 3, 4]}, "whole 64-bit numbers or text"),
    "too few document ids": ({"doc_ids": GOOD["doc_ids"][1:]}, "doc_ids has 39 values for 40 rows"),
    "a missing document id": ({"doc_ids": [None] * N}, "doc_ids is missing in row 0"),
    "too few names": ({"feature_names": ("a", "b")}, "feature_names has 2 values for 3 features"),
    "names that are none": ({"feature_names": ("a", "b", 3)}, "must be a list of texts; found 3"),
    "names as one text": ({"feature_names": "abc"}, "must be a list of texts; found 'abc'"),
    "weights NaN": (
        with_value("sample_weight", 3, np.nan),
        "sample_weight must be.*found nan at 3",
    ),
    "weights below 0": (with_value("sample_weight", 4, -1), r"found -1.0 at 4"),
    "weights infinite": (with_value("query_weight", 1, np.inf), "query_weight.*inf at 1"),
    "weights text": ({"sample_weight": ["x"] * N}, "sample_weight must be numbers"),
    "too few weights": ({"sample_weight": np.ones(39)}, "sample_weight has 39 values for 40 rows"),
    "a weight a row": ({"query_weight": np.ones(N)}, "query_weight has 40 values for 4 queries"),
    "rows twice": (
        with_value("rows", 5, 0),
        "rows must contain each number from 0 to 39 exactly once",
    ),
    "rows below 0": (with_value("rows", 5, -1), "rows must contain each"),
    "rows beyond": (with_value("rows", 5, 1 << 40), "rows must contain each"),
    "too few rows": ({"rows": np.arange(39)}, "rows must contain each"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_cannot_be_right_is_refused(kind):
    change, message = WRONG[kind]
    with pytest.raises(DataError, match=message):
        QueryDataset(**{**GOOD, **change})
    with pytest.raises(DataError, match=message):
        replace(QueryDataset(**GOOD), **change)


def test_what_is_right_is_kept_as_it_is():
    data = QueryDataset(**GOOD)
    for name, value in GOOD.items():
        assert getattr(data, name) is value
    only = QueryDataset(*[GOOD[name] for name in ("X", "y", "offsets", "query_ids")])
    assert only.n_queries == Q


def test_other_forms_of_the_same_become_the_usual():
    data = QueryDataset(
        GOOD["X"],
        [1] * N,
        GOOD["offsets"].tolist(),
        ["a", "b", "c", "d"],
        feature_names=list("abc"),
    )
    assert data.y.dtype == np.float64
    assert data.offsets.dtype == np.int64
    assert data.query(3).id == "d"
    assert data.feature_names == ("a", "b", "c")


@pytest.mark.slow
@settings(max_examples=300)
@given(
    offsets=arrays(np.int64, st.integers(0, 6), elements=st.integers(-3, 12) | st.just(1 << 40)),
    n=st.integers(0, 12),
)
def test_offsets_are_taken_exactly_where_they_part_the_rows(offsets, n):
    steps = list(offsets)
    right = bool(steps) and steps == sorted(steps) and steps[0] == 0 and steps[-1] == n
    X, y, ids = np.zeros((n, 1), np.float32), np.zeros(n), np.arange(max(len(offsets) - 1, 0))
    if right:
        assert sum(len(query) for query in QueryDataset(X, y, offsets, ids)) == n
    else:
        with pytest.raises(DataError, match="offsets must"):
            QueryDataset(X, y, offsets, ids)


CRASHES = """
import numpy as np, rankloop as rl
for offsets in ([0, 9, 3, 40], [0, -5, 40], [0, 1 << 40, 40]):
    try:
        data = rl.QueryDataset(np.zeros((40, 3), np.float32), np.arange(40.0), np.array(offsets),
                               np.arange(len(offsets) - 1))
        rl.Slam().fit(data)
    except rl.DataError as error:
        print("refused")
"""


def test_bad_offsets_do_not_reach_the_core():
    done = subprocess.run([sys.executable, "-c", CRASHES], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "refused\n" * 3)


# Parts of a data set


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        ([True, False], "the mask has 2 values for 4 queries"),
        ([True] * 5, "the mask has 5 values for 4 queries"),
        ([0.5, 1.0], "found float64"),
        (["a"], "found <U1"),
        ([[0, 1]], "found int64 of shape"),
    ],
)
def test_select_refuses_what_names_no_queries(queries, message):
    with pytest.raises(DataError, match=message):
        QueryDataset(**GOOD).select(queries)


def test_keep_takes_a_mask():
    data = QueryDataset(**GOOD)
    with pytest.raises(
        DataError, match="keep takes a mask with one boolean per document; found int64"
    ):
        data.keep(np.ones(N, int))
    with pytest.raises(DataError, match="documents has 3 values for 40 rows"):
        data.keep(np.ones(3, bool))
    assert data.keep(np.arange(N) < 12).sizes.tolist() == [9, 3]


def test_features_left_out_are_not_kept_in_memory():
    X = GOOD["X"].copy()
    bare = QueryDataset(**{**GOOD, "X": X}).without_features()
    assert not np.shares_memory(bare.X, X)
    assert bare.X.base is None
    assert bare.X.shape == (N, 0)
    assert bare.y is GOOD["y"]


# Missing values


def counted_passes(monkeypatch):
    passes = []
    real = _core.first_not_finite

    def first_not_finite(X, **options):
        if X.ndim == 2:  # grades are looked at too
            passes.append(X.size)
        return real(X, **options)

    monkeypatch.setattr(_core, "first_not_finite", first_not_finite)
    return passes


def test_whether_values_are_missing_is_found_once(monkeypatch):
    passes = counted_passes(monkeypatch)
    data = QueryDataset(**GOOD)
    assert passes == []
    assert (data.has_missing, data.has_missing) == (False, False)
    assert passes == [N * D]
    parts = [data.select(slice(1, 3)), data.select([2, 0]), data.keep(GOOD["y"] > 0)]
    parts += [data.shuffle(np.random.default_rng(0)), data.without_features()]
    parts += [concat([data.select([0]), data.select([1])]), copy.copy(data)]
    parts += [pickle.loads(pickle.dumps(data))]
    assert not any(part.has_missing for part in parts)
    assert passes == [N * D]


def test_a_part_may_have_none_of_the_missing_values():
    data = QueryDataset(**{**GOOD, "X": MISSING})
    assert data.has_missing
    assert not data.select([0]).has_missing
    assert data.select([1]).has_missing
    assert concat([data.select([0]), data.select([1])]).has_missing
    assert not replace(data, X=GOOD["X"]).has_missing
    assert not data.without_features().has_missing


def test_readers_know_that_nothing_is_missing(monkeypatch, tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("1 qid:1 1:NULL 2:3\n0 qid:1 1:2\n")
    checked = rl.QueryDataset.from_arrays([[1.0]], [1], qid=[1])
    passes = counted_passes(monkeypatch)
    assert not rl.read_letor(path).has_missing
    assert not next(rl.data.iter_letor(path)).has_missing
    assert not checked.has_missing
    assert passes == []
    assert rl.read_letor(path, null=np.nan).has_missing


@pytest.mark.parametrize("X", [GOOD["X"], MISSING], ids=["nothing missing", "one missing"])
def test_an_infinite_feature_is_named(X):
    X = X.copy()
    X[30, 1] = -np.inf
    data = QueryDataset(**{**GOOD, "X": X})
    with pytest.raises(DataError, match="feature b of row 30 is -inf as float32"):
        data.has_missing  # noqa: B018
    with pytest.raises(DataError, match="feature 1 of row 30 is -inf"):
        replace(data, feature_names=None).has_missing  # noqa: B018


# Rows in place


@given(
    n=st.integers(0, 30), d=st.integers(0, 4), seed=st.integers(0, 1000), contiguous=st.booleans()
)
def test_rows_are_gathered_in_place(n, d, seed, contiguous):
    rng = np.random.default_rng(seed)
    X = rng.random((n, d)).astype(np.float32)
    rows = np.arange(n) if contiguous else rng.permutation(n)
    expected = X[rows]
    _core.gather_rows(X, rows)
    assert np.array_equal(X, expected)


@pytest.mark.parametrize("rows", [[0, 0, 1], [0, 1, 3], [0, 1, -1], [0, 1], [0, 1, 1 << 40]])
def test_what_is_no_permutation_gathers_nothing(rows):
    X = np.arange(6, dtype=np.float32).reshape(3, 2)
    with pytest.raises(ValueError, match="rows must"):
        _core.gather_rows(X, np.array(rows))
    assert X.ravel().tolist() == [0, 1, 2, 3, 4, 5]
