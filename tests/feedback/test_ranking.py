"""Rankings as values."""

from __future__ import annotations

import dataclasses
import json
import uuid

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.exceptions import DataError
from rankloop.feedback.ids import new_id
from rankloop.feedback.ranking import Ranking, best_first

finite = st.floats(-1e6, 1e6)


@st.composite
def rankings(draw):
    n = draw(st.integers(0, 6))
    known = {"version": draw(st.integers(0, 9)), "policy": draw(st.sampled_from(["a", "b"]))}
    if draw(st.booleans()):
        known["doc_ids"] = [f"d{i}" for i in range(n)]
    if n and draw(st.booleans()):
        known["X"] = np.arange(3.0 * n, dtype=np.float32).reshape(n, 3)
    if draw(st.booleans()):
        known["query_id"] = draw(st.one_of(st.just("q"), st.integers(-5, 5)))
    if draw(st.booleans()):
        known["propensities"] = np.full(n, 0.5)
    if draw(st.booleans()):
        known["teams"] = np.arange(n)
    return best_first(draw(st.lists(finite, min_size=n, max_size=n)), **known)


def test_it_is_sorted_and_ties_keep_their_order():
    ranking = best_first([1.0, 3.0, 1.0, 3.0, 2.0], version=7, doc_ids=list("abcde"))
    assert ranking.order.tolist() == [1, 3, 4, 0, 2]
    assert ranking.shown_scores.tolist() == [3, 3, 2, 1, 1]
    assert ranking.shown_ids.tolist() == list("bdeac")
    assert ranking.version == 7
    assert len(ranking) == 5
    assert ranking.place("e") == 2
    assert ranking.places == {"b": 0, "d": 1, "e": 2, "a": 3, "c": 4}


def test_without_ids_documents_are_called_by_their_row():
    ranking = best_first([0.1, 0.9])
    assert ranking.shown_ids.tolist() == ["1", "0"]
    assert ranking.place("0") == 1
    with pytest.raises(DataError, match="'2' was not shown"):
        ranking.place("2")


def test_it_cannot_be_changed():
    scores, ids = np.array([1.0, 2.0]), np.array(["a", "b"])
    ranking = best_first(scores, doc_ids=ids)
    for array in (ranking.order, ranking.scores, ranking.doc_ids):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    with pytest.raises(dataclasses.FrozenInstanceError):
        ranking.version = 3
    scores[0], ids[0] = 9.0, "z"  # the caller's arrays stay the caller's
    assert ranking.scores.tolist() == [1, 2]
    assert ranking.doc_ids.tolist() == ["a", "b"]
    assert scores.flags.writeable


@given(rankings())
def test_it_survives_json_bit_for_bit(ranking):
    plain = json.loads(json.dumps(ranking.to_dict()))
    again = Ranking.from_dict(plain)
    assert again == ranking
    assert hash(again) == hash(ranking)
    assert again.scores.tobytes() == ranking.scores.tobytes()


@given(rankings(), st.data())
def test_another_value_is_another_ranking(ranking, data):
    name = data.draw(st.sampled_from([field.name for field in dataclasses.fields(Ranking)]))
    value = getattr(ranking, name)
    if isinstance(value, np.ndarray) and not value.size:
        return
    other = {"id": "other", "version": 10, "query_id": "other", "policy": "other"}.get(name)
    if isinstance(value, np.ndarray):
        other = value.copy()
        other.flat[0] = "other" if name == "doc_ids" else 1000
    if other is None:
        other = np.zeros(len(ranking.scores))
    assert dataclasses.replace(ranking, **{name: other}) != ranking
    assert ranking != "a ranking"


GOOD = {"id": "r", "order": [1, 0], "scores": [0.1, 0.2]}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"id": None}, "needs the field 'id'"),
        ({"id": 3}, "id must be text"),
        ({"id": ""}, "1 to 1,000 characters"),
        ({"id": "a\nb"}, "printable"),
        ({"order": [0, 0]}, "each at most once"),
        ({"order": [2, 0]}, "candidates from 0 to 1"),
        ({"order": [-1, 0]}, "candidates from 0 to 1"),
        ({"order": [0.5]}, "order must be a list of whole numbers"),
        ({"scores": "high"}, "scores must be a list of finite"),
        ({"scores": [float("nan"), 1]}, "scores must be a list of finite"),
        ({"scores": [[1, 2]]}, "scores must be a list of finite"),
        ({"scores": [True, False]}, "scores must be a list of finite"),
        ({"doc_ids": ["a"]}, "doc_ids has 1 values for 2 candidates"),
        ({"doc_ids": ["a", "a"]}, "'a' occurs more than once"),
        ({"X": [[1.0]]}, "X has 1 values for 2 candidates"),
        ({"X": [1.0, 2.0]}, "two dimensions"),
        ({"propensities": [0.5]}, "propensities has 1 values for 2 places"),
        ({"propensities": [0.5, 0.0]}, "above 0 and at most 1"),
        ({"teams": [0, 0.5]}, "teams must be a list of whole"),
        ({"version": -1}, "version must be a whole number"),
        ({"version": 1.5}, "version must be a whole number"),
        ({"query_id": [1]}, "query_id must be text or a whole number"),
        ({"rank": 1}, "has no field 'rank'"),
    ],
)
def test_what_is_no_ranking_is_refused(change, said):
    assert Ranking.from_dict(GOOD).order.tolist() == [1, 0]
    with pytest.raises(DataError, match=said):
        Ranking.from_dict({**GOOD, **change})


def test_only_objects_are_rankings():
    with pytest.raises(DataError, match="must be an object"):
        Ranking.from_dict([1, 2])


def test_ids_are_new_each_time_and_in_the_order_of_time(monkeypatch):
    ids = [new_id() for _ in range(1000)]
    assert len(set(ids)) == 1000
    parsed = uuid.UUID(ids[0])
    assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)
    monkeypatch.setattr("time.time_ns", lambda: 1_000_000_000)
    early = new_id()
    monkeypatch.setattr("time.time_ns", lambda: 2_000_000_000)
    assert uuid.UUID(early).int >> 80 == 1000
    assert early < new_id()


def test_equal_scores_of_other_queries_get_other_ids():
    assert best_first([1.0, 2.0]).id != best_first([1.0, 2.0]).id
    assert best_first([1.0], id="mine").id == "mine"


def test_an_empty_ranking():
    assert len(best_first(np.zeros(0))) == 0
