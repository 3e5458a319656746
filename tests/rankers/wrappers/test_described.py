"""Gaps, dates and categories, learnt with the model and kept in it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import rankloop as rl
from rankloop.exceptions import DataError
from rankloop.experiments.explaining import contributions
from rankloop.features.hashing import bucket_of


def shop(seed=0, queries=60):
    """Ten documents per query: a brand that matters, a price that is missing half the time."""
    rng = np.random.default_rng(seed)
    n = 10 * queries
    brand = rng.integers(0, 3, n)
    price = rng.normal(size=n)
    grade = np.digitize(brand + price + 0.3 * rng.normal(size=n), [0.5, 2.0])
    frame = pd.DataFrame(
        {
            "price": np.where(rng.random(n) < 0.5, np.nan, price),
            "brand": np.array(["low", "mid", "top"])[brand],
            "added": pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 9, n), "D"),
            "sale": pd.array(rng.random(n) < 0.5, "boolean"),
        }
    )
    return frame, grade, np.repeat(np.arange(queries), 10)


def rankers():
    return [
        rl.rankers.Described(),
        rl.rankers.Described(rl.LambdaMART(trees=20)),
        rl.rankers.Described(rl.XENDCG()),
        rl.rankers.Described(),
        rl.rankers.Described(rl.Auto()),
    ]


@pytest.mark.parametrize("ranker", rankers(), ids=repr)
def test_it_learns_from_what_is_there_and_scores_by_name(ranker, tmp_path):
    X, y, qid = shop()
    ranker.fit(X, y, qid=qid)
    other, grades, ids = shop(1)
    data = rl.QueryDataset.from_arrays(other, grades, qid=ids, allow_nan=True)
    scores = ranker.predict(data)
    assert rl.evaluate(data, scores)["nDCG@10"] > 0.87
    turned = other[other.columns[::-1]]
    assert np.array_equal(ranker.predict(turned, qid=ids), scores)
    path = tmp_path / "model.rlm"
    ranker.save(path)
    assert np.array_equal(rl.load(path).predict(data), scores)
    assert rl.load(path).features == ranker.features


@pytest.mark.parametrize("ranker", rankers(), ids=repr)
def test_categories_have_the_codes_of_training(ranker):
    """Another table numbers its categories in another order."""
    X, y, qid = shop()
    ranker.fit(X, y, qid=qid)
    few = X[:3].assign(
        brand=["top", "low", "never seen"], price=0.0, sale=True, added=X["added"][0]
    )
    one = rl.QueryDataset.from_arrays(few, [0, 0, 0], group=[3], allow_nan=True)
    back = few[::-1].reset_index(drop=True)
    other = rl.QueryDataset.from_arrays(back, [0, 0, 0], group=[3], allow_nan=True)
    assert one.features != other.features
    assert np.array_equal(ranker.predict(one), ranker.predict(other)[::-1])
    assert ranker.predict(one)[0] > ranker.predict(one)[1]


def test_columns_that_are_gone_or_changed_are_refused():
    X, y, qid = shop()
    ranker = rl.rankers.Described(rl.XENDCG()).fit(X, y, qid=qid)
    with pytest.raises(DataError, match="brand"):
        ranker.predict(X.drop(columns="brand"), qid=qid)
    data = rl.QueryDataset.from_arrays(X.assign(brand=1.0, price="a"), y, qid=qid, allow_nan=True)
    with pytest.raises(DataError, match="was a number when the model was trained, but is a categ"):
        ranker.predict(data)


@pytest.mark.parametrize("ranker", [rl.LambdaMART(), rl.Slam(), rl.XENDCG(), rl.Auto()], ids=repr)
def test_others_refuse_what_they_would_take_for_numbers(ranker):
    X, y, qid = shop()
    data = rl.QueryDataset.from_arrays(X, y, qid=qid, allow_nan=True)
    with pytest.raises(
        DataError, match=r"takes numbers only.*'brand' \(category\), 'added' \(date"
    ):
        ranker.fit(data)


def test_learning_goes_on_with_the_description_it_has():
    X, y, qid = shop()
    for ranker in (
        rl.rankers.Described(),
        rl.rankers.Described(rl.XENDCG(warm_start=True)),
    ):
        ranker.fit(X, y, qid=qid)
        before = ranker.features
        X2, y2, qid2 = shop(3)
        more = rl.QueryDataset.from_arrays(X2, y2, qid=qid2, allow_nan=True)
        ranker.go_on(more)
        assert ranker.features == before


def test_trees_see_gaps_and_categories_as_they_are():
    X, y, qid = shop()
    ranker = rl.rankers.Described(rl.LambdaMART(trees=5)).fit(X, y, qid=qid)
    assert ranker.ranker_.n_features_in_ == 4
    assert list(ranker.ranker_.categorical) == [1]
    assert (
        rl.rankers.Described(rl.XENDCG()).fit(X, y, qid=qid).ranker_.n_features_in_ == 2 + 3 + 1 + 1
    )


class TestAGivenDescription:
    """Of a live loop: kinds and limits are known, and there is no data to learn from."""

    FEATURES = rl.features.Features(
        (
            rl.features.Feature("price", missing="indicator", default=10.0),
            rl.features.Feature("brand", "category", limit=20, buckets=4),
        )
    )

    @pytest.mark.parametrize("inner", [None, rl.Auto(), rl.Slam()], ids=repr)
    def test_learning_starts_with_one_query(self, inner, tmp_path):
        ranker = rl.rankers.Described(inner, description=self.FEATURES)
        for _ in range(20):
            ranker.learn([[1.0, 3.0], [np.nan, 21.0], [2.0, np.nan]], [0, 2, 1])
        query = np.array([[1, 3], [np.nan, 21], [2, 20]], np.float32)
        scores = ranker.predict(query, group=[3])
        assert scores[1] > scores[0]
        assert ranker.features == self.FEATURES
        ranker.save(tmp_path / "model.rlm")
        again = rl.load(tmp_path / "model.rlm")
        assert again.digest() == ranker.digest()
        assert np.array_equal(again.predict(query, group=[3]), scores)
        again.learn([[1.0, 3.0], [np.nan, 21.0]], [0, 2])  # and goes on

    def test_it_must_have_the_columns_of_the_data(self):
        ranker = rl.rankers.Described(description=self.FEATURES)
        with pytest.raises(DataError, match="the description has 2 columns, but the data has 3"):
            ranker.learn([[1.0, 2.0, 3.0]], [1])
        with pytest.raises(DataError, match="description must be Features"):
            rl.rankers.Described(description="brand").learn([[1.0]], [1])


class TestEncoding:
    def learn(self, values, **options):
        data = rl.QueryDataset.from_arrays(
            pd.DataFrame({"x": values}), [0] * len(values), group=[len(values)], allow_nan=True
        )
        return rl.features.Features.learn(data, **options), data

    def test_the_median_and_a_mark_where_training_has_gaps(self):
        learnt, data = self.learn([1.0, np.nan, 3.0, 9.0])
        assert learnt.encode(data.X).tolist() == [[1, 0], [3, 1], [3, 0], [9, 0]]
        whole, _ = self.learn([1.0, 3.0, 9.0])
        assert whole.encode(data.X).tolist() == [[1], [3], [3], [9]]  # no mark was learnt

    @pytest.mark.parametrize(("missing", "filled"), [("median", 3), ("default", 7)])
    def test_rules(self, missing, filled):
        learnt, data = self.learn([1.0, np.nan, 3.0, 9.0], missing=missing, default=7.0)
        assert learnt.encode(data.X)[1].tolist() == [filled]

    def test_unknown_rule(self):
        with pytest.raises(DataError, match="missing must be indicator, median, default"):
            self.learn([1.0], missing="mean")

    def test_numbers_stay_in_the_range_of_training(self):
        learnt, _ = self.learn([1.0, 2.0])
        far = np.array([[-5.0], [99.0]], np.float32)
        assert learnt.encode(far).ravel().tolist() == [1, 2]

    def test_each_category_has_a_column(self):
        words = [f"w{k}" for k in range(40)] + ["w7"]
        learnt, data = self.learn(words)
        assert learnt.encoded_names[:3] == ["x = w7", "x = w0", "x = w1"]  # frequent ones first
        encoded = learnt.encode(learnt.take(data))
        assert encoded.shape == (41, 40)
        assert encoded[7].tolist() == encoded[40].tolist() == [1.0] + [0.0] * 39

    def test_categories_beyond_the_limit_share_columns_by_a_hash(self):
        words = ["a", "a", "b", "b", "c", "d", "e"]
        learnt, data = self.learn(words, limit=2, buckets=3)
        assert learnt.columns[0].categories == ("a", "b")
        codes = learnt.take(data).ravel().tolist()
        assert codes == [0, 0, 1, 1, *(2 + bucket_of(word, 3) for word in "cde")]
        assert learnt.encode(learnt.take(data)).sum(axis=1).tolist() == [1] * 7
        later = self.learn(["unseen"])[1]
        assert learnt.take(later).tolist() == [[2 + bucket_of("unseen", 3)]]
        assert self.learn(words, limit=2, buckets=0)[0].encoded_names == ["x = a", "x = b"]

    def test_dates_are_ages(self):
        learnt, data = self.learn(pd.to_datetime(["2026-01-01", None, "2026-01-04"]))
        assert learnt.natural(data.X)[[0, 2], 0].tolist() == [3, 0]
        assert learnt.encoded_names == ["age of x", "x is missing"]

    def test_a_damaged_description_is_refused(self):
        learnt, _ = self.learn([1.0, 2.0])
        told = learnt.to_dict()
        assert rl.features.Features.from_dict(told) == learnt
        for change in (
            {"kind": "colour"},
            {"default": "x"},
            {"buckets": -1},
            {"limit": 1.5},
            {"low": 3.0, "high": 2.0},
            {"more": 1},
        ):
            bad = {"columns": [{**told["columns"][0], **change}]}
            with pytest.raises(rl.ModelError, match="description of features is damaged"):
                rl.features.Features.from_dict(bad)


def test_what_a_category_adds_is_what_it_adds_to_none(tmp_path):
    """The mean of codes would be another category, and the mean of gaps a gap for all."""
    X, y, qid = shop()
    ranker = rl.rankers.Described().fit(X, y, qid=qid)
    some = X[:10]
    parts = ranker.contributions(some)
    names = list(X.columns)
    scores = ranker.predict(some)
    assert np.allclose(parts.sum(axis=1), scores)
    without = ranker.predict(some.assign(brand=None))
    assert np.allclose(parts[:, names.index("brand")], scores - without)
    usual = ranker.predict(some.assign(price=some["price"].astype("float32").mean()))
    assert np.allclose(parts[:, names.index("price")], scores - usual, atol=1e-6)
    data = rl.QueryDataset.from_arrays(some, y[:10], group=[10], allow_nan=True)
    added = contributions(ranker, data)
    assert np.allclose(added[:, names.index("brand")], scores - without)
