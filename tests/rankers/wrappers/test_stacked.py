"""A frozen model inside an online ranker: what it starts from, and what it learns."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop import NewtonXENDCG, XENDCGBoost, loads
from rankloop.data.simulate import mslr_like, separable
from rankloop.exceptions import DataError, ModelError
from rankloop.rankers.batch.xendcg import XENDCG
from rankloop.rankers.wrappers.stacked import Stacked


@pytest.fixture(scope="module")
def data():
    return mslr_like(60, np.random.default_rng(3), n_features=5).data


@pytest.fixture(scope="module")
def trees(data):
    return XENDCGBoost(trees=10).fit(data.select(slice(0, 30)))


def columns(frozen, query):
    """The definition, column by column."""
    X = query.X.astype(np.float64)
    low, high = X.min(axis=0), X.max(axis=0)
    spread = np.where(high > low, high - low, 1)
    below = (X[:, None, :] > X[None, :, :]).sum(axis=1)
    ties = (X[:, None, :] == X[None, :, :]).sum(axis=1)
    ranks = (below + ties / 2) / len(X)
    scores = frozen.predict(query).astype(np.float64)
    F = (scores - scores.mean()) / (scores.std() or 1)
    return np.column_stack([(X - low) / spread - 0.5, ranks - 0.5, 0.3 * F])


def test_it_starts_as_the_frozen_model_ranks(data, trees):
    valid, rest = data.select(slice(30, 45)), data.select(slice(45, 60))
    stacked = Stacked.over(trees, valid)
    for query in rest:
        frozen = trees.predict(query)
        assert np.array_equal(
            np.argsort(-stacked.predict(query), kind="stable"), np.argsort(-frozen, kind="stable")
        )


def test_it_is_newton_on_the_columns_of_its_definition(data, trees):
    valid, rest = data.select(slice(30, 45)), data.select(slice(45, 60))
    stacked = Stacked.over(trees, valid)
    slope = NewtonXENDCG(1.0)
    for query in valid:
        slope.learn(columns(trees, query)[:, -1:].astype(np.float32), query.y)
    naive = NewtonXENDCG(100.0)
    naive._reset(11)
    naive.last_weights_ = np.array([0.0] * 10 + [slope.weights_[0]])
    assert slope.weights_[0] > 0
    for query in rest:
        given = columns(trees, query).astype(np.float32)
        assert np.allclose(stacked.predict(query), naive.predict(given), atol=1e-4)
        stacked.learn(query.X, query.y)
        naive.learn(given, query.y)
    assert np.allclose(stacked.ranker_.weights_, naive.weights_, atol=1e-4)


def test_fit_holds_queries_out_and_takes_validation_data(data):
    train, valid = data.select(slice(0, 40)), data.select(slice(40, 60))
    alone = Stacked(XENDCG()).fit(train)
    kept = train.select(np.flatnonzero(np.arange(40) % 5 != 4))
    held = train.select(np.flatnonzero(np.arange(40) % 5 == 4))
    assert alone.frozen_.digest() == XENDCG().fit(kept, valid=held).digest()
    told = Stacked(XENDCG()).fit(train, valid=valid)
    assert told.frozen_.digest() == XENDCG().fit(train, valid=valid).digest()
    assert told.n_queries_seen_ == 40


def test_it_adapts_where_a_frozen_model_cannot():
    """The frozen model learnt the opposite of what people now want."""
    data = separable(300, np.random.default_rng(0), n_features=4).data
    wrong = type(data)(data.X, data.y.max() - data.y, data.offsets, data.query_ids)
    frozen = XENDCG().fit(wrong.select(slice(0, 50)))
    stacked = Stacked.over(frozen, wrong.select(slice(50, 100)))
    test = data.select(slice(200, 300))
    before = stacked.score(test)
    stacked.partial_fit(data.select(slice(100, 200)))
    assert stacked.score(test) > max(before, frozen.score(test)) + 0.2
    assert frozen.digest() == stacked.frozen_.digest()


def test_saved_it_goes_on_the_same(data, trees):
    stacked = Stacked.over(trees, data.select(slice(30, 45)))
    again = loads(stacked.dumps())
    assert again.digest() == stacked.digest()
    rest = data.select(slice(45, 60))
    assert again.partial_fit(rest).digest() == stacked.partial_fit(rest).digest()


def test_only_those_of_one_frozen_model_merge(data, trees):
    valid = data.select(slice(30, 45))
    one, other = Stacked.over(trees, valid), Stacked.over(trees, valid)
    base = loads(one.dumps())
    one.partial_fit(data.select(slice(45, 52)))
    other.partial_fit(data.select(slice(52, 60)))
    assert one.merge([other], base).n_queries_seen_ == 15
    with pytest.raises(DataError, match="different frozen models"):
        one.merge([Stacked(trees).fit(data)], base)


def test_mistakes_are_named(data, trees):
    with pytest.raises(DataError, match="prior must be"):
        Stacked(prior=0).fit(data)
    with pytest.raises(DataError, match="features"):
        Stacked.over(trees, separable(5, np.random.default_rng(0), n_features=3).data)
    stacked = Stacked.over(trees, data)
    state = stacked._state()
    with pytest.raises(ModelError, match="frozen_ must be"):
        stacked._restore(state | {"frozen_": None})
