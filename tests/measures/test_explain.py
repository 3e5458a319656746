"""Explanations: every gap between two conventions is accounted for."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rankloop.data.dataset import QueryDataset
from rankloop.measures.conventions import CONVENTIONS, Convention
from rankloop.measures.evaluation import evaluate
from rankloop.measures.explain import explain_measure

MEASURES = ["nDCG@10", "nDCG", "DCG@3", "AP", "AP@5", "P@5", "R@3", "RR", "PairAcc"]


def some_data(rng, n_queries=20):
    sizes = rng.integers(1, 15, n_queries)
    n = sizes.sum()
    y = rng.choice([0, 0, 1, 2], n)
    y[: sizes[0]] = 0  # a query without a relevant document
    y[-sizes[-1] :] = 1
    ids = [f"d{i}" for i in rng.permutation(n)]
    data = QueryDataset.from_arrays(np.zeros((n, 1)), y, group=sizes, doc_ids=ids)
    return data, rng.integers(0, 4, n).astype(float)


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.sampled_from(MEASURES), st.sampled_from(sorted(CONVENTIONS)))
def test_steps_add_up_to_the_difference(seed, measure, base):
    data, scores = some_data(np.random.default_rng(seed))
    assume(base != "sklearn" or measure not in ("AP@5", "RR"))  # no starting point: see below
    first, *others = explain_measure(data, scores, measure, base)
    for other in others:
        if not other.reason:
            total = sum(step.change for step in other.steps)
            assert total == pytest.approx(other.mean - first.mean, abs=1e-12), other.convention


@pytest.mark.parametrize("base", CONVENTIONS)
def test_the_base_comes_first_and_every_other_once(base, rng):
    data, scores = some_data(rng)
    found = explain_measure(data, scores, "nDCG@10", base)
    assert found[0].convention == base
    assert found[0].steps == ()
    assert [e.convention for e in found[1:]] == [name for name in CONVENTIONS if name != base]


def test_means_and_counts_are_those_of_evaluate(rng):
    data, scores = some_data(rng)
    for explanation in explain_measure(data, scores, "nDCG@5"):
        result = evaluate(data, scores, "nDCG@5", explanation.convention).results[0]
        assert explanation.mean == result.mean
        assert (explanation.queries, explanation.left_out) == (result.queries, result.left_out)
    assert explain_measure(data, scores, "nDCG@5")[0].left_out > 0


def test_steps_name_the_settings_that_differ_in_words(rng):
    data, scores = some_data(rng)
    steps = {e.convention: e.steps for e in explain_measure(data, scores, "nDCG@10")}
    for name, found in steps.items():
        settings_changed = CONVENTIONS["standard"].differences(CONVENTIONS[name])
        assert tuple(step.setting for step in found) == settings_changed
    assert [step.meaning for step in steps["letor4"]] == [
        "discount 1, 1, then 1/log2(p)",
        "no relevant document: scores 0",
        "nDCG@k of a list shorter than k is 0",
    ]


def test_each_step_is_the_change_of_one_setting():
    # Two queries: one perfect, one without a relevant document, which counts 0 or not at all.
    data = QueryDataset.from_arrays(np.zeros((4, 1)), [1, 0, 0, 0], group=[2, 2])
    found = {e.convention: e for e in explain_measure(data, [2.0, 1.0, 2.0, 1.0], "nDCG@2")}
    assert [step.change for step in found["letor3"].steps] == [0, -1 / 2]
    assert (found["letor3"].mean, found["standard"].mean, found["lightgbm"].mean) == (0.5, 1, 1)


@pytest.mark.parametrize("measure", ["RR", "ERR", "RBP", "Success@5", "AP@5"])
def test_a_measure_undefined_under_a_convention_has_a_reason(measure, rng):
    data, scores = some_data(rng)
    found = {e.convention: e for e in explain_measure(data, scores, measure)}
    assert np.isnan(found["sklearn"].mean)
    assert "not defined with averaged ties" in found["sklearn"].reason
    assert found["sklearn"].steps == ()
    assert found["sklearn"].to_dict()["mean"] is None
    assert all(not e.reason and e.mean >= 0 for n, e in found.items() if n != "sklearn")


def test_without_document_ids_trec_eval_says_so(rng):
    data = QueryDataset.from_arrays(np.zeros((2, 1)), [1, 0], group=[2])
    found = {e.convention: e for e in explain_measure(data, [1.0, 2.0], "AP")}
    assert np.isnan(found["trec_eval"].mean)
    assert "the data has none" in found["trec_eval"].reason


def test_a_measure_undefined_under_the_base_has_a_reason_too(rng):
    data, scores = some_data(rng)
    first = explain_measure(data, scores, "RR", "sklearn")[0]
    assert np.isnan(first.mean)
    assert "averaged ties" in first.reason


def test_a_convention_of_ones_own_as_base(rng):
    data, scores = some_data(rng)
    own = Convention("own", empty=0.5)
    found = explain_measure(data, scores, "nDCG@5", own)
    assert found[0].convention == "own"
    assert [e.convention for e in found[1:]] == list(CONVENTIONS)
    for e in found:
        assert sum(s.change for s in e.steps) == pytest.approx(e.mean - found[0].mean, abs=1e-12)


def test_to_dict_is_json(rng):
    data, scores = some_data(rng)
    text = json.dumps([e.to_dict() for e in explain_measure(data, scores, "RR")], allow_nan=False)
    assert {"setting", "meaning", "change"} == set(json.loads(text)[1]["steps"][0])


def test_to_dict_is_json_where_the_base_leaves_every_query_out():
    data = QueryDataset.from_arrays(np.zeros((2, 1)), [0, 0], group=[2], doc_ids=["a", "b"])
    found = explain_measure(data, [1.0, 2.0], "nDCG@5")
    assert np.isnan(found[0].mean)
    json.dumps([e.to_dict() for e in found], allow_nan=False)
