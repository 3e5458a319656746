"""Feedback and judgements as values, and the grades they stand for."""

from __future__ import annotations

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.exceptions import DataError
from rankloop.feedback.events import Feedback, Judgement
from rankloop.feedback.grading import GradingRule, as_rules, feedback_grades, judgement_grades
from rankloop.feedback.ranking import Ranking, best_first

words = st.text(st.characters(codec="utf-8", categories=["L", "N"]), min_size=1, max_size=5)
shown = best_first([0.9, 0.8, 0.7], doc_ids=["a", "b", "c"], id="r")


@given(words, words, words, st.floats(-9, 9), st.one_of(st.none(), st.floats(0, 1e10)))
def test_feedback_survives_json(ranking, item, kind, value, time):
    event = Feedback(ranking, item, kind, value, time)
    assert Feedback.from_dict(json.loads(json.dumps(event.to_dict()))) == event


@given(words, st.dictionaries(words, st.floats(0, 9), min_size=1))
def test_judgements_survive_json(ranking, grades):
    event = Judgement(ranking, grades)
    again = Judgement.from_dict(json.loads(json.dumps(event.to_dict())))
    assert again == event
    assert hash(again) == hash(event)
    with pytest.raises(TypeError):
        event.grades["new"] = 1.0


@pytest.mark.parametrize(
    ("plain", "said"),
    [
        ({"item": "a"}, "needs the field 'ranking_id'"),
        ({"ranking_id": "r", "item": 3}, "item must be text"),
        ({"ranking_id": "r", "item": "a", "value": "much"}, "value must be a number"),
        ({"ranking_id": "r", "item": "a", "value": True}, "value must be a number"),
        ({"ranking_id": "r", "item": "a", "value": float("inf")}, "finite"),
        ({"ranking_id": "r", "item": "a", "value": 10**400}, "finite"),
        ({"ranking_id": "r", "item": "a", "timestamp": "now"}, "timestamp must be a number"),
        ({"ranking_id": "r", "item": "a", "kind": "click"}, "has no field 'kind'"),
        ("click", "must be an object"),
    ],
)
def test_what_is_no_feedback_is_refused(plain, said):
    with pytest.raises(DataError, match=said):
        Feedback.from_dict(plain)


@pytest.mark.parametrize(
    ("grades", "said"),
    [
        ({}, "an object that gives each document id"),
        ([1], "an object that gives each document id"),
        ({"a": "good"}, "the grade of 'a' must be a number"),
        ({"a": -1}, "at least 0"),
        ({"": 1}, "1 to 1,000 characters"),
    ],
)
def test_what_is_no_judgement_is_refused(grades, said):
    with pytest.raises(DataError, match=said):
        Judgement("r", grades)


def graded(*events, rules=None):
    made = [Feedback("r", item, kind, value) for item, kind, value in events]
    return feedback_grades(shown, made, rules).tolist()


def test_grades_of_feedback():
    assert graded() == [0, 0, 0]
    assert graded(("b", "click", 1)) == [0, 1, 0]
    assert graded(("b", "click", 1), ("b", "click", 1)) == [0, 1, 0]  # however often
    assert graded(("b", "purchase", 1), ("b", "click", 1)) == [0, 3, 0]  # in any order
    assert graded(("b", "click", 1), ("b", "purchase", 1)) == [0, 3, 0]
    assert graded(("b", "unheard of", 1)) == [0, 0, 0]
    assert graded(("a", "click", 1), ("b", "cart", 1), ("c", "click", 1)) == [1, 2, 1]


def test_rules():
    rules = {
        "read": GradingRule(2, at_least=30),
        "stars": GradingRule(0.5, by_value=True),
        "hide": -1,
    }
    assert graded(("a", "read", 29), ("b", "read", 30), rules=rules) == [0, 2, 0]
    assert graded(("a", "stars", 4), ("b", "stars", 1), rules=rules) == [2, 0.5, 0]
    assert graded(("a", "hide", 1), ("b", "read", 99), rules=rules) == [0, 3, 1]
    assert graded(("a", "hide", 1), ("a", "read", 99), rules=rules) == [2, 0, 0]
    assert graded(("a", "read", 99), ("a", "hide", 1), rules=rules) == [2, 0, 0]
    with pytest.raises(DataError, match="the gain of click must be a number"):
        as_rules({"click": "much"})


def test_what_was_not_shown_is_unjudged():
    part = Ranking("r", np.array([2, 0]), np.array([0.5, 0.1, 0.9]))
    assert feedback_grades(part, [Feedback("r", "0")]).tolist() == [1, -1, 0]
    with pytest.raises(DataError, match="'1' was not shown"):
        feedback_grades(part, [Feedback("r", "1")])
    assert judgement_grades(part, Judgement("r", {"1": 2, "2": 0})).tolist() == [-1, 2, 0]


def test_grades_of_judgements():
    assert judgement_grades(shown, Judgement("r", {"c": 2, "a": 0})).tolist() == [0, -1, 2]
    with pytest.raises(DataError, match="'z' is not a candidate"):
        judgement_grades(shown, Judgement("r", {"z": 2}))


def test_events_of_another_ranking_are_refused():
    with pytest.raises(DataError, match="is about ranking 'other', not 'r'"):
        feedback_grades(shown, [Feedback("other", "a")])
    with pytest.raises(DataError, match="is about ranking 'other', not 'r'"):
        judgement_grades(shown, Judgement("other", {"a": 1}))
