from __future__ import annotations

import numpy as np
import pytest

from rankloop.exceptions import DataError
from rankloop.rankers.registry import make_ranker, online_names
from rankloop.theory.adversary import Adversary, play
from rankloop.theory.margin import best_margin, margin, max_norm

LEAST = {"AP": 1 / 2, "nDCG": 1 - 1 / np.log2(3), "nDCG@1": 1.0, "nDCG@10": 1 - 1 / np.log2(3)}


@pytest.mark.matrix
@pytest.mark.parametrize("measure", LEAST)
@pytest.mark.parametrize("name", online_names())
def test_every_ranker_loses_every_round(name, measure):
    for m in (2, 5):
        game = play(make_ranker(name), 0.5, 30, m, measure=measure)
        assert len(game.losses) == (16 if m == 2 else 15)
        assert (game.losses >= LEAST[measure] - 1e-12).all()
        assert game.lower_bound == pytest.approx(LEAST[measure] * len(game.losses))
        assert game.loss >= game.lower_bound - 1e-9


@pytest.mark.matrix
@pytest.mark.parametrize("name", online_names())
def test_the_data_is_separable_by_the_margin(name):
    for m in (2, 4):
        game = play(make_ranker(name), 0.3, 100, m, radius=2.0)
        assert np.linalg.norm(game.weights) == pytest.approx(1.0)
        assert game.margin == margin(game.data, game.weights) >= 0.3 - 1e-6
        assert max_norm(game.data) == 2.0
        assert set(game.data.y) == {0.0, 1.0}
        assert (np.add.reduceat(game.data.y, game.data.offsets[:-1]) == 1).all()


def test_no_other_weights_do_better():
    """The margin is the best there is, so no more rounds would fit."""
    game = play(make_ranker("slam:average=False"), 0.5, 40, 5)
    assert best_margin(game.data).margin == pytest.approx(game.margin, rel=1e-6)
    assert game.margin == pytest.approx(2 / np.sqrt(16))


def test_more_than_the_papers_rounds_fit():
    gamma, radius = 0.25, 1.0
    assert Adversary(gamma, 1000, 5, radius).rounds == 4 * int(radius**2 / gamma**2) - 1
    assert Adversary(gamma, 10, 5, radius).rounds == 9
    assert Adversary(gamma, 10, 2, radius).rounds == 10


def test_the_ranker_is_left_alone_and_goes_on_from_what_it_knows():
    ranker = make_ranker("minimax")
    assert play(ranker, 0.5, 16, 3).loss > 0
    assert not ranker.is_fitted
    first = play(ranker, 0.5, 16, 3).data
    ranker.partial_fit(first)
    again = play(ranker, 0.5, 16, 3)
    assert again.loss >= again.lower_bound - 1e-9
    assert (again.data.y != first.y).any()


def test_a_judgement_depends_on_the_first_place_only():
    adversary = Adversary(0.5, 8, 4)
    rounds = iter(adversary)
    X = next(rounds)
    assert X.tolist()[0][1:3] == [1.0, 0.0]
    assert X[:, 0].tolist() == [0.0, 0.0, 1.0, 1.0]
    assert adversary.judge(np.array([0, 1, 2, 3])).tolist() == [0, 1, 0, 0]
    next(rounds)
    assert adversary.judge(np.array([3, 0, 1, 2])).tolist() == [1, 0, 0, 0]
    assert (adversary.weights * np.sqrt(3)).tolist() == pytest.approx([-1, -1, 1, 0, 0, 0, 0, 0])


@pytest.mark.parametrize(
    ("gamma", "d", "m"), [(0.5, 4, 1), (0.0, 4, 3), (3.0, 4, 2), (0.5, 1, 3), (np.nan, 4, 3)]
)
def test_games_that_cannot_be_played(gamma, d, m):
    with pytest.raises(DataError, match=r"found|fits"):
        play(make_ranker("slam:average=False"), gamma, d, m)
