"""What drawn rankings teach: weights against their definition, and what is refused."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from rankloop import PDGD
from rankloop.exceptions import DataError
from rankloop.feedback.exchanges import find_drawn_pairs
from rankloop.feedback.ranking import PLACKETT_LUCE, Ranking


def drawn(scores, order):
    rows = np.array(order, np.int64)
    return Ranking("r", rows, np.array(scores, float), policy=PLACKETT_LUCE)


def chance(scores, order):
    """How likely Plackett and Luce's model draws this list."""
    left = list(range(len(scores)))
    found = 1.0
    for row in order:
        found *= np.exp(scores[row]) / sum(np.exp(scores[one]) for one in left)
        left.remove(row)
    return found


def naive(scores, order, better, worse):
    changed = list(order)
    a, b = changed.index(better), changed.index(worse)
    changed[a], changed[b] = changed[b], changed[a]
    other = chance(scores, changed)
    return other / (other + chance(scores, order))


@pytest.mark.parametrize("seed", range(10))
def test_weights_are_those_of_the_definition(seed):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=7) * 2
    order = rng.permutation(7)[: rng.integers(1, 8)]
    grades = np.full(7, -1.0)
    grades[order] = rng.integers(0, 3, len(order))
    pairs, rho = find_drawn_pairs(drawn(scores, order), grades)
    worth = grades[order]
    chosen = np.flatnonzero(worth > 0)
    seen = order[: chosen[-1] + 2] if len(chosen) else []
    expected = [(i, j) for i, j in itertools.product(seen, seen) if grades[i] > grades[j]]
    assert sorted(map(tuple, pairs.tolist())) == sorted(expected)
    for (i, j), weight in zip(pairs.tolist(), rho.tolist(), strict=True):
        assert weight == pytest.approx(naive(scores, order.tolist(), i, j))


def test_extremes():
    pairs, rho = find_drawn_pairs(
        drawn([800.0, -800.0, -800.0], [0, 1, 2]), np.array([0.0, 0.0, 1.0])
    )
    assert pairs.tolist() == [[2, 0], [2, 1]]
    assert rho == pytest.approx([0.0, 0.5], abs=1e-12)
    assert len(find_drawn_pairs(drawn([], []), np.array([]))[0]) == 0
    assert find_drawn_pairs(drawn([0.0, 0.0], [0, 1]), np.zeros(2))[1].shape == (0,)


def test_weighted_pairs_are_what_pdgd_learns_from():
    """With scores of 0, PDGD's step is rate x 1/4 x the weighted differences."""
    X = np.random.default_rng(0).random((4, 3)).astype(np.float32)
    ranker = PDGD(rate=0.1, decay=1.0)
    shown = ranker.show(X, id="r", k=4)
    grades = np.array([0.0, 0.0, 1.0, 0.0])
    pairs, rho = find_drawn_pairs(shown, grades)
    step = (rho[:, None] * (X[pairs[:, 0]] - X[pairs[:, 1]])).sum(axis=0) * 0.1 / 4
    assert np.allclose(ranker.learn_ranking(shown, grades).weights_, step, atol=1e-6)


def test_other_policies_are_refused():
    shown = Ranking("r", np.array([0, 1]), np.zeros(2))
    with pytest.raises(DataError, match="made by the policy 'best-first'"):
        find_drawn_pairs(shown, np.array([0.0, 1.0]))
