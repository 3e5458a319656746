"""The sequence of the live service: its errors, also under drift, and its bounds."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rankloop.clicks.confidence_sequences import EmpiricalBernstein, Interval
from rankloop.clicks.sign_bets import STAKES, SignBets, lead_to_win
from rankloop.exceptions import DataError


def leads(n, alpha):
    return np.array([lead_to_win(decided, alpha) for decided in range(1, n + 1)])


def test_equal_models_are_told_apart_with_a_probability_below_alpha():
    """Followed through all walks of 3,000 decided outcomes, not drawn."""
    alpha, n = 0.05, 3000
    chances, wrong = np.zeros(2 * n + 3), 0.0
    chances[n + 1] = 1.0
    for lead in leads(n, alpha):
        chances = (np.roll(chances, 1) + np.roll(chances, -1)) / 2
        if math.isfinite(lead):
            reach = math.ceil(lead)
            wrong += chances[n + 1 + reach :].sum() + chances[: n + 2 - reach].sum()
            chances[n + 1 + reach :] = chances[: n + 2 - reach] = 0
    assert 0.4 * alpha < wrong <= alpha


def test_of_a_thousand_equal_experiments_hardly_any_finds_a_winner():
    """With draws; each is looked at after every outcome."""
    rng = np.random.default_rng(0)
    x = rng.choice([1, 0, -1], (1000, 4000), p=[0.2, 0.6, 0.2])
    bounds = np.r_[np.inf, leads(4000, 0.05)]
    wrong = np.abs(np.cumsum(x, axis=1)) >= bounds[np.cumsum(x != 0, axis=1)]
    assert wrong.any(axis=1).mean() <= 0.05


def drifting(repeats, n, rng):
    """Outcomes that are worse than 0 first, and better later, so that no average is above 0."""
    means = np.where(np.arange(n) // 250 % 2, 0.4, -0.4)
    return np.where(rng.random((repeats, n)) < (1 + means) / 2, 1, -1)


def test_preferences_that_come_and_go_deceive_bets_that_follow_them_and_not_these():
    """The average of the means is never above 0, so whoever finds one above 0 is wrong."""
    x = drifting(400, 2000, np.random.default_rng(1))
    total = np.cumsum(x, axis=1)
    constant = (total >= leads(2000, 0.05)).any(axis=1).mean()
    recent = np.zeros(400)
    capital = np.zeros(400)
    deceived = np.zeros(400, bool)
    for column in x.T:
        capital += np.log1p(np.clip(recent, 0, 0.5) * column)
        recent += 0.02 * (column - recent)
        deceived |= capital >= math.log(2 / 0.05)
    assert constant <= 0.025
    assert deceived.mean() > 0.5


def test_the_average_of_a_drifting_mean_is_held():
    rng = np.random.default_rng(2)
    means = np.where(np.arange(400) < 200, 0.6, -0.6)
    average = np.cumsum(means) / np.arange(1, 401)
    wrong = 0
    for _ in range(40):
        won = np.cumsum(rng.random(400) < (1 + means) / 2)
        found = ((t, SignBets(0.1, won[t], t + 1 - won[t]).interval()) for t in range(9, 400, 10))
        wrong += not all(one.low <= average[t] <= one.high for t, one in found)
    assert wrong <= 8


def test_the_bounds_solve_their_equation():
    """As the docstring writes it: the capital at the lower bound is 2 / alpha."""
    sequence = SignBets(0.05, wins=130, losses=90, draws=80)
    weights = 1 / (16 * STAKES + 1 / (16 * STAKES))
    for bound, won, lost in (
        (sequence.interval().low, 130, 90),
        (-sequence.interval().high, 90, 130),
    ):
        capital = (1 + STAKES) ** won * (1 - STAKES) ** lost * np.exp(-STAKES * 300 * bound)
        assert (weights / weights.sum()) @ capital == pytest.approx(2 / 0.05)


def test_exchanging_wins_and_losses_exchanges_the_bounds():
    one, other = SignBets(0.1, 70, 30, 10).interval(), SignBets(0.1, 30, 70, 10).interval()
    assert (one.low, one.high) == (-other.high, -other.low)
    assert (one.sign, other.sign) == (1, -1)


def test_the_lead_to_win_is_where_the_interval_leaves_zero():
    lead = math.ceil(lead_to_win(400, 0.05) / 2)
    assert SignBets(0.05, 200 + lead, 200 - lead).interval().sign == 1
    assert SignBets(0.05, 199 + lead, 201 - lead).interval().sign == 0
    assert lead_to_win(3, 0.05) == math.inf
    assert SignBets(0.05, 3, 0).interval().sign == 0


def test_narrower_than_empirical_bernstein_where_experiments_are_close():
    wins, losses, draws = 525, 475, 1000
    mean = (wins - losses) / 2000
    bets = SignBets(0.05, wins, losses, draws).interval()
    variance = wins + losses - 2000 * mean**2
    other = EmpiricalBernstein(0.05, n=2000, total=wins - losses, variance=variance).interval()
    assert bets.high - bets.low < 0.95 * (other.high - other.low)


def test_outcomes_are_counted():
    sequence = SignBets()
    for outcome in (1.0, -1.0, 0.0, 1.0):
        sequence = sequence.observe(outcome)
    assert (sequence.wins, sequence.losses, sequence.draws, sequence.n) == (2, 1, 1, 4)


def test_nothing_is_known_at_the_start():
    assert SignBets().interval() == Interval(-1.0, 1.0)
    assert SignBets(wins=1).interval().low < 0


def test_errors():
    with pytest.raises(DataError, match=r"the outcome 0.5 is not 1, 0 or -1; EmpiricalBernstein"):
        SignBets().observe(0.5)
    with pytest.raises(DataError, match="outcome nan is not"):
        SignBets().observe(float("nan"))
    with pytest.raises(DataError, match="alpha must be between 0 and 1"):
        SignBets(alpha=1.0)
