"""Dueling bandits: directions come from ids, winners move the weights."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop import _core
from rankloop.clicks.interleaving.base import make_rng
from rankloop.clicks.rankers.base import click_grades
from rankloop.clicks.rankers.dbgd import DBGD
from rankloop.clicks.rankers.mgd import MGD
from rankloop.clicks.users import make_user
from rankloop.data.simulate import separable
from rankloop.exceptions import DataError
from rankloop.measures.evaluation import evaluate


def test_directions_have_length_one_and_no_side(rng):
    for d in (1, 2, 7):
        found = _core.unit_directions(rng.random(3000 * (d + d % 2)), 3000, d)
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1)
        assert np.abs(found.mean(axis=0)).max() < 5 / np.sqrt(3000 * d)
        assert (found**2).mean() == pytest.approx(1 / d, rel=0.05)


def test_a_neighbour_that_wins_is_followed(rng):
    X = rng.normal(size=(6, 4)).astype(np.float32)
    ranker = DBGD(rate=0.5)
    shown = ranker.show(X, id="r1")
    u = _core.unit_directions(make_rng("r1").random(4), 1, 4)[0]
    wins = shown.teams == 1
    ranker.learn_ranking(shown, click_grades(shown, wins))
    np.testing.assert_allclose(ranker.weights_, 0.5 * u)
    ranker.learn_ranking(shown, click_grades(shown, ~wins))  # the ranker itself won
    np.testing.assert_allclose(ranker.weights_, 0.5 * u)
    assert (ranker.n_queries_seen_, ranker.updates_) == (2, 1)


def test_many_neighbours_move_it_along_their_mean(rng):
    X = rng.normal(size=(30, 3)).astype(np.float32)
    ranker = MGD(rate=0.2, candidates=4)
    shown = ranker.show(X, id="r9", k=20)
    directions = _core.unit_directions(make_rng("r9").random(16), 4, 3)
    clicks = np.isin(shown.teams, (2, 3))
    ranker.learn_ranking(shown, click_grades(shown, clicks))
    np.testing.assert_allclose(ranker.weights_, 0.2 * directions[[1, 2]].mean(axis=0))


def test_they_learn_from_clicks():
    data = separable(60, np.random.default_rng(2), n_features=5, n_grades=3).data
    mixed = data.shuffle(np.random.default_rng(0))
    for ranker in (DBGD(rate=0.1), MGD(rate=0.1)):
        ranker.play(data, make_user("perfect"), np.random.default_rng(0), 400)
        assert evaluate(mixed, ranker.predict(mixed), "nDCG@10")["nDCG@10"] > 0.75


def test_other_rankings_are_refused(rng):
    X = rng.normal(size=(4, 2)).astype(np.float32)
    ranker = MGD().learn(X, [0, 1, 0, 2])
    with pytest.raises(DataError, match="MGD learns only from those made team-draft"):
        ranker.learn_ranking(ranker.rank(X, id="r1"), np.zeros(4))
    with pytest.raises(DataError, match="candidates must be a whole number"):
        MGD(candidates=0).learn(X, [0, 1, 0, 2])
