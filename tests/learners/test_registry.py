"""Learners by name, their parameters, and the rankings they give."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from rankloop import checks
from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.learners.ranking import make_ranking
from rankloop.learners.registry import CLASSES, NAMES, ONLINE_NAMES, learner_class, make_learner

from .streams import stream


def test_every_learner_of_the_package_has_a_name():
    found = {type(s) for s in checks.discover() if isinstance(s, checks.Learner)}
    assert found == {learner_class(name) for name in NAMES}


def test_both_names_are_known():
    for name, own in zip(NAMES, CLASSES, strict=True):
        assert learner_class(name) is learner_class(own)
        assert learner_class(name).__name__ == own


@pytest.mark.parametrize("name", NAMES)
def test_text_gives_the_learner_back(name):
    learner = make_learner(name)
    assert repr(learner) == f"{type(learner).__name__}()"
    assert learner.get_params(deep=False) == type(learner).parameters()


def test_values():
    learner = make_learner(" slam : rate = 0.5, average=true, measure=nDCG@5 ,random_state=none")
    assert repr(learner) == "Slam(measure='nDCG@5', rate=0.5, average=True)"
    assert learner.random_state is None
    assert make_learner("solar-ii:gamma=1e3").gamma == 1000.0
    assert make_learner("committee:size=5").size == 5


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("slamm", "unknown learner 'slamm'; known: slam, perceptron, .*solar-ii"),
        ("", "unknown learner ''"),
        ("slam:speed=1", "slam has no parameter 'speed'; it has: measure, rate, "),
        ("slam:rate", "cannot read 'rate' in 'slam:rate'; write parameters as rate=0.1"),
        ("slam:__class__=1", "no parameter '__class__'"),
    ],
)
def test_errors_of_make_learner(text, says):
    with pytest.raises(DataError, match=says):
        make_learner(text)


def test_a_parameter_given_twice_is_an_error():
    with pytest.raises(DataError, match="twice"):
        make_learner("slam:rate=0.1,rate=0.2")


def test_parameters_inside_parameters():
    learner = make_learner("mapped").set_params(learner=make_learner("slam"), learner__rate=0.25)
    assert learner.get_params()["learner__rate"] == 0.25
    assert "learner__rate" not in learner.get_params(deep=False)
    for bad in ({"speed": 1}, {"speed__rate": 1}, {"learner__speed": 1}):
        with pytest.raises(DataError, match="has no parameter 'speed'; it has"):
            learner.set_params(**bad)


def test_a_ranking_is_sorted_and_ties_keep_their_order():
    ranking = make_ranking(np.array([1.0, 3.0, 1.0, 3.0, 2.0]), 7, np.array(list("abcde")))
    assert ranking.order.tolist() == [1, 3, 4, 0, 2]
    assert ranking.scores.tolist() == [3, 3, 2, 1, 1]
    assert ranking.doc_ids.tolist() == list("bdeac")
    assert ranking.version == 7
    assert len(ranking) == 5


def test_a_ranking_cannot_be_changed():
    scores, ids = np.array([1.0, 2.0]), np.array(["a", "b"])
    ranking = make_ranking(scores, 0, ids)
    for array in (ranking.order, ranking.scores, ranking.doc_ids):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[1]
    with pytest.raises(dataclasses.FrozenInstanceError):
        ranking.version = 3
    scores[0], ids[0] = 9.0, "z"  # the caller's arrays stay the caller's
    assert ranking.scores.tolist() == [2, 1]
    assert ranking.doc_ids.tolist() == ["b", "a"]


def test_ids_of_rankings():
    scores = np.array([1.0, 2.0, 0.5])
    one = make_ranking(scores, 3)
    assert one.id == make_ranking(scores.copy(), 3).id == f"{int(one.id, 16):016x}"
    others = [
        make_ranking(scores, 4),
        make_ranking(scores + 1, 3),
        make_ranking(scores[::-1], 3),
        make_ranking(scores[:2], 3),
    ]
    assert len({one.id, *(other.id for other in others)}) == 5
    assert make_ranking(scores, 3, id="mine").id == "mine"


def test_an_empty_ranking():
    assert len(make_ranking(np.zeros(0), 0)) == 0


@pytest.mark.parametrize("name", NAMES)
def test_learners_rank(name):
    learner = make_learner(name).fit(stream("short", seed=1))
    X = np.random.default_rng(0).normal(size=(6, 7)).astype(np.float32)
    y = np.zeros(6)
    query = QueryDataset.from_arrays(X, y, group=[6], doc_ids=list("abcdef")).query(0)
    ranking, again = learner.rank(query), learner.rank(X)
    assert np.array_equal(ranking.scores, np.sort(learner.predict(X))[::-1])
    assert ranking.doc_ids.tolist() == ["abcdef"[i] for i in ranking.order]
    assert ranking.version == learner.queries_
    assert (again.id, again.doc_ids) == (ranking.id, None)
    if name in ONLINE_NAMES:
        learner.learn(X, [2, 1, 0, 0, 0, 0])
    else:
        learner.fit(X, [2, 1, 0, 0, 0, 0])
    assert learner.rank(query).id != ranking.id
