"""Pairs of neighbours in perturbed rankings: the gradient beside a naive twin."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

import rankloop as rl
from rankloop.exceptions import DataError
from rankloop.rankers.boosting.objectives import Shape
from rankloop.rankers.boosting.yetirank import NeighbourObjective


def naive(data, scores, draws, decay, seed, tree):
    """The definition, pair by pair."""
    rng = np.random.default_rng([seed, tree])
    top = max(data.y)
    gradient, hessian = [0.0] * len(scores), [0.0] * len(scores)
    weights = [1.0] * len(data) if data.query_weight is None else data.query_weight.tolist()
    for _ in range(draws):
        noise = rng.gumbel(size=len(scores))
        for q in range(len(data)):
            documents = range(data.offsets[q], data.offsets[q + 1])
            ranking = sorted(documents, key=lambda k: -(scores[k] + noise[k]))
            for p, (a, b) in enumerate(pairwise(ranking)):
                i, j = (a, b) if data.y[a] > data.y[b] else (b, a)
                gains = (2 ** data.y[i] - 2 ** data.y[j]) / 2**top
                weight = weights[q] * decay**p * gains
                wrong = 1 / (1 + math.exp(scores[i] - scores[j]))
                gradient[i] -= weight * wrong
                gradient[j] += weight * wrong
                hessian[i] += weight * wrong * (1 - wrong)
                hessian[j] += weight * wrong * (1 - wrong)
    counts = sum(w * n for w, n in zip(weights, data.sizes, strict=True))
    scale = 0.05 * counts / sum(hessian) if sum(hessian) else 0.0
    return scale * np.array(gradient), scale * np.array(hessian)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("tree", [0, 3])
def test_the_gradient_is_that_of_the_pairs(noisy, weighted, tree):
    data = noisy(12, seed=4, sizes=range(1, 9), query_weight=weighted)
    scores = np.random.default_rng(1).normal(size=data.n_documents)
    objective = NeighbourObjective(Shape.of(data), 4, 0.9, 5)
    value = objective.at(scores, tree)
    gradient, hessian = naive(data, scores, 4, 0.9, 5, tree)
    assert np.allclose(objective.gradient, gradient, atol=1e-6)
    assert np.allclose(objective.hessian, hessian, atol=1e-6)
    assert abs(np.add.reduceat(objective.gradient, data.offsets[:-1])).max() < 1e-5
    assert np.isclose(value, 1 - rl.evaluate(data, scores, "nDCG")["nDCG"])


def test_extreme_scores_and_equal_grades(noisy):
    data = noisy(5, seed=1)
    objective = NeighbourObjective(Shape.of(data), 3, 0.97, 0)
    objective.at(np.where(data.y > 1, -1e6, 1e6), 0)
    assert np.isfinite(objective.gradient).all()
    assert np.isfinite(objective.hessian).all()
    equal = rl.QueryDataset.from_arrays(data.X, np.ones(data.n_documents), group=data.sizes)
    objective = NeighbourObjective(Shape.of(equal), 3, 0.97, 0)
    objective.at(np.zeros(data.n_documents), 0)
    assert not objective.gradient.any()


def test_only_grades_that_differ_matter(train):
    """Gains are divided by the largest, and the Hessian has a fixed mean: no grade is too large."""
    higher = rl.QueryDataset.from_arrays(train.X, train.y + 1000 * (train.y > 2), qid=train.qid)
    assert np.isfinite(rl.rankers.YetiRank(trees=5).fit(higher).predict(train)).all()


def test_bad_parameters(train, noisy):
    for params, says in (
        ({"draws": 0}, "draws must be a whole number of at least 1; found 0"),
        ({"decay": 0.0}, "decay must be a number above 0 to 1; found 0"),
    ):
        with pytest.raises(DataError, match=says):
            rl.rankers.YetiRank(**params).fit(train)
    with pytest.raises(DataError, match="cannot use document weights"):
        rl.rankers.YetiRank().fit(noisy(sample_weight=True))
