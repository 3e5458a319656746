"""Classifiers of Predtron: going on, margins, costs, real data."""

from __future__ import annotations

import copy
import warnings

import numpy as np
import pytest
from sklearn import datasets
from sklearn.base import clone, is_classifier
from sklearn.linear_model import PassiveAggressiveClassifier, Perceptron
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.multioutput import MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from rankloop import checks
from rankloop.exceptions import DataError, NotFittedError
from rankloop.rankers.predtron.estimators import (
    PredtronClassifier,
    PredtronMultilabel,
    PredtronOrdinal,
)
from rankloop.rankers.predtron.label_ranker import PredtronLabelRanker
from rankloop.rankers.predtron.weights import KernelWeights, NamedKernel

EVERY = [PredtronClassifier, PredtronOrdinal, PredtronMultilabel]


def labelled(cls, n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    T = X @ rng.normal(size=(5, 3)) + 0.3
    return X, (T > 0).astype(int) if cls is PredtronMultilabel else np.digitize(T[:, 0], [-1, 1])


def test_they_are_not_taken_for_rankers():
    assert not {type(subject) for subject in checks.discover()} & set(EVERY)
    assert is_classifier(PredtronClassifier())
    assert is_classifier(PredtronMultilabel())


@pytest.mark.parametrize("cls", EVERY)
def test_going_on_is_one_pass(cls):
    X, y = labelled(cls)
    whole = cls(passes=1, random_state=None).fit(X, y)
    parts = cls().partial_fit(X[:50], y[:50], classes=[0, 1, 2]).partial_fit(X[50:], y[50:])
    assert np.array_equal(whole.scores(X), parts.scores(X))
    assert whole.ranker_.rounds == parts.ranker_.rounds == 120


@pytest.mark.matrix
@pytest.mark.parametrize("cls", EVERY)
@pytest.mark.parametrize("rule", ["predtron", "loss-driven"])
@pytest.mark.parametrize("geometry", ["euclidean", "rnorm", "group", "schatten"])
def test_they_learn(cls, rule, geometry):
    X, y = labelled(cls, 400)
    model = cls(rule=rule, geometry=geometry).fit(X[:300], y[:300])
    assert (model.predict(X[300:]) == y[300:]).mean() > (0.6 if cls is PredtronOrdinal else 0.75)
    assert model.decision_function(X).shape[0] == 400
    margins = model.margins(X[300:], y[300:])
    right = (model.predict(X[300:]) == y[300:]).reshape(100, -1).all(axis=1)
    assert np.array_equal(margins > 0, right)
    assert model.score(X[300:], y[300:]) == right.mean()


@pytest.mark.slow
@pytest.mark.parametrize("cls", EVERY)
def test_kernels_pipelines_clones_and_seeds(cls):
    def linear(A, B):
        return A @ B.T

    X, y = labelled(cls)
    model = cls().fit(X, y)
    assert np.allclose(cls(kernel=linear).fit(X, y).scores(X), model.scores(X))
    assert np.array_equal(clone(model).fit(X, y).scores(X), model.scores(X))
    assert not np.array_equal(cls(random_state=1).fit(X, y).scores(X), model.scores(X))
    assert cross_val_score(make_pipeline(StandardScaler(), cls()), X, y, cv=3).mean() > 0.4
    assert np.array_equal(copy.deepcopy(model).predict(X), model.predict(X))


def test_two_classes_share_one_weight_vector():
    X, y = labelled(PredtronClassifier)
    names = np.array(["no", "yes"])[(y > 0).astype(int)]
    model = PredtronClassifier().fit(X, names)
    assert model.scores(X).shape == (120, 1)
    assert np.array_equal(model.predict(X) == "yes", model.decision_function(X) > 0)


def test_costs():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = (X[:, 0] + rng.normal(size=600) > 0).astype(int)
    plain = PredtronClassifier().fit(X, y).predict(X)
    careful = PredtronClassifier(class_weight={1: 20.0}, rule="loss-driven").fit(X, y).predict(X)
    assert (careful[y == 1] == 0).mean() < (plain[y == 1] == 0).mean()


def test_grades_far_off_cost_more():
    X, y = labelled(PredtronOrdinal, 600)
    ordinal = PredtronOrdinal().fit(X, y * 10)
    assert set(ordinal.predict(X)) <= {0, 10, 20}
    assert np.abs(ordinal.predict(X) - y * 10).mean() < 4


@pytest.mark.slow
def test_multilabel_losses():
    X, y = labelled(PredtronMultilabel, 300)
    for loss in ("hamming", "subset", "error-set"):
        model = PredtronMultilabel(loss).fit(X, y)
        predicted = model.predict(X)
        missed, added = ((y > predicted).sum(axis=1), (y < predicted).sum(axis=1))
        assert (missed * added == 0).mean() > 0.95
    one_by_one = MultiOutputClassifier(Perceptron()).fit(X, y)
    model = PredtronMultilabel().fit(X, y)
    assert (model.predict(X) == y).mean() > (one_by_one.predict(X) == y).mean() - 0.02


def diabetes_quartiles():
    X, y = datasets.load_diabetes(return_X_y=True)
    return X, np.digitize(y, np.quantile(y, [0.25, 0.5, 0.75]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "cls"),
    [("digits", PredtronClassifier), ("cancer", PredtronClassifier), ("diabetes", PredtronOrdinal)],
)
def test_beside_scikit_learn(name, cls):
    """The same passes and folds, nothing tuned; ours averages, as its default."""
    X, y = {
        "digits": lambda: datasets.load_digits(return_X_y=True),
        "cancer": lambda: datasets.load_breast_cancer(return_X_y=True),
        "diabetes": diabetes_quartiles,
    }[name]()
    peers = [Perceptron(max_iter=10, tol=None)]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # newer versions call it SGDClassifier
        peers.append(PassiveAggressiveClassifier(max_iter=10, tol=None, random_state=0))
        folds = StratifiedKFold(3, shuffle=True, random_state=0)
        reached = [
            cross_val_score(make_pipeline(StandardScaler(), model), X, y, cv=folds).mean()
            for model in (cls(passes=10), *peers)
        ]
    assert reached[0] >= max(reached[1:]) - 0.01


BAD = [
    (lambda: PredtronClassifier().fit([[1.0], [2]], [1, 1]), "1 class: at least two"),
    (lambda: PredtronClassifier().fit([[1.0], [2]], [0.5, 1]), "Unknown label type"),
    (lambda: PredtronClassifier().fit([[1.0], [2]], [0, 1, 1]), "3 values for 2 rows"),
    (lambda: PredtronClassifier().fit([[1.0], [2]], [[0, 1], [1, 0]]), "one label per row"),
    (lambda: PredtronClassifier().fit(np.zeros((0, 2)), []), "minimum of 1 is required"),
    (lambda: PredtronClassifier(passes=0).fit([[1.0], [2]], [0, 1]), "passes must be"),
    (lambda: PredtronClassifier(rate=-1).fit([[1.0], [2]], [0, 1]), "rate must be"),
    (lambda: PredtronClassifier(geometry="group").fit([[1.0], [2]], [0, 1]), "use geometry rnorm"),
    (lambda: PredtronClassifier({1: 0}).fit([[1.0], [2]], [0, 1]), "a weight must be a number"),
    (lambda: PredtronMultilabel("f1").fit([[1.0]], [[1]]), "loss must be one of hamming, subset"),
    (lambda: PredtronMultilabel().fit([[1.0]], [1]), "matrix of 0 and 1"),
    (lambda: PredtronMultilabel().fit([[1.0]], [[2]]), "matrix of 0 and 1"),
]


@pytest.mark.parametrize(("call", "says"), BAD)
def test_bad_input(call, says):
    with pytest.raises(DataError, match=says):
        call()


@pytest.mark.parametrize("cls", EVERY)
def test_what_was_learnt_stays_after_bad_input(cls):
    X, y = labelled(cls)
    model = cls()
    with pytest.raises(NotFittedError, match="learnt nothing yet"):
        model.predict(X)
    model.fit(X, y)
    before = model.scores(X)
    with pytest.raises(DataError, match=r"4 features, but .* is expecting 5"):
        model.partial_fit(X[:, :4], y)
    with pytest.raises(DataError, match=r"not one of the classes|0 and 1"):
        model.partial_fit(X, y + 5)
    with pytest.raises(DataError, match="for 119 rows"):
        model.partial_fit(X[1:], y)
    assert np.array_equal(model.scores(X), before)


def graded(n=300, seed=0):
    """Rows whose labels have grades 0 to 2, by a hidden matrix."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5))
    return X, np.digitize(X @ rng.normal(size=(5, 6)), [0.5, 2.0])


@pytest.mark.matrix
@pytest.mark.parametrize("kernel", [None, "linear", "rbf(5)", lambda A, B: A @ B.T])
@pytest.mark.parametrize("measure", ["nDCG", "nDCG@3", "P@2"])
def test_labels_are_ranked(kernel, measure):
    X, y = graded()
    model = PredtronLabelRanker(measure=measure, kernel=kernel, passes=3).fit(X[:200], y[:200])
    chance = PredtronLabelRanker(measure=measure, passes=1).fit(X[:1], y[:1])
    assert model.score(X[200:], y[200:]) > max(0.8, chance.score(X[200:], y[200:]) + 0.05)
    best = model.predict(X)
    assert best.shape == (300, 6)
    assert np.array_equal(np.sort(best, axis=1), np.tile(np.arange(6), (300, 1)))
    scores = model.decision_function(X)
    assert (np.diff(np.take_along_axis(scores, best, axis=1), axis=1) <= 0).all()


def test_the_linear_kernel_is_the_weight_matrix():
    X, y = graded()
    plain = PredtronLabelRanker(passes=1, random_state=None).fit(X, y)
    kernel = PredtronLabelRanker(passes=1, random_state=None, kernel="linear").fit(X, y)
    assert np.allclose(plain.scores(X), kernel.scores(X), rtol=1e-3, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("cls", [*EVERY, PredtronLabelRanker])
def test_a_budget_bounds_what_is_held(cls):
    X, y = graded() if cls is PredtronLabelRanker else labelled(cls)
    model = cls(kernel="rbf(5)", budget=20, passes=2).fit(X, y)
    whole = cls(kernel="rbf(5)", passes=2).fit(X, y)
    assert len(model.ranker_.weights.inputs) == 20 < len(whole.ranker_.weights.inputs)
    assert np.isfinite(model.scores(X)).all()
    plenty = cls(kernel="rbf(5)", budget=10_000, passes=2).fit(X, y)
    assert np.array_equal(plenty.scores(X), whole.scores(X))


def test_the_budget_keeps_what_counts_most():
    weights = KernelWeights(NamedKernel("linear"), (1, 2), average=False, budget=2)
    for x, step in (([3.0, 0.0], 1.0), ([0.0, 0.1], 2.0), ([0.0, 5.0], -1.0), ([0.0, 1.0], 4.0)):
        weights.learn(np.array([x]), np.array([[step]]))
    assert weights.inputs.tolist() == [[0.0, 5.0], [0.0, 1.0]]
    assert weights.coefficients.tolist() == [[-1.0], [4.0]]


def test_label_rankers_say_what_is_wrong():
    X, y = graded(20)
    with pytest.raises(DataError, match="a matrix of grades of at least 0"):
        PredtronLabelRanker().fit(X, y[:, 0])
    with pytest.raises(DataError, match="a matrix of grades of at least 0"):
        PredtronLabelRanker().fit(X, y - 1)
    with pytest.raises(DataError, match="y has 5 labels, but earlier data had 6"):
        PredtronLabelRanker().fit(X, y).partial_fit(X, y[:, :5])
    with pytest.raises(DataError, match="budget must be a whole number of at least 1"):
        PredtronLabelRanker(kernel="linear", budget=0).fit(X, y)
    with pytest.raises(DataError, match="a budget needs a kernel"):
        PredtronLabelRanker(budget=5).fit(X, y)
    with pytest.raises(DataError, match="unknown kernel 'rfb'"):
        PredtronLabelRanker(kernel="rfb(1)").fit(X, y)
