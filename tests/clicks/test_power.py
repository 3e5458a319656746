"""How long experiments take: what is promised before is what simulated experiments need."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop.clicks.confidence_sequences import EmpiricalBernstein, best_rho, mixture_bound
from rankloop.clicks.interleaving.power import (
    Effect,
    impressions_of_sequence,
    impressions_of_test,
    plan,
    tune_sequence,
)
from rankloop.exceptions import DataError


def _outcomes(effect, n, repeats):
    better = effect.decided * (1 + effect.preference) / 2
    chances = [better, effect.decided - better, 1 - effect.decided]
    return np.random.default_rng(0).choice([1, -1, 0], (repeats, n), p=chances)


@pytest.mark.parametrize("power", [0.5, 0.8])
def test_a_test_finds_the_effect_as_often_as_promised(power):
    effect = Effect(0.2, 0.5)
    n = impressions_of_test(effect, 0.05, power)
    x = _outcomes(effect, n, 2000)
    z = x.mean(axis=1) / x.std(axis=1) * np.sqrt(n)
    assert abs((z > 1.96).mean() - power) < 0.04


@pytest.mark.parametrize("tuned", [False, True])
def test_a_sequence_finds_the_effect_as_often_as_promised(tuned):
    """Or a little more often, because it may have found it earlier."""
    effect = Effect(0.3, 0.5)
    sequence = tune_sequence(effect) if tuned else EmpiricalBernstein()
    n = impressions_of_sequence(effect, sequence)
    x = _outcomes(effect, n, 400)
    total = np.cumsum(x, axis=1)
    before = np.c_[np.zeros(len(x)), total[:, :-1] / np.arange(1, n)]
    v = np.cumsum((x - before) ** 2, axis=1)
    rho = best_rho(sequence.tuned_for, sequence.alpha)
    steps = np.unique(np.geomspace(10, n, 40).astype(int)) - 1
    bounds = {value: 2 * mixture_bound(value / 4, rho, 0.025) for value in range(2 * n)}
    found = np.zeros(len(x), bool)
    for k in steps:
        found |= total[:, k] > np.array([bounds[round(value)] for value in v[:, k]])
    assert 0.75 < found.mean() < 0.9


def test_tuning_helps_small_effects():
    for preference, gain in ((0.02, 0.75), (0.05, 0.85), (0.1, 0.95)):
        test, live, tuned = (row.impressions for row in plan(Effect(preference)))
        assert test < tuned < gain * live
        assert tuned < 2.1 * test


def test_effects_that_cannot_be():
    for wrong in ({"preference": 0}, {"preference": 1.1}, {"preference": 0.1, "decided": 0}):
        with pytest.raises(DataError, match="must be above 0 and at most 1"):
            Effect(**wrong)
    with pytest.raises(DataError, match="power must be between 0 and 1"):
        impressions_of_test(Effect(0.1), power=1.0)
