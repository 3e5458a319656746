"""Pictures of trees show the numbers that they are given."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl
from rankloop.data.simulate import separable
from rankloop.exceptions import DataError
from rankloop.plotting.explanations import plot_contributions, plot_dependence, plot_importance
from rankloop.plotting.figures import save_figure
from rankloop.rankers.boosting.dependence import partial_dependence


@pytest.fixture(scope="module")
def data():
    return separable(40, np.random.default_rng(0), n_features=6).data


@pytest.fixture(scope="module")
def ranker(data):
    return rl.XENDCGBoost(trees=10).fit(data)


def test_dependence_is_the_mean_of_predictions(data, ranker):
    found = partial_dependence(ranker, data, 1, points=5)
    assert found.feature == "2"
    assert found.scores.shape == (data.n_documents, len(found.values))
    raw = []
    for value in found.values:
        X = data.X.copy()
        X[:, 1] = value
        raw.append(ranker.predict(X))
    raw = np.array(raw).T
    assert np.allclose(found.scores, raw - raw.mean(axis=1, keepdims=True))
    assert np.allclose(found.mean, raw.mean(axis=0) - raw.mean())


def test_dependence_of_a_linear_ranker_is_a_line(data):
    linear = rl.RankSVM().fit(data)
    found = partial_dependence(linear, data, 2, points=7)
    slopes = np.diff(found.mean) / np.diff(found.values)
    assert np.allclose(slopes, linear.weights_[2], rtol=1e-3)


def test_dependence_errors(data, ranker):
    with pytest.raises(DataError, match="feature: expected names, or columns from 0 to 5; found 6"):
        partial_dependence(ranker, data, 6)
    with pytest.raises(DataError, match="Blend scores whole queries"):
        partial_dependence(rl.Blend(), data, 0)
    nothing = rl.QueryDataset.from_arrays([[np.nan]], [0], group=[1], allow_nan=True)
    with pytest.raises(DataError, match="has no value"):
        partial_dependence(ranker, nothing, 0)
    with pytest.raises(DataError, match="points must be"):
        partial_dependence(ranker, data, 0, points=0)


@pytest.mark.slow
def test_pictures(data, ranker, tmp_path):
    several = [partial_dependence(ranker, data, k, points=4) for k in range(4)]
    importance, contributions = plot_importance(ranker, 3), plot_contributions(ranker, data.X[0], 4)
    for k, figure in enumerate((importance, contributions, plot_dependence(several))):
        save_figure(figure, tmp_path / f"{k}.png")
        assert (tmp_path / f"{k}.png").stat().st_size > 5000
    bars = [bar.get_width() for bar in importance.axes[0].patches]
    parts = ranker.explain()
    assert np.allclose(bars, [p["gain"] / sum(q["gain"] for q in parts) for p in parts[:3]])
    bars = [bar.get_width() for bar in contributions.axes[0].patches]
    added = ranker.contributions(data.X[:1])[0]
    assert np.isclose(sum(bars), added[:-1].sum())
    assert len(bars) == 5
    assert len(plot_dependence(several).axes) == 4
    assert len(plot_dependence(several[0]).axes) == 1
    with pytest.raises(DataError, match="nothing to draw"):
        plot_dependence([])
