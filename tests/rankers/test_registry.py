"""Rankers by name, their parameters, and the rankings they give."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop import checks
from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.rankers.registry import (
    make_ranker,
    online_names,
    ranker_class,
    ranker_names,
    wrapper_names,
)

from .streams import stream


def test_every_ranker_of_the_package_has_a_name():
    found = {type(s) for s in checks.discover() if isinstance(s, checks.RankerLike)}
    names = (*ranker_names(), *wrapper_names())
    assert found == {type(make_ranker(name)) for name in names}


def test_both_names_are_known():
    for name in ranker_names():
        assert ranker_class(name) is ranker_class(ranker_class(name).__name__)


@pytest.mark.parametrize("name", ranker_names())
def test_text_gives_the_ranker_back(name):
    ranker = make_ranker(name)
    assert repr(ranker) == f"{type(ranker).__name__}()"
    assert ranker.get_params(deep=False) == type(ranker)._parameters()


def test_values():
    ranker = make_ranker(" slam : rate = 0.5, average=false, measure=nDCG@5 ,random_state=none")
    assert repr(ranker) == "Slam(measure='nDCG@5', rate=0.5, average=False)"
    assert ranker.random_state is None
    assert make_ranker("solar-ii:gamma=1e3").gamma == 1000.0
    assert make_ranker("committee:size=5").size == 5


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (
            "slamm",
            "unknown ranker 'slamm'; did you mean 'slam'.; known: slam, perceptron, .*solar-ii",
        ),
        ("", "unknown ranker ''"),
        ("slam:speed=1", "slam has no parameter 'speed'; it has: measure, rate, "),
        ("slam:rate", "cannot read 'rate' in 'slam:rate'; write parameters as rate=0.1"),
        ("slam:__class__=1", "no parameter '__class__'"),
    ],
)
def test_errors_of_make_ranker(text, says):
    with pytest.raises(DataError, match=says):
        make_ranker(text)


def test_a_parameter_given_twice_is_an_error():
    with pytest.raises(DataError, match="twice"):
        make_ranker("slam:rate=0.1,rate=0.2")


def test_a_ranker_inside_another_is_given_by_its_name():
    assert repr(make_ranker("clicks:ranker=auto,temperature=0.3")) == (
        "FromClicks(ranker=Auto(), temperature=0.3)"
    )
    with pytest.raises(DataError, match="unknown ranker 'autoo'"):
        make_ranker("thompson:ranker=autoo")


def test_parameters_inside_parameters():
    ranker = make_ranker("prepared").set_params(ranker=make_ranker("slam"), ranker__rate=0.25)
    assert ranker.get_params()["ranker__rate"] == 0.25
    assert "ranker__rate" not in ranker.get_params(deep=False)
    for bad in ({"speed": 1}, {"speed__rate": 1}, {"ranker__speed": 1}):
        with pytest.raises(DataError, match="has no parameter 'speed'; it has"):
            ranker.set_params(**bad)


@pytest.mark.slow
@pytest.mark.parametrize("name", ranker_names())
def test_rankers_rank(name):
    ranker = make_ranker(name).fit(stream("short", seed=1))
    X = np.random.default_rng(0).normal(size=(6, 7)).astype(np.float32)
    y = np.zeros(6)
    query = QueryDataset.from_arrays(X, y, group=[6], doc_ids=list("abcdef")).query(0)
    ranking, again = ranker.rank(query), ranker.rank(X)
    assert np.array_equal(ranking.scores, ranker.predict(X, group=[len(X)]))
    assert np.array_equal(ranking.shown_scores, np.sort(ranking.scores)[::-1])
    assert ranking.shown_ids.tolist() == ["abcdef"[i] for i in ranking.order]
    assert np.array_equal(again.order, ranking.order)
    assert (ranking.version, ranking.query_id) == (ranker.version_, 0)
    assert (again.doc_ids, again.query_id) == (None, None)
    assert ranking.X is not X
    assert np.array_equal(ranking.X, X)
    assert ranker.rank(X, id="mine").id == "mine" != again.id
    if name in online_names():
        ranker.learn(X, [2, 1, 0, 0, 0, 0])
        assert ranker.rank(query).version != ranking.version
