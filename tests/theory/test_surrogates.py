from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.exceptions import MeasureError
from rankloop.losses.maxpair import MaxPairLoss
from rankloop.losses.slam import SlamLoss
from rankloop.theory.solar import pair_constant
from rankloop.theory.surrogates import (
    check_measure,
    excesses,
    is_mistake,
    max_pair_surrogate,
    slam_surrogate,
    slam_weights,
    weight_ratio,
    worst_slam_surrogate,
)

from . import twins

MEASURES = ["nDCG", "nDCG@1", "nDCG@3", "AP"]
queries = st.lists(
    st.tuples(
        st.one_of(st.integers(-3, 3).map(float), st.floats(-5, 5, width=32)), st.integers(0, 4)
    ),
    min_size=1,
    max_size=9,
).map(lambda pairs: tuple(np.array(column, float) for column in zip(*pairs, strict=True)))
measures = st.sampled_from(MEASURES)


@given(queries, measures)
def test_slam_bounds_the_measure(query, measure):
    """Theorem 4, and eq. 24: for every score vector, ties included."""
    s, y = query
    loss = twins.loss_of(y, s, measure)
    assert slam_surrogate(s, y, measure) >= loss - 1e-12
    assert worst_slam_surrogate(s, y, measure) >= slam_surrogate(s, y, measure) - 1e-12
    assert slam_surrogate(s, y, measure) == pytest.approx(SlamLoss(measure).value(s, y))
    if is_mistake(s, y):
        assert max_pair_surrogate(s, y) >= 1 >= loss
    else:
        assert loss < 1e-12


@given(queries, measures, st.integers(0, 99))
def test_frozen_surrogates_lie_between(query, measure, seed):
    s, y = query
    order = np.random.default_rng(seed).normal(size=len(s))
    value = slam_surrogate(s, y, measure, order)
    assert slam_surrogate(s, y, measure) - 1e-12 <= value
    assert value <= worst_slam_surrogate(s, y, measure) + 1e-12


@given(queries, measures)
def test_as_written_down(query, measure):
    s, y = query
    v = slam_weights(y, measure, s)
    assert v == pytest.approx(twins.slam_weights(y, measure, s))
    assert v.sum() == pytest.approx(1.0 if y.any() else 0.0)
    mistakes = [s[j] - s[i] for i, j in twins.pairs(y)]
    assert excesses(s, y).max() == max(mistakes, default=-np.inf)
    assert is_mistake(s, y) == any(gap >= 0 for gap in mistakes)
    assert max_pair_surrogate(s, y) == pytest.approx(MaxPairLoss().value(s, y))
    positive = v[v > 0]
    expected = positive.max() / positive.min() if len(positive) else 1.0
    assert weight_ratio(y, measure) == pytest.approx(expected)


def test_own_order_is_not_convex_and_a_frozen_one_is():
    """Why the regret of SLAM needs weights frozen by the ranker's scores (Lemma 3)."""
    y = np.array([1.0, 1.0, 0.0])
    a, b = np.array([0.5, -0.5, 0.0]), np.array([-0.5, 0.5, 0.0])
    middle = slam_surrogate((a + b) / 2, y)
    assert middle == pytest.approx(1.0)
    assert (slam_surrogate(a, y) + slam_surrogate(b, y)) / 2 < middle
    frozen = [slam_surrogate(s, y, order=a) for s in (a, b)]
    assert sum(frozen) / 2 == pytest.approx(middle)


@given(queries, measures)
def test_lemma_4_1(query, measure):
    """1 - measure <= kappa * sum over pairs of the squared hinge, for one w."""
    s, y = query
    hinges = [max(0.0, 1 - (s[i] - s[j])) for i, j in twins.pairs(y)]
    assert (
        twins.loss_of(y, s, measure)
        <= pair_constant(y, measure) * sum(h**2 for h in hinges) + 1e-12
    )


def test_lemma_4_1_cannot_be_much_better():
    """Many documents outscored once each: AP and nDCG@1 come close to kappa times the pairs."""
    y, s = np.array([0.0, 1.0]), np.array([1e-9, 0.0])
    assert pair_constant(y, "nDCG@1") == 1.0 == twins.loss_of(y, s, "nDCG@1")
    assert pair_constant([2, 1, 0], "nDCG") == pytest.approx(3 / (3 + 1 / np.log2(3)))
    assert pair_constant([3, 1, 0, 0], "AP") == 1 / 2
    assert pair_constant([0, 0], "nDCG") == pair_constant([0, 0], "AP") == 0.0


def test_unjudged_documents_take_no_part():
    s, y = np.array([3.0, 0.0, 1.0]), np.array([-1.0, 1.0, 0.0])
    assert excesses(s, y).tolist() == [-np.inf, 1.0, -np.inf]
    assert slam_surrogate(s, y) == slam_surrogate(s[1:], y[1:]) == 2.0


@pytest.mark.parametrize("measure", ["P@5", "AP@3", "AP(rel=2)", "PairAcc"])
def test_other_measures_are_refused(measure):
    with pytest.raises(MeasureError, match="nDCG, nDCG@k and AP"):
        check_measure(measure)
