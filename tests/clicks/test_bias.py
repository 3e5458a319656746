"""Position bias: estimators against their formulas written out, and against known truths."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from rankloop.clicks.bias.dual import DualLearning
from rankloop.clicks.bias.harvesting import AdjacentChain, AllPairs
from rankloop.clicks.bias.randomised import RandomTraffic, Swaps
from rankloop.clicks.bias.regression import RegressionEM
from rankloop.clicks.bias.relevance import LogisticRelevance
from rankloop.clicks.bias.result import PositionBias, estimate_bias, resample_queries
from rankloop.clicks.log.log import ClickLog
from rankloop.exceptions import DataError

from .twins import random_pages

TRUTH = np.array([1.0, 0.7, 0.5, 0.35, 0.2])


def simulated(rng, n=6000, queries=40, order="two rankers"):
    """Pages of 5 documents under position bias; documents by two rankers, or at random."""
    relevance = rng.uniform(0.1, 0.9, (queries, 5))
    noise = rng.normal(size=(2, queries, 5))
    pages = []
    for _ in range(n):
        q = int(rng.integers(queries))
        if order == "random":
            shown = rng.permutation(5)
        else:  # which ranker served the page is a coin
            shown = np.argsort(-relevance[q] - 0.5 * noise[rng.integers(2), q])
        clicked = shown[rng.random(5) < TRUTH * relevance[q, shown]]
        pages.append((q, shown.tolist(), clicked.tolist()))
    return ClickLog.from_pages(pages)


def cells(pages):
    """Clicks and views by query, document and position, in dictionaries."""
    found = defaultdict(lambda: [0, 0])
    for query, shown, clicked in pages:
        for position, document in enumerate(shown, start=1):
            found[query, document, position][0] += document in clicked
            found[query, document, position][1] += 1
    return found


def meetings(pages, weights):
    """The paper's weighed clicks and skips of every two positions, written out."""
    found, sums = cells(pages), defaultdict(lambda: np.zeros((2, 2)))
    places = defaultdict(list)
    for query, document, position in found:
        places[query, document].append(position)
    for (query, document), at in places.items():
        for k, j in combinations(sorted(at), 2):
            (c, n), (d, m) = found[query, document, k], found[query, document, j]
            share = n * m / (n + m) if weights == "views" else 1.0
            sums[k, j] += share * np.array([[c / n, 1 - c / n], [d / m, 1 - d / m]])
    return sums


@pytest.mark.parametrize("weights", ["views", "equal"])
def test_the_adjacent_chain_is_a_product_of_ratios(rng, weights):
    pages = random_pages(rng, n=300)
    sums, expected = meetings(pages, weights), [1.0]
    for k in range(1, 4):
        (click, _), (other, _) = sums[k, k + 1]
        expected.append(expected[-1] * other / click)
    found = AdjacentChain(weights=weights).estimate(ClickLog.from_pages(pages))
    assert found == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("weights", ["views", "equal"])
def test_all_pairs_maximise_the_likelihood(rng, weights):
    pages = random_pages(rng, n=300)
    sums = meetings(pages, weights)

    def unlikelihood(logits):
        p = dict(zip(range(1, 5), expit(logits[:4]), strict=True))
        r = dict(zip(sums, expit(logits[4:]), strict=True))
        value = 0.0
        for (k, j), ((c, s), (d, t)) in sums.items():
            one, two = p[k] * r[k, j], p[j] * r[k, j]
            value -= c * np.log(one) + s * np.log(1 - one) + d * np.log(two) + t * np.log(1 - two)
        return value

    best = minimize(unlikelihood, np.zeros(4 + len(sums)), options={"gtol": 1e-8}).x
    expected = expit(best[:4]) / expit(best[0])
    found = AllPairs(weights=weights).estimate(ClickLog.from_pages(pages))
    assert found == pytest.approx(expected, abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [AdjacentChain(), AllPairs(), AllPairs(weights="equal")])
def test_harvesting_finds_the_truth(rng, estimator):
    log = simulated(rng, n=30_000)
    bias = estimate_bias(estimator, log, rng, rounds=40, confidence=0.99)
    assert bias.examination == pytest.approx(TRUTH, abs=0.1)
    assert (bias.low <= TRUTH + 1e-9).all()
    assert (bias.high >= TRUTH - 1e-9).all()


@pytest.mark.slow
def test_random_traffic_finds_the_truth(rng):
    log = simulated(rng, n=20_000, order="random")
    assert RandomTraffic().estimate(log) == pytest.approx(TRUTH, abs=0.05)
    naive = RandomTraffic().estimate(simulated(rng, n=20_000))
    assert (naive[1:] < TRUTH[1:] - 0.02).all()  # a ranker's own order looks more biased


@pytest.mark.slow
def test_intervals_cover(rng):
    """Of 40 intervals of 90 %, about 36 hold the truth; below 30 is hardly chance."""
    hits = 0
    for _ in range(40):
        log = simulated(rng, n=400, order="random")
        bias = estimate_bias(RandomTraffic(ranks=2), log, rng, rounds=80, confidence=0.9)
        tail = TRUTH[1:].mean()
        hits += bool(bias.low[1] <= tail <= bias.high[1])
    assert hits >= 30


def test_swaps_by_hand():
    log = ClickLog.from_pages(
        [
            ("q", ["a", "b", "c"], ["a", "c"]),
            ("q", ["b", "a", "c"], ["a"]),
            ("q", ["c", "b", "a"], ["c"]),
            ("q", ["a", "b", "c"], ["a", "b", "c"]),  # of no experiment
        ]
    )
    found = Swaps(np.array([2, 2, 3, 0])).estimate(log)
    assert found.tolist() == [1.0, 1.0, 0.0]
    found = Swaps(np.array([0, 0, 3, 0])).estimate(log)
    assert found[2] == 0
    assert np.isnan(found[1])


@pytest.mark.slow
def test_swaps_find_the_truth(rng):
    relevance, pages, partners = rng.uniform(0.1, 0.9, 5), [], []
    for _ in range(40_000):
        shown, k = np.argsort(-relevance), int(rng.integers(2, 6))
        if rng.random() < 0.5:
            shown[[0, k - 1]] = shown[[k - 1, 0]]
        clicked = shown[rng.random(5) < TRUTH * relevance[shown]]
        pages.append(("q", shown.tolist(), clicked.tolist()))
        partners.append(k)
    found = Swaps(np.array(partners)).estimate(ClickLog.from_pages(pages))
    assert found == pytest.approx(TRUTH, abs=0.05)


def featured(rng, n=4000):
    """One page a query, documents never seen again; relevance is logistic in two features."""
    x = rng.normal(size=(5 * n, 2)).astype(np.float32)
    relevance = expit(x @ [1.5, -1.0] - 0.3)
    by_query = np.argsort(-(relevance + 0.3 * rng.normal(size=5 * n)).reshape(n, 5), axis=1)
    order = (by_query + 5 * np.arange(n)[:, None]).ravel()
    clicks = rng.random(5 * n) < np.tile(TRUTH, n) * relevance[order]
    return ClickLog.from_rows(np.repeat(np.arange(n), 5), order, clicks), x[order]


@pytest.mark.slow
def test_regression_em_finds_the_truth(rng):
    log, X = featured(rng)
    found = RegressionEM(X, iterations=100).estimate(log)
    assert found == pytest.approx(TRUTH, abs=0.06)
    naive = RandomTraffic().estimate(log)
    assert np.abs(naive - TRUTH).max() > 0.1


@pytest.mark.slow
def test_regression_em_ends_at_the_maximum(rng):
    """No other examination and weights explain the clicks better."""
    log, X = featured(rng, n=300)
    place = log.positions - 1

    def posterior(p, w):
        standard = (X - X.mean(axis=0)) / X.std(axis=0)
        chance = p[place] * expit(standard @ w[:-1] + w[-1])
        seen = np.where(log.clicks, np.log(chance), np.log(1 - chance)).sum()
        return seen + np.log(p * (1 - p)).sum() - (w[:-1] ** 2).sum() / 2

    best = minimize(lambda z: -posterior(expit(z[:5]), z[5:]), np.zeros(8)).x
    found = RegressionEM(X, iterations=3000).estimate(log)
    assert found == pytest.approx(expit(best[:5]) / expit(best[0]), abs=2e-3)


def test_logistic_relevance_is_logistic_regression(rng):
    X = rng.normal(size=(200, 3)).astype(np.float32)
    targets, weights = rng.random(200), rng.random(200)

    def loss(w):
        s = X @ w[:3] + w[3]
        return (weights * (np.logaddexp(0, s) - targets * s)).sum() + (w[:3] ** 2).sum()

    found = LogisticRelevance(ridge=2.0, steps=200).fit(X, targets, weights)
    assert found.weights == pytest.approx(minimize(loss, np.zeros(4)).x, abs=1e-4)


@pytest.mark.slow
def test_dual_learning_undoes_most_of_the_bias(rng):
    log, X = featured(rng)
    found, naive = DualLearning(X).estimate(log), RandomTraffic().estimate(log)
    assert np.abs(found - TRUTH).sum() < 0.6 * np.abs(naive - TRUTH).sum()


def test_dual_learning_without_features_is_the_click_rate(rng):
    """With nothing to tell documents apart, all is position."""
    log, X = featured(rng, n=500)
    found = DualLearning(np.zeros_like(X)).estimate(log)
    assert found == pytest.approx(RandomTraffic().estimate(log), rel=1e-6)


def test_features_may_be_missing(rng):
    log, X = featured(rng, n=200)
    holes = X.copy()
    holes[::7, 0] = np.nan
    for estimator in (RegressionEM(holes, iterations=5), DualLearning(holes, iterations=5)):
        assert np.isfinite(estimator.estimate(log)).all()


def test_resampling_draws_whole_queries(rng):
    log = simulated(rng, n=200)
    counts = resample_queries(log.with_counts(np.full(200, 2.0)), rng).counts
    for query in np.unique(log.queries):
        assert len(set(counts[log.queries == query])) == 1
    assert counts.sum() / 2 == pytest.approx(200, abs=80)


def test_propensities():
    bias = PositionBias("x", np.array([1.0, 0.5, np.nan]), *np.full((2, 3), np.nan))
    assert bias.at([1, 2], floor=0.6).tolist() == [1.0, 0.6]
    with pytest.raises(DataError, match="position 3 has no estimate"):
        bias.at([4])
    assert bias.to_dict()["examination"] == [1.0, 0.5, None]


def test_what_the_log_cannot_say(rng):
    fixed = ClickLog.from_pages([("q", ["a", "b"], ["a"])] * 5)
    with pytest.raises(DataError, match="cannot separate position bias from relevance"):
        AllPairs().estimate(fixed)
    with pytest.raises(DataError, match="no document was clicked at position 1 and also shown"):
        AdjacentChain().estimate(fixed)
    unclicked = fixed.with_clicks(np.zeros(10))
    with pytest.raises(DataError, match="no document was clicked at the first position"):
        RandomTraffic().estimate(unclicked)
    with pytest.raises(DataError, match="the log has no click"):
        DualLearning(np.zeros((10, 1))).estimate(unclicked)
    with pytest.raises(DataError, match="no page belongs to an experiment"):
        Swaps(np.zeros(5, int)).estimate(fixed)
    with pytest.raises(DataError, match="partners must be 5 whole numbers"):
        Swaps(np.zeros(3, int)).estimate(fixed)
    with pytest.raises(DataError, match="features for 3 rows, but the log has 10"):
        RegressionEM(np.zeros((3, 1))).estimate(fixed)
    with pytest.raises(DataError, match="confidence must be"):
        estimate_bias(RandomTraffic(), fixed, rng, confidence=2)
    islands = ClickLog.from_pages(
        [("q", ["a", "b", "c", "d"], ["a", "c"]), ("q", ["b", "a", "d", "c"], ["b", "d"])]
    )
    assert np.isnan(AllPairs().estimate(islands)[2:]).all()
