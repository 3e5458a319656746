from __future__ import annotations

import numpy as np
import pytest

from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError, MeasureError
from rankloop.rankers.online.minimax import MinimaxPerceptron
from rankloop.rankers.online.slam import Slam
from rankloop.theory.adversary import play
from rankloop.theory.bounds import (
    gradient_bound,
    minimax_bound,
    ogd_regret_bound,
    slam_any_rate_bound,
    slam_bound,
    slam_cutoff_bound,
)
from rankloop.theory.margin import best_margin, max_norm, separating_weights
from rankloop.theory.surrogates import data_for, measure_losses, weight_ratio

from .twins import algorithm_2, noisy, simulated

MEASURES = ["nDCG", "nDCG@1", "nDCG@3", "AP"]
SEEDS = range(2)


def bound_of(data, weights, measure, **options):
    bound = slam_cutoff_bound if "@" in measure else slam_bound
    return bound(data, weights, measure, **options)


def comparisons(data, measure, seed):
    """Directions good and bad, short and long."""
    rng = np.random.default_rng(seed)
    learnt = Slam(measure, rate=0.1, average=False).fit(data).weights_
    for w in (learnt, rng.normal(size=data.n_features)):
        for length in (0.0, 0.1, 1.0, 5.0):
            yield length * w / np.linalg.norm(w)


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("seed", SEEDS)
def test_theorems_6_and_8_on_separable_data(measure, seed):
    data = simulated(seed)
    seen = data_for(measure, data)
    best = best_margin(seen)
    bound = bound_of(data, best.weights / best.margin, measure)
    assert bound.holds
    cutoff = int(measure.partition("@")[2] or 8)
    v_max = max(weight_ratio(query.y, measure) for query in data)
    corollary = 4 * cutoff * max_norm(data) ** 2 * v_max / best.margin**2
    assert bound.value == pytest.approx(corollary, rel=1e-3)
    run = algorithm_2(data, measure, bound.quantities["rate"])
    assert 0 < sum(run.losses) <= sum(run.surrogates) <= bound.value
    fixed = bound_of(data, best.weights / best.margin, measure, rate=bound.quantities["rate"])
    assert fixed.value == pytest.approx(bound.value, rel=1e-2)


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("seed", SEEDS)
def test_theorems_6_and_8_on_noisy_data(measure, seed):
    """The unconditional versions, for any w, at the rate they ask for and at others."""
    data = noisy(seed)
    for w in comparisons(data, measure, seed):
        bound = bound_of(data, w, measure)
        if not w.any():  # the best rate against weights of 0 is 0
            assert bound.quantities["rate"] == 0
            continue
        run = algorithm_2(data, measure, bound.quantities["rate"])
        f = run.comparison(w)
        assert 0 < f <= bound.terms["surrogate"] + 1e-9
        assert sum(run.losses) <= sum(run.surrogates) <= bound.value
        for rate in (0.5, 1.5):
            rate *= bound.quantities["rate"]
            run = algorithm_2(data, measure, rate)
            fixed = bound_of(data, w, measure, rate=rate, surrogate=run.comparison(w))
            assert fixed.holds
            assert sum(run.losses) <= sum(run.surrogates) <= fixed.value


@pytest.mark.parametrize("surrogate", [0.0, 0.3, 50.0])
def test_the_rate_of_the_bound_is_the_best_one(surrogate):
    data = noisy(0)
    w = np.ones(data.n_features) / 10
    optimal = slam_bound(data, w, surrogate=surrogate)
    rate = optimal.quantities["rate"]
    values = {
        by: slam_bound(data, w, surrogate=surrogate, rate=by * rate).value for by in (0.9, 1.0, 1.1)
    }
    assert values[1.0] < min(values[0.9], values[1.1])
    assert values[1.0] <= optimal.value * (1 + 1e-12)
    if surrogate == 0:
        assert values[1.0] == pytest.approx(optimal.value)
        steep = optimal.quantities["R_X"] ** 2 * 4 * 8 * optimal.quantities["v_max"]
        assert rate == pytest.approx(1 / steep)


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("seed", SEEDS)
def test_regret_and_lemma_5(measure, seed):
    """Eq. 17 with frozen weights, and eq. 18, round by round."""
    data = noisy(seed)
    m = min(int(measure.partition("@")[2] or 8), 8)
    for rate in (0.01, 0.3):
        run = algorithm_2(data, measure, rate)
        for w in comparisons(data, measure, seed):
            regret = sum(run.surrogates) - run.comparison(w)
            assert regret <= ogd_regret_bound(np.linalg.norm(w), rate, run.gradients)
        for (X, y, _), f, z in zip(run.rounds, run.surrogates, run.gradients, strict=True):
            radius = np.linalg.norm(X, axis=1).max()
            assert z**2 <= gradient_bound(m, radius, weight_ratio(y, measure), f) * (1 + 1e-9)


def test_the_regret_bound_is_reached():
    """One step on f(w) = -z.w against w = rate * z."""
    z, rate = 3.0, 0.25
    w = rate * z
    assert ogd_regret_bound(abs(w), rate, [z]) == pytest.approx(0 + z * w)


def test_lemma_5_can_fail_below_the_cutoff():
    """Ours steps on mistakes below rank k, where nDCG@k loses nothing: hence our own bound."""
    X = [[0.0], [1.0], [2.0], [1.01], [1.0]]
    data = QueryDataset.from_arrays(X, [0, 1, 2, 0, 1], group=[2, 3])
    ours = algorithm_2(data, "nDCG@1", 1.0, only_where_lost=False)
    papers = algorithm_2(data, "nDCG@1", 1.0)
    assert (len(papers.rounds), len(ours.rounds)) == (1, 2)
    assert ours.losses[1] == 0
    f, z = ours.surrogates[1], ours.gradients[1]
    assert z**2 > gradient_bound(1, 2.0, 1.0, f) > 0


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("rate", [1e-3, 0.1, 10.0])
@pytest.mark.parametrize("seed", SEEDS)
def test_slam_at_any_rate_on_separable_data(measure, rate, seed):
    data = simulated(seed)
    u = separating_weights(data_for(measure, data))
    ranker = Slam(measure, rate=rate, average=False)
    losses = measure_losses(data, ranker.predict_then_learn(data), measure)
    bound = slam_any_rate_bound(data, u, measure, rate=rate)
    assert 0 < losses.sum() <= bound.value
    best = best_margin(data_for(measure, data)).margin
    expected = (4 * max_norm(data) ** 2 + 2 / rate) / best**2
    assert bound.value == pytest.approx(expected, rel=1e-2)


@pytest.mark.matrix
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("rate", [1e-3, 0.1, 10.0])
def test_slam_at_any_rate_on_noisy_data(measure, rate):
    for seed in SEEDS:
        data = noisy(seed)
        run = algorithm_2(data, measure, rate, only_where_lost=False)
        ranker = Slam(measure, rate=rate, average=False)
        losses = measure_losses(data, ranker.predict_then_learn(data), measure)
        assert losses == pytest.approx(run.losses, abs=1e-9)
        for w in comparisons(data, measure, seed):
            f = run.comparison(w)
            bound = slam_any_rate_bound(data, w, measure, rate=rate, surrogate=f)
            assert (
                losses.sum()
                <= bound.value
                <= slam_any_rate_bound(data, w, measure, rate=rate).value * (1 + 1e-9)
            )


def test_slam_at_any_rate_is_reached():
    """The adversary makes the weight of updates equal to the bound, but for 2 / rate."""
    game = play(Slam("nDCG@1", rate=100.0, average=False), 0.25, 64, 2, measure="nDCG@1")
    bound = slam_any_rate_bound(game.data, game.weights / game.margin, "nDCG@1", rate=100.0)
    assert game.loss == 64
    assert game.loss <= bound.value <= 64 * 1.01


@pytest.mark.slow
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("seed", SEEDS)
def test_minimax_bound(measure, seed):
    for data in (simulated(seed), noisy(seed)):
        ranker = MinimaxPerceptron()
        loss = measure_losses(data, ranker.predict_then_learn(data), measure).sum()
        best = best_margin(data)
        vectors = list(comparisons(data, measure, seed))
        if best.separable:
            vectors.append(best.weights / best.margin)
            corollary = minimax_bound(data, vectors[-1], surrogate=0.0).value
            assert corollary == pytest.approx(4 * max_norm(data) ** 2 / best.margin**2)
            assert ranker.updates_ <= corollary
        for w in vectors:
            assert loss <= ranker.updates_ <= minimax_bound(data, w).value


@pytest.mark.parametrize("gamma", [0.25, 0.5, 1.0])
def test_minimax_bound_is_reached(gamma):
    """Theorem 9 meets Corollary 11: for two documents, to the last mistake."""
    game = play(MinimaxPerceptron(), gamma, 100, 2)
    bound = minimax_bound(game.data, game.weights / game.margin)
    assert len(game.losses) == pytest.approx(bound.value) == 4 / gamma**2


def test_unjudged_documents_break_the_assumption():
    data = QueryDataset.from_arrays([[1.0], [0.0], [2.0]], [1, 0, -1], group=[3])
    bound = minimax_bound(data, [1.0])
    assert not bound.holds
    assert bound.broken == ("every document is judged",)
    assert bound.to_dict()["assumptions"]["every document is judged"] is False


def test_a_large_rate_has_no_bound():
    bound = slam_bound(simulated(0), np.ones(6), rate=10.0)
    assert not bound.holds
    assert float(bound) == np.inf


def test_wrong_measure_or_rate():
    data = simulated(0)
    with pytest.raises(MeasureError, match="slam_cutoff_bound"):
        slam_bound(data, np.ones(6), "nDCG@3")
    with pytest.raises(MeasureError, match="use slam_bound"):
        slam_cutoff_bound(data, np.ones(6), "AP")
    with pytest.raises(DataError, match="above 0"):
        slam_any_rate_bound(data, np.ones(6), rate=0.0)
    with pytest.raises(DataError, match="above 0"):
        ogd_regret_bound(1.0, 0.0, [1.0])
