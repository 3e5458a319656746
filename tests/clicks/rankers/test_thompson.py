"""Thompson sampling: weights drawn from the posterior, and a ridge that grows with it."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

from rankloop import _core
from rankloop.clicks.interleaving.base import make_rng
from rankloop.clicks.rankers.base import click_grades
from rankloop.clicks.rankers.gaussians import parts_of
from rankloop.clicks.rankers.pdgd import PDGD
from rankloop.clicks.rankers.plackett_luce import sample_ranking
from rankloop.clicks.rankers.thompson import POSTERIOR, Thompson
from rankloop.clicks.users import make_user
from rankloop.data.scaling import QueryMinMax
from rankloop.data.simulate import mslr_like, separable
from rankloop.exceptions import DataError
from rankloop.feedback.ranking import PLACKETT_LUCE
from rankloop.measures.evaluation import evaluate
from rankloop.rankers.ensembles.adaptive import Adaptive
from rankloop.rankers.ensembles.mix import Mix
from rankloop.rankers.model_files.saving import load, save
from rankloop.rankers.online.newton import NewtonXENDCG
from rankloop.rankers.online.slam import Slam
from rankloop.rankers.online.solar_ii import SolarII
from rankloop.rankers.registry import make_ranker
from rankloop.rankers.wrappers.prepared import Prepared


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
    mixed = data.shuffle(np.random.default_rng(0))
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


@pytest.mark.slow
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


def test_a_ranker_inside_others_draws_as_it_does_alone(rng):
    """Thompson around maps ranks and learns, to the bit, as maps around Thompson."""
    maps = ["minmax", "rank"]
    outside, inside = (
        Thompson(Prepared(NewtonXENDCG(100.0), maps=maps)),
        Prepared(Thompson(), maps=maps),
    )
    for t in range(40):
        X = rng.normal(size=(7, 3)).astype(np.float32)
        shown = inside.show(X, id=f"r{t}", k=5)
        if t:  # before any data the one outside does not know how many features there will be
            assert outside.show(X, id=f"r{t}", k=5).order.tolist() == shown.order.tolist()
        grades = click_grades(shown, rng.random(5) < 0.4)
        outside.learn_ranking(shown, grades)
        inside.learn_ranking(shown, grades)
    alone, within = outside.ranker_.ranker_, inside.ranker_.ranker_
    assert np.array_equal(alone.last_weights_, within.last_weights_)
    assert np.array_equal(alone.root_, within.root_)


def test_both_rankers_of_auto_draw_their_weights(rng):
    ranker = make_ranker("thompson:ranker=auto,temperature=0")
    data = separable(60, np.random.default_rng(2), n_features=6, n_grades=3).data
    ranker.play(data, make_user("navigational"), rng, 300)
    digest = ranker.digest()
    query = data.query(0)
    assert len({tuple(ranker.show(query, id=str(i), k=5).order) for i in range(30)}) > 3
    assert ranker.digest() == digest  # drawing changes nothing
    spread = copy.deepcopy(ranker).set_params(spread=0)
    assert (
        spread.show(query, id="r").order.tolist() == ranker.rank(query, id="r").order.tolist()[:10]
    )
    mixed = data.shuffle(np.random.default_rng(0))
    assert evaluate(mixed, ranker.predict(mixed), "nDCG@10")["nDCG@10"] > 0.9


def test_the_ridge_reaches_every_gaussian():
    X = np.array([[0.0, 1.0], [1.0, 0.0]], np.float32)
    kinds = [NewtonXENDCG(10.0), Prepared(NewtonXENDCG(5.0), maps=["rank"])]
    ranker = Thompson(Mix(kinds, "uniform"), ridge=0.5)
    for t in range(16):  # nothing is chosen, so nothing else is learnt
        ranker.learn_ranking(ranker.show(X, id=str(t)), [0.0, 0.0])
    known = [part.precision_ for part in parts_of(ranker.ranker_)]
    np.testing.assert_allclose(known, [18 * np.eye(2), 13 * np.eye(2)])


def test_what_it_forgets_returns_to_the_prior_and_the_ridge():
    X = np.array([[0.0, 1.0], [1.0, 0.0]], np.float32)
    ranker = Thompson(NewtonXENDCG(10.0), ridge=0.5, keep=0.9)
    expected = 10.0
    for t in range(1, 200):  # nothing is chosen, so nothing else is learnt
        ranker.learn_ranking(ranker.show(X, id=str(t)), [0.0, 0.0])
        since = min(1 << max((t - 1).bit_length() - 4, 0), 8)
        if t % since == 0:
            expected = 0.9**since * expected + (1 - 0.9**since) * 10.0 + 0.5 * since
    np.testing.assert_allclose(ranker.ranker_.precision_, expected * np.eye(2))
    assert expected < 18  # without forgetting, 110


def test_it_follows_people_whose_taste_turns():
    data = separable(60, np.random.default_rng(2), n_features=6, n_grades=3).data
    turned, user = replace(data, X=-data.X), make_user("navigational")
    shown = {}
    for keep in (1.0, 0.99):
        ranker = Thompson(keep=keep)
        ranker.play(data, user, np.random.default_rng(0), 1000)
        shown[keep] = ranker.play(turned, user, np.random.default_rng(1), 300).quality(turned)
    assert shown[0.99].mean() > shown[1.0].mean() + 0.05


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
        (Thompson(keep=0), "keep must be a number above 0"),
        (Thompson(NewtonXENDCG(covariance="diagonal")), "covariance='full'"),
        (Thompson(NewtonXENDCG(wide=1)), "covariance='full'"),
        (Thompson(Mix([NewtonXENDCG(), Slam()])), "or consist of such rankers, as Auto"),
        (Thompson(Prepared(Slam(), maps=["rank"])), "found Prepared"),
    ):
        with pytest.raises(DataError, match=words):
            ranker.learn_ranking(shown, grades)
        assert not ranker.is_fitted


def test_around_a_ranker_that_adapts_it_forgets_as_much_as_people_change():
    data = separable(60, np.random.default_rng(0), n_documents=10, n_features=5, n_grades=3).data
    turned, shown = replace(data, X=-data.X), {}
    for name, inner in (("plain", NewtonXENDCG()), ("adaptive", Adaptive())):
        ranker, rng = Thompson(inner), np.random.default_rng(1)
        user = make_user("perfect", 3)
        ranker.play(data, user, rng, 300, 10)
        shown[name] = ranker.play(turned, user, rng, 100, 10).quality(turned, "nDCG@10").mean()
    assert shown["adaptive"] > 0.9 > 0.7 > shown["plain"]
