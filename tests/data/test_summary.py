from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.data import memory
from rankloop.data.dataset import QueryDataset
from rankloop.data.summary import Histogram, summarise

NAN = math.nan


def dataset(X, y=None, group=None, **more):
    X = np.asarray(X, np.float32)
    y = np.zeros(len(X)) if y is None else y
    group = [len(X)] if group is None else group
    return QueryDataset.from_arrays(X, y, group=group, allow_nan=True, **more)


def naive(data):
    """Say the same as `summarise`, value by value."""
    X, ids = data.X.tolist(), data.doc_ids
    columns = [[row[j] for row in X] for j in range(data.n_features)]
    queries = [range(a, b) for a, b in zip(data.offsets[:-1], data.offsets[1:], strict=True)]
    key = [["gap" if math.isnan(v) else v for v in column] for column in columns]
    rows = [tuple(column[i] for column in key) for i in range(len(X))]
    grades = [{data.y[i] for i in q if data.y[i] >= 0} for q in queries]
    constant = [j for j, column in enumerate(key) if len(set(column)) == 1]
    groups = {}
    for j, column in enumerate(key):
        groups.setdefault(tuple(column), []).append(j)
    features = []
    for column in columns:
        known = [v for v in column if not math.isnan(v)]
        features.append(
            (
                min(known, default=NAN),
                max(known, default=NAN),
                math.fsum(known) / len(known) if known else NAN,
                column.count(0.0) / max(len(column), 1),
                len(column) - len(known),
            )
        )
    return {
        "empty": sum(len(q) == 0 for q in queries),
        "single": sum(len(q) == 1 for q in queries),
        "no_relevant": sum(len(q) > 0 and all(data.y[i] <= 0 for i in q) for q in queries),
        "one_grade": sum(len(q) > 0 and len(g) < 2 for q, g in zip(queries, grades, strict=True)),
        "unjudged": sum(v < 0 for v in data.y),
        "constant": constant,
        "duplicate": sorted(
            g for g in groups.values() if X and len(g) > 1 and g[0] not in constant
        ),
        "level": [
            j
            for j, column in enumerate(key)
            if j not in constant
            and any(len(q) > 1 for q in queries)
            and all(len({column[i] for i in q}) <= 1 for q in queries)
        ],
        "rows": sum(len(q) - len({rows[i] for i in q}) for q in queries) if columns else 0,
        "ids": 0 if ids is None else sum(len(q) - len({ids[i] for i in q}) for q in queries),
        "features": features,
    }


def found(data):
    s = summarise(data)
    return {
        "empty": s.empty_queries,
        "single": s.single_document_queries,
        "no_relevant": s.no_relevant,
        "one_grade": s.one_grade,
        "unjudged": s.unjudged,
        "constant": list(s.constant_features),
        "duplicate": sorted(map(list, s.duplicate_features)),
        "level": list(s.query_level_features),
        "rows": s.duplicate_documents,
        "ids": s.repeated_ids,
        "features": [
            (f.minimum, f.maximum, f.mean, f.zeros, f.missing) for f in s.feature_summaries
        ],
    }


def assert_same(data):
    seen, expected = found(data), naive(data)
    for one, other in zip(seen.pop("features"), expected.pop("features"), strict=True):
        assert one == pytest.approx(other, rel=1e-6, nan_ok=True)
    assert seen == expected


@settings(deadline=None, max_examples=200)
@given(st.data(), st.sampled_from([1, 7, 1 << 18]))
def test_is_its_definition_whatever_the_blocks(draw, block):
    group = draw.draw(st.lists(st.integers(0, 5), max_size=6))
    n, d = sum(group), draw.draw(st.integers(0, 4))
    value = st.sampled_from([0.0, -0.0, 1.0, 2.5, -1.0, NAN])
    cells = draw.draw(st.lists(value, min_size=n * d, max_size=n * d))
    y = draw.draw(st.lists(st.sampled_from([-1, 0, 1, 2]), min_size=n, max_size=n))
    ids = draw.draw(st.lists(st.sampled_from("abcdef"), min_size=n, max_size=n))
    X = np.reshape(np.array(cells, np.float32), (n, d))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "BLOCK", block)
        assert_same(dataset(X, y, np.array(group, int), doc_ids=ids))


@pytest.mark.parametrize("block", [16, 1 << 18])
def test_is_its_definition_on_more_rows(monkeypatch, block):
    monkeypatch.setattr(memory, "BLOCK", block)
    rng = np.random.default_rng(0)
    group = rng.integers(0, 9, 60)
    X = rng.normal(size=(group.sum(), 6)).astype(np.float32)
    X[:, 4] = X[:, 1]
    X[-1, 4] += 1  # equal but for the last row
    X[:, 5] = X[:, 0]
    X[:, 2] = np.repeat(rng.random(60), group)
    X[7] = X[8]
    data = dataset(X, rng.integers(-1, 3, len(X)), group)
    assert_same(data)
    assert summarise(data).duplicate_features == ((0, 5),)
    assert summarise(data).query_level_features == (2,)


def test_lists():
    s = summarise(dataset(np.ones((10, 1)), group=[1, 0, 2, 3, 4]))
    assert (s.queries, s.documents, s.features) == (5, 10, 1)
    assert s.list_lengths == (0, 1, 2, 3, 4)
    assert s.length_counts == Histogram((0, 1, 2, 3, 4), (0, 1, 2, 3, 4), (1, 1, 1, 1, 1))


def test_many_lengths_are_binned_in_whole_numbers():
    sizes = np.arange(45)
    h = summarise(dataset(np.ones((sizes.sum(), 1)), group=sizes)).length_counts
    assert h.is_binned
    assert (h.low[0], h.high[0], h.low[-1], h.high[-1]) == (0, 3, 42, 45)
    assert h.counts == (3,) * 15


def test_grades():
    s = summarise(dataset(np.ones((6, 1)), [0, 2, 0, -1, 1, 0]))
    assert s.grades == Histogram((0, 1, 2), (0, 1, 2), (3, 1, 1))
    assert not s.grades.is_binned
    h = summarise(dataset(np.ones((101, 1)), np.arange(101) / 100)).grades
    assert (h.low[0], h.high[-1], sum(h.counts), len(h.counts)) == (0, 1, 101, 20)


def test_sentinels_are_a_negative_value_among_none():
    rng = np.random.default_rng(1)
    X = rng.random((200, 5)).astype(np.float32)
    X[::10, 0] = -999  # 10%
    X[::10, 1] = -1
    X[5, 1] = -0.5  # another negative value: -1 means nothing
    X[:, 2] = np.where(X[:, 2] < 0.5, -1, 1)  # two values only
    X[0, 3] = -1  # too rare
    s = summarise(dataset(X))
    assert s.sentinel_features == ((0, -999.0),)
    assert any("-999" in note and "column 0" in note for note in s.notes)


def test_wide_features():
    rng = np.random.default_rng(2)
    X = rng.random((50_000, 5)).astype(np.float32)
    X[:, 1] *= 4.2e6
    X[7, 2] = 500  # far above 100 times the root mean square
    X[7, 3] = 90
    X[:, 4] *= 500
    s = summarise(dataset(X, feature_names=list("abcde")))
    assert s.wide_features == (1, 2)
    assert any("4.2e+06 (b, c): scale" in note for note in s.notes)


def test_huge_values_do_not_overflow():
    s = summarise(dataset([[3e38], [-3e38], [1e38]]))
    assert s.feature_summaries[0].mean == pytest.approx(1e38 / 3, rel=1e-6)
    assert s.wide_features == (0,)


def test_missing_ids_are_not_repeated():
    X = np.arange(4)[:, None]
    assert summarise(dataset(X, doc_ids=["", "", "a", "a"])).repeated_ids == 1


def test_memory_is_that_of_the_arrays():
    data = dataset(np.ones((10, 3)), group=[4, 6])
    assert summarise(data).memory == 10 * 3 * 4 + 10 * 8 + 3 * 8 + 2 * 8


def test_a_clean_data_set_has_no_notes():
    X = np.random.default_rng(3).random((40, 3))
    assert summarise(dataset(X, [0, 1] * 20, [20, 20])).notes == ()


def test_notes_say_what_to_do():
    X = [[1, 2, 5, 2, NAN], [1, 3, 5, 3, 0], [1, 3, 5, 3, 0], [1, 9, 6, 9, 1]]
    data = dataset(X, [0, -1, 1, 0], [3, 1, 0], doc_ids=["a", "b", "b", "c"])
    text = "\n".join(summarise(data).notes)
    for part in (
        "25.0% of documents are unjudged",
        "1 of 3 queries is without documents",
        "1 of 3 queries has no relevant document",
        "1 of 3 queries has documents of one grade only",
        "1 document repeats an id",
        "1 document has the same features",
        "1 feature has missing values (column 4)",
        "1 feature is constant (column 0): drop it",
        "1 feature repeats an earlier one (column 3)",
        "1 feature is constant inside every query (column 2)",
    ):
        assert part in text
    assert len(text.splitlines()) == 10


def test_nothing_at_all():
    s = summarise(QueryDataset.from_arrays(np.zeros((0, 2)), [], qid=[]))
    assert (s.queries, s.documents, s.list_lengths, s.constant_features) == (0, 0, (), ())
    assert s.notes == ("there are no documents: check the file and its format",)


def test_to_dict_is_plain_json():
    data = dataset([[NAN, 1], [NAN, 2]], [0, 1])
    plain = summarise(data).to_dict()
    assert json.loads(json.dumps(plain, allow_nan=False)) == plain
    assert plain["feature_summaries"][0]["mean"] is None
    assert plain["grades"] == {"low": [0.0, 1.0], "high": [0.0, 1.0], "counts": [1, 1]}
    assert plain["constant_features"] == [0]
