"""Judged tables as a loop's features: by name, whole, and never by accident."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl
from rankloop.serving.operations.columns import columns_for
from rankloop.serving.settings.loop import LoopSettings

LOOP = LoopSettings(features=("price", "stars"))


def table(X, names):
    return rl.QueryDataset.from_arrays(
        X, [1, 0], qid=["q", "q"], feature_names=names, allow_nan=True
    )


def test_columns_are_found_by_name_and_others_left_out():
    data = table([[3, 7, 90], [4, 8, 80]], ["stars", "extra", "price"])
    assert columns_for(LOOP, data).tolist() == [[90, 3], [80, 4]]


def test_without_names_their_number_must_be_right():
    assert columns_for(LOOP, table([[1, 2], [3, 4]], None)).tolist() == [[1, 2], [3, 4]]
    with pytest.raises(rl.DataError, match="the data has 1 features, but the loop has 2"):
        columns_for(LOOP, table([[1], [2]], None))


def test_a_feature_that_is_not_there_is_named():
    with pytest.raises(
        rl.DataError, match=r"no column for the feature 'price'; its columns are stars, cost"
    ):
        columns_for(LOOP, table([[1, 2], [3, 4]], ["stars", "cost"]))


def test_missing_values_take_the_default_or_are_refused():
    data = table([[np.nan, 1], [9, 2]], ["price", "stars"])
    with pytest.raises(
        rl.DataError, match=r"'price' is missing in 1 rows.*defaults = { price = 0 }"
    ):
        columns_for(LOOP, data)
    filled = LoopSettings(features=("price", "stars"), defaults={"price": 50.0})
    assert columns_for(filled, data).tolist() == [[50, 1], [9, 2]]


def test_text_is_refused():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(
        {"qid": ["q", "q"], "grade": [1, 0], "price": ["low", "high"], "stars": [1, 2]}
    )
    with pytest.raises(rl.DataError, match="'price' is text"):
        columns_for(LOOP, rl.from_table(frame))
