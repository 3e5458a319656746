"""Budgets: never exceeded, each way of staying within one does what it says."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl
from rankloop.data.simulate import separable
from rankloop.rankers.kernel.budget import REMOVALS
from rankloop.rankers.kernel.kernels import RBF, Linear
from rankloop.rankers.kernel.support import ROOM, Support
from rankloop.rankers.registry import make_ranker

from ..streams import stream


def support(n=30, d=3, kernel=None, seed=0, budget=30):
    rng = np.random.default_rng(seed)
    made = Support.empty(kernel or RBF(1.0), d, budget)
    made.add(rng.random((n, d), np.float32), rng.normal(size=n), budget, REMOVALS["random"])
    made.remember()
    return made


def norm2(s, alphas):
    return alphas @ s.kernel(s.rows[: s.held], s.rows[: s.held]).astype(float) @ alphas


@pytest.mark.parametrize("removal", REMOVALS)
@pytest.mark.parametrize("budget", [1, 7, 100])
def test_never_more_than_the_budget(removal, budget):
    ranker = make_ranker(f"kernel-slam:budget={budget},removal={removal},rate=1")
    for seed in range(4):
        for query in stream("long", seed=seed):
            ranker.learn(query.X, query.y)
            assert ranker.held_ <= budget
            assert np.isfinite(ranker.predict(query)).all()
    assert ranker.held_ == budget
    assert len(ranker.rows_) == budget + ROOM
    assert not ranker.rows_[budget:].any()


@pytest.mark.parametrize("removal", REMOVALS)
def test_a_budget_that_is_never_full_changes_nothing(removal):
    data = stream("short", seed=1)
    free = make_ranker("kernel-slam:budget=none").fit(data)
    held = make_ranker(f"kernel-slam:budget=1000,removal={removal}").fit(data)
    assert np.array_equal(free.predict(data), held.predict(data))
    assert np.array_equal(free.support_, held.support_)


def test_places_are_freed_in_place():
    s = support()
    before = {
        int(b): (r.copy(), a.copy()) for b, r, a in zip(s.born, s.rows, s.alphas, strict=True)
    }
    s.drop(np.array([29, 0, 3, 28]))
    assert s.held == 26
    assert sorted(s.born[:26]) == sorted(set(range(30)) - {29, 0, 3, 28})
    for place in range(26):
        row, alpha = before[int(s.born[place])]
        assert np.array_equal(s.rows[place], row)
        assert np.array_equal(s.alphas[place], alpha)


def test_least_loss_changes_f_least():
    s = support(kernel=RBF(1e-6))  # all different: the change of f is abs(alpha)
    gone = REMOVALS["least-loss"](s, 5)
    assert set(gone) == set(np.argsort(np.abs(s.alphas[:30, 0]))[:5])
    lengths = support(kernel=Linear())
    size = np.abs(lengths.alphas[:30, 0]) * np.linalg.norm(lengths.rows[:30], axis=1)
    assert set(REMOVALS["least-loss"](lengths, 5)) == set(np.argsort(size)[:5])


def test_random_is_the_same_each_time_and_another_later():
    s = support()
    first = REMOVALS["random"](s, 10).tolist()
    assert first == REMOVALS["random"](s, 10).tolist()
    s.added += 1
    assert first != REMOVALS["random"](s, 10).tolist()


@pytest.mark.parametrize("removal", ["projection", "merging"])
def test_what_is_removed_lives_on_in_the_others(removal):
    """f changes less than by plain removal, in the norm of the kernel's space."""
    for seed in range(10):
        s, rng = support(seed=seed), np.random.default_rng(seed)
        before, test = s.scores(s.rows[:30]), rng.random((50, 3), np.float32)
        f, total = s.scores(test).T
        gone = REMOVALS["least-loss"](s, 5)
        plain = np.sqrt(norm2(s, np.where(np.isin(np.arange(30), gone), s.alphas[:30, 0], 0)))
        s.drop(REMOVALS[removal](s, 5))
        after, both = s.scores(test).T
        assert np.abs(after - f).max() <= plain
        if removal == "projection":
            assert np.abs(after - f).max() < 0.1 * plain
            assert np.abs(both - total).max() < 0.1 * plain
        assert len(before) == 30


def test_projection_onto_a_twin_is_exact():
    X = np.random.default_rng(0).random((4, 3), np.float32)
    s = Support.empty(RBF(1.0), 3, 4)
    s.add(np.vstack([X, X[:1]]), np.array([1.0, 1, 1, 1, 0.5]), 4, REMOVALS["projection"])
    twin = np.flatnonzero((s.rows[:4] == X[0]).all(axis=1))
    assert len(twin) == 1
    assert s.alphas[twin, 0] == pytest.approx(1.5, rel=1e-3)


def test_merging_halves():
    """Two equal coefficients meet half-way, as the formula says."""
    X = np.array([[0.0, 0.0], [1.0, 0.0], [9.0, 9.0]], np.float32)
    s = Support.empty(RBF(1.0), 2, 2)
    s.add(X, np.array([1.0, 1.0, 5.0]), 2, REMOVALS["merging"])
    merged = np.flatnonzero(s.rows[:2, 1] == 0)[0]
    assert s.rows[merged].tolist() == [0.5, 0.0]
    assert s.alphas[merged, 0] == pytest.approx(2 * np.exp(-1 / 8))


def forgetron_twin(signs, budget):
    """The self-tuned Forgetron, where all documents are alike to none but themselves."""
    held, damage = [], 0.0
    for t, sign in enumerate(signs, start=1):
        held.append(sign)
        if len(held) > budget:
            weight = abs(held[0])
            square, size = weight**2 - 2 * weight * weight, 2 * weight
            room, phi = 15 / 32 * t - damage, 1.0
            if square + size > room:  # the largest phi with square phi^2 + size phi <= room
                roots = np.roots([square, size, -room])
                phi = min(r.real for r in roots if r.real > 0)
            held = [phi * value for value in held[1:]]
            damage += square * phi**2 + size * phi
    return held


def test_forgetron_is_the_papers():
    signs = np.random.default_rng(0).choice([-1.0, 1.0], 40)
    s = Support.empty(RBF(1e-4), 1, 5)
    for i, sign in enumerate(signs):
        s.add(np.array([[float(i)]], np.float32), np.array([sign]), 5, REMOVALS["forgetron"])
    found = s.alphas[np.argsort(s.born[:5]), 0]
    assert np.allclose(found, forgetron_twin(signs, 5), rtol=1e-5)
    assert s.ledger[2] <= 15 / 32 * s.ledger[1] + 1e-9


@pytest.mark.slow
@pytest.mark.parametrize("removal", REMOVALS)
def test_a_budget_costs_little_where_the_problem_is_small(removal):
    data = separable(300, np.random.default_rng(3), n_documents=10, n_features=3).data
    free, held = (
        rl.evaluate(data, make_ranker(text).predict_then_learn(data), "nDCG@10")["nDCG@10"]
        for text in ("kernel-slam:budget=none", f"kernel-slam:budget=200,removal={removal}")
    )
    assert held > free - 0.05
