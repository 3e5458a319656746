"""Feature maps and mixes: what they compute, what they promise."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import rankdata

import rankloop as rl
from rankloop.data.scaling import scaler_from_name
from rankloop.data.simulate import mslr_like, separable
from rankloop.exceptions import DataError
from rankloop.rankers.ensembles.mix import standardise
from rankloop.rankers.wrappers.maps import map_rows


@pytest.fixture(scope="module")
def data():
    made = mslr_like(80, np.random.default_rng(4), n_features=6, mean_length=10).data
    return rl.data.RobustLog().fit(made).transform(made)


def test_ranks_are_scipys_inside_each_query(data):
    found = map_rows(["rank"], data.X, data.offsets)
    for q in range(len(data)):
        rows = slice(data.offsets[q], data.offsets[q + 1])
        m = rows.stop - rows.start
        assert np.allclose(found[rows], (rankdata(data.X[rows], axis=0) - 0.5) / m, atol=1e-6)


def test_maps_stand_side_by_side(data):
    found = map_rows(["raw", "square", "1*3", "minmax"], data.X, data.offsets)
    assert np.array_equal(found[:, :6], data.X)
    assert np.array_equal(found[:, 6:12], data.X**2)
    assert np.array_equal(found[:, 12], data.X[:, 1] * data.X[:, 3])
    assert np.array_equal(found[:, 13:], rl.data.QueryMinMax().transform(data).X)
    with pytest.raises(DataError, match="unknown map 'cube'; known: raw"):
        map_rows(["cube"], data.X, data.offsets)
    with pytest.raises(DataError, match="there are 6 features, numbered from 0 to 5"):
        map_rows(["0*6"], data.X, data.offsets)


def test_raw_maps_change_nothing(data):
    plain, mapped = rl.SolarII().fit(data), rl.Prepared(rl.SolarII(), maps=["raw"]).fit(data)
    assert np.array_equal(plain.predict(data), mapped.predict(data))


def test_units_of_features_do_not_matter_to_auto(data):
    scale = np.array([1e-3, 10, 1e4, 1, 7, 0.5], np.float32)
    other = rl.QueryDataset(data.X * scale, data.y, data.offsets, data.query_ids)
    a, b = rl.Auto().fit(data).predict(data), rl.Auto().fit(other).predict(other)
    assert np.allclose(a, b, atol=1e-3)


def test_queries_are_told_by_their_ids_when_it_predicts(data):
    ranker = rl.Prepared(rl.SolarII(), maps=["rank"]).fit(data)
    expected = ranker.predict(data)
    mixed = np.random.default_rng(0).permutation(data.n_documents)
    found = ranker.predict(data.X[mixed], qid=data.qid[mixed])
    assert np.allclose(found, expected[mixed])
    assert np.allclose(ranker.predict(data.query(3)), expected[data.offsets[3] : data.offsets[4]])


def test_standardised_scores():
    offsets = np.array([0, 3, 3, 4])
    found = standardise(np.array([1.0, 2.0, 3.0, 9.0]), offsets)
    assert np.allclose(found, [-np.sqrt(1.5), 0, np.sqrt(1.5), 0])


def test_a_mix_of_one_ranks_like_its_member(data):
    mix, alone = rl.Mix([rl.SolarII()]).fit(data), rl.SolarII().fit(data)
    for query in data:
        assert np.array_equal(mix.rank(query).order, alone.rank(query).order)


@pytest.mark.parametrize("weighting", ["uniform", "exponential"])
def test_weights_follow_losses(data, weighting):
    bad = rl.rankers.MinimaxPerceptron()
    mix = rl.Mix([rl.SolarII(), bad], weighting).fit(data)
    values = []
    for ranker in (rl.SolarII(), bad):  # a mix copies its members: these are new
        scores = ranker.predict_then_learn(data)
        values.append(rl.evaluate(data, scores, "nDCG@10").results[0].values)
    assert np.allclose(mix.losses_, [np.nansum(1 - v) for v in values])
    rate = np.sqrt(8 * np.log(2) / len(data))
    expected = np.exp(-rate * mix.losses_) / np.exp(-rate * mix.losses_).sum()
    assert np.allclose(mix.mix_, [0.5, 0.5] if weighting == "uniform" else expected)


@pytest.mark.parametrize("source", ["mslr", "separable"])
def test_a_mix_ends_close_to_its_best_member_or_ahead(source):
    rng = np.random.default_rng(8)
    made = (
        mslr_like(400, rng, n_features=10, mean_length=15)
        if source == "mslr"
        else separable(400, rng)
    )
    data = rl.data.RobustLog().fit(made.data).transform(made.data)
    members = {
        "newton": rl.NewtonXENDCG(),
        "solar": rl.SolarII(),
        "minimax": rl.rankers.MinimaxPerceptron(),
    }
    found = rl.stream(
        data, {**members, "mix": rl.Mix(list(members.values()))}, permutations=3, seed=2
    )
    means = {stream.ranker: stream.mean for stream in found}
    assert means["mix"] > max(means.values()) - 0.003 - 0.002  # and the cost of finding out


def test_errors(data):
    with pytest.raises(DataError, match="at least one ranker"):
        rl.Mix([]).fit(data)
    with pytest.raises(DataError, match="weighting must be"):
        rl.Mix(weighting="best").fit(data)


@pytest.mark.parametrize("scale", ["standard", "log", "query-minmax"])
def test_a_scaler_is_fitted_once_stored_and_applied(data, scale, tmp_path):
    train, more = data.select(slice(0, 50)), data.select(slice(50, 80))
    ranker = rl.Prepared(rl.SolarII(), scale).fit(train)
    by_hand = scaler_from_name(scale).fit(train)
    alone = rl.SolarII().fit(by_hand.transform(train))
    assert np.array_equal(ranker.predict(more), alone.predict(by_hand.transform(more)))
    ranker.save(tmp_path / "model.rlm")
    again = rl.load(tmp_path / "model.rlm").partial_fit(more)  # the old scaler, not one of `more`
    alone.partial_fit(by_hand.transform(more))
    assert np.array_equal(again.predict(train), alone.predict(by_hand.transform(train)))


def test_an_unknown_scaler_is_refused_before_anything_is_forgotten(data):
    with pytest.raises(DataError, match="cube"):
        rl.Prepared(rl.SolarII(), scale="cube").fit(data)


def test_centred_features_are_less_their_lowest_value():
    X = np.array([[5.0, 1.0], [3.0, 1.0], [10.0, -2.0]], np.float32)
    found = map_rows(["centre"], X, np.array([0, 2, 3]))
    assert found.tolist() == [[2.0, 0.0], [0.0, 0.0], [0.0, 0.0]]


@pytest.mark.parametrize("name", ["slam", "newton", "solar-ii", "online-listnet"])
@pytest.mark.parametrize("offset", [2.0**14, -(2.0**17)])
def test_centring_makes_offsets_harmless(name, offset):
    """Features a long way from 0 beside their differences: the same scores, bit for bit."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 16, (300, 5)) / 4
    y = np.minimum(X @ [1.0, -1.0, 0.5, 0.0, 0.0] > 1, 1) + (X[:, 0] > 3)
    near = rl.QueryDataset.from_arrays(X, y, group=[10] * 30)
    far = rl.QueryDataset.from_arrays(X + offset, y, group=[10] * 30)

    centred = [
        rl.Prepared(rl.make_ranker(name), maps=["centre"]).predict_then_learn(data)
        for data in (near, far)
    ]
    assert np.array_equal(*centred)
