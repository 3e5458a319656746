"""Kernel perceptrons on a budget: their mistakes stay under the bound, whoever is removed."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop.exceptions import DataError
from rankloop.rankers.kernel.online import KernelMinimax
from rankloop.theory.budget import Expansion, track_budget

from .twins import noisy, simulated


def comparison(data, factor=1.0):
    whole = Expansion.of(KernelMinimax("rbf(2)", budget=None, passes=10).fit(data))
    return Expansion(whole.kernel, whole.rows, factor * whole.coefficients)


@pytest.mark.parametrize("removal", ["forgetron", "random", "least-loss", "projection", "merging"])
@pytest.mark.parametrize("make", [simulated, noisy])
@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_mistakes_stay_under_the_bound(removal, make, factor):
    data = make(0, n=40, m=5, d=3)
    ranker = KernelMinimax("rbf(2)", budget=12, removal=removal)
    tracked = track_budget(ranker, data, comparison(data, factor))
    assert (tracked.mistakes <= tracked.bound + 1e-6).all()
    assert tracked.mistakes[-1] == ranker.fit(data).updates_ > 5


def test_without_a_budget_it_is_theorem_10():
    """A separating u loses nothing, K(x, x) = 1, and each step has |g|^2 <= 4."""
    data = simulated(1, n=30, m=5, d=3)
    u = comparison(data)
    gaps = [
        u(query.X)[query.y == better].min() - u(query.X)[query.y == worse].max()
        for query in data
        for better in set(query.y)
        for worse in set(query.y)
        if better > worse
    ]
    assert min(gaps) > 0
    u = Expansion(u.kernel, u.rows, u.coefficients / min(gaps))
    tracked = track_budget(KernelMinimax("rbf(2)", budget=None), data, u)
    norm, mistakes = np.sqrt(u.square), tracked.mistakes[-1]
    assert tracked.damage == pytest.approx(0, abs=1e-2 * norm)
    assert mistakes <= tracked.bound[-1] <= 2 * norm * np.sqrt(mistakes) + 1e-2 * norm


def test_expansions_are_functions():
    rows = np.array([[0.0, 0.0], [1.0, 0.0]], np.float32)
    kernel = comparison(simulated(2, n=4, m=3, d=2)).kernel
    f = Expansion(kernel, rows, np.array([1.0, -1.0]))
    assert f.square == pytest.approx(2 - 2 * float(kernel(rows[:1], rows[1:])[0, 0]))
    assert f.minus(f).square == pytest.approx(0, abs=1e-6)
    assert f(rows)[0] == pytest.approx(-f(rows)[1])


def test_it_is_for_a_fresh_ranker_of_rate_1():
    data = simulated(3, n=5, m=4, d=2)
    u = comparison(data)
    for ranker in (KernelMinimax(rate=2.0), KernelMinimax(decay=0.5), KernelMinimax().fit(data)):
        with pytest.raises(DataError, match="rate 1 and without decay"):
            track_budget(ranker, data, u)
