"""KeepRank against the paper's own loop, in any memory, with weights as counts."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl
from rankloop.data.simulate import separable
from rankloop.exceptions import DataError
from rankloop.rankers.batch.base import keep_usable
from rankloop.rankers.kernel.keeprank import bounds
from rankloop.rankers.kernel.text import parse_kernel

from ..streams import stream


def twin(X, y, kernel, passes, *, rate=1.0, margin=1.0, targets="binary", counts=None):
    """The paper's loop in double precision: coefficients after all, and their mean."""
    counts = np.ones(len(y), int) if counts is None else counts
    X, y = np.repeat(X, counts, axis=0), np.repeat(y, counts)
    K = parse_kernel(kernel)(X, X).astype(float)
    low, high = bounds(y, margin, graded=targets == "graded")
    alpha, total, n, lost = np.zeros(len(y)), np.zeros(len(y)), 0, []
    for _ in range(passes):
        lost.append(0.0)
        for k, lo, hi in zip(K, low, high, strict=True):
            f = k @ alpha
            short_of = lo - f if f < lo else min(hi - f, 0)
            lost[-1] += short_of**2 / (2 * k @ k)
            alpha = alpha + rate * short_of * k / (k @ k)
            total, n = total + alpha, n + 1
    return X, alpha, total / n, lost


def plain(**params):
    return rl.KeepRank(normalise=False, random_state=None, patience=None, **params)


@pytest.fixture(scope="module")
def data():
    made = separable(14, np.random.default_rng(1), n_documents=11, n_features=4, n_grades=3)
    return keep_usable(made.data)


@pytest.mark.parametrize("kernel", ["rbf(0.5)", "poly(2)", "linear"])
@pytest.mark.parametrize("targets", ["binary", "graded"])
@pytest.mark.parametrize("rate", [1.0, 0.3])
def test_it_is_the_papers_loop(data, kernel, targets, rate):
    seen = []
    ranker = plain(kernel=kernel, targets=targets, rate=rate, passes=3, margin=2.0)
    ranker.fit(data, on_round=seen.append)
    X, last, mean, lost = twin(data.X, data.y, kernel, 3, rate=rate, margin=2.0, targets=targets)
    assert np.allclose([r.objective for r in seen], np.array(lost) / len(X), rtol=1e-3)
    K = parse_kernel(kernel)(data.X, X).astype(float)
    scale = np.abs(K @ mean).max()
    assert np.allclose(ranker.predict(data), K @ mean, atol=2e-3 * scale)
    ranker.average = False
    assert np.allclose(ranker.predict(data), K @ last, atol=2e-3 * np.abs(K @ last).max())


@pytest.mark.parametrize("targets", ["binary", "graded"])
def test_memory_changes_nothing(data, targets):
    """The kernel matrix held, and made anew in every pass."""
    held, anew = (
        rl.KeepRank(targets=targets, memory_limit=limit).fit(data) for limit in ("1GB", "1KB")
    )
    assert np.array_equal(held.predict(data), anew.predict(data))


@pytest.mark.parametrize("rate", [1.0, 0.25])
@pytest.mark.parametrize("average", [True, False])
def test_weights_are_counts(data, rate, average):
    counts = np.random.default_rng(0).integers(1, 4, data.n_documents)
    weighted = plain(kernel="rbf(0.5)", rate=rate, passes=2, average=average)
    weighted.fit(data.X, data.y, group=data.sizes, sample_weight=counts.astype(float))
    X, last, mean, _ = twin(
        data.X, data.y, "rbf(0.5)", 2, rate=rate, counts=counts, targets="graded"
    )
    expected = parse_kernel("rbf(0.5)")(data.X, X) @ (mean if average else last)
    assert np.allclose(weighted.predict(data), expected, atol=2e-3 * np.abs(expected).max())


def test_query_weights_are_weights_of_all_their_documents(data):
    weights = np.arange(1.0, len(data) + 1)
    one = plain().fit(data.X, data.y, group=data.sizes, query_weight=weights)
    other = plain().fit(
        data.X, data.y, group=data.sizes, sample_weight=np.repeat(weights, data.sizes)
    )
    assert np.array_equal(one.predict(data), other.predict(data))


def test_a_whole_step_brings_a_score_to_its_target():
    data = rl.QueryDataset.from_arrays([[0.0], [1.0]], [1, 0], group=[2])
    ranker = plain(kernel="rbf(1)", passes=50, average=False).fit(data)
    assert np.allclose(ranker.predict(data), [1, -1], atol=1e-4)


@pytest.mark.parametrize("targets", ["binary", "graded"])
def test_rankings_do_not_depend_on_the_margin(data, targets):
    one, other = (rl.KeepRank(targets=targets, margin=m).fit(data) for m in (1.0, 4.0))
    assert np.allclose(4 * one.predict(data), other.predict(data), rtol=1e-3, atol=1e-3)


def test_bounds_of_grades():
    y = np.array([0.0, 0.5, 2.0])
    low, high = bounds(y, 2.0, graded=True)
    assert low.tolist() == [-np.inf, -1, 2]
    assert high.tolist() == [-2, -1, np.inf]
    low, high = bounds(y, 2.0, graded=False)
    assert low.tolist() == [-np.inf, 2, 2]
    assert high.tolist() == [-2, np.inf, np.inf]
    assert [len(side) for side in bounds(np.zeros(0), 1.0, graded=True)] == [0, 0]


def test_it_stops_once_the_criterion_is_small(data):
    few = rl.KeepRank(kernel="rbf(0.01)", passes=100, tolerance=1e-3).fit(data)
    assert few.rounds_ < 100
    assert rl.KeepRank(kernel="rbf(0.01)", passes=5).fit(data).rounds_ == 5


def test_going_on_is_as_if_it_had_never_stopped(data):
    whole = rl.KeepRank(passes=4).fit(data)
    parts = rl.KeepRank(passes=2, warm_start=True).fit(data).fit(data)
    assert np.array_equal(parts.predict(data), whole.predict(data))
    other = separable(5, np.random.default_rng(9), n_documents=11, n_features=4).data
    assert len(parts.fit(other).support_) == data.n_documents + other.n_documents


def test_features_are_normalised_inside_queries(data):
    scale = np.array([1e3, 1e-3, 5, 1], np.float32)
    other = rl.QueryDataset(data.X * scale + 7, data.y, data.offsets, data.query_ids)
    one, moved = rl.KeepRank().fit(data), rl.KeepRank().fit(other)
    assert np.allclose(one.predict(data), moved.predict(other), atol=0.02)


def test_nothing_to_learn_from():
    data = rl.QueryDataset.from_arrays(np.zeros((3, 3)), [1, 0, 1], group=[3])
    assert np.ptp(rl.KeepRank().fit(data).predict(data)) == 0


def test_its_parts(data):
    ranker = rl.KeepRank(passes=1).fit(data)
    parts = ranker.explain()
    sizes = [abs(part["coefficient"]) for part in parts]
    assert sizes == sorted(np.abs(ranker.coefficients_).tolist(), reverse=True)[: len(parts)]
    first = ranker.support_[parts[0]["document"]]
    assert list(parts[0]["features"].values()) == first.tolist()
    assert list(parts[0]["features"]) == ["1", "2", "3", "4"]


BAD = [
    ({"kernel": "rbf(0)"}, "sigma2 of rbf must be a number above 0"),
    ({"targets": "all"}, "targets must be binary or graded; found 'all'"),
    ({"margin": 0}, "margin must be a number above 0"),
    ({"rate": 1.5}, "rate must be a number above 0 to 1; found 1.5"),
    ({"passes": 0}, "passes must be a whole number of at least 1"),
    ({"tolerance": -1}, "tolerance must be a number from 0"),
    ({"memory_limit": "much"}, "cannot read 'much' as a size"),
    ({"kernel": "chi2", "normalise": False}, "chi2 kernel needs features of at least 0"),
]


@pytest.mark.parametrize(("params", "says"), BAD)
def test_bad_parameters(params, says):
    with pytest.raises(DataError, match=says):
        rl.KeepRank(**params).fit(stream())


def test_ohsumed(data_dir, tmp_path):
    """One fold: far better than chance (.26), and no worse than a good linear ranker by .03."""
    import subprocess

    subprocess.run(["bash", str(data_dir / "unpack"), str(tmp_path)], check=True)
    train, valid, test = rl.data.letor_folds(tmp_path / "OHSUMED")[2].read()
    test = test.shuffle(np.random.default_rng(0))
    ranker = rl.KeepRank("rbf(5)", passes=2).fit(train, valid=valid)
    linear = rl.NewtonXENDCG().fit(train)
    reached = [rl.evaluate(test, r.predict(test), "AP")["AP"] for r in (ranker, linear)]
    assert reached[0] > 0.4
    assert reached[0] > reached[1] - 0.03
