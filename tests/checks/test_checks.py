"""The shipped checks: everything in the package passes them, and broken subjects do not."""

from __future__ import annotations

import copy

import numpy as np
import pytest

from rankloop import checks
from rankloop.data.dataset import QueryDataset
from rankloop.measures.measure import FAMILIES, Measure
from rankloop.rankers.traits import Traits


@pytest.mark.slow
@pytest.mark.parametrize(
    ("subject", "check"),
    [pytest.param(s, c, id=f"{s}-{c.__name__}") for s, c in checks.all_checks()],
)
def test_the_package_passes(subject, check):
    check(subject)


def test_every_measure_is_found():
    found = {s.name for s in checks.discover() if isinstance(s, Measure)}
    assert found == set(FAMILIES)


class SquaredPairs:
    """Squared hinge over pairs of unlike grade."""

    smooth = True
    convex = True

    def pairs(self, scores, grades):
        judged = grades >= 0
        better = (grades[:, None] > grades[None, :]) & judged[:, None] & judged[None, :]
        return np.where(better, np.maximum(0, 1 - scores[:, None] + scores[None, :]), 0)

    def value(self, scores, grades):
        return float((self.pairs(scores, grades) ** 2).sum())

    def gradient(self, scores, grades):
        pull = 2 * self.pairs(scores, grades)
        return pull.sum(axis=0) - pull.sum(axis=1)


class Centroids:
    """Scores along the mean of (grade - mean grade) x: simple, online, deterministic."""

    traits = Traits(is_robust=False)  # an outlier takes a mean wherever it wants

    def fit(self, X, y, *, qid):
        data = QueryDataset.from_arrays(X, y, qid=qid)  # bad data raises before anything changes
        self.w_ = None
        return self.partial_fit(data.X, data.y, qid=data.qid)

    def partial_fit(self, X, y, *, qid):
        for query in QueryDataset.from_arrays(X, y, qid=qid):
            self.learn(query.X, query.y)
        return self

    def learn(self, X, y):
        step = (y - y.mean()) @ X.astype(float)
        self.w_ = step if getattr(self, "w_", None) is None else self.w_ + step
        return self

    def predict(self, X):
        return X @ self.w_


def broken(cls, method, replacement):
    return type(f"Broken{cls.__name__}", (cls,), {method: replacement})()


def test_a_good_loss_and_a_good_ranker_pass():
    checks.check(SquaredPairs())
    checks.check(Centroids())


def starting_over(self, X, y, *, qid):
    self.w_ = None
    return Centroids.partial_fit(self, X, y, qid=qid)


def batch_scores(self, X):
    scores = X @ self.w_
    return scores - scores.mean()


def forgetful_fit(self, X, y, *, qid):
    return self.partial_fit(X, y, qid=qid)


def first_rows_only(self, X, y, *, qid):
    self.w_ = None
    starts = np.flatnonzero(np.r_[True, qid[1:] != qid[:-1]])
    for start, end in zip(starts, np.r_[starts[1:], len(qid)], strict=True):
        self.learn(X[start:end], y[start:end])
    return self


def hasty_fit(self, X, y, *, qid):
    self.w_ = np.zeros(X.shape[1])
    return self.partial_fit(X, y, qid=qid)


def half_gradient(self, scores, grades):
    return 0.5 * SquaredPairs.gradient(self, scores, grades)


def unjudged_value(self, scores, grades):
    return SquaredPairs.value(self, scores, np.abs(grades))


def greedy_value(self, scores, grades):
    scores -= 1.0
    return SquaredPairs.value(self, scores, grades)


@pytest.mark.parametrize(
    ("subject", "says"),
    [
        (broken(SquaredPairs, "gradient", half_gradient), "finite difference"),
        (broken(SquaredPairs, "value", unjudged_value), "unjudged"),
        (broken(SquaredPairs, "value", greedy_value), "changed the scores"),
        (broken(Centroids, "predict", lambda _, X: np.full(len(X), np.nan)), "nDCG|finite|NaN"),
        (broken(Centroids, "predict", lambda self, X: -(X @ self.w_)), "separable"),
        (broken(Centroids, "predict", batch_scores), "batch"),
        (broken(Centroids, "fit", forgetful_fit), "remembers"),
        (broken(Centroids, "fit", first_rows_only), "row order|raised no error"),
        (broken(Centroids, "fit", hasty_fit), "a failed fit changed the model"),
        (broken(Centroids, "partial_fit", starting_over), "partial_fit does not continue"),
        (broken(Centroids, "traits", Traits()), "after a cell of"),
    ],
)
def test_broken_subjects_fail(subject, says):
    with pytest.raises((AssertionError, ValueError), match=says):
        checks.check(copy.deepcopy(subject))


def test_other_things_are_refused():
    with pytest.raises(TypeError, match="is not a measure, a loss"):
        checks.checks_for(object())
