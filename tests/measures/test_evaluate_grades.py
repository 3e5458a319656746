"""Grades with query ids are measured as a data set of them is."""

import numpy as np
import pandas as pd
import pytest

import rankloop as rl
from rankloop.exceptions import DataError, DataTypeError

RNG = np.random.default_rng(3)
Y, SCORES = RNG.integers(0, 3, 40), RNG.normal(size=40)
QID = RNG.permutation(np.repeat([*"abcdefgh"], 5))


def test_rows_of_queries_may_be_apart():
    data = rl.QueryDataset.from_arrays(SCORES[:, None], Y, qid=QID)
    expected = rl.evaluate(data, data.X[:, 0], ["nDCG@3", "AP"])
    found = rl.evaluate(Y, SCORES.astype(np.float32), ["nDCG@3", "AP"], qid=QID)
    assert repr(found) == repr(expected)
    order = np.argsort(QID, kind="stable")
    grouped = rl.evaluate(Y[order], SCORES[order], "AP", group=[5] * 8)
    assert grouped["AP"] == pytest.approx(found["AP"])
    weights = rl.evaluate(Y, SCORES, qid=QID, query_weight=[1] + [0] * 7)
    first = QID[0] == QID
    assert weights["nDCG@10"] == rl.evaluate(Y[first], SCORES[first], group=[5])["nDCG@10"]


def test_series_belong_together():
    frame = pd.DataFrame({"y": Y, "score": SCORES, "qid": QID})
    mixed = frame.sample(frac=1, random_state=0)
    with pytest.raises(DataError, match="the grades and scores have different pandas indices"):
        rl.evaluate(frame.y, mixed.score, qid=frame.qid)
    model = rl.Slam().fit(frame[["score"]], frame.y, qid=frame.qid)
    assert rl.evaluate(frame.y, model.predict(frame[["score"]]), qid=frame.qid)
    with pytest.raises(DataError, match="the grades and scores have different"):
        rl.evaluate(frame.y, model.predict(mixed[["score"]]), qid=frame.qid)
    with pytest.raises(DataTypeError, match="grades come first"):
        rl.evaluate(model.predict(frame[["score"]]), frame.y, qid=frame.qid)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ((Y, SCORES), "pass either qid=, one query id per row, or group="),
        ((pd.DataFrame({"y": Y}), SCORES), "its column of query ids as qid="),
    ],
)
def test_what_is_missing_is_said(given, said):
    with pytest.raises(DataError, match=said):
        rl.evaluate(*given)
    with pytest.raises(DataError, match="scores has 39 values for 40 rows"):
        rl.evaluate(Y, SCORES[1:], qid=QID)
    data = rl.QueryDataset.from_arrays(SCORES[:, None], Y, qid=QID)
    with pytest.raises(DataError, match="leave out qid and group"):
        rl.evaluate(data, SCORES, qid=QID)


def test_tables_are_told_apart():
    with pytest.raises(DataTypeError, match="found a table"):
        rl.evaluate(pd.DataFrame({"label": Y}), SCORES, qid=QID)
