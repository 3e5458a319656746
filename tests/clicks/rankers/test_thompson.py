"""Thompson sampling: weights drawn from the posterior, and a ridge that grows with it."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop import _core
from rankloop.clicks.interleaving.base import make_rng
from rankloop.clicks.rankers.base import click_grades
from rankloop.clicks.rankers.pdgd import PDGD
from rankloop.clicks.rankers.plackett_luce import sample_ranking
from rankloop.clicks.rankers.thompson import POSTERIOR, Thompson
from rankloop.clicks.users import make_user
from rankloop.data.scaling import QueryMinMax
from rankloop.data.simulate import mslr_like, separable
from rankloop.exceptions import DataError
from rankloop.feedback.ranking import PLACKETT_LUCE
from rankloop.measures.evaluation import evaluate
from rankloop.rankers.model_files.saving import load, save
from rankloop.rankers.online.newton import NewtonXENDCG
from rankloop.rankers.online.solar_ii import SolarII


def gaussian(rng, d):
    A = rng.normal(size=(3 * d, d))
    data = A.T @ A
    return rng.normal(size=d), data


@pytest.mark.parametrize("d", [1, 4, 5, 40])
def test_weights_are_drawn_from_the_posterior(rng, d):
    w, data = gaussian(rng, d)
    root = np.ascontiguousarray(np.linalg.cholesky(data + np.eye(d)).T)
    n = 20_000
    drawn = np.array([_core.draw_posterior(w, root, rng.random(d + d % 2), 2.0) for _ in range(n)])
    covariance = 4 * np.linalg.inv(data + np.eye(d))
    error = np.sqrt(np.diag(covariance) / n)
    assert (np.abs(drawn.mean(axis=0) - w) < 5 * error).all()
    found = np.cov(drawn.T).reshape(d, d)
    assert np.abs(found - covariance).max() < 6 * covariance.max() / np.sqrt(n)


@pytest.mark.parametrize("d", [1, 3, 40])
def test_a_pull_to_zero_adds_to_the_precision_alone(rng, d):
    w, data = gaussian(rng, d)
    root, weights = np.ascontiguousarray(np.linalg.cholesky(data).T), w.copy()
    _core.pull_to_zero(weights, root, 3.0)
    np.testing.assert_allclose(root.T @ root, data + 3 * np.eye(d), rtol=1e-10, atol=1e-10)
    assert np.array_equal(np.tril(root, -1), np.zeros((d, d)))
    np.testing.assert_allclose(weights, np.linalg.solve(data + 3 * np.eye(d), data @ w), rtol=1e-9)


@pytest.mark.parametrize("n", [1, 16, 17, 100, 512])
def test_the_ridge_grows_with_the_rankings(n):
    X = np.ones((3, 2), np.float32)  # nothing to learn
    ranker = Thompson(NewtonXENDCG(prior=10.0), ridge=0.5)
    for t in range(n):
        shown = ranker.show(X, id=str(t))
        ranker.learn_ranking(shown, click_grades(shown, [True, False, False]))
    done = n - n % (1 << max((n - 1).bit_length() - 4, 0))
    np.testing.assert_allclose(ranker.ranker_.precision_, (10 + 0.5 * done) * np.eye(2))


def test_it_explores_less_and_less():
    data = separable(60, np.random.default_rng(2), n_features=6, n_grades=3).data
    ranker, query = Thompson(temperature=0), data.query(0)

    def orders():
        return len({tuple(ranker.show(query, id=str(i), k=5).order) for i in range(30)})

    before = orders()
    ranker.play(data, make_user("perfect"), np.random.default_rng(0), 1500)
    assert orders() < before / 2
    assert ranker.show(query, id="a").policy == POSTERIOR
    mixed = data.shuffled(np.random.default_rng(0))
    assert evaluate(mixed, ranker.predict(mixed), "nDCG@10")["nDCG@10"] > 0.95


def test_neither_spread_nor_temperature_shows_the_best_first(rng):
    X = rng.normal(size=(9, 3)).astype(np.float32)
    ranker = Thompson(spread=0, temperature=0).learn(X, rng.integers(0, 3, 9))
    assert ranker.show(X, id="r1").order.tolist() == ranker.rank(X, id="r1").order.tolist()


def test_rankings_are_drawn_from_the_scaled_scores_of_drawn_weights(rng):
    X = rng.normal(size=(9, 3)).astype(np.float32)
    ranker = Thompson(temperature=0.5).learn(X, rng.integers(0, 3, 9))
    shown, drawn = ranker.show(X, id="r1"), make_rng("r1")
    weights = _core.draw_posterior(
        ranker.ranker_.last_weights_, ranker.ranker_.root_, drawn.random(4), ranker.spread
    )
    scores = X.astype(float) @ weights
    scaled = (scores - scores.mean()) / scores.std() / 0.5
    np.testing.assert_allclose(shown.scores, scaled, rtol=1e-4)
    assert shown.order.tolist() == sample_ranking(shown.scores, drawn).tolist()
    assert shown.policy == PLACKETT_LUCE


def test_a_wrong_start_is_mended():
    """Long lists and noisy clicks: showing the best first would never see a relevant document."""
    data = mslr_like(60, np.random.default_rng(1), n_features=20, mean_length=100.0).data
    data = QueryMinMax().fit(data).transform(data)
    user = make_user("almost-random", 5, stops_after="document")
    rankers = Thompson(), PDGD()
    for ranker in rankers:
        worst = np.where(data.y > 0, 0.0, 1.0)
        for q in range(3):
            ranker.learn(data.query(q).X, worst[data.offsets[q] : data.offsets[q + 1]])
        ranker.play(data, user, np.random.default_rng(0), 3000)
    found, pdgd = (evaluate(data, one.predict(data), "nDCG@10")["nDCG@10"] for one in rankers)
    assert found > pdgd + 0.02


def test_it_is_saved(tmp_path, rng):
    data = separable(20, np.random.default_rng(2), n_grades=3).data
    ranker = Thompson(SolarII())
    ranker.play(data, make_user("informational"), rng, 50)
    save(ranker, tmp_path / "m.rlm")
    again = load(tmp_path / "m.rlm")
    assert again.digest() == ranker.digest()
    assert again.show(data.query(0), id="r") == ranker.show(data.query(0), id="r")


def test_bad_settings_are_refused(rng):
    X = rng.normal(size=(4, 2)).astype(np.float32)
    shown = Thompson().show(X, id="r1")
    grades = click_grades(shown, [True, False, False, False])
    for ranker, words in (
        (Thompson(spread=-1), "spread must be a number from 0"),
        (Thompson(temperature=-1), "temperature must be a number from 0"),
        (Thompson(ridge=-1), "ridge must be a number from 0"),
        (Thompson(NewtonXENDCG(covariance="diagonal")), "covariance='full'"),
    ):
        with pytest.raises(DataError, match=words):
            ranker.learn_ranking(shown, grades)
        assert not ranker.is_fitted
