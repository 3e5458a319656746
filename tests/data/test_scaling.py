from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from rankloop.data import memory
from rankloop.data.dataset import QueryDataset
from rankloop.data.scaling import (
    SCALERS,
    NoScaling,
    QueryMinMax,
    RobustLog,
    Standard,
    scaler_from_dict,
    scaler_from_name,
)
from rankloop.exceptions import DataError, NotFittedError

NAMES = list(SCALERS)
FITTED = ["standard", "log"]


@st.composite
def datasets(draw, *, nan=True):
    """Queries of 0 to 6 documents, at least one document, values of every size, some missing."""
    sizes = draw(st.lists(st.integers(0, 6), min_size=1, max_size=6).filter(any))
    d = draw(st.integers(1, 4))
    values = st.floats(-1e6, 1e6, width=32)
    if nan:
        values |= st.just(np.nan)
    X = draw(arrays(np.float32, (sum(sizes), d), elements=values))
    return QueryDataset.from_arrays(X, np.zeros(len(X)), group=sizes, allow_nan=True)


def naive_query_minmax(data):
    out = data.X.astype(np.float64)
    for a, b in zip(data.offsets[:-1], data.offsets[1:], strict=True):
        for j in range(data.n_features):
            column = out[a:b, j]
            known = column[~np.isnan(column)]
            if len(known):
                low, high = known.min(), known.max()
                out[a:b, j] = 0 * column if low == high else (column - low) / (high - low)
    return out


def naive_standard(data):
    out = data.X.astype(np.float64)
    for column in out.T:
        known = column[~np.isnan(column)]
        if len(known):
            constant = known.min() == known.max()
            column[:] = 0 * column if constant else (column - known.mean()) / known.std()
    return out


def naive_log(data):
    out = np.sign(data.X) * np.log1p(np.abs(data.X.astype(np.float64)))
    for column in out.T:
        known = column[~np.isnan(column)]
        if len(known) == 0:
            continue
        width = known.max() - known.min()
        scale = np.percentile(known, 75) - np.percentile(known, 25)
        if scale <= width / 1000:
            scale = np.percentile(known, 95) - np.percentile(known, 5)
        if scale <= width / 1000:
            scale = width
        column[:] = 0 * column if scale == 0 else (column - np.median(known)) / scale
    return out


TWINS = {
    "query-minmax": naive_query_minmax,
    "standard": naive_standard,
    "log": naive_log,
    "none": lambda data: data.X,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@given(data=datasets())
def test_agrees_with_the_naive_twin(name, data):
    out = scaler_from_name(name).fit(data).transform(data)
    np.testing.assert_allclose(out.X, TWINS[name](data), rtol=1e-5, atol=1e-6)
    assert out.X.dtype == np.float32


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@given(data=datasets())
def test_nan_stays_and_nothing_else_becomes_nan(name, data):
    out = scaler_from_name(name).fit(data).transform(data).X
    np.testing.assert_array_equal(np.isnan(out), np.isnan(data.X))


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@given(data=datasets())
def test_json_keeps_every_bit(name, data):
    scaler = scaler_from_name(name).fit(data)
    again = scaler_from_dict(json.loads(json.dumps(scaler.to_dict(), allow_nan=False)))
    assert again.to_dict() == scaler.to_dict()
    np.testing.assert_array_equal(again.transform(data).X, scaler.transform(data).X)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@given(data=datasets(), seed=st.integers(0, 99))
def test_permuting_documents_permutes_the_result(name, data, seed):
    shuffled = data.shuffle(np.random.default_rng(seed))
    out = scaler_from_name(name).fit(shuffled).transform(shuffled)
    expected = scaler_from_name(name).fit(data).transform(data).X[shuffled.rows]
    np.testing.assert_allclose(out.X, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
@given(data=datasets())
def test_rows_and_data_sets_are_scaled_alike_and_left_alone(name, data):
    before = data.X.copy()
    scaler = scaler_from_name(name).fit(data)
    rows = scaler.transform_rows(data.X.astype(np.float64), data.offsets)
    np.testing.assert_array_equal(rows, scaler.transform(data).X)
    np.testing.assert_array_equal(data.X, before)


@pytest.mark.parametrize("name", NAMES)
def test_the_block_size_does_not_matter(name, monkeypatch):
    X = np.random.default_rng(0).lognormal(3, 2, (500, 7)).astype(np.float32)
    data = QueryDataset.from_arrays(X, np.zeros(500), group=[300, 0, 200])
    whole = scaler_from_name(name).fit(data).transform(data)
    monkeypatch.setattr(memory, "BLOCK", 50)
    in_blocks = scaler_from_name(name).fit(data).transform(data)
    np.testing.assert_allclose(in_blocks.X, whole.X, rtol=1e-6, atol=1e-7)


def test_everything_but_the_features_is_kept():
    data = QueryDataset.from_arrays(
        [[1.0], [2.0], [3.0]],
        [2, 1, 0],
        qid=["b", "a", "b"],
        doc_ids=["x", "y", "z"],
        feature_names=["length"],
        query_weight=[1, 2],
    )
    out = QueryMinMax().transform(data)
    assert out.X.ravel().tolist() == [0, 1, 0]
    for name in ("y", "offsets", "query_ids", "doc_ids", "feature_names", "query_weight", "rows"):
        assert getattr(out, name) is getattr(data, name)


def test_standard_has_mean_0_and_deviation_1_far_from_0():
    X = 1e6 + np.random.default_rng(0).standard_normal((1000, 3)).astype(np.float32)
    data = QueryDataset.from_arrays(X, np.zeros(1000), group=[1000])
    out = Standard().fit(data).transform(data).X.astype(np.float64)
    np.testing.assert_allclose(out.mean(0), 0, atol=1e-6)
    np.testing.assert_allclose(out.std(0), 1, rtol=1e-6)


@pytest.mark.parametrize("name", FITTED)
def test_a_constant_feature_becomes_0_whatever_its_value(name):
    # rounded sums would leave a constant a tiny deviation, and the scaler would blow it up
    n = 100_003
    X = np.full((n, 1), 0.1, np.float32)
    data = QueryDataset.from_arrays(X, np.zeros(n), group=[n])
    scaler = scaler_from_name(name).fit(data)
    assert (scaler.transform(data).X == 0).all()
    assert scaler.transform_rows([[7.0], [np.nan]])[0] == 0  # unseen in training, so not trusted


@pytest.mark.parametrize(
    ("values", "scale"),
    [
        (np.arange(101), "quartiles"),
        ([0] * 80 + [5] * 20, "P95 - P5"),
        ([0] * 99 + [5], "range"),
        ([5] * 10, "none"),
        ([0] * 50 + [1e-6] * 49 + [1e6], "range"),  # quartiles of noise: do not blow it up
    ],
)
def test_log_falls_back_to_wider_ranges(values, scale):
    X = np.array(values, np.float32)[:, None]
    data = QueryDataset.from_arrays(X, np.zeros(len(X)), group=[len(X)])
    g = np.log1p(X.astype(np.float64))
    expected = {
        "quartiles": np.log(1 + 75) - np.log(1 + 25),
        "P95 - P5": np.log(1 + 5),
        "range": g.max() - g.min(),
        "none": 0,
    }
    scaler = RobustLog().fit(data)
    assert scaler.scale_[0] == pytest.approx(expected[scale])
    assert scaler.centre_[0] == pytest.approx(np.median(g))
    assert np.abs(scaler.transform(data).X).max() <= 1000


def test_log_is_odd():
    data = QueryDataset.from_arrays([[-9.0], [0.0], [9.0]], [0, 0, 0], group=[3])
    assert RobustLog().fit(data).transform(data).X.ravel().tolist() == [-1, 0, 1]


@pytest.mark.parametrize("name", NAMES)
def test_extreme_values_stay_finite(name):
    big = np.finfo(np.float32).max
    X = np.array([[big, 1e-45], [-big, 0], [0, 0]], np.float32)
    data = QueryDataset.from_arrays(X, np.zeros(3), group=[3])
    scaler = scaler_from_name(name).fit(data)
    assert np.isfinite(scaler.transform(data).X).all()
    assert np.isfinite(scaler.transform_rows(X[:, ::-1], [0, 3])).all()


def test_single_documents_and_empty_queries_become_0():
    data = QueryDataset.from_arrays([[3.0], [4.0]], [0, 1], group=[0, 1, 0, 1, 0])
    assert QueryMinMax().transform(data).X.ravel().tolist() == [0, 0]


def test_no_documents():
    data = QueryDataset.from_arrays(np.empty((0, 2)), [], group=[0])
    for name in FITTED:
        with pytest.raises(DataError, match="no documents"):
            scaler_from_name(name).fit(data)
    assert QueryMinMax().fit(data).transform(data).X.shape == (0, 2)
    scaler = Standard().fit(QueryDataset.from_arrays([[1.0, 2.0]], [0], group=[1]))
    assert scaler.transform(data).X.shape == (0, 2)


@pytest.mark.parametrize("name", FITTED)
def test_not_fitted_and_wrong_width(name):
    data = QueryDataset.from_arrays([[1.0, 2.0]], [0], group=[1])
    with pytest.raises(NotFittedError, match="is not fitted: call fit"):
        scaler_from_name(name).transform(data)
    with pytest.raises(NotFittedError, match="not fitted"):
        scaler_from_name(name).to_dict()
    with pytest.raises(DataError, match=r"X has 3 features, but \w+ is expecting 2"):
        scaler_from_name(name).fit(data).transform_rows([[1, 2, 3]])


def test_query_minmax_needs_sound_offsets():
    with pytest.raises(DataError, match=r"\[0, 2\] if all rows are one query"):
        QueryMinMax().transform_rows([[1.0], [2.0]])
    for bad in ([0, 1], [1, 2], [0, 3, 2], [], [[0, 2]], [0.0, 2.0]):
        with pytest.raises(DataError, match="rise from 0 to 2"):
            QueryMinMax().transform_rows([[1.0], [2.0]], bad)


@pytest.mark.parametrize(
    ("manifest", "message"),
    [
        ({}, "no scaler ''"),
        ({"name": "zscore"}, "no scaler 'zscore'; choose from query-minmax, standard, log, none"),
        ({"name": "log", "centre": [0.0]}, "scale"),
        ({"name": "log", "centre": [0.0], "scale": ["a"]}, "could not convert"),
        ({"name": "log", "centre": [0.0], "scale": [1.0, 2.0]}, "one length"),
        ({"name": "standard", "centre": [0.0], "scale": [-1.0]}, "scales >= 0"),
        ({"name": "standard", "centre": [float("nan")], "scale": [1.0]}, "finite"),
    ],
)
def test_a_bad_manifest(manifest, message):
    with pytest.raises(DataError, match=message):
        scaler_from_dict(manifest)


def test_a_manifest_of_another_scaler():
    with pytest.raises(DataError, match="describes scaler 'none', not 'log'"):
        RobustLog.from_dict(NoScaling().to_dict())


def test_it_prints_as_it_is_made():
    assert repr(Standard()) == "Standard()"


def test_normalised_letor_is_left_as_it_is(data_dir):
    """LETOR 4.0's files are scaled by query already; doing it again changes only rounding."""
    from rankloop.data.io.letor import read_letor

    data = read_letor(data_dir / "MQ2008" / "S1.txt.xz")
    np.testing.assert_allclose(QueryMinMax().transform(data).X, data.X, atol=2e-6)


def test_raw_web_features_are_tamed(data_dir):
    from rankloop.data.io.letor import read_letor

    train = read_letor(data_dir / "MSLR-sample" / "train.txt.xz")
    test = read_letor(data_dir / "MSLR-sample" / "test.txt.xz")
    assert np.abs(train.X).max() > 1e6
    scaler = RobustLog().fit(train)
    assert np.abs(scaler.transform(test).X).max() < 1000
    np.testing.assert_allclose(scaler.transform(train).X, naive_log(train), rtol=1e-4, atol=1e-5)
