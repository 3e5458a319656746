"""Learners by name, their parameters, and the rankings they give."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop import checks
from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.learners.registry import (
    learner_class,
    learner_names,
    make_learner,
    online_names,
)

from .streams import stream


def test_every_learner_of_the_package_has_a_name():
    found = {type(s) for s in checks.discover() if isinstance(s, checks.Learner)}
    assert found == {learner_class(name) for name in learner_names()}


def test_both_names_are_known():
    for name in learner_names():
        assert learner_class(name) is learner_class(learner_class(name).__name__)


@pytest.mark.parametrize("name", learner_names())
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
        (
            "slamm",
            "unknown learner 'slamm'; did you mean 'slam'.; known: slam, perceptron, .*solar-ii",
        ),
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
    learner = make_learner("mapped").set_params(ranker=make_learner("slam"), ranker__rate=0.25)
    assert learner.get_params()["ranker__rate"] == 0.25
    assert "ranker__rate" not in learner.get_params(deep=False)
    for bad in ({"speed": 1}, {"speed__rate": 1}, {"ranker__speed": 1}):
        with pytest.raises(DataError, match="has no parameter 'speed'; it has"):
            learner.set_params(**bad)


@pytest.mark.parametrize("name", learner_names())
def test_learners_rank(name):
    learner = make_learner(name).fit(stream("short", seed=1))
    X = np.random.default_rng(0).normal(size=(6, 7)).astype(np.float32)
    y = np.zeros(6)
    query = QueryDataset.from_arrays(X, y, group=[6], doc_ids=list("abcdef")).query(0)
    ranking, again = learner.rank(query), learner.rank(X)
    assert np.array_equal(ranking.scores, learner.predict(X, group=[len(X)]))
    assert np.array_equal(ranking.shown_scores, np.sort(ranking.scores)[::-1])
    assert ranking.shown_ids.tolist() == ["abcdef"[i] for i in ranking.order]
    assert np.array_equal(again.order, ranking.order)
    assert (ranking.version, ranking.query_id) == (learner.version_, 0)
    assert (again.doc_ids, again.query_id) == (None, None)
    assert ranking.X is not X
    assert np.array_equal(ranking.X, X)
    assert learner.rank(X, id="mine").id == "mine" != again.id
    if name in online_names():
        learner.learn(X, [2, 1, 0, 0, 0, 0])
        assert learner.rank(query).version != ranking.version
