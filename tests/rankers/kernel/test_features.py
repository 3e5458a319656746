"""Features of kernels: how near they come, and what a stream may rely on."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl
from rankloop.exceptions import DataError, NotFittedError
from rankloop.rankers.kernel.features import A_TIME, KernelFeatures
from rankloop.rankers.kernel.text import parse_kernel

from ..streams import stream


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).random((200, 4), np.float32)


def error(text, rows, seed=0):
    phi = KernelFeatures(text, seed).fit(rows).transform(rows)
    return np.abs(phi @ phi.T - parse_kernel("rbf(1)")(rows, rows)).mean()


@pytest.mark.parametrize("method", ["fourier", "orthogonal", "nystrom"])
def test_more_features_come_nearer(method, rows):
    errors = [
        np.mean([error(f"{method}(rbf(1),{n})", rows, seed) for seed in range(8)])
        for n in (8, 32, 128)
    ]
    assert errors[2] < errors[1] < errors[0]
    assert errors[2] < 0.05


def test_orthogonal_is_nearer_than_independent(rows):
    means = [
        np.mean([error(f"{method}(rbf(1),8)", rows, seed) for seed in range(60)])
        for method in ("orthogonal", "fourier")
    ]
    assert means[0] < means[1]


def test_fourier_features_are_right_on_average(rows):
    some = rows[:20]
    total = sum(
        phi @ phi.T
        for phi in (
            KernelFeatures("orthogonal(rbf(1),8)", seed).fit(some).transform(some)
            for seed in range(400)
        )
    )
    assert np.abs(total / 400 - parse_kernel("rbf(1)")(some, some)).max() < 0.05


@pytest.mark.parametrize("kernel", ["rbf(1)", "poly(2)", "linear", "chi2(1)", "rbf(1)*linear"])
def test_nystrom_on_all_landmarks_is_the_kernel(kernel, rows):
    some = rows[:60]
    phi = KernelFeatures(f"nystrom({kernel},60)").fit(some).transform(some)
    K = parse_kernel(kernel)(some, some)
    assert np.abs(phi @ phi.T - K).max() < 3e-3 * np.abs(K).max()


def test_nystrom_is_the_textbook_projection(rows):
    features = KernelFeatures("nystrom(rbf(1),15)").fit(rows)
    Z, kernel = features.learnt_["landmarks"], parse_kernel("rbf(1)")
    k = kernel(rows, Z).astype(float)
    textbook = k @ np.linalg.pinv(kernel(Z, Z).astype(float)) @ k.T
    phi = features.transform(rows)
    assert np.abs(phi @ phi.T - textbook).max() < 1e-4
    assert len(np.unique(Z, axis=0)) == 15


def test_a_new_landmark_changes_no_other_feature(rows):
    features = KernelFeatures("nystrom(rbf(1),40)")
    before = features.partial_fit(rows[:10]).transform(rows)
    assert len(features.learnt_["landmarks"]) == A_TIME
    after = features.partial_fit(rows[10:30]).transform(rows)
    assert np.allclose(after[:, :A_TIME], before[:, :A_TIME], atol=1e-6)
    assert not before[:, A_TIME:].any()
    assert after[:, A_TIME : 2 * A_TIME].any()


def test_equal_rows_give_one_landmark():
    features = KernelFeatures("nystrom(rbf(1),10)").fit(np.ones((20, 3)))
    assert len(features.learnt_["landmarks"]) == 1
    assert features.transform(np.ones((2, 3))).shape == (2, 10)


@pytest.mark.parametrize("text", ["nystrom(rbf(1),20)", "fourier(rbf(1),20)"])
def test_plain_values_give_the_features_back(text, rows):
    features = KernelFeatures(text, 3).fit(rows)
    again = KernelFeatures.from_dict(features.to_dict())
    assert np.array_equal(again.transform(rows), features.transform(rows))


def rings(n_queries=150):
    """A document is good near the middle, which no line can tell."""
    X = np.random.default_rng(0).uniform(-1, 1, (20 * n_queries, 2)).astype(np.float32)
    y = (np.hypot(*X.T) < 0.5) + 0.0
    return rl.QueryDataset.from_arrays(X, y, group=[20] * n_queries)


@pytest.mark.parametrize("method", ["nystrom", "fourier", "orthogonal"])
def test_linear_rankers_in_the_kernels_space(method, tmp_path):
    data = rings()
    text = f"{method}(rbf(0.1),60)"
    assert rl.evaluate(data, rl.SolarII().predict_then_learn(data), "AP")["AP"] < 0.5
    online = rl.Prepared(rl.SolarII(gamma=1.0), maps=[text])
    assert rl.evaluate(data, online.predict_then_learn(data), "AP")["AP"] > 0.8
    lifted = rl.rankers.Lifted(rl.NewtonXENDCG(), text).fit(data)
    assert rl.evaluate(data, lifted.predict(data), "AP")["AP"] > 0.9
    for ranker in (online, lifted):
        ranker.save(tmp_path / "model.rlm")
        assert np.array_equal(rl.load(tmp_path / "model.rlm").predict(data), ranker.predict(data))


def test_lifting_a_batch_ranker():
    data, seen = rings(30), []
    lifted = rl.rankers.Lifted(
        rl.KeepRank("linear", passes=4, normalise=False), "nystrom(rbf(0.1),40)"
    )
    lifted.fit(data, valid=data, on_round=seen.append)
    assert lifted.rounds_ == max(r.number for r in seen if r.best)
    assert rl.evaluate(data, lifted.predict(data), "AP")["AP"] > 0.8
    more = lifted.set_params(ranker__warm_start=True).fit(data)
    assert more.rounds_ > 0


def test_weights_reach_the_ranker():
    data, weights = stream(), np.arange(1, stream().n_documents + 1.0)
    weighted = rl.rankers.Lifted().fit(data.X, data.y, group=data.sizes, sample_weight=weights)
    assert (weighted.predict(data) != rl.rankers.Lifted().fit(data).predict(data)).any()


BAD = [
    ("nystrom(rbf(1))", "cannot read 'nystrom.rbf.1..' as features of a kernel"),
    ("cosine(rbf(1),3)", "as features of a kernel; write for example nystrom"),
    ("fourier(linear,4)", "fourier features need an rbf kernel; found linear: use nystrom"),
    ("fourier(rbf(1),5)", "must be even; found 5"),
    ("nystrom(rbf(1),0)", "must be a whole number of at least 1; found 0"),
]


@pytest.mark.parametrize(("text", "says"), BAD)
def test_bad_text(text, says, rows):
    with pytest.raises(DataError, match=says):
        KernelFeatures(text).fit(rows)
    with pytest.raises(DataError, match=says):
        rl.Prepared(rl.SolarII(), maps=[text]).fit(stream())
    with pytest.raises(DataError, match=says):
        rl.rankers.Lifted(features=text).fit(stream())


def test_errors(rows):
    with pytest.raises(NotFittedError, match="not fitted"):
        KernelFeatures("nystrom(rbf(1),4)").transform(rows)
    with pytest.raises(DataError, match="X has 3 features, but KernelFeatures is expecting 4"):
        KernelFeatures("nystrom(rbf(1),4)").fit(rows).transform(rows[:, :3])
