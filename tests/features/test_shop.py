"""A simulated shop with hundreds of categories: linear rankers learn them without being told."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.categories import by_hand, shop

import rankloop as rl
from rankloop.rankers import Described

TRAIN, TEST = slice(0, 250), slice(250, 350)


@pytest.fixture(scope="module")
def data():
    return shop(3, 350)


def quality(ranker, data):
    scores = ranker.fit(data.select(TRAIN)).predict(data.select(TEST))
    return rl.evaluate(data.select(TEST), scores, "nDCG@10")["nDCG@10"]


def test_auto_is_as_good_as_with_columns_made_by_hand(data):
    ours = quality(Described(rl.Auto(adapt=False)), data)
    assert ours > quality(rl.Auto(adapt=False), by_hand(data, "frequency")) + 0.1
    assert ours > quality(rl.NewtonXENDCG(), by_hand(data, "one-hot")) - 0.01


def test_sparse_and_dense_rows_teach_the_same(data):
    """Slam takes sparse rows; given the same rows as a dense matrix, it learns the same bits."""
    ranker = Described(rl.Slam()).fit(data.select(TRAIN))
    rows = ranker.features.encode(ranker.features.take(data.select(TRAIN)))
    dense = rl.Slam().fit(
        rl.QueryDataset.from_arrays(
            rows, data.select(TRAIN).y, group=data.select(TRAIN).sizes.tolist()
        )
    )
    assert np.array_equal(ranker.ranker_.weights_, dense.weights_)


@pytest.mark.parametrize("inner", [rl.NewtonXENDCG(), rl.Auto(adapt=False)], ids=repr)
def test_a_model_with_wide_columns(inner, data, tmp_path):
    few, more = data.select(slice(0, 40)), data.select(slice(40, 60))
    ranker = Described(inner).fit(few)
    scores = ranker.predict(more)
    ranker.save(tmp_path / "model.rlm")
    again = rl.load(tmp_path / "model.rlm")
    assert np.array_equal(again.predict(more), scores)
    assert (
        again.partial_fit(more).digest() == ranker.partial_fit(more).digest()
    )  # and learns the same bits
    before = again.digest()
    other = again.copy().partial_fit(few)
    merged = again.copy().merge([other], base=again)
    assert merged.n_queries_seen_ == 100
    assert again.digest() == before
    again.discount_past(0.5).partial_fit(few)


def test_nothing_is_learnt_of_a_category_that_no_document_has(data):
    ranker = Described(rl.NewtonXENDCG()).fit(data.select(slice(0, 40)))
    inner = ranker.ranker_
    assert inner.root_.shape[0] + inner.wide == len(inner.weights_)
    assert inner.variances_.max() <= 4 / inner.prior
    unseen = inner.variances_ == 4 / inner.prior
    assert not inner.weights_[len(inner.root_) :][unseen].any()


def test_wide_columns_are_checked():
    with pytest.raises(rl.DataError, match="1 features, of which 2 cannot be wide"):
        rl.NewtonXENDCG(wide=2).learn([[1.0], [0.0]], [1, 0])
    with pytest.raises(rl.DataError, match="wide columns go with covariance='full'"):
        rl.NewtonXENDCG(wide=1, covariance="diagonal").learn([[1.0], [0.0]], [1, 0])
    with pytest.raises(rl.DataError, match="wide must be at most 1"):
        rl.Auto(indicators=1, wide=2).learn([[1.0, 0.0], [0.0, 1.0]], [1, 0])
    with pytest.raises(rl.DataError, match="cannot be indicators"):
        rl.Prepared(rl.XENDCG(), indicators=3).fit([[1.0], [0.0]], [1, 0], group=[2])


def test_a_comparison_takes_the_limits_of_categories(data):
    """With one category of its own and one bucket, nearly nothing is known of a brand."""
    options = {"measures": "nDCG@10", "folds": 3, "search": False}
    many, few = (
        rl.compare(data, ["newton"], **options, **limits).rows[0].mean
        for limits in ({}, {"category_limit": 1, "category_buckets": 1})
    )
    assert many > few + 0.02
