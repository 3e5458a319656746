"""KeepRank on a stream: one document after the other, no more memory than the budget."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop.data.scaling import QueryMinMax
from rankloop.data.simulate import separable
from rankloop.exceptions import DataError
from rankloop.measures.evaluation import evaluate
from rankloop.rankers.kernel.keeprank import KeepRank
from rankloop.rankers.kernel.keeprank_online import OnlineKeepRank
from rankloop.rankers.registry import make_online_ranker

from ..streams import stream


class Twin:
    """The step as it is printed, a document at a time, over all documents ever seen."""

    def __init__(self, d, rate=1.0, graded=False):
        self.X, self.alpha = np.zeros((0, d)), np.zeros(0)
        self.rate, self.graded = rate, graded

    def learn(self, X, y):
        rows = QueryMinMax().transform_rows(X, np.array([0, len(X)]))[y >= 0].astype(np.float64)
        y = y[y >= 0]
        if len(y) == 0 or (self.graded and len(set(y)) == 1):
            return
        before = self.X, self.alpha
        self.X, self.alpha = np.vstack([self.X, rows]), np.r_[self.alpha, np.zeros(len(rows))]
        stepped = False
        for x, grade in zip(rows, y, strict=True):
            k = np.exp(-((self.X - x) ** 2).sum(axis=1) / 2)
            short = self.short_of(float(self.alpha @ k), grade, y)
            self.alpha = self.alpha + self.rate * short * k / (k @ k)
            stepped |= short != 0
        if not stepped:
            self.X, self.alpha = before

    def short_of(self, score, grade, y):
        if not self.graded:
            side = 1 if grade > 0 else -1
            return side * max(0.0, 1 - side * score)
        place = 2 * (grade - y.min()) / (y.max() - y.min()) - 1
        if grade == y.max():
            return max(0.0, place - score)
        return min(0.0, place - score) if grade == y.min() else place - score


@pytest.mark.parametrize("rate", [1.0, 0.3])
@pytest.mark.parametrize("targets", ["binary", "graded"])
def test_it_takes_the_steps_of_its_twin(targets, rate):
    data = stream("short", seed=3)
    ranker = OnlineKeepRank("rbf(1)", targets, rate=rate, budget=None, average=False)
    twin = Twin(data.n_features, rate, targets == "graded")
    for query in data:
        ranker.learn(query.X, query.y)
        twin.learn(np.asarray(query.X, np.float32), np.asarray(query.y, np.float64))
        assert np.allclose(ranker.coefficients_, twin.alpha, rtol=1e-3, atol=1e-4)


def test_one_query_is_one_pass_of_the_batch_ranker():
    data = separable(1, np.random.default_rng(0), n_documents=30).data
    online = OnlineKeepRank("rbf(2)", rate=1.0, budget=None, average=False).fit(data)
    batch = KeepRank(
        "rbf(2)", "binary", passes=1, average=False, random_state=None, patience=None
    ).fit(data)
    assert np.allclose(online.coefficients_, batch.coefficients_, rtol=1e-4, atol=1e-5)


def test_a_budget_is_kept_and_still_ranks():
    data = separable(120, np.random.default_rng(1), n_features=4).data
    ranker = make_online_ranker("online-keeprank:budget=50")
    scores = ranker.predict_then_learn(data)
    assert len(ranker.support_) == 50
    assert evaluate(data, scores, "AP")["AP"] > 0.85


def test_weights_count_and_queries_of_one_grade():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.2, 0.2]], np.float32)
    left_out = OnlineKeepRank().learn(X, [1, 0, 2], sample_weight=[1, 1, 0])
    without = OnlineKeepRank().learn(X, [1, 0, -1])
    assert np.array_equal(left_out.coefficients_, without.coefficients_)
    graded = OnlineKeepRank(targets="graded").learn(X, [1, 1, 1])
    assert graded.updates_ == 0
    assert OnlineKeepRank().learn(X, [1, 1, 1]).updates_ == 1  # each document has its own target


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"targets": "many"}, "targets must be binary or graded"),
        ({"rate": 2}, "rate must be a number above 0 to 1"),
        ({"margin": 0}, "margin must be a number above 0"),
    ],
)
def test_errors(parameters, message):
    with pytest.raises(DataError, match=message):
        OnlineKeepRank(**parameters).learn(np.eye(2), [1, 0])
