"""Scores know their rows: whatever the order of a table, each document gets its own score."""

import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankloop as rl
from rankloop.exceptions import DataError
from rankloop.measures.ranking import rank_order

RNG = np.random.default_rng(0)
TABLE = pd.DataFrame(
    {
        "qid": np.repeat([f"q{k}" for k in range(12)], 5),
        "brand": RNG.choice(["a", "b"], 60),
        "price": RNG.normal(size=60).astype(np.float32),
    }
)
TABLE["label"] = (TABLE.price > 0).astype(int) + (TABLE.brand == "a")
MIXED = TABLE.sample(frac=1, random_state=1)
"""The rows of queries are not together, so that a data set has them in another order."""


def described():
    return rl.rankers.Described(rl.Slam()).fit(rl.from_table(TABLE))


def numeric():
    return rl.Slam().fit(TABLE[["price"]], TABLE.label, qid=TABLE.qid)


@pytest.mark.parametrize("make", [described, numeric])
def test_rows_of_the_table_in_its_order_are_brought_into_that_of_the_data_set(make):
    model = make()
    frame = MIXED if make is described else MIXED[["price"]]
    columns = {} if make is described else {"features": ["price"], "drop": ["brand"]}
    data = rl.from_table(MIXED, **columns)
    assert data.rows is not None
    right = rl.evaluate(data, model.predict(data))["nDCG@10"]
    for scores in (model.predict(frame), 2 * model.predict(frame) + 1):
        assert rl.evaluate(data, scores)["nDCG@10"] == right
        assert rank_order(data, scores).tolist() == rank_order(data, model.predict(data)).tolist()
    other = frame.sample(frac=1, random_state=2)
    with pytest.raises(DataError, match="rows in another order"):
        rl.evaluate(data, model.predict(other))


def test_arrays_too_and_what_forgets_its_rows_is_taken_as_it_stands():
    model, X = numeric(), MIXED[["price"]].to_numpy()
    data = rl.QueryDataset.from_arrays(X, MIXED.label, qid=MIXED.qid)
    right = rl.evaluate(data, model.predict(data))["nDCG@10"]
    assert rl.evaluate(data, model.predict(X))["nDCG@10"] == right
    assert rl.evaluate(data, model.predict(data.X))["nDCG@10"] == right
    assert rl.evaluate(data, data.from_row_order(model.predict(X)))["nDCG@10"] == right
    wrong = rl.evaluate(data, np.asarray(model.predict(X)))["nDCG@10"]
    assert wrong < right
    for forgets in (
        lambda scores: scores[np.arange(60)],
        np.asarray,
        lambda scores: pickle.loads(pickle.dumps(scores)),
        lambda scores: scores + model.predict(data.X),  # of rows in two orders
    ):
        rl.evaluate(data, forgets(model.predict(X)))  # nothing is known, so nothing is said
    with pytest.raises(DataError, match="in another order"):
        rl.evaluate(data, model.predict(3 * X))  # in which order they are is not known
    rl.evaluate(data, np.asarray(model.predict(3 * data.X)))


def test_grouped_data_takes_changed_rows_but_not_permuted_ones():
    model = numeric()
    data = rl.from_table(TABLE, features=["price"], drop=["brand"])
    assert data.rows is None
    assert rl.evaluate(data, model.predict(2 * data.X))["nDCG@10"] > 0.9
    with pytest.raises(DataError, match="score the data set: "):
        rl.evaluate(data, model.predict(data.X[::-1].copy()))


def test_scores_of_another_data_set():
    model = described()
    data = rl.from_table(TABLE)
    one, two = data.select(slice(0, 6)), data.select(slice(6, 12))
    with pytest.raises(DataError, match="another data set"):
        rl.evaluate(one, model.predict(two))
    with pytest.raises(DataError, match="another data set"):
        rl.evaluate(data.shuffle(np.random.default_rng(0)), model.predict(data))
    scores = model.predict(one)
    assert rl.evaluate(replace(one, y=one.y + 1), scores)  # the same documents, graded again
    assert (
        rl.evaluate(one.without_features(), scores)["nDCG@10"]
        == rl.evaluate(one, scores)["nDCG@10"]
    )


def test_sparse_rows():
    data = rl.from_table(MIXED, features=["price"], drop=["brand"]).to_sparse()
    model = rl.Slam().fit(data)
    right = rl.evaluate(data, model.predict(data))["nDCG@10"]
    X = np.ascontiguousarray(MIXED[["price"]].to_numpy())
    from scipy.sparse import csr_array

    assert rl.evaluate(data, model.predict(csr_array(X)))["nDCG@10"] == right


def test_they_are_arrays():
    scores = numeric().predict(TABLE[["price"]])
    assert isinstance(scores, np.ndarray)
    assert repr(scores[:2]) == repr(np.asarray(scores)[:2])
    assert type(scores.sum()) is np.float32
    assert scores.argsort().tolist() == np.asarray(scores).argsort().tolist()


def test_scores_of_a_data_set_beside_grades():
    model, data = described(), rl.from_table(MIXED)
    scores = model.predict(data)
    right = rl.evaluate(data, scores)["nDCG@10"]
    assert rl.evaluate(MIXED.label, np.asarray(scores), qid=MIXED.qid)["nDCG@10"] < right

    def found(y, qid, scores=scores):
        return rl.evaluate(y, scores, qid=qid)["nDCG@10"]

    assert found(MIXED.label, MIXED.qid) == found(MIXED.label, MIXED.qid, 2 * scores) == right
    assert found(data.y, data.qid) == right
    both = rl.evaluate(data.y > 1, np.asarray(scores), qid=data.qid)["nDCG@10"]
    assert found(MIXED.label > 1, MIXED.qid) == found(data.y > 1, data.qid) == both
    assert found(MIXED.label, MIXED.qid.str[:2]) == found(data.y, [q[:2] for q in data.qid])
    again = data.shuffle(np.random.default_rng(0))  # of each query, so that the queries fit twice
    assert found(data.y, data.qid, model.predict(again)) == right
    assert found(again.y, again.qid, model.predict(again)) == right
    for y, qid, given in (
        (MIXED.label[::-1], MIXED.qid[::-1], scores),
        (data.y > 1, data.qid, model.predict(again)),
    ):
        with pytest.raises(DataError, match="order its documents stand beside the grades"):
            found(y, qid, given)


def test_a_series_is_in_an_order_that_is_not_known():
    model, data = described(), rl.from_table(MIXED)
    right = rl.evaluate(data, model.predict(data))["nDCG@10"]
    series = MIXED.assign(score=model.predict(MIXED)).score
    for scores in (series, pl.Series("score", np.asarray(series))):
        with pytest.raises(DataError, match=r"data\.from_row_order\(scores\.to_numpy\(\)\)"):
            rl.evaluate(data, scores)
    assert rl.evaluate(data, data.from_row_order(series.to_numpy()))["nDCG@10"] == right
    grouped = rl.from_table(TABLE)  # its order is that of the table
    scores = pd.Series(model.predict(grouped))
    assert repr(rl.evaluate(grouped, scores)) == repr(rl.evaluate(grouped, scores.to_numpy()))
