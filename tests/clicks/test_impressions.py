"""The cascade model against its exact probabilities."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

import rankloop as rl
from rankloop.clicks.users import CASCADE_CLICKS
from rankloop.exceptions import DataError


def exact(grades, probabilities):
    """The chance of each document to be the one clicked, over all orders."""
    chances = np.zeros(len(grades))
    orders = list(permutations(range(len(grades))))
    for order in orders:
        left = 1.0
        for i in order:
            chances[i] += left * probabilities[grades[i]] / len(orders)
            left *= 1 - probabilities[grades[i]]
    return chances


def data_of(grades, copies=1):
    """The same query again and again; a document's feature is its place."""
    X = np.tile(np.arange(len(grades))[:, None], (copies, 1))
    return rl.QueryDataset.from_arrays(X, np.tile(grades, copies), group=[len(grades)] * copies)


@pytest.mark.slow
@pytest.mark.parametrize("noise", [0.0, 0.25])
def test_clicks_have_their_probabilities(noise):
    grades, shown = [0, 4, 2, 0, 1], 30_000
    probabilities = rl.clicks.click_probabilities(noise)
    data = data_of(grades, copies=shown // 10)
    clicks = rl.clicks.cascade_clicks(data, np.random.default_rng(0), probabilities=probabilities)
    clicked = clicks.X[clicks.y == 1, 0].astype(int)
    found, chances = np.bincount(clicked, minlength=5) / shown, exact(grades, probabilities)
    errors = np.sqrt(chances * (1 - chances) / shown)
    assert (np.abs(found - chances) < 4 * errors).all()
    assert np.isclose(len(clicks) / shown, chances.sum(), atol=4 * errors.max())


def test_what_was_read_ends_with_the_click():
    data = data_of([0, 1, 0, 2, 3, 0], copies=50)
    clicks = rl.clicks.cascade_clicks(data, np.random.default_rng(1))
    for query in clicks:
        assert query.y[-1] == 1
        assert not query.y[:-1].any()
        assert len(set(query.X[:, 0])) == len(query)
    assert len(set(clicks.query_ids)) == len(clicks) <= 500
    assert clicks.query(0).id.split("#")[0] == "0"


@pytest.mark.slow
def test_how_long_lists_are_read():
    """Equal documents: the number read is geometric."""
    p, shown = 0.3, 20_000
    data = data_of([1] * 8, copies=shown // 10)
    clicks = rl.clicks.cascade_clicks(data, np.random.default_rng(2))
    for k in range(1, 9):
        chance = (1 - p) ** (k - 1) * p
        error = np.sqrt(chance * (1 - chance) / shown)
        assert abs((clicks.sizes == k).sum() / shown - chance) < 4 * error


def test_rows_keep_what_they_have():
    data = rl.QueryDataset.from_arrays(
        [[1.0], [np.nan]],
        [1, -1],
        qid=["a", "a"],
        doc_ids=["x", "y"],
        feature_names=["f"],
        sample_weight=[2.0, 3.0],
        query_weight=[0.5],
        allow_nan=True,
    )
    clicks = rl.clicks.cascade_clicks(
        data, np.random.default_rng(0), probabilities=(0, 1), impressions=4
    )
    assert clicks.query_ids.tolist() == ["a#0", "a#1", "a#2", "a#3"]
    assert set(clicks.doc_ids[clicks.y == 1]) == {"x"}
    assert set(clicks.sample_weight[clicks.y == 1]) == {2.0}
    assert clicks.query_weight.tolist() == [0.5] * 4
    assert clicks.feature_names == ("f",)


def test_no_clicks_at_all():
    clicks = rl.clicks.cascade_clicks(
        data_of([0, 1]), np.random.default_rng(0), probabilities=(0, 0)
    )
    assert (len(clicks), clicks.X.shape) == (0, (0, 1))


def test_the_same_seed_gives_the_same_clicks():
    data = data_of([0, 1, 2], copies=20)
    one, same, other = (rl.clicks.cascade_clicks(data, np.random.default_rng(s)) for s in (0, 0, 1))
    assert np.array_equal(one.X, same.X)
    assert one.X.shape != other.X.shape or not np.array_equal(one.X, other.X)


def test_clicks_teach():
    """A ranker that learns from clicks alone ranks by grade."""
    data = rl.QueryDataset.from_arrays(
        np.tile(np.arange(5)[:, None], (60, 1)), np.tile(np.arange(5), 60), group=[5] * 60
    )
    ranker = rl.XENDCGBoost(trees=30).fit(rl.clicks.cascade_clicks(data, np.random.default_rng(0)))
    assert (np.diff(ranker.predict(np.arange(5.0)[:, None])) > 0).all()


def test_errors():
    rng, data = np.random.default_rng(0), data_of([0, 5])
    with pytest.raises(DataError, match="grades go up to 5, but there are probabilities only"):
        rl.clicks.cascade_clicks(data, rng)
    with pytest.raises(DataError, match=r"the grade 0\.5 is not a whole number"):
        rl.clicks.cascade_clicks(data_of([0.5, 1]), rng)
    with pytest.raises(DataError, match="numbers from 0 to 1"):
        rl.clicks.cascade_clicks(data, rng, probabilities=[0.5] * 5 + [1.5])
    with pytest.raises(DataError, match="impressions"):
        rl.clicks.cascade_clicks(data_of([0, 1]), rng, impressions=0)
    with pytest.raises(DataError, match="rng must be"):
        rl.clicks.cascade_clicks(data, 3)
    with pytest.raises(DataError, match="noise must be"):
        rl.clicks.click_probabilities(0.96)
    assert rl.clicks.click_probabilities() == CASCADE_CLICKS
