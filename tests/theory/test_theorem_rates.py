"""Theorems 1, 6 and 8 along a stream, each ranker at its own rate."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.rankers.online.slam import Slam
from rankloop.theory.margin import max_norm, separating_weights
from rankloop.theory.perceptron import slam_bound, slam_cutoff_bound
from rankloop.theory.surrogates import slam_surrogate
from rankloop.theory.theorem_rates import track_classification, track_slam

from .twins import noisy, simulated


@pytest.mark.parametrize("measure", ["nDCG", "AP", "nDCG@3"])
@pytest.mark.parametrize("seed", range(3))
def test_theorems_6_and_8_hold_all_along(measure, seed):
    data = simulated(seed, n=40)
    tracked = track_slam(data, measure)
    assert tracked.theorem == ("Theorem 8" if "@" in measure else "Theorem 6")
    assert (tracked.loss <= tracked.bound + 1e-9).all()
    assert tracked.loss[-1] > 0
    u = tracked.weights
    of = slam_cutoff_bound if "@" in measure else slam_bound
    assert tracked.bound[-1] == pytest.approx(of(data, u, measure).value, rel=1e-2)  # Corollary 7


@pytest.mark.parametrize("measure", ["nDCG", "nDCG@3"])
def test_they_hold_against_weights_that_lose(measure):
    data = noisy(4, n=40)
    for scale in (0.1, 1.0, 5.0):
        tracked = track_slam(data, measure, scale * np.linspace(0.2, 1, 6))
        assert (tracked.loss <= tracked.bound + 1e-9).all()


def test_against_nothing_there_is_no_rate():
    with pytest.raises(DataError, match="give weights other than 0"):
        track_slam(simulated(0, n=5), "AP", np.zeros(6))


def test_theorem_1_and_corollary_2():
    data = simulated(2, n=40, grades=2)
    tracked = track_classification(data)
    assert (tracked.loss <= tracked.bound + 1e-9).all()
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    X = X[np.abs(X[:, 0]) > 0.5]
    apart = type(data).from_arrays(X, X[:, 0] > 0, group=[len(X)])
    separated = track_classification(apart, [2.0, 0, 0, 0])
    assert separated.bound[-1] == pytest.approx((2 * max_norm(apart)) ** 2)
    assert 0 < separated.loss[-1] <= separated.bound[-1]


def test_averaged_weights_keep_convexity_where_the_printed_ones_do_not():
    rng = np.random.default_rng(0)
    y = np.array([1.0, 1.0, 0.0])
    broken = 0
    for _ in range(500):
        a, b = rng.normal(size=(2, 3)) * 2
        for within, convex in (("score", False), ("mean", True)):
            loss = [_loss_of(within, s, y) for s in (a, b, (a + b) / 2)]
            above = loss[2] > (loss[0] + loss[1]) / 2 + 1e-12
            assert not (convex and above)
            broken += above
    assert broken > 0


def _loss_of(within, s, y):
    from rankloop.losses.slam import SlamLoss

    return SlamLoss("nDCG", within_grade=within).value(s, y)


def test_the_rate_is_that_of_the_theorem():
    data = simulated(0, n=20)
    tracked = track_slam(data, "AP")
    u = separating_weights(data)
    steep = 4 * 8 * max_norm(data) ** 2  # v_max is 1 for AP
    ranker = Slam("AP", rate=1 / steep, clip=0.0, average=False)
    assert tracked.losses.sum() > 0
    assert slam_surrogate(data.X[:8] @ u, data.y[:8], "AP") == pytest.approx(0, abs=1e-4)
    from rankloop.theory.surrogates import measure_losses

    expected = measure_losses(data, ranker.predict_then_learn(data), "AP")
    assert tracked.losses == pytest.approx(expected, abs=1e-9)


def test_theorem_1_is_reached():
    """One unit vector a round: each is a mistake, and the shortest u has a coordinate for each."""
    labels = np.arange(9) % 2
    data = QueryDataset.from_arrays(np.eye(9), labels, group=[9])
    tracked = track_classification(data, np.where(labels > 0, 1.0, -1.0))
    assert tracked.loss[-1] == tracked.bound[-1] == pytest.approx(9)
