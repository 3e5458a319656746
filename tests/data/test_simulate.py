from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.data.dataset import QueryDataset
from rankloop.data.simulate import (
    SIMULATORS,
    mslr_like,
    predtron_gaussian,
    predtron_sparse,
    separable,
)
from rankloop.exceptions import DataError


def rng(seed=0):
    return np.random.default_rng(seed)


def margin_of(data, weights):
    """The smallest score difference of a pair of different grades, pair by pair."""
    smallest = np.inf
    for query in data:
        scores = query.X.astype(np.float64) @ weights
        better = query.y[:, None] > query.y
        if better.any():
            smallest = min(smallest, (scores[:, None] - scores)[better].min())
    return smallest


@pytest.mark.parametrize("name", SIMULATORS)
def test_every_simulator_gives_sound_data_and_repeats_with_its_seed(name):
    simulate = SIMULATORS[name]
    one, same, other = (simulate(n_queries=30, rng=rng(seed)) for seed in (5, 5, 6))
    data = one.data
    assert len(data) == 30
    assert (data.X.dtype, data.y.dtype, data.offsets.dtype) == (np.float32, np.float64, np.int64)
    checked = QueryDataset.from_arrays(data.X, data.y, qid=data.qid)  # finite, contiguous
    np.testing.assert_array_equal(checked.offsets, data.offsets)
    assert checked.rows is None
    np.testing.assert_array_equal(data.X, same.data.X)
    np.testing.assert_array_equal(data.y, same.data.y)
    assert not np.array_equal(data.X[:10], other.data.X[:10])
    assert (data.y == np.floor(data.y)).all()
    assert (data.y >= 0).all()


@pytest.mark.parametrize("name", SIMULATORS)
def test_every_simulator_checks_its_arguments(name):
    simulate = SIMULATORS[name]
    for bad in (0, 1.5, "3"):
        with pytest.raises(DataError, match="n_queries must be a whole number of at least 1"):
            simulate(bad, rng())
    with pytest.raises(DataError, match="n_features"):
        simulate(1, rng(), n_features=0)
    with pytest.raises(DataError, match="default_rng"):
        simulate(1, 0)
    with pytest.raises(MemoryError, match="dense matrix"):
        simulate(10**9, rng(), n_features=10**6)


@settings(max_examples=40)
@given(
    seed=st.integers(0, 999),
    n_documents=st.integers(1, 30),
    n_features=st.integers(1, 30),
    n_grades=st.integers(2, 6),
    margin=st.floats(1e-4, 1e5),
)
def test_separable_by_a_unit_vector_with_the_margin(
    seed, n_documents, n_features, n_grades, margin
):
    simulated = separable(
        20,
        rng(seed),
        n_documents=n_documents,
        n_features=n_features,
        n_grades=n_grades,
        margin=margin,
    )
    assert np.linalg.norm(simulated.weights) == pytest.approx(1, abs=1e-12)
    assert margin_of(simulated.data, simulated.weights) >= margin
    assert simulated.data.y.max() < n_grades
    assert simulated.data.X.shape == (20 * n_documents, n_features)


def test_rounding_to_float32_does_not_eat_the_margin():
    simulated = separable(300, rng(), n_features=2, margin=1e7)
    assert 1e7 <= margin_of(simulated.data, simulated.weights) < 1e7 + 20


def test_separable_as_in_the_paper():
    data, w = vars(separable(2000, rng())).values()
    assert (data.sizes == 20).all()
    assert data.n_features == 20
    np.testing.assert_allclose(np.bincount(data.y.astype(int)) / 40_000, 1 / 5, atol=0.01)
    # a Gaussian for each grade: means on a line along w, identity covariance across it
    across = np.linalg.svd(w[None])[2][1:].T
    for grade in range(5):
        x = data.X[data.y == grade]
        np.testing.assert_allclose(x.mean(0), (grade - 2) * 3 * w, atol=0.08)
        np.testing.assert_allclose(np.cov((x @ across).T), np.eye(19), atol=0.1)
    # the margin is tight, or figure 1 would be too easy
    assert margin_of(data.select(slice(200)), w) < 1.1


@pytest.mark.parametrize("bad", [{"margin": 0}, {"margin": np.nan}, {"n_grades": 1}])
def test_separable_checks(bad):
    with pytest.raises(DataError, match="n_grades must be at least 2 and margin above 0"):
        separable(1, rng(), **bad)


def naive_grade(score, m):
    """The paper's words: y = m - j iff zeta_{j+1} <= score <= zeta_j."""
    zeta = {1: np.inf, m + 1: -np.inf, **{j: 1 / j for j in range(2, m + 1)}}
    return next(m - j for j in range(1, m + 1) if zeta[j + 1] <= score < zeta[j])


@pytest.mark.parametrize("simulate", [predtron_gaussian, predtron_sparse])
@pytest.mark.parametrize("m", [1, 2, 3, 10])
def test_predtron_grades_follow_the_thresholds(simulate, m):
    simulated = simulate(50, rng(), n_documents=m)
    scores = simulated.data.X.astype(np.float64) @ simulated.weights
    assert simulated.data.y.tolist() == [naive_grade(s, m) for s in scores]
    assert (simulated.data.sizes == m).all()
    assert margin_of(simulated.data, simulated.weights) > 0


def test_predtron_gaussian_without_noise_has_each_grade_once():
    data = predtron_gaussian(3, rng(), n_documents=6, noise=0).data
    assert data.y.reshape(3, 6).tolist() == [[5, 4, 3, 2, 1, 0]] * 3


def test_predtron_gaussian_rows_have_their_own_centres():
    simulated = predtron_gaussian(20_000, rng(), n_documents=3, n_features=4, noise=0.5)
    x = simulated.data.X.reshape(-1, 3, 4)
    centres = np.array([(1 + 1 / 2) / 2, (1 / 2 + 1 / 3) / 2, (1 / 3 + 1 / 4) / 2])
    np.testing.assert_allclose(x.mean(0), np.outer(centres, simulated.weights), atol=0.02)
    np.testing.assert_allclose(x.std(0), 0.5, rtol=0.02)
    assert np.linalg.norm(simulated.weights) == pytest.approx(1)


def test_predtron_sparse_weights_and_range():
    simulated = predtron_sparse(500, rng(), n_features=40, n_relevant=4)
    w = simulated.weights
    assert np.count_nonzero(w) == 4
    assert np.abs(w).sum() == pytest.approx(1)
    X = simulated.data.X
    assert X.min() >= -1
    assert X.max() <= 1
    assert abs(X.mean()) < 0.01
    assert X.std() == pytest.approx(1 / np.sqrt(3), rel=0.01)


@pytest.mark.parametrize("simulate", [predtron_gaussian, predtron_sparse])
def test_predtron_simulates_more_of_the_same(simulate):
    train = simulate(5, rng(0))
    test = simulate(5, rng(1), n_features=train.data.n_features, weights=train.weights)
    np.testing.assert_array_equal(train.weights, test.weights)
    assert not np.array_equal(train.data.X, test.data.X)
    for bad in (train.weights[1:], np.zeros_like(train.weights), train.weights * np.nan):
        with pytest.raises(DataError, match="finite numbers, not all 0"):
            simulate(5, rng(), weights=bad)


def test_predtron_checks():
    with pytest.raises(DataError, match="noise must be"):
        predtron_gaussian(1, rng(), noise=-1)
    for bad in (0, 11):
        with pytest.raises(DataError, match="n_relevant must be from 1 to 10"):
            predtron_sparse(1, rng(), n_features=10, n_relevant=bad)


@pytest.fixture(scope="module")
def web():
    return mslr_like(1500, rng()).data


def test_mslr_like_grades_and_lengths(web):
    shares = np.bincount(web.y.astype(int)) / web.n_documents
    np.testing.assert_allclose(shares, [0.52, 0.32, 0.13, 0.02, 0.01], rtol=0.1)
    assert web.n_features == 136
    assert web.sizes.mean() == pytest.approx(120, rel=0.05)
    assert web.sizes.min() < 20
    assert web.sizes.max() > 600


@pytest.mark.slow
def test_mslr_like_has_features_of_every_kind(web):
    X, y = web.X, web.y
    counts, flags, useless, of_query = X[:, :61], X[:, 95:109], X[:, 109:129], X[:, 129:]
    assert (counts == np.floor(counts)).all()
    assert (counts >= 0).all()
    assert counts.max() > 1000 * np.median(counts)
    assert set(np.unique(flags)) == {0, 1}
    starts = web.offsets[:-1]
    np.testing.assert_array_equal(of_query, np.repeat(of_query[starts], web.sizes, axis=0))
    assert (of_query[starts].std(0) > 0.1).all()
    # correlated blocks: real scores of one factor, eight columns apart
    real = np.corrcoef(X[:, 61:95].T)
    assert real[0, 8] > 0.05
    assert abs(real[0, 1]) < 0.05
    # what is useless correlates with nothing; some others do with the grade
    with_grade = np.abs([np.corrcoef(column, y)[0, 1] for column in X[:, 61:129].T])
    assert with_grade[48:].max() < 0.03  # columns 109 to 128
    assert with_grade[:34].max() > 0.2
    assert len(useless) == len(y)


@pytest.mark.slow
def test_mslr_like_is_learnable_but_not_linear():
    """Trees see what a linear model cannot: the factors' products and squares."""
    from sklearn.ensemble import HistGradientBoostingRegressor
    from sklearn.linear_model import Ridge

    data = mslr_like(300, rng(0), n_features=40).data
    train, test = data.select(slice(200)), data.select(slice(200, 300))
    linear = Ridge().fit(np.log1p(np.abs(train.X)), train.y)
    trees = HistGradientBoostingRegressor(max_iter=60, random_state=0).fit(train.X, train.y)
    linear_fit = linear.score(np.log1p(np.abs(test.X)), test.y)
    trees_fit = trees.score(test.X, test.y)
    assert 0.1 < linear_fit < trees_fit - 0.02 < 0.9


@pytest.mark.slow
@pytest.mark.parametrize("list_length", [None, 17])
def test_mslr_like_does_not_depend_on_blocks(list_length):
    def simulate(block_rows, n=40):
        return mslr_like(
            n, rng(3), mean_length=20, list_length=list_length, block_rows=block_rows
        ).data

    whole = simulate(10**6)
    for block_rows in (1, 7, 100):
        blocks = simulate(block_rows)
        np.testing.assert_array_equal(blocks.X, whole.X)
        np.testing.assert_array_equal(blocks.y, whole.y)
        np.testing.assert_array_equal(blocks.offsets, whole.offsets)
    few = simulate(100, n=10)
    np.testing.assert_array_equal(few.X, whole.select(slice(10)).X)
    np.testing.assert_array_equal(few.y, whole.select(slice(10)).y)


def test_mslr_like_with_exact_lengths():
    data = mslr_like(7, rng(), list_length=120, n_features=10).data
    assert data.sizes.tolist() == [120] * 7
    assert data.X.shape == (840, 10)
    single = mslr_like(50, rng(), mean_length=1, n_features=1).data
    assert single.sizes.min() == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mean_length": 0.5}, "mean_length must be at least 1"),
        ({"noise": -1}, "noise at least 0"),
        ({"list_length": 0}, "list_length must be"),
        ({"block_rows": 0}, "block_rows must be"),
    ],
)
def test_mslr_like_checks(options, message):
    with pytest.raises(DataError, match=message):
        mslr_like(1, rng(), **options)
