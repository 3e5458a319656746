"""The ranker: its famous special cases, its variants, kernels, and what makes no sense."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop
from rankloop.exceptions import DataError
from rankloop.rankers.predtron.geometry import RNorm, Schatten
from rankloop.rankers.predtron.predtron import Predtron
from rankloop.rankers.predtron.problems.binary import Binary, BinaryReject
from rankloop.rankers.predtron.problems.multiclass import Multiclass
from rankloop.rankers.predtron.problems.multilabel import ErrorSetSize, Hamming, SubsetZeroOne
from rankloop.rankers.predtron.problems.multilabel_ranking import MultilabelRanking
from rankloop.rankers.predtron.problems.ordinal import Ordinal
from rankloop.rankers.predtron.problems.subset_ranking import SubsetRanking
from rankloop.rankers.predtron.rule import MistakeDriven

PROBLEMS = {
    "binary": Binary((1, 3)),
    "reject": BinaryReject(),
    "multiclass": Multiclass(4, reject=0.2),
    "ordinal": Ordinal(4),
    "subset": SubsetZeroOne(4),
    "hamming": Hamming(4),
    "error set": ErrorSetSize(4),
    "labels": MultilabelRanking(4),
    "labels, P@2": MultilabelRanking(4, measure="P@2"),
    "ranking": SubsetRanking("-i^2"),
}
RULES = ("predtron", "loss-driven")


def linear(A, B):
    return A @ B.T


def rounds(problem, n=80, p=6, seed=0):
    """Inputs with labels of the problem's kind, somewhat linear."""
    rng = np.random.default_rng(seed)
    W = rng.normal(size=(4, p))
    for _ in range(n):
        x = rng.normal(size=(5, p)) if problem.shared else rng.normal(size=p)
        t = x @ W[0] if problem.shared else W @ x
        if problem.shared or isinstance(problem, MultilabelRanking):
            yield x, np.digitize(t, [0, 1.5]).astype(float)
        elif hasattr(problem, "losses"):
            yield x, int(t[: problem.n_labels].argmax())
        else:
            yield x, t > 0


def played(problem, **options):
    ranker = Predtron(problem, **options)
    losses = [ranker.learn(x, y) for x, y in rounds(problem)]
    assert ranker.rounds == 80
    assert ranker.updates == np.count_nonzero(losses)
    assert ranker.loss == pytest.approx(sum(losses))
    return ranker, np.array(losses)


def without_learning(problem):
    """What scores of 0 lose."""
    rule = MistakeDriven()
    return np.array(
        [
            rule.step(problem, np.zeros(5 if problem.shared else problem.dimension), y)[0]
            for _, y in rounds(problem)
        ]
    )


@pytest.mark.parametrize("rule", RULES)
def test_binary_is_the_perceptron(rule):
    """The textbook: where y w.x <= 0, w += y x. Ours moves by 2 rate: rate = 1/2."""
    ranker = Predtron(Binary(), rate=0.5, rule=rule)
    w = np.zeros(6)
    for x, y in rounds(Binary(), n=200):
        sign = 2 * y - 1
        mistake = sign * (w @ x) <= 0
        assert ranker.learn(x, y) == mistake
        w += sign * x if mistake else 0
        assert np.allclose(ranker.weights.matrix[0], w)
    assert ranker.updates > 10


def test_binary_is_our_perceptron():
    """`rankloop.rankers.Perceptron` learns documents one by one: grades are the classes."""
    rng = np.random.default_rng(3)
    X = rng.integers(-3, 4, (300, 5)).astype(np.float32)
    y = (X @ [1.0, -2, 0.5, 0, 1] + rng.normal(size=300) > 0).astype(float)
    ours = rankloop.rankers.Perceptron().fit(X, y, group=[300])
    ranker = Predtron(Binary(), rate=0.5)
    for x, label in zip(X, y, strict=True):
        ranker.learn(x, int(label))
    assert np.array_equal(ranker.weights.matrix[0], ours.weights_)


def test_multiclass_is_the_perceptron_on_the_worst_class():
    """Crammer and Singer's subgradient: w_y += rate x, w_s -= rate x, s the highest other score."""
    ranker, W = Predtron(Multiclass(4), rate=0.7), np.zeros((4, 6))
    for x, y in rounds(Multiclass(4), n=200):
        t = W @ x
        others = np.delete(np.arange(4), y)
        s = others[t[others].argmax()]
        if t[s] >= t[y]:
            W[y] += 0.7 * x
            W[s] -= 0.7 * x
        ranker.learn(x, y)
        assert np.allclose(ranker.weights.matrix, W)


@pytest.mark.slow
def test_ordinal_beside_prank():
    """Both learn grades along one direction; where they do not lie so, only ours does."""
    rng = np.random.default_rng(4)
    X = rng.uniform(-1, 1, (600, 2)).astype(np.float32)
    straight = np.digitize(X[:, 0], [-0.5, 0.0, 0.5])
    folded = np.where(X[:, 1] > 0.3, 3, np.where(X[:, 0] > 0, 0, 2))  # 0, 2 and 3 in a triangle
    error = {}
    for name, y in (("straight", straight), ("folded", folded)):
        prank = rankloop.rankers.PRank(passes=20).fit(X[:400], y[:400].astype(float), group=[400])
        grades = (X[400:] @ prank.weights_ >= prank.thresholds_[:, None]).sum(axis=0)
        ranker = Predtron(Ordinal(4), average=True)
        for _ in range(20):
            for x, label in zip(X[:400], y[:400], strict=True):
                ranker.learn(np.r_[x, 1], int(label))
        ours = np.array([ranker.decide(np.r_[x, 1]) for x in X[400:]])
        error[name] = [np.abs(found - y[400:]).mean() for found in (grades, ours)]
    assert max(error["straight"]) < 0.3
    assert error["folded"][1] < 0.2 < 0.5 * error["folded"][0]


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("rule", RULES)
def test_every_problem_learns(name, rule):
    problem = PROBLEMS[name]
    _, losses = played(problem, rule=rule)
    assert losses[-40:].sum() < 0.5 * without_learning(problem)[-40:].sum()


@pytest.mark.matrix
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("average", [False, True])
def test_linear_kernel_is_the_primal(name, rule, average):
    problem = PROBLEMS[name]
    primal, losses = played(problem, rule=rule, average=average, rate=0.25)
    dual, same = played(problem, rule=rule, average=average, rate=0.25, kernel=linear)
    assert np.allclose(losses, same)
    for x, _ in rounds(problem, n=20, seed=5):
        assert np.allclose(primal.scores(x), dual.scores(x))


def test_other_kernels_learn_what_is_not_linear():
    def rbf(A, B):
        return np.exp(-((A[:, None] - B) ** 2).sum(axis=2))

    rng = np.random.default_rng(6)
    X = rng.uniform(-2, 2, (300, 2))
    y = (np.abs(X).max(axis=1) < 1.2).astype(int)
    ranker = Predtron(Binary(), kernel=rbf)
    for _ in range(5):
        for x, label in zip(X, y, strict=True):
            ranker.learn(x, label)
    assert np.mean([ranker.decide(x) == label for x, label in zip(X, y, strict=True)]) > 0.95


@pytest.mark.matrix
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("geometry", ["euclidean", "rnorm", "group", "schatten"])
def test_every_combination_works_or_says_why(name, rule, geometry):
    problem = PROBLEMS[name]
    rows = 1 if problem.shared else problem.dimension
    if rows == 1 and geometry in ("group", "schatten"):
        with pytest.raises(DataError, match="which is then the same"):
            played(problem, rule=rule, geometry=geometry)
        return
    ranker, losses = played(problem, rule=rule, geometry=geometry)
    assert ranker.weights.matrix.shape == (rows, 6)
    assert losses[-40:].sum() < 0.6 * without_learning(problem)[-40:].sum()
    back = ranker.geometry.dual(ranker.weights.matrix)
    assert np.allclose(back, ranker.weights.dual, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("geometry", ["euclidean", "rnorm"])
def test_loss_driven_predictions_do_not_depend_on_the_rate(geometry):
    problem = SubsetRanking()
    _, one = played(problem, rule="loss-driven", geometry=geometry)
    ranker, other = played(problem, rule="loss-driven", geometry=geometry, rate=2.0**-7)
    assert np.allclose(one, other)
    assert ranker.updates > 5


def test_r_norm_of_two_is_euclidean():
    one, losses = played(Multiclass(4))
    other, same = played(Multiclass(4), geometry=RNorm(2.0))
    assert np.array_equal(losses, same)
    assert np.allclose(one.weights.matrix, other.weights.matrix)


@pytest.mark.parametrize("problem", [BinaryReject(), Multiclass(4, reject=0.2)])
@pytest.mark.parametrize("geometry", ["euclidean", "group", "schatten"])
def test_from_zero_weights_rejection_is_out_of_reach(problem, geometry):
    """Scores of the classes add up to 0, so that one of them is ahead of rejection."""
    for rule in RULES:
        ranker, _ = played(problem, rule=rule, geometry=geometry)
        assert np.allclose(ranker.weights.matrix.sum(axis=0), 0, atol=1e-9)
        said = {ranker.decide(x) for x, _ in rounds(problem, seed=9)}
        assert said == set(range(problem.n_labels))


def test_the_mean_of_the_weights():
    ranker, total = Predtron(Multiclass(4), average=True), np.zeros((4, 6))
    for x, y in rounds(Multiclass(4)):
        ranker.learn(x, y)
        total += ranker.weights.matrix
    x = np.arange(6.0)
    assert np.allclose(ranker.scores(x), total @ x / 80)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: Predtron(Binary(), kernel=linear, geometry="rnorm"), "needs the Euclidean"),
        (lambda: Predtron(Binary(), kernel=3), "kernel must be a function"),
        (lambda: Predtron(Binary(), rule="slow"), "rule must be one of predtron, loss-driven"),
        (lambda: Predtron(Binary(), geometry="l1"), "geometry must be one of"),
        (lambda: Predtron(Binary(), rate=0), "rate must be a number above 0"),
        (lambda: Predtron(Binary(), geometry=Schatten()).learn([1.0, 2], 1), "one row or column"),
        (lambda: Predtron(Binary()).learn([[1.0, 2]], 1), "vector of finite numbers; found an"),
        (lambda: Predtron(Binary()).learn([1.0, np.nan], 1), "finite numbers"),
        (lambda: Predtron(SubsetRanking()).learn([1.0, 2], [1, 0]), "with one row per item"),
        (lambda: Predtron(SubsetRanking()).learn([[1.0], [2]], [1]), "1 grades for 2 rows"),
        (lambda: Predtron(Binary()).learn([1.0, 2], 2), "labels must be from 0 to 1"),
    ],
)
def test_what_makes_no_sense(call, says):
    with pytest.raises(DataError, match=says):
        call()


def test_the_width_stays():
    ranker = Predtron(Binary())
    ranker.learn([1.0, 2], 1)
    with pytest.raises(DataError, match="the input has 3 features, but earlier ones had 2"):
        ranker.learn([1.0, 2, 3], 1)
    assert ranker.rounds == 1


def test_a_kernel_of_the_wrong_shape():
    ranker = Predtron(Binary(), kernel=lambda A, B: np.zeros(3))
    ranker.learn([1.0], 1)
    with pytest.raises(DataError, match=r"kernel\(A, B\) must have a row"):
        ranker.learn([1.0], 1)
