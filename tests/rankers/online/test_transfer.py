"""Going on elsewhere, and learning from pairs alone."""

from __future__ import annotations

import copy

import numpy as np
import pytest

import rankloop as rl
from rankloop.data.simulate import separable
from rankloop.exceptions import DataError
from rankloop.rankers.registry import online_names

RANKERS = online_names()


@pytest.fixture(scope="module")
def old_and_new():
    """Two streams with different targets: the second orders by other features."""
    old = separable(150, np.random.default_rng(0), n_documents=10, n_features=8).data
    new = separable(60, np.random.default_rng(1), n_documents=10, n_features=8).data
    return old, new


@pytest.mark.matrix
@pytest.mark.parametrize("name", RANKERS)
def test_loosening_keeps_rankings(old_and_new, name):
    old, new = old_and_new
    ranker = rl.make_ranker(name).fit(old)
    loose = copy.deepcopy(ranker).discount_past(0.25)
    for query in new:
        assert np.array_equal(ranker.rank(query).order, loose.rank(query).order)
    same = copy.deepcopy(ranker).discount_past(1.0).partial_fit(new)
    assert np.array_equal(same.predict(new), ranker.partial_fit(new).predict(new))


@pytest.mark.parametrize("name", ["newton", "solar-ii", "solar-ii:covariance=diagonal", "slam"])
def test_where_the_target_drifts_a_loose_model_is_ahead(old_and_new, name):
    old, new = old_and_new
    ranker = rl.make_ranker(name).fit(old)
    values = {}
    for keep in (1.0, 0.01):
        scores = copy.deepcopy(ranker).discount_past(keep).predict_then_learn(new)
        values[keep] = rl.evaluate(new, scores, "nDCG@10")["nDCG@10"]
    assert values[0.01] > values[1.0] + 0.01


@pytest.mark.parametrize("name", ["newton", "solar-ii", "slam"])
def test_where_it_does_not_an_old_model_is_ahead_of_a_new_one(name):
    data = separable(200, np.random.default_rng(0), n_documents=10, n_features=8).data
    old, new = data.select(slice(0, 150)), data.select(slice(150, 200))
    kept = rl.make_ranker(name).fit(old).predict_then_learn(new)
    fresh = rl.make_ranker(name).predict_then_learn(new)
    measured = [rl.evaluate(new, s, "nDCG@10")["nDCG@10"] for s in (kept, fresh)]
    assert measured[0] > measured[1]


@pytest.mark.parametrize("name", ["solar-i", "solar-ii", "pairwise", "newton"])
def test_pairs_alone(old_and_new, name):
    old, _ = old_and_new
    better, worse = [], []
    for query in old:
        best, worst = np.argmax(query.y), np.argmin(query.y)
        if query.y[best] > query.y[worst]:
            better.append(query.X[best])
            worse.append(query.X[worst])
    ranker = rl.make_ranker(name).learn_pairs(np.array(better), np.array(worse))
    one_by_one = rl.make_ranker(name)
    for above, below in zip(better, worse, strict=True):
        one_by_one.learn(np.stack([above, below]), [1, 0])
    assert np.array_equal(ranker.weights_, one_by_one.weights_)
    assert rl.evaluate(old, ranker.predict(old), "nDCG@10")["nDCG@10"] > 0.95


def test_errors(old_and_new):
    old, _ = old_and_new
    with pytest.raises(DataError, match="the same shape"):
        rl.SolarI().learn_pairs(old.X[:3], old.X[:2])
    for keep in (0.0, 1.5, -1.0, float("nan")):
        with pytest.raises(DataError, match="keep must be above 0"):
            rl.SolarI().fit(old).discount_past(keep)
