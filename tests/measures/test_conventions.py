"""Conventions: the settings one by one, on rankings small enough to check by hand."""

from __future__ import annotations

from math import log2

import numpy as np
import pytest

from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import MeasureError
from rankloop.measures.conventions import (
    CONVENTIONS,
    Convention,
    as_convention,
    exponential,
    letor_discount,
    linear,
    log2_discount,
)
from rankloop.measures.evaluation import evaluate


def value(grades, measure, convention, scores=None, ids=None):
    """One query's value; documents stand in order of rank unless scores say otherwise."""
    n = len(grades)
    ids = [f"d{i}" for i in range(n)] if ids is None else ids
    data = QueryDataset.from_arrays(np.zeros((n, 1)), grades, group=[n], doc_ids=ids)
    scores = -np.arange(float(n)) if scores is None else scores
    return evaluate(data, scores, measure, convention).results[0].values[0]


def test_the_presets():
    names = ("standard", "letor3", "letor4", "mslr", "trec_eval", "lightgbm", "xgboost", "sklearn")
    assert tuple(CONVENTIONS) == names
    for name, convention in CONVENTIONS.items():
        assert convention.name == name
        assert as_convention(name) is as_convention(convention) is convention


@pytest.mark.parametrize(
    ("convention", "expected"),
    [
        # documents of grades 0, 2, 1 in this order; the best is 2, 1, 0
        ("standard", (3 / log2(3) + 1 / log2(4)) / (3 + 1 / log2(3))),
        ("lightgbm", (3 / log2(3) + 1 / log2(4)) / (3 + 1 / log2(3))),
        ("xgboost", (3 / log2(3) + 1 / log2(4)) / (3 + 1 / log2(3))),
        ("letor3", (3 / 1 + 1 / log2(3)) / (3 + 1)),
        ("letor4", (3 / 1 + 1 / log2(3)) / (3 + 1)),
        ("mslr", (3 / 1 + 1 / log2(3)) / (3 + 1)),
        ("trec_eval", (2 / log2(3) + 1 / log2(4)) / (2 + 1 / log2(3))),
        ("sklearn", (2 / log2(3) + 1 / log2(4)) / (2 + 1 / log2(3))),
    ],
)
def test_gain_and_discount(convention, expected):
    assert value([0, 2, 1], "nDCG@3", convention) == pytest.approx(expected, rel=1e-15)


def test_gains_and_discounts_are_functions():
    np.testing.assert_array_equal(exponential(np.array([0.0, 1, 2, 40])), [0, 1, 3, 2.0**40 - 1])
    np.testing.assert_array_equal(linear(np.array([0.0, 1.5])), [0, 1.5])
    np.testing.assert_allclose(log2_discount(np.array([1.0, 2, 3])), [1, 1 / log2(3), 1 / 2])
    np.testing.assert_allclose(letor_discount(np.array([1.0, 2, 3])), [1, 1, 1 / log2(3)])
    flat = Convention("flat", gain=np.sqrt, discount=np.ones_like)
    assert value([0, 4, 9], "DCG@2", flat) == 2
    assert value([0, 4, 9], "nDCG@2", flat) == 2 / (3 + 2)


@pytest.mark.parametrize("measure", ["nDCG@2", "AP", "R@2", "PairAcc"])
@pytest.mark.parametrize(
    ("convention", "expected"),
    [
        ("standard", np.nan),
        ("letor3", 0),
        ("letor4", 0),
        ("mslr", 0),
        ("trec_eval", 0),
        ("sklearn", 0),
        ("lightgbm", 1),
        ("xgboost", 1),
    ],
)
def test_no_relevant_document(measure, convention, expected):
    np.testing.assert_equal(value([0, 0, 0], measure, convention), expected)


@pytest.mark.parametrize("measure", ["DCG@2", "P@2", "ERR", "RBP", "Success@2"])
def test_no_relevant_document_scores_0_where_nothing_is_divided(measure):
    assert value([0, 0, 0], measure, "lightgbm") == 0
    assert np.isnan(value([0, 0, 0], measure, "standard"))


def test_short_lists():
    assert value([1, 0], "nDCG@2", "letor4") == value([1, 0], "nDCG@3", "letor3") == 1
    assert value([1, 0], "nDCG@3", "letor4") == 0
    assert value([1, 0], "nDCG", "letor4") == value([1, 0], "P@1", "letor4") == 1
    assert value([1, 0], "AP@3", "letor4") == 1  # nDCG alone
    left_out = CONVENTIONS["letor4"].differing("x", empty=None)
    assert np.isnan(value([0, 0], "nDCG@3", left_out))


def test_ties_by_document_id():
    tied = np.zeros(3)
    assert value([1, 0, 0], "RR", "trec_eval", tied, ["9", "10", "1"]) == 1  # as text
    assert value([1, 0, 0], "RR", "trec_eval", tied, ["a", "b", "c"]) == 1 / 3
    assert value([1, 0, 0], "RR", "standard", tied, ["a", "b", "c"]) == 1
    assert value([1, 0], "RR", "trec_eval", np.array([1.0, 1.0 + 1e-9]), ["b", "a"]) == 1
    assert value([1, 0], "RR", "standard", np.array([1.0, 1.0 + 1e-9]), ["b", "a"]) == 1 / 2
    assert value([1, 0], "RR", "trec_eval", tied[:2], ["\u00e9", "z"]) == 1  # by code point


@pytest.mark.parametrize("scores", [[-1e39, -2e39], [2e39, 1e39]])
def test_scores_beyond_float32_are_ranked_under_trec_eval_too(scores):
    """Only a score of minus infinity means not retrieved."""
    assert value([1, 0], "R@2", "trec_eval", np.array(scores)) == 1


def test_relevance_threshold():
    assert value([1, 2, 0], "AP", "standard") == 1
    assert value([1, 2, 0], "AP", "mslr") == value([1, 2, 0], "AP(rel=2)", "standard") == 1 / 2
    assert value([1, 2, 0], "AP(rel=1)", "mslr") == 1  # the measure's own goes first
    assert value([0.1, 0, 0], "P@1", "standard") == 1  # any grade above 0


def test_average_precision_at_a_cutoff():
    assert value([1, 1, 1], "AP@2", "standard") == 2 / 3
    assert value([1, 1, 1], "AP@2", "lightgbm") == 1
    assert value([1, 0, 0], "AP@2", "lightgbm") == 1


def test_unjudged_documents_count_as_grade_0_and_keep_their_rank():
    for measure in ("nDCG", "AP", "P@2", "RR", "ERR"):
        assert value([-1, 2, 1], measure, "standard") == value([0, 2, 1], measure, "standard")


def test_documents_not_retrieved_are_missed_but_still_wanted():
    scores = np.array([1.0, -np.inf, -np.inf])
    assert value([1, 1, 0], "AP", "standard", scores) == 1 / 2
    assert value([1, 1, 0], "R", "standard", scores) == 1 / 2
    assert value([1, 1, 0], "P", "standard", scores) == 1  # of those retrieved
    assert value([1, 1, 0], "P@2", "standard", scores) == 1 / 2
    expected = 1 / (1 + 1 / log2(3))
    assert value([1, 1, 0], "nDCG", "standard", scores) == pytest.approx(expected, rel=1e-15)
    assert value([1, 1], "nDCG", "lightgbm", np.full(2, -np.inf)) == 0  # relevant, none found


def test_differences_and_words():
    standard, trec = CONVENTIONS["standard"], CONVENTIONS["trec_eval"]
    assert standard.differences(standard) == ()
    assert standard.differences(trec) == ("gain", "empty", "ties")
    assert standard.differing("x", rel=3.0).differences(standard) == ("rel",)
    assert [trec.describe(s) for s in ("gain", "empty", "ties")] == [
        "gain r",
        "no relevant document: scores 0",
        "ties by document id, descending",
    ]
    assert CONVENTIONS["mslr"].describe("rel") == "relevant: grades from 2"
    assert Convention("x", gain=np.sqrt).describe("gain") == "gain sqrt"
    for convention in CONVENTIONS.values():  # every setting has words
        assert all(convention.describe(s) for s in vars(convention) if s != "name")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"ties": "random"}, "ties must be stable, doc_id or averaged; found 'random'"),
        ({"short_lists": "drop"}, "short_lists must be keep or zero; found 'drop'"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(MeasureError, match=message):
        Convention("x", **settings)
