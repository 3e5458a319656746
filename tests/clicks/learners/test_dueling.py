"""Dueling bandits: directions come from ids, winners move the weights."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop import _core
from rankloop.clicks.interleaving.base import seeded_by
from rankloop.clicks.learners.base import click_grades
from rankloop.clicks.learners.dbgd import DBGD
from rankloop.clicks.learners.mgd import MGD
from rankloop.clicks.users import simulated_user
from rankloop.data.simulate import separable
from rankloop.exceptions import DataError
from rankloop.metrics.evaluation import evaluate


def test_directions_have_length_one_and_no_side(rng):
    for d in (1, 2, 7):
        found = _core.unit_directions(rng.random(3000 * (d + d % 2)), 3000, d)
        np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1)
        assert np.abs(found.mean(axis=0)).max() < 5 / np.sqrt(3000 * d)
        assert (found**2).mean() == pytest.approx(1 / d, rel=0.05)


def test_a_neighbour_that_wins_is_followed(rng):
    X = rng.normal(size=(6, 4)).astype(np.float32)
    learner = DBGD(rate=0.5)
    shown = learner.show(X, id="r1")
    u = _core.unit_directions(seeded_by("r1").random(4), 1, 4)[0]
    wins = shown.teams == 1
    learner.learn_ranking(shown, click_grades(shown, wins))
    np.testing.assert_allclose(learner.weights_, 0.5 * u)
    learner.learn_ranking(shown, click_grades(shown, ~wins))  # the learner itself won
    np.testing.assert_allclose(learner.weights_, 0.5 * u)
    assert (learner.n_queries_seen_, learner.updates_) == (2, 1)


def test_many_neighbours_move_it_along_their_mean(rng):
    X = rng.normal(size=(30, 3)).astype(np.float32)
    learner = MGD(rate=0.2, candidates=4)
    shown = learner.show(X, id="r9", k=20)
    directions = _core.unit_directions(seeded_by("r9").random(16), 4, 3)
    clicks = np.isin(shown.teams, (2, 3))
    learner.learn_ranking(shown, click_grades(shown, clicks))
    np.testing.assert_allclose(learner.weights_, 0.2 * directions[[1, 2]].mean(axis=0))


def test_they_learn_from_clicks():
    data = separable(60, np.random.default_rng(2), n_features=5, n_grades=3).data
    mixed = data.shuffled(np.random.default_rng(0))
    for learner in (DBGD(rate=0.1), MGD(rate=0.1)):
        learner.play(data, simulated_user("perfect"), np.random.default_rng(0), 400)
        assert evaluate(mixed, learner.predict(mixed), "nDCG@10")["nDCG@10"] > 0.75


def test_other_rankings_are_refused(rng):
    X = rng.normal(size=(4, 2)).astype(np.float32)
    learner = MGD().learn(X, [0, 1, 0, 2])
    with pytest.raises(DataError, match="MGD learns only from those made team-draft"):
        learner.learn_ranking(learner.rank(X, id="r1"), np.zeros(4))
    with pytest.raises(DataError, match="candidates must be a whole number"):
        MGD(candidates=0).learn(X, [0, 1, 0, 2])
