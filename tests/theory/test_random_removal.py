"""Kernel perceptrons that remove documents at random: their mean loss stays under the bound."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl
from rankloop.data.simulate_papers import equal_lists
from rankloop.exceptions import DataError
from rankloop.losses.slam import SlamLoss
from rankloop.rankers.kernel import ranker as kernel_ranker
from rankloop.rankers.kernel.online import KernelMinimax, KernelSlam
from rankloop.rankers.kernel.text import parse_kernel
from rankloop.theory.budget import Expansion
from rankloop.theory.random_removal import _best_c, random_removal_bound
from rankloop.theory.surrogates import measure_losses

from .twins import noisy, simulated


@pytest.fixture
def mean_loss(monkeypatch):
    """Return the mean over draws of the removed documents, of mistakes or of a measure's loss."""

    def mean(ranker, data, measure=None, draws=15):
        losses = []
        for seed in range(draws):
            rng = np.random.default_rng(seed)

            def remove(support, excess, rng=rng):
                return rng.choice(support.held, excess, replace=False)

            monkeypatch.setattr(kernel_ranker, "removal_by_name", lambda *_, r=remove: r)
            player = ranker.copy()
            scores = player.predict_then_learn(data)
            lost = player.updates_ if measure is None else measure_losses(data, scores, measure)
            losses.append(np.sum(lost))
        return float(np.mean(losses))

    return mean


def opposite_pairs(n, rounds):
    """Return n pairs e, -e in turn, and the function that separates them best."""
    X = np.repeat(np.eye(n, dtype=np.float32), 2, axis=0)
    X[1::2] *= -1
    data = equal_lists(np.tile(X, (rounds, 1)), np.tile([1.0, 0.0], n * rounds), 2)
    return data, Expansion(parse_kernel("linear"), X[::2], np.full(n, 0.5))


def test_the_budget_that_the_bound_asks_for_is_near_the_least_that_serves(mean_loss):
    """n pairs need n documents; fewer make mistakes for ever, and the bound asks for 1.5 n."""
    n, rounds = 8, 20
    data, u = opposite_pairs(n, rounds)
    assert u.square == n / 4
    reached = {}
    for budget in (n // 2, 3 * n // 2, 3 * n):
        ranker = KernelMinimax("linear", budget=budget, removal="random")
        bound = random_removal_bound(ranker, data, u)
        assert bound.holds == (budget + 1 > 6 * n / 4)
        reached[budget] = mean_loss(ranker, data, draws=8)
        assert n <= reached[budget] <= bound.value
    assert reached[n // 2] > n * rounds / 3 > 5 * reached[3 * n // 2]
    whole = random_removal_bound(KernelMinimax("linear", budget=None, removal="random"), data, u)
    assert whole.value == pytest.approx(n)  # nothing is removed: the mistakes that are made


@pytest.mark.parametrize("make", [simulated, noisy])
@pytest.mark.parametrize("factor", [0.03, 0.1, 0.3])
@pytest.mark.parametrize("spec", ["kernel-minimax", "kernel-slam:rate=1", "kernel-slam:measure=AP"])
def test_the_mean_stays_under_the_bound(spec, factor, make, mean_loss):
    data = make(0, n=30, m=4, d=3)
    whole = Expansion.of(KernelMinimax("rbf(2)", budget=None, passes=10).fit(data))
    u = Expansion(whole.kernel, whole.rows, factor * whole.coefficients)
    ranker = rl.make_ranker(spec).set_params(kernel="rbf(2)", budget=25, removal="random")
    bound = random_removal_bound(ranker, data, u)
    measure = None if isinstance(ranker, KernelMinimax) else ranker.measure
    assert mean_loss(ranker, data, measure, draws=4) <= bound.value
    if factor == 0.03 and measure is None:
        assert bound.holds
        assert bound.value < 2 * len(data) + 1


@pytest.mark.parametrize(
    ("square", "f", "steep", "share"), [(2.0, 0.0, 6.0, 0.01), (2.0, 9.0, 6.0, 0.2)]
)
def test_c_is_the_best(square, f, steep, share):
    def value(c):
        return (c**2 * square + 2 * c * f) / (2 * c - steep - c**2 * share)

    c = _best_c(square, f, steep, share)
    assert value(c) == pytest.approx(min(value(c * np.linspace(0.99, 1.01, 21))))


def test_removing_one_of_n_at_random_costs_no_more_than_the_proof_says():
    rng = np.random.default_rng(0)
    for n in (1, 2, 9):
        parts, v = rng.normal(size=(n, 3)), rng.normal(size=3) * 3
        f = parts.sum(axis=0)
        cost = np.square(f - parts - v).sum(axis=1) - np.square(f - v).sum()
        allowed = np.square(parts).sum(axis=1).mean() + v @ v / (2 * n)
        assert cost.mean() <= allowed + 1e-9
    exact = np.square(v / 2 - v / 2 - v).sum() - np.square(v / 2 - v).sum()
    assert exact == pytest.approx(np.square(v / 2).sum() + v @ v / 2)  # one part, of half of v


def test_a_kernel_without_negative_values_asks_for_less():
    """The step of SLAM: two sums of documents whose kernel values are all at least 0."""
    data = simulated(0, n=12, m=6, d=3)
    ranker = KernelSlam("rbf(2)", rate=1, budget=None)
    for query in data:
        before = Expansion.of(ranker) if ranker.is_fitted else None
        scores = before(query.X) if before else np.zeros(len(query.y))
        ranker.learn(query.X, query.y)
        if not ranker.updates_:
            continue
        after = Expansion.of(ranker)
        step = after.minus(before).square if before else after.square
        loss = SlamLoss("nDCG")
        v, c, _ = loss._terms(scores, query.y)
        assert step <= 2 * v[c > 0].sum() ** 2 + 1e-5
    u = Expansion.of(ranker)
    rbf = random_removal_bound(KernelSlam("rbf(2)", rate=1, removal="random"), data, u)
    assert rbf.quantities["L"] == pytest.approx(4 + 2)
    flat = Expansion(parse_kernel("linear"), data.X[:1], np.ones(1))
    linear = random_removal_bound(KernelSlam("linear", rate=1, removal="random"), data, flat)
    assert linear.quantities["L"] == pytest.approx(6 * linear.quantities["R"] ** 2 + 2)


def test_what_it_assumes():
    data, u = opposite_pairs(4, 2)
    ranker = KernelMinimax("linear", budget=99, decay=0.5, average=True, passes=2)
    broken = random_removal_bound(ranker.fit(data), data, u).broken
    assert len(broken) == 5
    weighted = rl.QueryDataset.from_arrays(data.X, data.y, qid=data.qid, query_weight=np.ones(8))
    fine = KernelMinimax("linear", budget=99, removal="random")
    assert random_removal_bound(fine, weighted, u).broken == ("no query or document has a weight",)
    with pytest.raises(DataError, match="about KernelMinimax and KernelSlam; found a Slam"):
        random_removal_bound(rl.Slam(), data, u)
    flat = equal_lists(np.ones((4, 4), np.float32), np.zeros(4), 2)
    assert random_removal_bound(KernelSlam("linear", removal="random"), flat, u).value >= 0
