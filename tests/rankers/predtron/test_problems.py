"""Every decoding against all predictions, one by one."""

from __future__ import annotations

from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError, MeasureError
from rankloop.measures.evaluation import evaluate
from rankloop.rankers.predtron.decreasing import as_function, unit_positions
from rankloop.rankers.predtron.problem import Listed
from rankloop.rankers.predtron.problems.binary import Binary, BinaryReject
from rankloop.rankers.predtron.problems.multiclass import Multiclass
from rankloop.rankers.predtron.problems.multilabel import ErrorSetSize, Hamming, SubsetZeroOne
from rankloop.rankers.predtron.problems.multilabel_ranking import MultilabelRanking
from rankloop.rankers.predtron.problems.ordinal import Ordinal
from rankloop.rankers.predtron.problems.subset_ranking import SubsetRanking, least_ranking_loss

M = 4
NUMBERS = range(M)
SETS = [np.array(bits, bool) for bits in product([0, 1], repeat=M)]
RANKINGS = [np.array(p) for p in permutations(range(M))]
GRADES = [np.array(y, float) for y in product([0, 1, 2], repeat=M)]

# problem, all predictions, all labels
CASES = {
    "binary": (Binary(), range(2), range(2)),
    "weighted": (Binary((0.3, 2.0)), range(2), range(2)),
    "reject": (BinaryReject((0.4, 0.1)), range(3), range(2)),
    "multiclass": (Multiclass(M), NUMBERS, NUMBERS),
    "multiclass, weighted": (Multiclass(M, [1, 2, 3, 0.5]), NUMBERS, NUMBERS),
    "multiclass, reject": (Multiclass(M, reject=0.3), range(M + 1), NUMBERS),
    "ordinal": (Ordinal(M), NUMBERS, NUMBERS),
    "subset": (SubsetZeroOne(M), SETS, SETS),
    "hamming": (Hamming(M), SETS, SETS),
    "error set": (ErrorSetSize(M), SETS, SETS),
    "nDCG, 1/i": (SubsetRanking("1/i", n_documents=M, top_grade=2), RANKINGS, GRADES),
    "nDCG, -i^2": (SubsetRanking("-i^2", n_documents=M, top_grade=2), RANKINGS, GRADES),
    "nDCG@2": (SubsetRanking("-log(i)", "nDCG@2", M, 2), RANKINGS, GRADES),
    "labels, nDCG": (MultilabelRanking(M, top_grade=2), RANKINGS, GRADES),
    "labels, P@2": (MultilabelRanking(M, "-i", "P@2", top_grade=2), RANKINGS, GRADES),
}
every_case = pytest.mark.parametrize("name", CASES)


def dimension(problem):
    return problem.dimension or M


def scores_of(problem, seed, scale, whole):
    rng = np.random.default_rng(seed)
    d = dimension(problem)
    return scale * (rng.integers(-1, 2, d) if whole else rng.normal(size=d))


def draws(check):
    parts = {
        "seed": st.integers(0, 10**6),
        "scale": st.sampled_from([0.0, 0.125, 1.0, 3.0, 30.0]),
        "whole": st.booleans(),
    }
    return settings(max_examples=60)(given(**parts)(check))


@every_case
def test_representations_are_unit_vectors_and_decode_to_themselves(name):
    problem, predictions, _ = CASES[name]
    for prediction in predictions:
        code = problem.represent(prediction)
        assert code.shape == (dimension(problem),)
        assert np.linalg.norm(code) == pytest.approx(1)
        assert np.array_equal(problem.decode(code), prediction)


@every_case
def test_losses_and_their_constants(name):
    problem, predictions, labels = CASES[name]
    losses = np.array([[problem.loss(p, y) for y in labels] for p in predictions])
    assert (losses >= 0).all()
    assert (losses.min(axis=0) == 0).all()
    assert losses.max() <= problem.largest_loss + 1e-12
    assert losses[losses > 0].min() >= problem.smallest_loss - 1e-12
    if not isinstance(problem, SubsetRanking | MultilabelRanking):
        assert losses.max() == problem.largest_loss
        assert losses[losses > 0].min() == problem.smallest_loss
    for y in labels:
        t = np.random.default_rng(0).normal(size=dimension(problem))
        assert problem.loss(problem.correct(problem.check(y), t), y) == 0


@pytest.mark.matrix
@every_case
@draws
def test_decoding_is_the_highest_similarity(name, seed, scale, whole):
    problem, predictions, labels = CASES[name]
    t = scores_of(problem, seed, scale, whole)
    alike = [problem.represent(p) @ t for p in predictions]
    assert problem.represent(problem.decode(t)) @ t == pytest.approx(max(alike), abs=1e-9)
    label = labels[seed % len(labels)]
    worst = problem.decode_against(t, label)
    tied = [p for p, a in zip(predictions, alike, strict=True) if a >= max(alike) - 1e-12]
    assert problem.represent(worst) @ t == pytest.approx(max(alike), abs=1e-9)
    most = max(problem.loss(p, label) for p in tied)
    assert problem.loss(worst, label) == pytest.approx(most, abs=1e-9)


@pytest.mark.matrix
@every_case
@draws
def test_loss_augmented_decoding_is_the_maximum_of_eq_2(name, seed, scale, whole):
    problem, predictions, labels = CASES[name]
    t = scores_of(problem, seed, scale, whole)
    label = labels[seed % len(labels)]
    right = problem.represent(problem.correct(label, t))
    values = [problem.loss(p, label) - (right - problem.represent(p)) @ t for p in predictions]
    found = problem.decode_augmented(t, label)
    value = problem.loss(found, label) - (right - problem.represent(found)) @ t
    assert value == pytest.approx(max(values), abs=1e-9)
    assert problem.surrogate(t, label) == pytest.approx(max(values), abs=1e-9)
    assert value >= problem.loss(problem.decode(t), label) - 1e-9, "it bounds the loss"


@pytest.mark.matrix
@every_case
@draws
def test_margins(name, seed, scale, whole):
    problem, predictions, labels = CASES[name]
    t = scores_of(problem, seed, scale, whole)
    label = labels[seed % len(labels)]
    if "@" in name:
        with pytest.raises(DataError, match="without a cutoff"):
            problem.margin(t, label)
        return
    right = [problem.represent(p) @ t for p in predictions if problem.loss(p, label) == 0]
    wrong = [problem.represent(p) @ t for p in predictions if problem.loss(p, label) > 0]
    expected = min(right) - max(wrong, default=-np.inf)
    assert problem.margin(t, label) == pytest.approx(expected, abs=1e-9)


@settings(max_examples=100)
@given(seed=st.integers(0, 10**6))
def test_multiclass_surrogate_is_the_hinge_of_crammer_and_singer(seed):
    rng = np.random.default_rng(seed)
    t, y = rng.normal(size=6), int(rng.integers(6))
    hinge = max(0.0, 1 + np.delete(t, y).max() - t[y])
    assert Multiclass(6).surrogate(t, y) == pytest.approx(hinge, abs=1e-12)


@settings(max_examples=50)
@given(t=st.floats(-3, 3), y=st.integers(0, 1))
def test_binary_surrogate_is_the_hinge_of_twice_the_score(t, y):
    expected = max(0.0, 1 - 2 * (2 * y - 1) * t)
    assert Binary().surrogate(np.array([t]), y) == pytest.approx(expected, abs=1e-12)


@pytest.mark.matrix
@every_case
@draws
def test_surrogates_have_their_gradient(name, seed, scale, whole):
    """Convex in the scores with the correct prediction held fixed: above every tangent."""
    problem, _, labels = CASES[name]
    label = labels[seed % len(labels)]
    rng = np.random.default_rng(seed)
    t, step = scores_of(problem, seed, scale, whole), rng.normal(size=dimension(problem))
    right = problem.represent(problem.correct(label, t))

    def value(at):
        worst = problem.decode_augmented(at, label)
        return problem.loss(worst, label) + (problem.represent(worst) - right) @ at

    gradient = problem.represent(problem.decode_augmented(t, label)) - right
    assert value(t + step) >= value(t) + gradient @ step - 1e-9


def test_losses_are_those_of_our_measures():
    rng = np.random.default_rng(0)
    for _ in range(50):
        y, t = rng.integers(0, 4, 9).astype(float), rng.normal(size=9)
        if not y.any():
            continue
        data = QueryDataset.from_arrays(np.zeros((9, 1)), y, group=[9])
        for measure in ("nDCG", "nDCG@3"):
            problem = SubsetRanking("-i", measure)
            expected = 1 - evaluate(data, t, measure)[measure]
            assert problem.loss(problem.decode(t), y) == pytest.approx(expected, abs=1e-9)
        lost = MultilabelRanking(9, measure="P@3")
        best = evaluate(data, y, "P@3")["P@3"]
        expected = 1 - evaluate(data, t, "P@3")["P@3"] / best
        assert lost.loss(lost.decode(t), y) == pytest.approx(expected, abs=1e-9)


def test_high_grades_do_not_overflow():
    y = np.array([2000.0, 0, 1, 1999])
    problem = SubsetRanking()
    assert 0 < problem.loss(np.array([1, 2, 3, 0]), y) < 1
    assert problem.loss(np.array([0, 3, 2, 1]), y) == 0


@pytest.mark.parametrize(("m", "top"), [(2, 1), (3, 2), (4, 3), (5, 1)])
def test_the_least_loss_of_rankings(m, top):
    problem = SubsetRanking("-i")
    losses = [
        problem.loss(np.array(p), np.array(y, float))
        for p in permutations(range(m))
        for y in product(range(top + 1), repeat=m)
    ]
    assert least_ranking_loss(m, top) <= min(loss for loss in losses if loss > 0)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("-i", [-1, -2, -3]),
        (" - i ^ 2 ", [-1, -4, -9]),
        ("-i^1.1", [-1, -(2**1.1), -(3**1.1)]),
        ("1/i", [1, 1 / 2, 1 / 3]),
        ("1/i^.5", [1, 2**-0.5, 3**-0.5]),
        ("-log(i)", [0, -np.log(2), -np.log(3)]),
    ],
)
def test_decreasing_functions(text, expected):
    assert as_function(text)(np.arange(1.0, 4)) == pytest.approx(np.array(expected, float))
    assert unit_positions(text)(3) == pytest.approx(np.array(expected) / np.linalg.norm(expected))


@pytest.mark.parametrize("f", ["i", "i^2", "-j", "-i^0", "1/log(i)", "-i^-1", "", 3, "__import__"])
def test_other_functions(f):
    with pytest.raises(DataError, match="f must be"):
        unit_positions(f)


def test_functions_of_ones_own():
    assert SubsetRanking(lambda i: np.exp(-i)).positions(3)[0] > 0.9
    for f in (lambda i: i, lambda i: 0 * i, lambda i: -1.0, lambda i: np.log(1 - i)):
        with (
            pytest.raises(DataError, match="strictly decreasing"),
            np.errstate(invalid="ignore", divide="ignore"),
        ):
            SubsetRanking(f)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: Multiclass(1), "n_classes must be a whole number of at least 2"),
        (lambda: Multiclass(3, [1, 2]), "one weight per class"),
        (lambda: Multiclass(3, reject=0), "reject must be a number above 0"),
        (lambda: Binary((1, -1)), "a weight must be a number above 0"),
        (lambda: BinaryReject((1, 2)), "a cost of rejecting must be"),
        (lambda: Ordinal(1), "n_grades must be"),
        (lambda: Hamming(0), "n_labels must be"),
        (lambda: Listed([[1, 0]], [[1]]), "a prediction of loss 0 for each label"),
        (lambda: Listed([[0, 1], [1, 0]], [[1, 1], [0, 1]]), "rows of norm 1"),
        (lambda: Listed([[0, 1]], [[1], [-1]]), "as many rows"),
        (lambda: Listed([[0]], [[1]]), "nothing to learn"),
        (lambda: SubsetRanking().smallest_loss, "needs n_documents and top_grade"),
        (lambda: SubsetRanking(n_documents=0), "n_documents must be"),
        (lambda: MultilabelRanking(1), "n_labels must be"),
        (lambda: Multiclass(3).check(3), "labels must be from 0 to 2; found 3"),
        (lambda: Multiclass(3).check(0.5), "labels must be from 0 to 2; found 0.5"),
        (lambda: Hamming(2).check([0, 2]), "2 values 0 or 1"),
        (lambda: SubsetRanking().check([0, -1]), "numbers of at least 0; leave out"),
        (lambda: MultilabelRanking(3).check([0, 1]), "3 grades; found 2"),
    ],
)
def test_bad_problems(make, says):
    with pytest.raises(DataError, match=says):
        make()


@pytest.mark.parametrize("measure", ["AP", "P", "ERR@3"])
def test_other_measures(measure):
    with pytest.raises(MeasureError, match="nDCG, nDCG@k or P@k"):
        SubsetRanking(measure=measure)
