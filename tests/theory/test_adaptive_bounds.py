"""The bound on the mix loss over every stretch of queries."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl
from rankloop.data.simulate import separable
from rankloop.exceptions import DataError
from rankloop.rankers import Adaptive
from rankloop.theory.adaptive import stretch_bound, track_experts


def turning(every, n=120):
    """Return queries whose taste is reversed every so often; 0: against the last ranking."""
    data = separable(n, np.random.default_rng(2), n_documents=8, n_features=4).data
    if every:
        X = data.X.copy()
        for q in range(n):
            if q // every % 2:
                X[data.offsets[q] : data.offsets[q + 1]] *= -1
        return rl.QueryDataset(X, data.y, data.offsets, data.query_ids)
    y, player = data.y.copy(), Adaptive(rl.NewtonXENDCG())
    for q, query in enumerate(data):
        rows = slice(*data.offsets[q : q + 2])
        scores = player.predict(query) if player.is_fitted else np.arange(len(query.y))
        y[rows] = np.argsort(np.argsort(-scores)) // 3  # what is ranked last is best
        player.learn(query.X, y[rows])
    return rl.QueryDataset(data.X, y, data.offsets, data.query_ids)


@pytest.mark.slow
@pytest.mark.parametrize("every", [0, 7, 30, 1000])
@pytest.mark.parametrize("inner", ["newton", "slam"])
def test_no_stretch_costs_more_than_the_bound(every, inner):
    ranker = Adaptive(rl.make_ranker(inner)) if inner == "slam" else rl.Auto()
    tracked = track_experts(ranker, turning(every))
    for first in range(0, 120, 7):
        for end in range(first + 1, 121, 13):
            bound = tracked.bound(first, end)
            assert tracked.mix[first:end].sum() <= bound.value + 1e-9


def test_the_terms_are_what_they_say():
    bound = stretch_bound(10.0, experts=8, queries=101, starts=5)
    parts = 10 + np.log(8 / 0.001) - 100 * np.log(0.999) - 5 * np.log(0.995)
    assert bound.value == pytest.approx(parts)


def test_the_first_expert_always_lives_so_there_is_always_a_bound():
    tracked = track_experts(rl.Auto(), turning(30))
    assert tracked.bound(0, 120).value > tracked.mix.sum()


def test_what_has_learnt_already_is_refused():
    data = turning(30)
    with pytest.raises(DataError, match="learnt nothing yet"):
        track_experts(rl.Auto().fit(data), data)
