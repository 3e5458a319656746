"""evaluate(): results, means and weights, and what it says about input it cannot use."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError, MeasureError
from rankloop.measures import measure as measures
from rankloop.measures.conventions import CONVENTIONS
from rankloop.measures.evaluation import evaluate

SCORES = [3.0, 2.0, 1.0, 2.0, 1.0, 1.0]


@pytest.fixture
def data():
    """Three queries: best first; none relevant; one relevant document."""
    y = [2, 1, 0, 0, 0, 1]
    return QueryDataset.from_arrays(np.zeros((6, 1)), y, group=[3, 2, 1])


def with_grades(y, **more):
    return QueryDataset.from_arrays(np.zeros((len(y), 1)), y, group=[len(y)], **more)


def test_results_come_in_the_order_asked_for(data):
    asked = ["P@1", "nDCG@10", measures.AP, "nDCG@1", "AP(rel=2)"]
    found = evaluate(data, SCORES, asked)
    assert [str(m) for m in found.measures] == ["P@1", "nDCG@10", "AP", "nDCG@1", "AP(rel=2)"]
    assert [r.measure for r in found] == list(found.measures)
    assert [d["measure"] for d in found.to_dicts()] == [str(m) for m in found.measures]
    assert found["map"] == found[measures.AP] == found.result("AP").mean


def test_one_measure_and_the_default(data):
    assert evaluate(data, SCORES).measures == (measures.nDCG @ 10,)
    assert evaluate(data, SCORES, "AP").measures == (measures.AP,)


def test_measuring_together_or_alone_is_the_same(data):
    names = ["nDCG@2", "AP", "P@1", "ERR", "RBP", "PairAcc", "nDCG@1"]
    together = evaluate(data, SCORES, names)
    for name in names:
        alone = evaluate(data, SCORES, name).results[0].values
        np.testing.assert_array_equal(together.result(name).values, alone)


def test_queries_left_out_are_nan_and_counted(data):
    result = evaluate(data, SCORES, "AP").result("AP")
    np.testing.assert_array_equal(result.values, [1, np.nan, 1])
    assert (result.queries, result.left_out, result.mean) == (2, 1, 1)
    kept = evaluate(data, SCORES, "AP", "letor3").result("AP")
    assert (kept.queries, kept.left_out, kept.mean) == (3, 0, pytest.approx(2 / 3))


def test_nothing_left_is_nan_and_null_in_json():
    found = evaluate(with_grades([0, 0]), [1.0, 2.0], ["nDCG@5", "P@1"])
    assert np.isnan(found["nDCG@5"])
    assert found.to_dicts()[0] == {
        "measure": "nDCG@5",
        "convention": "standard",
        "mean": None,
        "queries": 0,
        "left_out": 1,
    }
    json.dumps(found.to_dicts(), allow_nan=False)


def test_empty_queries_are_queries_without_a_relevant_document():
    data = QueryDataset.from_arrays(np.zeros((1, 1)), [1], group=[0, 1, 0])
    np.testing.assert_array_equal(evaluate(data, [1.0]).results[0].values, [np.nan, 1, np.nan])
    assert evaluate(data, [1.0], "AP", "sklearn")["AP"] == pytest.approx(1 / 3)
    assert evaluate(data, [1.0], "AP", "lightgbm")["AP"] == 1


# -- weights


@given(st.lists(st.floats(0, 1e3), min_size=3, max_size=3))
def test_weights_are_of_the_mean_over_the_queries_kept(weights):
    y = [0, 1, 0, 0, 1, 0, 1]
    data = QueryDataset.from_arrays(np.zeros((7, 1)), y, group=[2, 2, 3])
    result = evaluate(data, -np.arange(7.0), "RR", query_weight=weights).result("RR")
    np.testing.assert_array_equal(result.values, [1 / 2, np.nan, 1])
    a, _, c = weights
    if a + c == 0:
        assert np.isnan(result.mean)
    else:
        assert result.mean == pytest.approx((a / 2 + c) / (a + c), rel=1e-12)


def test_weights_of_the_data_set_are_the_default():
    X, y = np.zeros((4, 1)), [0, 1, 1, 0]
    data = QueryDataset.from_arrays(X, y, group=[2, 2], query_weight=[3, 1])
    scores = [2.0, 1.0, 2.0, 1.0]
    assert evaluate(data, scores, "RR")["RR"] == (3 / 2 + 1) / 4
    assert evaluate(data, scores, "RR", query_weight=[1, 1])["RR"] == 3 / 4
    heavy = QueryDataset.from_arrays(X, y, group=[2, 2], sample_weight=[9, 9, 1, 1])
    assert evaluate(heavy, scores, "RR")["RR"] == 3 / 4  # document weights do not enter


# -- scores


@pytest.mark.parametrize(
    "scores",
    [
        (3, 2, 1, 2, 1, 1),
        np.array(SCORES, np.float32),
        np.array(SCORES, np.float16),
        np.array(SCORES, ">f8"),
        np.repeat(SCORES, 2)[::2],
    ],
    ids=["integers", "float32", "float16", "big endian", "strided"],
)
def test_scores_of_any_kind(data, scores):
    found = evaluate(data, scores, ["nDCG", "AP"])
    assert found.to_dicts() == evaluate(data, SCORES, ["nDCG", "AP"]).to_dicts()


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        ([1.0, 2.0], r"expected 6 scores, one per document; found shape \(2,\)"),
        (np.zeros((6, 1)), r"expected 6 scores, one per document; found shape \(6, 1\)"),
        ([1, 2, np.nan, 1, 2, np.nan], "the score of row 2 is NaN"),
        (["a"] * 6, "scores must be numbers"),
    ],
)
def test_scores_that_cannot_be_right(data, scores, message):
    with pytest.raises(DataError, match=message):
        evaluate(data, scores)


# -- errors


@pytest.mark.parametrize(
    ("measure", "convention", "message"),
    [
        ("nDCG", "terrier", "unknown convention 'terrier'; known: standard, letor3"),
        ("AP", "trec_eval", "by document id, but the data has none; add ids or choose another"),
        ("Success", "standard", "Success needs a cutoff, as in Success@10"),
        ("RR", "sklearn", "RR is not defined with averaged ties"),
        ("AP@5", "sklearn", "AP@5 is not defined with averaged ties"),
        ("NDGC", "standard", "unknown measure 'NDGC'"),
        ("ERR(max=1)", "standard", r"expects grades up to 1, but the data has 2; write ERR\(max=2"),
    ],
)
def test_measures_that_do_not_apply(data, measure, convention, message):
    with pytest.raises(MeasureError, match=message):
        evaluate(data, SCORES, measure, convention)


def test_a_grade_without_a_finite_gain():
    data = with_grades([1, 2000])
    with pytest.raises(
        MeasureError, match=r"the gain of grade 2000 is negative or too large .* linear gain"
    ):
        evaluate(data, [1.0, 2.0], "nDCG@5")
    assert evaluate(data, [1.0, 2.0], ["AP", "P@1"])["AP"] == 1  # which need no gain
    assert evaluate(data, [1.0, 2.0], "nDCG", "sklearn")["nDCG"] == 1
    negative = CONVENTIONS["standard"].differing("x", gain=lambda grades: grades - 1.0)
    with pytest.raises(MeasureError, match=r"negative or too large under convention 'x'"):
        evaluate(with_grades([0, 1]), [1.0, 2.0], "nDCG", negative)


def test_grades_whose_gains_are_finite_but_not_their_sum():
    with pytest.raises(MeasureError, match=r"grade 1023\.9 is negative or too large"):
        evaluate(with_grades([1023.9, 1023.9]), [1.0, 2.0], "nDCG")


def test_high_grades_are_exact():
    data = with_grades([0, 40, 1000])
    expected = (2.0**1000 + 2.0**40 / 2) / (2.0**1000 + 2.0**40 / np.log2(3))
    assert evaluate(data, [2.0, 1.0, 3.0], "nDCG")["nDCG"] == pytest.approx(expected, rel=1e-15)


def test_bad_weights(data):
    with pytest.raises(MeasureError, match="2 query weights for 3 queries"):
        evaluate(data, SCORES, query_weight=[1, 2])
    with pytest.raises(DataError, match=r"finite numbers >= 0 .* found -1"):
        evaluate(data, SCORES, query_weight=[1, -1, 2])


def test_a_measure_that_was_not_asked_for(data):
    with pytest.raises(KeyError, match="AP was not measured; measured: nDCG@5"):
        evaluate(data, SCORES, "nDCG@5")["AP"]


def test_a_default_written_out_is_the_same_measure(data):
    assert evaluate(data, SCORES, "RBP(p=0.8)")["RBP"] > 0


# -- real data


def test_ohsumed_in_file_order_flatters_a_ranker_that_knows_nothing(real):
    """shared/PAPERS.md: file order alone scores nDCG@10 .40, a random order .19."""
    data = real["OHSUMED"]
    nothing = np.zeros(data.n_documents)
    assert evaluate(data, nothing)["nDCG@10"] == pytest.approx(0.40, abs=0.01)
    shuffled = [
        evaluate(data.shuffle(np.random.default_rng(seed)), nothing)["nDCG@10"]
        for seed in range(10)
    ]
    assert np.mean(shuffled) == pytest.approx(0.19, abs=0.02)
