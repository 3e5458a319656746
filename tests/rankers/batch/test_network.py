"""RankNet with hidden units: its gradient, its solver, what it sees."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import rankloop as rl
from rankloop.exceptions import DataError
from rankloop.losses import PairwiseLogistic
from rankloop.rankers.batch.lbfgs import descend
from rankloop.rankers.batch.network import Network

from .convex_data import noisy


def test_explain_of_hidden_units():
    parts = rl.rankers.RankNet(hidden=3).fit(noisy()).explain()
    assert len(parts) == 3
    assert [set(part) for part in parts] == [{"weight", "bias", "features"}] * 3
    assert set(parts[0]["features"]) == set("abcde")


def test_the_gradient_of_a_network(rng):
    network = Network(noisy(10, weights=True), PairwiseLogistic(), 0.3, 4)
    packed = rng.normal(size=4 + 4 + 5 * 4)
    _, gradient = network.at(packed)
    for i, e in enumerate(np.eye(len(packed))):
        rise = network.at(packed + 1e-6 * e)[0] - network.at(packed - 1e-6 * e)[0]
        assert rise / 2e-6 == pytest.approx(gradient[i], rel=1e-5, abs=1e-4)


def test_hidden_units_see_what_a_linear_ranker_cannot():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    y = np.digitize(X[:, 0] ** 2, [0.5, 1.5])
    data = rl.QueryDataset.from_arrays(X, y, group=[20] * 50)
    reached = {
        hidden: rl.evaluate(data, rl.rankers.RankNet(C=1, hidden=hidden).fit(data).predict(data))
        for hidden in (0, 8)
    }
    assert reached[0]["nDCG@10"] < 0.8
    assert reached[8]["nDCG@10"] > 0.95


def test_the_seed_is_the_start():
    data = noisy()
    one, same, other = (
        rl.rankers.RankNet(hidden=3, random_state=seed).fit(data).weights_ for seed in (1, 1, 2)
    )
    assert np.array_equal(one, same)
    assert not np.allclose(one, other)


def test_lbfgs_finds_the_bottom_of_a_valley():
    steps = list(
        descend(
            lambda x: (scipy.optimize.rosen(x), scipy.optimize.rosen_der(x)),
            np.array([-1.2, 1.0, 0.5]),
            1e-14,
        )
    )
    values = [value for _, value in steps]
    assert values == sorted(values, reverse=True)
    assert np.allclose(steps[-1][0], 1, atol=1e-4)


def test_hidden_units_cannot_be_changed_on_the_way():
    data = noisy()
    model = rl.rankers.RankNet(hidden=3).fit(data)
    scores = model.set_params(hidden=4, warm_start=True).predict(data)
    with pytest.raises(
        DataError, match="continues from 3 hidden units, but hidden is 4; set warm_st"
    ):
        model.fit(data)
    assert np.array_equal(model.predict(data), scores)
    settings = [{"hidden": 0}, {"hidden": 2}, {"hidden": 0}]
    shapes = [m.weights_.shape for m in model.fit_path(data, settings)]
    assert shapes == [(5,), (2,), (5,)]
