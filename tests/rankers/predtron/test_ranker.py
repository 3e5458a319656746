"""The ranker: the ranker of subset ranking, query by query, by name."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import rankloop
from rankloop.data.simulate import predtron_sparse
from rankloop.exceptions import DataError, MeasureError
from rankloop.rankers.predtron.predtron import Predtron
from rankloop.rankers.predtron.problems.multilabel_ranking import MultilabelRanking
from rankloop.rankers.predtron.problems.subset_ranking import SubsetRanking
from rankloop.rankers.predtron.ranker import PredtronRanker
from rankloop.rankers.registry import make_ranker

from ..streams import stream

FORMS = list(product(["1/i", "-i^2"], ["nDCG", "nDCG@3", "P@2"], ["predtron", "loss-driven"]))


@pytest.mark.parametrize(("f", "measure", "rule"), FORMS)
@pytest.mark.parametrize("geometry", ["euclidean", "rnorm"])
@pytest.mark.parametrize("shape", ["short", "forty"])
def test_it_is_the_ranker_of_subset_ranking(f, measure, rule, geometry, shape):
    data = stream(shape, seed=1)
    text = f"predtron:f={f},measure={measure},rule={rule},geometry={geometry},rate=0.1"
    ranker = make_ranker(text).fit(data)
    plain = Predtron(SubsetRanking(f, measure), rule=rule, geometry=geometry, rate=0.1)
    for query in data:
        judged = query.y >= 0
        if judged.any():
            plain.learn(query.X[judged], query.y[judged])
    assert ranker.updates_ == plain.updates > 2
    assert np.allclose(ranker.weights_, plain.weights.matrix[0], rtol=1e-9, atol=1e-12)
    assert np.allclose(ranker.dual_, plain.weights.dual[0], rtol=1e-9, atol=1e-12)


def test_by_name():
    ranker = make_ranker("predtron:f=-i^1.1,geometry=euclidean,rule=predtron")
    assert isinstance(ranker, PredtronRanker)
    assert ranker is not make_ranker("predtron")
    assert make_ranker("predtron:f=1/i").f == "1/i"


def test_one_grade_or_none_changes_nothing():
    ranker = PredtronRanker().learn([[1.0], [2.0]], [1, 0])
    before = ranker.weights_
    for grades in ([1, 1], [0, 0], [-1, -1], [-1, 2]):
        ranker.learn([[1.0], [2.0]], grades)
    assert np.array_equal(ranker.weights_, before)
    assert (ranker.n_queries_seen_, ranker.updates_) == (5, 1)


def test_ties_are_mistakes_in_any_order():
    """A file that is sorted best first must not look like success to weights of 0."""
    for grades in ([1, 0], [0, 1]):
        assert PredtronRanker().learn([[1.0], [2.0]], grades).updates_ == 1


@pytest.mark.parametrize("rule", ["predtron", "loss-driven"])
@pytest.mark.parametrize("name", ["predtron", "kernel-predtron"])
def test_the_order_of_tied_rows_makes_no_difference(name, rule):
    """The first query has only ties: rows in the order of a feature must not teach it."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9, 3)), np.repeat([2.0, 1.0, 0.0], 3)
    new = rng.normal(size=(5, 3))
    expected = make_ranker(f"{name}:rule={rule}").learn(X, y).predict(new)
    for _ in range(3):
        order = rng.permutation(9)
        found = make_ranker(f"{name}:rule={rule}").learn(X[order], y[order]).predict(new)
        assert np.allclose(found, expected, rtol=1e-4, atol=1e-6)


def test_labels_in_any_order_learn_the_same():
    problem, x = MultilabelRanking(6), np.array([1.0, -2.0])
    y = np.array([0.0, 1, 0, 1, 1, 0])
    plain = Predtron(problem)
    plain.learn(x, y)
    for column in plain.weights.matrix.T:
        assert len(set(column.round(12).tolist())) == 2  # one for each grade


@pytest.mark.parametrize("geometry", ["euclidean", "rnorm"])
def test_loosening_keeps_weights_and_dual_together(geometry):
    data = stream("forty", seed=1)
    ranker = PredtronRanker(geometry=geometry).fit(data)
    order = np.argsort(ranker.predict(data.query(0)))
    ranker.discount_past(0.1)
    assert np.array_equal(np.argsort(ranker.predict(data.query(0))), order)
    from rankloop.rankers.predtron.geometry import as_geometry

    linked = as_geometry(geometry).weights(ranker.dual_[None])[0]
    assert np.allclose(linked, ranker.weights_)


def test_an_l1_geometry_finds_few_among_many():
    rng = np.random.default_rng(0)
    train = predtron_sparse(60, rng, n_features=400, n_relevant=3)
    test = predtron_sparse(60, rng, n_features=400, n_relevant=3, weights=train.weights)
    reached = {}
    for geometry in ("euclidean", "rnorm"):
        ranker = PredtronRanker(geometry=geometry).fit(train.data)
        scores = ranker.predict(test.data)
        reached[geometry] = rankloop.evaluate(test.data, scores, "nDCG")["nDCG"]
    assert reached["rnorm"] > reached["euclidean"] + 0.1


def test_real_data(data_dir):
    data = rankloop.read_letor(sorted((data_dir / "MQ2008").glob("S*.txt.xz"))[0])
    (found,) = rankloop.stream(data, {"p": PredtronRanker(average=True)}, "nDCG@10")
    assert found.mean > 0.6


@pytest.mark.parametrize(
    ("text", "error", "says"),
    [
        ("predtron:f=i", DataError, "f must be -i, -i"),
        ("predtron:f=3", DataError, "f must be text"),
        ("predtron:geometry=group", DataError, "use geometry rnorm"),
        ("predtron:geometry=schatten", DataError, "use geometry euclidean"),
        ("predtron:geometry=round", DataError, "geometry must be one of"),
        ("predtron:geometry=[]", DataError, "geometry must be one of"),
        ("predtron:rule=none", DataError, "rule must be one of"),
        ("predtron:rate=0", DataError, "rate must be a number above 0"),
        ("predtron:measure=AP", MeasureError, "Predtron learns nDCG"),
    ],
)
def test_bad_parameters(text, error, says):
    ranker = make_ranker(text)
    with pytest.raises(error, match=says):
        ranker.fit(stream())
    assert not ranker.is_fitted
