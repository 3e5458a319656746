"""Gaps, dates and categories, learnt with the model and kept in it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import rankloop as rl
from rankloop.data.features import FEW, MAX
from rankloop.exceptions import DataError


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
        rl.rankers.OnlineDescribed(),
        rl.rankers.OnlineDescribed(rl.Auto()),
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
        rl.rankers.OnlineDescribed(),
        rl.rankers.Described(rl.XENDCG(), warm_start=True),
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


class TestEncoding:
    def learn(self, values, **options):
        data = rl.QueryDataset.from_arrays(
            pd.DataFrame({"x": values}), [0] * len(values), group=[len(values)], allow_nan=True
        )
        return rl.data.Features.learn(data, **options), data

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

    def test_many_categories_share_a_column(self):
        words = [f"w{k}" for k in range(FEW + 1)] + ["w0"]
        learnt, data = self.learn(words)
        assert learnt.encoded_names == ["share of x"]
        assert learnt.encode(data.X)[0, 0] == np.float32(2 / len(words))

    def test_rare_categories_count_as_missing(self):
        words = [f"w{k // 2}" for k in range(2 * MAX)] + ["rare"]
        learnt, _ = self.learn(words)
        assert len(learnt.columns[0].categories) == MAX
        assert "rare" not in learnt.columns[0].categories

    def test_dates_are_ages(self):
        learnt, data = self.learn(pd.to_datetime(["2026-01-01", None, "2026-01-04"]))
        assert learnt.natural(data.X)[[0, 2], 0].tolist() == [3, 0]
        assert learnt.encoded_names == ["age of x", "x is missing"]

    def test_a_damaged_description_is_refused(self):
        learnt, _ = self.learn([1.0, 2.0])
        told = learnt.to_dict()
        assert rl.data.Features.from_dict(told) == learnt
        for change in ({"kind": "colour"}, {"default": "x"}, {"shares": [1.0]}, {"more": 1}):
            bad = {"columns": [{**told["columns"][0], **change}]}
            with pytest.raises(rl.ModelError, match="description of features is damaged"):
                rl.data.Features.from_dict(bad)
