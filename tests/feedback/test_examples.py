"""Training data from a ranking and its feedback."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.exceptions import DataError
from rankloop.feedback.examples import (
    find_preferred_pairs,
    inverse_propensities,
    make_graded_example,
    make_pairs_example,
)
from rankloop.feedback.ranking import Ranking, best_first
from rankloop.rankers.registry import make_ranker

X = np.random.default_rng(0).normal(size=(5, 3)).astype(np.float32)


def plain_pairs(order, grades):
    """Each document over those above it, and over the one right below it, of a lower grade."""
    found = []
    for place, one in enumerate(order):
        for other_place, other in enumerate(order):
            near = other_place < place or other_place == place + 1
            if near and grades[one] > grades[other] >= 0:
                found.append([one, other])
    return found


@given(st.permutations(range(5)), st.integers(0, 5), st.lists(st.integers(-1, 2), min_size=5))
def test_pairs(order, shown, grades):
    ranking = Ranking("r", np.array(order[:shown], np.int64), np.zeros(5))
    pairs = find_preferred_pairs(ranking, np.array(grades[:5], float))
    assert pairs.tolist() == plain_pairs(order[:shown], grades)


def test_examples_are_what_rankers_take():
    ranking = best_first([5, 4, 3, 2, 1.0], X=X, id="r")
    grades = np.array([0.0, 0.0, 1.0, 0.0, -1.0])
    one = make_ranker("solar-i").partial_fit(make_graded_example(ranking, grades))
    assert one.digest() == make_ranker("solar-i").learn(X, grades).digest()
    pairs = find_preferred_pairs(ranking, grades)
    assert pairs.tolist() == [[2, 0], [2, 1], [2, 3]]
    one = make_ranker("solar-i").partial_fit(make_pairs_example(ranking, pairs))
    other = make_ranker("solar-i").learn_pairs(X[pairs[:, 0]], X[pairs[:, 1]])
    assert one.digest() == other.digest()
    weighed = make_pairs_example(ranking, pairs, np.array([1.0, 0.0, 0.0]))
    assert weighed.query_weight.tolist() == [1, 0, 0]


def test_nothing_is_learnt_from_a_ranking_without_features():
    with pytest.raises(DataError, match="does not hold the features"):
        make_graded_example(best_first([1.0, 2.0]), np.zeros(2))


def test_inverse_propensities():
    ranking = Ranking("r", np.array([1, 0, 2]), np.zeros(4))
    weights = inverse_propensities(ranking, [1.0, 0.25], np.array([2.0, 1.0, 1.0, -1.0]))
    assert weights.tolist() == [4, 1, 4, 1]
    capped = inverse_propensities(ranking, [1.0, 0.25], np.array([2.0, 1.0, 0.0, -1.0]), 3)
    assert capped.tolist() == [3, 1, 1, 1]
    for chances in ([], [0.0], [1.5], [[0.5]]):
        with pytest.raises(DataError, match="above 0 and at most 1"):
            inverse_propensities(ranking, chances, np.zeros(4))
    with pytest.raises(DataError, match="largest must be at least 1"):
        inverse_propensities(ranking, [1.0], np.zeros(4), 0.5)
