"""PDGD against its definition: gradients of the chances of rankings, computed the long way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from rankloop import _core
from rankloop.clicks.rankers.base import click_grades
from rankloop.clicks.rankers.pdgd import PDGD
from rankloop.clicks.rankers.plackett_luce import sample_ranking
from rankloop.clicks.users import make_user, ultra_user
from rankloop.data.simulate import separable
from rankloop.exceptions import DataError
from rankloop.feedback.examples import keep_seen
from rankloop.feedback.ranking import PLACKETT_LUCE, Ranking


def chance(scores: np.ndarray, order: np.ndarray) -> float:
    """Multiply the chances of each pick among those left: Plackett and Luce's model."""
    left, found = list(range(len(scores))), 1.0
    for row in order.tolist():
        chances = np.exp(scores[left] - scores[left].max())
        found *= chances[left.index(row)] / chances.sum()
        left.remove(row)
    return found


def exchanged(order: np.ndarray, a: int, b: int) -> np.ndarray:
    other = order.copy()
    other[[a, b]] = order[[b, a]]
    return other


def step_of(X: np.ndarray, scores: np.ndarray, ranking: Ranking, clicks: list[bool]) -> np.ndarray:
    """Return the sum over pairs of rho times the gradient of the chance to draw i before j."""
    places = [p for p in range(len(clicks)) if any(clicks[max(p - 1, 0) :])]
    total = np.zeros(X.shape[1])
    for a in places:
        for b in places:
            if clicks[a] and not clicks[b]:
                i, j = ranking.order[a], ranking.order[b]
                as_shown = chance(ranking.scores, ranking.order)
                other = chance(ranking.scores, exchanged(ranking.order, a, b))
                e_i, e_j = np.exp(scores[i]), np.exp(scores[j])
                total += other / (other + as_shown) * e_i * e_j / (e_i + e_j) ** 2 * (X[i] - X[j])
    return total


def test_shares_of_reversals_are_those_of_the_chances(rng):
    scores = 3 * rng.normal(size=9)
    order = sample_ranking(scores, rng, 6)
    pairs = np.array([(a, b) for a in range(6) for b in range(6) if a != b])
    found = _core.reversal_shares(scores, order, pairs)
    for (a, b), share in zip(pairs, found, strict=True):
        other = chance(scores, exchanged(order, a, b))
        assert share == pytest.approx(other / (other + chance(scores, order)), rel=1e-12)


def test_shares_are_numbers_however_far_scores_lie_apart():
    scores = np.array([0.0, 3e38, -3e38, 2000.0, -2000.0])
    pairs = np.array([(0, 1), (1, 4), (2, 3), (0, 4)])
    found = _core.reversal_shares(scores, np.array([4, 1, 0, 2, 3]), pairs)
    assert np.isfinite(found).all()
    assert (found >= 0).all()
    assert (found <= 1).all()
    assert found[0] == 1.0  # the hopeless document stood above the certain one


def test_rankings_are_drawn_with_their_chances(rng):
    scores = np.array([0.5, -0.3, 1.0, 0.0])
    drawn: dict[tuple[int, ...], int] = {}
    n = 20_000
    for _ in range(n):
        order = tuple(sample_ranking(scores, rng, 2).tolist())
        drawn[order] = drawn.get(order, 0) + 1
    assert len(drawn) == 12
    for order, count in drawn.items():
        p = chance(scores, np.array(order))
        assert abs(count / n - p) < 5 * np.sqrt(p * (1 - p) / n)


def test_a_step_is_the_weighed_gradient(rng):
    X = rng.normal(size=(12, 5)).astype(np.float32)
    ranker = PDGD(rate=0.3, decay=0.9).learn(X, rng.integers(0, 3, 12))
    before, clicks = ranker.weights_, [False, True, False, True, False, False, False]
    shown = ranker.show(X, id="r7", k=7)
    ranker.learn_ranking(shown, click_grades(shown, clicks))
    expected = 0.3 * 0.9 * step_of(X, shown.scores, shown, clicks)
    np.testing.assert_allclose(ranker.weights_ - before, expected, rtol=1e-5)


def test_each_ranking_leaves_a_share_of_the_weights(rng):
    X = rng.normal(size=(12, 5)).astype(np.float32)
    ranker = PDGD(keep=0.75, clip=0.0).learn(X, rng.integers(0, 3, 12))
    before, shown = ranker.weights_, ranker.show(X, id="r7", k=7)
    clicks = [False, True, False, True, False, False, False]
    ranker.learn_ranking(shown, click_grades(shown, clicks))
    expected = 0.75 * before + 0.1 * step_of(X, shown.scores, shown, clicks)
    np.testing.assert_allclose(ranker.weights_, expected, rtol=1e-5)
    after = ranker.weights_
    ranker.learn_ranking(shown, click_grades(shown, [False] * 7))  # nothing to learn from
    assert np.array_equal(ranker.weights_, after)


def test_it_follows_people_whose_taste_turns():
    data = separable(60, np.random.default_rng(2), n_features=6, n_grades=3).data
    turned, user = replace(data, X=-data.X), make_user("navigational")
    shown = {}
    for keep in (1.0, 0.99):
        ranker = PDGD(rate=1.0, keep=keep)
        ranker.play(data, user, np.random.default_rng(0), 2000)
        shown[keep] = ranker.play(turned, user, np.random.default_rng(1), 300).quality(turned)
    assert shown[0.99].mean() > shown[1.0].mean() + 0.05


def test_chances_are_those_of_the_ranking_and_gradients_those_of_now(rng):
    X = rng.normal(size=(8, 4)).astype(np.float32)
    ranker = PDGD(decay=1.0)
    shown = ranker.show(X, id="r1")
    ranker.learn(X, rng.integers(0, 3, 8))
    before, now = ranker.weights_, ranker.predict(X).astype(float)
    clicks = [False, False, True, False, True, False, False, False]
    ranker.learn_ranking(shown, click_grades(shown, clicks))
    expected = 0.1 * step_of(X, now, shown, clicks)
    np.testing.assert_allclose(ranker.weights_ - before, expected, rtol=1e-5)


def test_judged_queries_count_every_pair_by_half(rng):
    X, y = rng.normal(size=(6, 3)).astype(np.float32), np.array([0, 2, 1, -1, 0, 2.0])
    ranker = PDGD(decay=1.0).learn(X, y)
    expected = np.zeros(3)
    for i in range(6):
        for j in range(6):
            if y[i] > y[j] >= 0:
                expected += 0.1 * 0.5 * 0.25 * (X[i] - X[j])
    np.testing.assert_allclose(ranker.weights_, expected, rtol=1e-6)


@pytest.mark.parametrize("user", ["perfect", "navigational", "almost-random"])
@pytest.mark.parametrize("options", [{}, {"average": True}, {"keep": 0.99}], ids=repr)
def test_a_session_in_the_core_is_a_loop_of_learn_ranking(user, options):
    data = separable(30, np.random.default_rng(0), n_documents=14, n_grades=3).data
    played, looped = PDGD(**options), PDGD(**options)
    session = played.play(data, make_user(user), np.random.default_rng(5), 200, k=8)
    assert session.clicks.any()
    for q, shown, clicks in zip(session.queries, session.shown, session.clicks, strict=True):
        X = data.query(int(q)).X
        order = shown[shown >= 0]
        scores = looped.predict(X).astype(float) if looped.is_fitted else np.zeros(len(X))
        ranking = Ranking("r", order, scores, X=X, policy=PLACKETT_LUCE)
        looped.learn_ranking(ranking, click_grades(ranking, clicks[: len(order)]))
    assert played.digest() == looped.digest()


def test_users_of_other_kinds_take_the_long_way():
    data = separable(20, np.random.default_rng(0), n_grades=5).data
    ranker = PDGD()
    session = ranker.play(data, ultra_user(), np.random.default_rng(0), 50)
    assert ranker.n_queries_seen_ == 50
    assert session.shown.shape == session.clicks.shape == (50, 10)
    assert not session.clicks[session.shown < 0].any()


def test_what_is_seen_ends_after_the_last_choice():
    ranking = Ranking("r", np.array([2, 0, 3, 1]), np.zeros(5))
    assert keep_seen(ranking, [1.0, 0, 0, 0, -1]).tolist() == [1, -1, 0, 0, -1]
    assert keep_seen(ranking, [0.0, 0, 0, 0, -1]).tolist() == [-1] * 5
    assert keep_seen(ranking, [0.0, 3, 0, 0, -1]).tolist() == [0, 3, 0, 0, -1]


def test_other_rankings_are_refused_and_change_nothing(rng):
    X = rng.normal(size=(4, 2)).astype(np.float32)
    ranker = PDGD().learn(X, [0, 1, 0, 2])
    digest = ranker.digest()
    shown = ranker.show(X, id="r1")
    grades = click_grades(shown, [True, False, False, False])
    for other, words in (
        (ranker.rank(X, id="r2"), "made best-first, but PDGD learns only from those made"),
        (replace(shown, X=None), "does not hold the features"),
        (replace(shown, X=X[:, :1]), "1 features"),
    ):
        with pytest.raises(DataError, match=words):
            ranker.learn_ranking(other, grades)
    with pytest.raises(DataError, match="grades has 2 values for 4 candidates"):
        ranker.learn_ranking(shown, [1, 0])
    with pytest.raises(DataError, match="clicks has 2 values for 4 places"):
        click_grades(shown, [True, False])
    assert ranker.digest() == digest


def test_the_core_refuses_ranks_that_are_none(rng):
    X, y = rng.random((3, 2)).astype(np.float32), np.array([1.0, 0.0, -1.0])
    for ranks in ([1, 1, 0], [1, 3, 0], [1, 0, 2], [-1, 2, 1]):
        with pytest.raises(ValueError, match=r"rank|not shown"):
            _core.learn_pdgd(
                X, y, np.array([0, 3]), None, None, np.zeros(2), None, 0, None, np.zeros(2), 0.0,
                0.1, 1.0, 1.0, np.array(ranks, np.int32), np.zeros(3),
            )  # fmt: skip


def test_no_click_teaches_nothing_but_counts(rng):
    X = rng.random((5, 3)).astype(np.float32)
    ranker = PDGD()
    shown = ranker.show(X, id="r1")
    ranker.learn_ranking(shown, click_grades(shown, np.zeros(5)))
    assert ranker.n_queries_seen_ == 1
    assert ranker.updates_ == 0
    assert not ranker.weights_.any()
