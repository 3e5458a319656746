"""What `predict` needs to know of queries, and how it takes sparse rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import rankloop as rl
from rankloop.data.simulate import separable
from rankloop.rankers import sparse

from .small import EVERY, small

WHOLE = ["auto", "blend", "keeprank", "mix"]


@pytest.fixture(scope="module")
def data():
    return separable(30, np.random.default_rng(0), n_documents=8, n_features=6, n_grades=3).data


@pytest.mark.parametrize("name", WHOLE)
def test_rankers_of_whole_queries_want_to_know_the_queries(name, data):
    model = small(name).fit(data)
    for rows in (data.X, data.X[:8], data.X[:8].tolist()):
        with pytest.raises(rl.DataError, match=r"pass qid=.*or group=.*a Query or a QueryDataset"):
            model.predict(rows)
        with pytest.raises(rl.DataError, match="depend on all documents of a query"):
            model.copy().predict(rows)
    scores = model.predict(data)
    np.testing.assert_array_equal(model.predict(data.X, qid=data.qid), scores)
    np.testing.assert_array_equal(model.predict(data.X, group=data.sizes), scores)
    query = next(iter(data))
    np.testing.assert_array_equal(model.predict(query), scores[:8])
    assert model.rank(query.X).order.tolist() == model.rank(query).order.tolist()


@pytest.mark.parametrize(
    ("model", "alone"),
    [
        (rl.Prepared(maps=["raw", "square"]), True),
        (rl.Prepared(maps=["raw", "0*1", "nystrom(rbf(1),5)"], scale="log"), True),
        (rl.Prepared(maps=["centre"]), False),
        (rl.Prepared(maps=["minmax"]), False),
        (rl.Prepared(maps=["raw"], scale="query-minmax"), False),
        (rl.Prepared(rl.Prepared(maps=["rank"]), maps=["raw"]), False),
        (rl.Prepared(scale="log", maps=["centre"]), False),
        (rl.Prepared(scale="log", maps=["raw"]), True),
    ],
    ids=repr,
)
def test_maps_decide_whether_rows_are_scored_alone(model, alone, data):
    model.fit(data)
    assert model.traits.scores_rows_alone is alone
    by_row = [model.predict(data.X[i : i + 1], group=[1])[0] for i in range(8)]
    assert np.allclose(by_row, model.predict(data)[:8], rtol=1e-4, atol=1e-5) is alone
    if alone:
        np.testing.assert_array_equal(model.predict(data.X), model.predict(data))


@pytest.fixture
def tiny_blocks(monkeypatch):
    monkeypatch.setattr(sparse, "BLOCK", 100)  # 16 rows of 6 features: two queries


@pytest.mark.matrix
@pytest.mark.parametrize("name", EVERY)
def test_sparse_rows_are_scored_as_dense_ones(name, data, tiny_blocks, monkeypatch):
    model = small(name).fit(data)
    mixed = np.random.default_rng(1).permutation(data.n_documents)
    X, qid = scipy.sparse.coo_array(data.X[mixed]), data.qid[mixed]
    largest = []
    score_rows = type(model)._score_rows

    def spy(self, rows, offsets):
        if self.n_features_in_ == 6:
            largest.append(len(rows))
        return score_rows(self, rows, offsets)

    expected = model.predict(data.X[mixed], qid=qid)
    monkeypatch.setattr(type(model), "_score_rows", spy)
    np.testing.assert_allclose(model.predict(X, qid=qid), expected, rtol=1e-6, atol=1e-7)
    if model.traits.scores_rows_alone:
        np.testing.assert_allclose(model.predict(X), expected, rtol=1e-6, atol=1e-7)
    else:
        with pytest.raises(rl.DataError, match="pass qid="):
            model.predict(X)
    assert max(largest) <= 16 or model._is_sparse_taken()  # others see dense blocks


def test_a_query_larger_than_a_block_stays_whole(tiny_blocks):
    offsets = np.array([0, 3, 3, 90, 95, 120])
    assert list(sparse.query_blocks(offsets, 6)) == [(0, 2), (2, 3), (3, 4), (4, 5)]


def test_bad_sparse_values_are_named(data, tiny_blocks):
    X = data.X.copy()
    X[100, 4] = np.inf
    model = rl.SolarII().fit(data)
    with pytest.raises(rl.DataError, match="feature 4 of row 100 is inf"):
        model.predict(scipy.sparse.csr_matrix(X))
    with pytest.raises(rl.DataError, match="X has 5 features"):
        model.predict(scipy.sparse.csr_matrix(data.X[:, :5]))
    with pytest.raises(rl.DataError, match="240"):
        model.predict(scipy.sparse.csr_matrix(data.X), qid=data.qid[:7])
