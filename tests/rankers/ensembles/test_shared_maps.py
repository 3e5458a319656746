"""Rankers that learn the same queries in one call of the core."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl
from rankloop.exceptions import DataError
from rankloop.rankers.ensembles.shared_maps import SharedMaps
from rankloop.rankers.online.base import queries_of


def stream(n, m, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.random((n * m, d), np.float32)
    X[:, -4:] = X[:, -4:] > 0.8
    return rl.QueryDataset.from_arrays(X, rng.integers(0, 4, n * m).astype(float), group=[m] * n)


def prepared(maps, **parameters):
    return rl.Prepared(rl.NewtonXENDCG(**parameters), maps=maps, indicators=4)


def team():
    return [
        prepared(["minmax"]),
        prepared(["minmax", "rank"]),
        prepared(["minmax"], average=True),
        prepared(["minmax"], wide=2),
        prepared(["rank"], covariance="low-rank", directions=3),
        prepared(["rank"], steps=1),  # of other settings
        rl.NewtonXENDCG(covariance="diagonal"),
        rl.Prepared(rl.Slam(), maps=["rank"]),
        rl.Slam(),
    ]


@pytest.mark.parametrize(("m", "d"), [(8, 9), (30, 300)])  # the second is worth some threads
def test_together_each_learns_what_it_would_alone(m, d):
    data = stream(6, m, d)
    some, rest = data.select(slice(0, 4)), data.select(slice(4, 6))
    together = [ranker.partial_fit(some) for ranker in team()]
    alone = [ranker.copy() for ranker in together]
    maps = SharedMaps(data.X, data.offsets)
    own = [ranker.copy() for ranker in together]
    scores = maps.learn(own, queries_of(rest), 4 * m, 4)
    for ranker, before, mine in zip(alone, together, own, strict=True):
        expected = ranker.predict_then_learn(rest)
        assert np.array_equal(scores[own.index(mine)], expected)
        assert mine.digest() == ranker.digest()
        assert before.n_queries_seen_ == 4


def test_the_query_at_fault_is_named_and_nothing_is_learnt():
    data = stream(30, 5, 6)
    ranker = rl.Auto().partial_fit(data)
    before = ranker.digest()
    weights = np.ones(30)
    weights[23] = 1e308
    with pytest.raises(DataError, match="query 23"):
        ranker.partial_fit(data.X, data.y, group=data.sizes, query_weight=weights)
    assert ranker.digest() == before
