"""Rankers of sparse rows: what they learn is what dense rows teach."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import rankloop as rl
from rankloop.data.dataset import QueryDataset
from rankloop.data.sparse_rows import SparseRows
from rankloop.exceptions import DataError
from rankloop.rankers.registry import make_ranker, ranker_class, ranker_names
from rankloop.rankers.sparse import TAKE_SPARSE

# The same bits as from dense rows, or nearly the same weights.
TO_THE_BIT = [
    "slam",
    "slam:measure=AP,average=true",
    "slam:measure=nDCG@3,steps_on=loss,rate=10,clip=1",
    "slam:within_grade=mean,decay=0.5",
    "perceptron",
    "minimax",
    "minimax:average=true",
    "online-listnet",
    "online-xendcg",
    "prank",
]
NEARLY = [
    "solar-i:C=0.1",
    "solar-i:C=0.01,average=true",
    "solar-ii:covariance=diagonal,gamma=10",
    "ranksvm",
    "listnet",
    "ranknet",
    "xendcg",
    "loss-linear",
]


def stream(sizes, d, *, seed=0, weighted=False, density=0.02):
    rng = np.random.default_rng(seed)
    n = int(np.sum(sizes))
    X = np.where(rng.random((n, d)) < density, rng.normal(size=(n, d)), 0).astype(np.float32)
    X[rng.random(n) < 0.05] = 0  # rows without a nonzero
    return QueryDataset.from_arrays(
        X,
        rng.integers(-1, 4, n).astype(float),
        group=sizes,
        sample_weight=rng.integers(0, 3, n) if weighted else None,
        query_weight=rng.integers(0, 3, len(sizes)) if weighted else None,
    )


SHAPES = {
    "short": ([0, 1, 2, 5, 9, 31], 77),
    "forty": ([40] * 5, 300),
    "many": ([3, 0, 8, 1] * 20, 600),  # enough for a second thread that finds columns
    "few features": ([12] * 4, 7),
    "long": ([800, 400], 200),  # in tiles, and as long as lists are that are not
}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", TO_THE_BIT)
def test_sparse_rows_teach_the_same_bits(name, shape, weighted):
    data = stream(*SHAPES[shape], weighted=weighted)
    rankers = [make_ranker(name) for _ in range(2)]
    for _ in range(2):
        scores = [
            ranker.predict_then_learn(some)
            for ranker, some in zip(rankers, (data, data.to_sparse()), strict=True)
        ]
        assert np.array_equal(*scores)
    assert rankers[0].digest() == rankers[1].digest()
    assert np.array_equal(rankers[0].predict(data), rankers[1].predict(data.to_sparse()))


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("name", NEARLY)
def test_sparse_rows_teach_nearly_the_same(name, shape, weighted):
    data = stream(*SHAPES[shape], weighted=weighted)
    dense, sparse = make_ranker(name).fit(data), make_ranker(name).fit(data.to_sparse())
    expected = dense.weights_
    near = 1e-4 * np.abs(expected).max() if expected.any() else 0
    np.testing.assert_allclose(sparse.weights_, expected, rtol=1e-4, atol=near)


def test_features_far_from_0_do_no_harm():
    data = stream([40] * 5, 60)
    X = data.X.copy()
    X[:, ::7] += 1000
    far = QueryDataset(X, data.y, data.offsets, data.query_ids)
    dense, sparse = rl.SolarI(C=0.1).fit(far), rl.SolarI(C=0.1).fit(far.to_sparse())
    near = 1e-3 * np.abs(dense.weights_).max()
    np.testing.assert_allclose(sparse.weights_, dense.weights_, rtol=1e-2, atol=near)


@pytest.mark.parametrize("name", [*TO_THE_BIT, "solar-i:C=0.1", "solar-ii:covariance=diagonal"])
def test_what_is_learnt_does_not_depend_on_how_queries_come(name):
    data = stream([9, 40, 2, 1] * 20, 500).to_sparse()
    whole, looped, arrays = (make_ranker(name) for _ in range(3))
    whole.partial_fit(data)
    for query in data:
        looped.learn(query.X, query.y)
    assert looped.digest() == whole.digest()
    arrays.partial_fit(data.X.to_scipy(), data.y, qid=data.qid)
    assert arrays.last_weights_.tobytes() == whole.last_weights_.tobytes()
    again = rl.loads(whole.dumps())
    assert np.array_equal(again.predict(data), whole.predict(data.X.to_scipy()))
    for q in (0, 1):
        assert np.array_equal(whole.predict(data.query(q)), whole.predict(data.select([q])))
        assert np.array_equal(whole.rank(data.query(q)).scores, whole.predict(data.query(q)))


def test_pairs_of_sparse_rows():
    data = stream([30], 50)
    better, worse = data.X[:15], data.X[15:]
    dense = rl.Slam().learn_pairs(better, worse)
    sparse = rl.Slam().learn_pairs(sp.csr_array(better), SparseRows.from_dense(worse))
    assert dense.digest() == sparse.digest()


def test_a_ranking_of_sparse_rows_can_be_learnt_from():
    data = stream([30], 50).to_sparse()
    model = rl.Slam().fit(data)
    ranking = model.rank(data.query(0))
    assert ranking.X == data.X
    model.learn(ranking.X, data.y)
    with pytest.raises(DataError, match="cannot be written; rank dense rows"):
        ranking.to_dict()


def test_columns_are_matched_by_name():
    data = stream([30] * 4, 50)
    names = tuple(f"f{j}" for j in range(50))
    named = QueryDataset(data.X, data.y, data.offsets, data.query_ids, feature_names=names)
    model = rl.Slam().fit(named.to_sparse())
    turned = QueryDataset(
        np.ascontiguousarray(data.X[:, ::-1]), data.y, data.offsets, data.query_ids,
        feature_names=names[::-1],
    )  # fmt: skip
    assert np.array_equal(model.predict(turned.to_sparse()), model.predict(named))


def test_many_features_cost_what_their_nonzeros_cost():
    rng = np.random.default_rng(0)
    n, d = 400, 10**7  # 16 GB, if it were dense
    X = sp.csr_array(
        (rng.random(3 * n), (np.repeat(np.arange(n), 3), rng.integers(0, d, 3 * n))), shape=(n, d)
    )
    y, qid = rng.integers(0, 3, n), np.repeat(np.arange(20), 20)
    model = rl.Slam(rate=1.0).fit(X, y, qid=qid)
    assert np.count_nonzero(model.weights_) > 100
    assert model.score(X, y, qid=qid) > 0.9  # each document has columns of its own


def refused(ranker, data):
    with pytest.raises(DataError) as caught:
        ranker.fit(data)
    return str(caught.value)


@pytest.mark.parametrize("name", ["solar-ii", "newton", "mix", "ranknet:hidden=2"])
def test_other_rankers_say_who_takes_sparse_rows(name):
    data = stream([10] * 3, 20).to_sparse()
    ranker = make_ranker(name)
    said = refused(ranker, data)
    assert "needs dense rows, but these are sparse: 30 rows of 20 features with" in said
    assert TAKE_SPARSE in said
    assert "data.to_dense()" in said
    assert not ranker.is_fitted
    ranker.fit(data.to_dense())
    if ranker.traits.is_online:
        for method in (ranker.partial_fit, lambda some: ranker.learn(some.X, some.y)):
            before = ranker.digest()
            with pytest.raises(DataError, match="needs dense rows"):
                method(data)
            assert ranker.digest() == before
    expected = ranker.predict(data.to_dense())
    np.testing.assert_allclose(ranker.predict(data), expected, rtol=1e-6)  # in blocks


def test_the_error_names_all_rankers_that_take_sparse_rows():
    classes = {ranker_class(name) for name in ranker_names()}
    named = {word.strip(",").partition("(")[0] for word in TAKE_SPARSE.split()} - {"and"}
    assert named == {cls.__name__ for cls in classes if getattr(cls.traits, "takes_sparse", False)}


def test_values_that_are_not_finite_change_nothing():
    data = stream([10] * 3, 20)
    model = rl.Slam().fit(data.to_sparse())
    before = model.digest()
    bad = data.X.copy()
    bad[3, 4] = np.inf
    for call in (
        lambda: model.learn(sp.csr_array(bad[:10]), data.y[:10]),
        lambda: model.partial_fit(sp.csr_array(bad), data.y, qid=data.qid),
        lambda: model.predict(sp.csr_array(bad)),
    ):
        with pytest.raises(DataError, match="feature 4 of row 3 is inf"):
            call()
        assert model.digest() == before
    bad[3, 4] = np.nan
    missing = QueryDataset(bad, data.y, data.offsets, data.query_ids).to_sparse()
    with pytest.raises(DataError, match="feature 5 of a document of query 0 is nan"):
        model.partial_fit(missing)
    huge = np.where(bad > 0, np.float32(3e38), 0).astype(np.float32)
    for ranker in (rl.SolarI(C=1e30), rl.Slam(rate=1e300)):
        ranker.fit(data.to_sparse())
        state = ranker.digest()
        try:
            ranker.partial_fit(sp.csr_array(huge), data.y, qid=data.qid)
        except DataError:
            assert ranker.digest() == state
        assert np.isfinite(ranker.weights_).all()
