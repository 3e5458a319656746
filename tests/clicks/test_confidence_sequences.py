"""Confidence sequences: published values, coverage at all times, and drift."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop.clicks.confidence_sequences import (
    Betting,
    EmpiricalBernstein,
    Interval,
    best_rho,
    follow,
    mixture_bound,
)
from rankloop.exceptions import DataError

BOTH = [EmpiricalBernstein(alpha=0.1), Betting(alpha=0.1, grid=201)]


def test_the_mixture_of_the_reference():
    """The value in the tests of confseq, by the authors: V = 100, scale 2, level .05, one side."""
    found = 2 * mixture_bound(100 / 4, best_rho(100, 2 * 0.05) / 4, 0.05)
    assert found == pytest.approx(33.02017, abs=1e-5)
    assert best_rho(100, 0.05) == pytest.approx(12.60056, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("sequence", BOTH, ids=lambda one: type(one).__name__)
def test_intervals_hold_at_all_times(sequence, rng):
    """Of 60 sequences of level .1, some 6 may ever be wrong; above 14 is hardly chance."""
    wrong = 0
    for _ in range(60):
        outcomes = rng.choice([-1.0, 0.0, 1.0], p=[0.2, 0.5, 0.3], size=300)
        wrong += not all(one.low <= 0.1 <= one.high for one in follow(sequence, outcomes))
    assert wrong <= 14


@pytest.mark.slow
def test_the_average_of_a_drifting_mean_is_held(rng):
    """The mean turns from .6 to -.6; what is held is the average of the means so far."""
    means = np.where(np.arange(400) < 200, 0.6, -0.6)
    average = np.cumsum(means) / np.arange(1, 401)
    wrong = 0
    for _ in range(40):
        outcomes = np.where(rng.random(400) < (1 + means) / 2, 1.0, -1.0)
        found = follow(EmpiricalBernstein(alpha=0.1), outcomes)
        held = [one.low <= m <= one.high for one, m in zip(found, average, strict=True)]
        wrong += not all(held)
    assert wrong <= 10


@pytest.mark.slow
@pytest.mark.parametrize("sequence", BOTH, ids=lambda one: type(one).__name__)
def test_intervals_narrow_and_decide(sequence, rng):
    outcomes = rng.choice([-1.0, 1.0], p=[0.3, 0.7], size=1500)
    found = follow(sequence, outcomes)
    widths = [one.high - one.low for one in found]
    assert widths[-1] < 0.3 < widths[100]
    assert found[0].sign == 0
    assert found[-1].sign == 1
    assert follow(sequence, -outcomes)[-1].sign == -1


def test_small_variance_narrows():
    """The same mean, but outcomes that hardly vary: a narrower interval."""
    steady = follow(EmpiricalBernstein(), [0.1] * 300)[-1]
    loud = follow(EmpiricalBernstein(), [1.0, -0.8] * 150)[-1]
    assert steady.high - steady.low < 0.5 * (loud.high - loud.low)


def test_scaling_outcomes_scales_intervals(rng):
    outcomes = rng.random(50)
    for plain, wide in (
        (EmpiricalBernstein(lowest=0, highest=1), EmpiricalBernstein(lowest=0, highest=10)),
        (Betting(lowest=0, highest=1), Betting(lowest=0, highest=10)),
    ):
        one, ten = follow(plain, outcomes)[-1], follow(wide, 10 * outcomes)[-1]
        assert (10 * one.low, 10 * one.high) == pytest.approx((ten.low, ten.high))


def test_sequences_are_values():
    sequence = EmpiricalBernstein()
    sequence.observe(1.0)
    assert sequence.n == 0
    assert sequence.interval() == Interval(-1.0, 1.0)
    assert Betting().interval() == Interval(-1.0, 1.0)


def test_sequence_errors():
    with pytest.raises(DataError, match=r"outcome 2 is not between -1 and 1"):
        EmpiricalBernstein().observe(2)
    with pytest.raises(DataError, match="outcome nan"):
        Betting().observe(float("nan"))
    with pytest.raises(DataError, match="alpha must be between 0 and 1"):
        EmpiricalBernstein(alpha=1.0)
    with pytest.raises(DataError, match="below the highest one"):
        Betting(lowest=1, highest=0)
    with pytest.raises(DataError, match="grid must be at least 2"):
        Betting(grid=1)
    with pytest.raises(DataError, match="tuned_for must be above 0"):
        EmpiricalBernstein(tuned_for=0)
