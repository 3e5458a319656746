"""How long experiments take: what is promised before is what simulated experiments need."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop.clicks.confidence_sequences import best_rho, mixture_bound
from rankloop.clicks.interleaving.power import (
    Effect,
    impressions_of_sequence,
    impressions_of_test,
    plan,
)
from rankloop.clicks.sign_bets import lead_to_win
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


@pytest.mark.parametrize("power", [0.5, 0.8])
@pytest.mark.parametrize("effect", [Effect(0.2, 0.5), Effect(0.4, 1.0), Effect(0.7, 0.9)])
def test_a_sequence_finds_the_effect_as_often_as_promised(effect, power):
    """Looked at after every impression."""
    n = impressions_of_sequence(effect, power=power)
    x = _outcomes(effect, n, 2000)
    leads = np.array([lead_to_win(decided, 0.05) for decided in range(n + 1)])
    found = (np.cumsum(x, axis=1) >= leads[np.cumsum(x != 0, axis=1)]).any(axis=1)
    assert abs(found.mean() - power) < 0.07


def test_the_sequence_of_the_service_needs_fewer_than_empirical_bernstein():
    """At small and at large effects, by its usual tuning."""

    def bernstein(decided, alpha):
        return 2 * mixture_bound(decided / 4, best_rho(50, alpha), alpha / 2)

    for preference, gain in ((0.02, 0.85), (0.05, 0.87), (0.1, 0.89), (0.2, 0.93), (0.4, 0.93)):
        effect = Effect(preference, 1.0)
        assert impressions_of_sequence(effect) < gain * impressions_of_sequence(
            effect, lead=bernstein
        )


def test_a_plan_says_when_half_of_the_experiments_have_ended():
    test, live = plan(Effect(0.05, 0.4))
    assert live.half < test.impressions < live.impressions < 1.8 * test.impressions
    assert test.half is None


def test_an_effect_without_chance():
    """All outcomes are 1: whoever leads by enough wins."""
    n = impressions_of_sequence(Effect(1.0, 1.0))
    assert lead_to_win(n, 0.05) <= n
    assert lead_to_win(n - 1, 0.05) > n - 1


def test_effects_that_cannot_be():
    for wrong in ({"preference": 0}, {"preference": 1.1}, {"preference": 0.1, "decided": 0}):
        with pytest.raises(DataError, match="must be above 0 and at most 1"):
            Effect(**wrong)
    with pytest.raises(DataError, match="power must be between 0 and 1"):
        impressions_of_test(Effect(0.1), power=1.0)
    with pytest.raises(DataError, match="too small"):
        impressions_of_sequence(Effect(1e-4))
