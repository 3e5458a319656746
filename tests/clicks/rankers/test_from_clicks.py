"""Online rankers taught by clicks."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop import _core
from rankloop.clicks.rankers.base import click_grades
from rankloop.clicks.rankers.from_clicks import RANKS, FromClicks
from rankloop.clicks.users import GradedUser, make_user
from rankloop.data.simulate import separable
from rankloop.exceptions import DataError
from rankloop.feedback.examples import inverse_propensities, keep_seen
from rankloop.measures.evaluation import evaluate
from rankloop.rankers.model_files.saving import dumps, load, loads, save
from rankloop.rankers.online.newton import NewtonXENDCG
from rankloop.rankers.online.solar_ii import SolarII
from rankloop.rankers.registry import make_ranker, online_names

WRAPPED = (
    "prepared:maps=['rank']",
    "prepared:scale='standard'",
    "prepared:scale='query-minmax'",
    "prepared:maps=['nystrom(rbf(1),20)']",
    "described",
    "mix:weighting=uniform",
)
"""Rankers that consist of others, which know their features only after the first query."""


def counts_of(attraction: np.ndarray, after_skip: float, after_click: float) -> np.ndarray:
    """Return counts that say just this."""
    chances = [after_skip, 1 - after_skip], [after_click, 1 - after_click]
    return np.concatenate([1000 * attraction, np.full(len(attraction), 1000.0), *chances])


def looks(clicks: np.ndarray, a: np.ndarray, after_skip: float, after_click: float) -> np.ndarray:
    """Sum over every place where the user may have stopped: the definition."""
    n = len(clicks)
    chances = []
    for last in range(n):  # the last position that was looked at
        p = 1.0
        for i in range(n):
            if i > last:
                p *= not clicks[i]
                continue
            p *= a[i] if clicks[i] else 1 - a[i]
            if i < n - 1:
                go_on = after_click if clicks[i] else after_skip
                p *= 1 - go_on if i == last else go_on
        chances.append(p)
    return np.array([sum(chances[i:]) for i in range(n)]) / sum(chances)


def test_how_far_people_read_is_the_posterior_of_the_chain(rng):
    a = rng.uniform(0.1, 0.9, 6)
    for _ in range(20):
        clicks = rng.random(6) < 0.3
        found = _core.read_page(clicks.view(np.uint8), counts_of(a, 0.7, 0.4))
        np.testing.assert_allclose(found, looks(clicks, a, 0.7, 0.4), rtol=1e-12)


@pytest.mark.slow
def test_how_far_people_read_is_learnt(rng):
    user = GradedUser((0.2, 0.7), (0.3, 0.3), stops_after="document")
    ranker = FromClicks()
    X = np.eye(10, dtype=np.float32)
    for t in range(4000):
        shown = ranker.show(X, id=str(t))
        grades = (np.arange(10) % 3 == 0).astype(float)
        clicks = user.sample(rng, grades[shown.order])
        ranker.learn_ranking(shown, click_grades(shown, clicks))
    assert ranker.goes_on_["after_skip"] == pytest.approx(0.7, abs=0.06)
    assert ranker.goes_on_["after_click"] == pytest.approx(0.7, abs=0.06)


@pytest.mark.matrix
@pytest.mark.parametrize("name", ["newton", "slam", "solar-i", "solar-ii"])
@pytest.mark.parametrize("seen", ["learnt", "last-click", "all"])
def test_online_rankers_learn_from_clicks(name, seen):
    data = separable(60, np.random.default_rng(2), n_features=6, n_grades=3).data
    ranker = FromClicks(make_ranker(name), seen)
    ranker.play(data, make_user("navigational"), np.random.default_rng(0), 400)
    mixed = data.shuffle(np.random.default_rng(0))
    assert evaluate(mixed, ranker.predict(mixed), "nDCG@10")["nDCG@10"] > 0.85


def whole_rankings_only(name):
    """Whether a ranker refuses weights of documents."""
    return "predtron" in name


@pytest.mark.parametrize("name", [*online_names(), *WRAPPED])
def test_every_online_ranker_can_begin_with_clicks(name, rng):
    seen = "last-click" if whole_rankings_only(name) else "learnt"
    ranker = FromClicks(make_ranker(name), seen)
    X = rng.normal(size=(6, 3)).astype(np.float32)
    for t in range(3):
        shown = ranker.show(X, id=str(t), k=4)
        assert sorted(set(shown.order.tolist())) == sorted(shown.order.tolist())
        ranker.learn_ranking(shown, click_grades(shown, [False, True, False, False]))
    assert ranker.n_queries_seen_ == 3
    again = loads(dumps(ranker))
    assert again.show(X, id="r", k=4) == ranker.show(X, id="r", k=4)


def test_the_default_ranker_learns_from_clicks():
    data = separable(60, np.random.default_rng(2), n_features=6, n_grades=3).data
    ranker = FromClicks(make_ranker("auto"))
    ranker.play(data, make_user("navigational"), np.random.default_rng(0), 400)
    mixed = data.shuffle(np.random.default_rng(0))
    assert evaluate(mixed, ranker.predict(mixed), "nDCG@10")["nDCG@10"] > 0.9


def test_lessons_are_grades_and_weights(rng):
    X = rng.normal(size=(7, 3)).astype(np.float32)
    chances = (1.0, 0.5, 0.25)
    for seen in ("last-click", "all", chances):
        ranker, plain = FromClicks(SolarII(), seen), SolarII()
        shown = ranker.show(X, id="r1", k=5)
        grades = click_grades(shown, [False, True, False, True, False])
        ranker.learn_ranking(shown, grades)
        weights = inverse_propensities(shown, chances, grades) if seen == chances else None
        judged = keep_seen(shown, grades) if seen == "last-click" else grades
        plain.learn(X, judged, sample_weight=weights)
        assert np.array_equal(ranker.ranker_.weights_, plain.weights_)


def test_without_temperature_it_shows_the_best_first(rng):
    X = rng.normal(size=(9, 3)).astype(np.float32)
    ranker = FromClicks().learn(X, rng.integers(0, 3, 9))
    shown = ranker.show(X, id="r1", k=4)
    assert shown.order.tolist() == ranker.rank(X, id="r1").order[:4].tolist()
    warm = FromClicks(temperature=1e6).learn(X, rng.integers(0, 3, 9))
    drawn = {tuple(warm.show(X, id=str(i), k=4).order.tolist()) for i in range(20)}
    assert len(drawn) > 10
    again = warm.show(X, id="3", k=4)
    assert again == warm.show(X, id="3", k=4)  # an id decides


def test_judged_queries_go_to_the_ranker(rng):
    X, y = rng.normal(size=(9, 3)).astype(np.float32), rng.integers(0, 3, 9)
    wrapped = FromClicks(NewtonXENDCG()).learn(X, y)
    assert np.array_equal(wrapped.predict(X), NewtonXENDCG().learn(X, y).predict(X))


def test_it_is_saved_with_how_far_people_read(tmp_path, rng):
    data = separable(20, np.random.default_rng(2), n_grades=3).data
    ranker = FromClicks(SolarII())
    ranker.play(data, make_user("informational"), rng, 50)
    save(ranker, tmp_path / "m.rlm")
    again = load(tmp_path / "m.rlm")
    assert again.digest() == ranker.digest()
    assert np.array_equal(again.reading_, ranker.reading_)
    assert len(again.reading_) == 2 * RANKS + 4


def test_bad_settings_are_refused(rng):
    X = rng.normal(size=(4, 2)).astype(np.float32)
    shown = FromClicks().show(X, id="r1")
    grades = click_grades(shown, [True, False, False, False])
    for ranker, words in (
        (FromClicks(seen="some"), "seen must be learnt, last-click, all or chances"),
        (FromClicks(seen=[0.5, 0.0]), "probabilities above 0"),
        (FromClicks(temperature=-1), "temperature must be a number from 0"),
        (FromClicks(make_ranker("ranksvm")), "ranker must be an online ranker"),
    ):
        with pytest.raises(DataError, match=words):
            ranker.learn_ranking(shown, grades)
        assert not ranker.is_fitted
