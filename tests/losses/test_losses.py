"""The losses, by hand, by brute force, and against the measures they bound."""

from __future__ import annotations

import dataclasses
import math
from math import exp, log, log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rankloop
from rankloop import losses
from rankloop.checks import Loss, check
from rankloop.exceptions import DataError, MeasureError
from rankloop.losses import (
    Fidelity,
    ListNetLoss,
    MaxPairLoss,
    PairwiseHinge,
    PairwiseLogistic,
    SlamLoss,
    XENDCGLoss,
)
from rankloop.losses.base import rivals

S = np.array([0.5, 2.0, -1.0, 0.0])
R = np.array([1.0, 0.0, 2.0, 0.0])


def arrays(*values):
    return np.array(values, dtype=float)


VARIANTS = [
    SlamLoss(),
    SlamLoss("nDCG@2"),
    SlamLoss("AP"),
    SlamLoss("nDCG", margin=0.5),
    SlamLoss("nDCG@2", within_grade="mean"),
    MaxPairLoss(),
    MaxPairLoss(margin=0.25),
    PairwiseHinge(),
    PairwiseHinge(squared=True),
    PairwiseLogistic(),
    ListNetLoss(),
    XENDCGLoss(),
    XENDCGLoss(gamma=0.0),
    XENDCGLoss(gamma=0.5),
    XENDCGLoss(gamma=0.5, epsilon=0.3),
    Fidelity(),
]


@pytest.mark.parametrize("loss", VARIANTS, ids=str)
def test_contract(loss):
    assert isinstance(loss, Loss)
    check(loss)


def test_every_loss_is_exported_and_frozen():
    names = {name for name in losses.__all__ if name[0].isupper()} - {"Loss", "QueryLoss"}
    assert {type(loss).__name__ for loss in VARIANTS} == names
    for loss in VARIANTS:
        assert hash(loss) == hash(dataclasses.replace(loss))
        with pytest.raises((dataclasses.FrozenInstanceError, AttributeError)):
            loss.margin = 3


Z = 3 / log2(2) + 1 / log2(3)
BY_HAND = [
    # hinges: document 2 (grade 2) behind 1 by 3, document 0 (grade 1) behind 1 by 1.5
    (SlamLoss(), (3 * (1 + 3) + 1 / log2(3) * (1 + 1.5)) / Z),
    (SlamLoss("nDCG@1"), 1 + 3),
    (SlamLoss("nDCG", margin=2.0), (3 * (2 + 3) + 1 / log2(3) * (2 + 1.5)) / Z),
    (SlamLoss("AP"), ((1 + 3) + (1 + 1.5)) / 2),
    (MaxPairLoss(), 1 + 3),
    # pairs (2, 0), (2, 1), (2, 3), (0, 1), (0, 3)
    (PairwiseHinge(), (1 + 1.5) + (1 + 3) + (1 + 1) + (1 + 1.5) + (1 - 0.5)),
    (
        PairwiseHinge(squared=True),
        (1 + 1.5) ** 2 + (1 + 3) ** 2 + (1 + 1) ** 2 + (1 + 1.5) ** 2 + (1 - 0.5) ** 2,
    ),
    (
        PairwiseLogistic(),
        log(1 + exp(1.5))
        + log(1 + exp(3))
        + log(1 + exp(1))
        + log(1 + exp(1.5))
        + log(1 + exp(-0.5)),
    ),
    (
        Fidelity(),
        1 - sum((1 + exp(-o)) ** -0.5 for o in (-1.5, -3, -1, -1.5, 0.5)) / 5,
    ),
    (
        ListNetLoss(),
        log(exp(0.5) + exp(2) + exp(-1) + 1)
        - (exp(1) * 0.5 + exp(0) * 2 - exp(2) * 1 + exp(0) * 0) / (exp(1) + exp(2) + 2),
    ),
    (XENDCGLoss(), log(exp(0.5) + exp(2) + exp(-1) + 1) - (1 * 0.5 - 3 * 1) / (1 + 3)),
    (
        XENDCGLoss(gamma=0.5),
        log(exp(0.5) + exp(2) + exp(-1) + 1)
        - (1.5 * 0.5 + 0.5 * 2 - 3.5 * 1 + 0.5 * 0) / (1.5 + 0.5 + 3.5 + 0.5),
    ),
]


@pytest.mark.parametrize(("loss", "expected"), BY_HAND, ids=str)
def test_values_by_hand(loss, expected):
    assert loss.value(S, R) == pytest.approx(expected, rel=1e-12)


def test_gradients_by_hand():
    top, next_ = 3 / Z, 1 / log2(3) / Z
    assert SlamLoss().gradient(S, R) == pytest.approx(arrays(-next_, top + next_, -top, 0))
    assert SlamLoss("AP").gradient(S, R) == pytest.approx(arrays(-1 / 2, 1, -1 / 2, 0))
    assert SlamLoss("nDCG@1").gradient(S, R) == pytest.approx(arrays(0, 1, -1, 0))
    assert MaxPairLoss().gradient(S, R).tolist() == [0, 1, -1, 0]
    assert PairwiseHinge().gradient(S, R).tolist() == [1 - 2, 2, -3, 2]


def test_two_documents():
    s, better = arrays(1, 0), arrays(1, 0)
    assert XENDCGLoss().value(s, better) == pytest.approx(log(1 + exp(-1)))
    assert XENDCGLoss().value(-s, better) == pytest.approx(log(1 + exp(1)))
    assert ListNetLoss().value(0 * s, better) == pytest.approx(log(2))
    assert SlamLoss().value(s, better) == 0
    assert SlamLoss(margin=1.5).value(s, better) == 0.5


def test_inside_a_grade_the_highest_score_has_the_largest_weight():
    s, grades = arrays(0, 1, 5), arrays(1, 1, 0)
    D1, D2 = 1 / log2(2), 1 / log2(3)
    expected = (D1 * (1 + 5 - 1) + D2 * (1 + 5 - 0)) / (D1 + D2)
    assert SlamLoss().value(s, grades) == pytest.approx(expected)
    assert SlamLoss().weights(s, grades) == pytest.approx(arrays(D2, D1, 0) / (D1 + D2))


def test_reassigned_weights_are_not_convex():
    """Midway between (0, 4) and (4, 0) the loss of nDCG is above the mean of the ends."""
    loss, grades = SlamLoss(), arrays(1, 1, 0)
    one, other = arrays(0, 4, 4), arrays(4, 0, 4)
    ends = (loss.value(one, grades) + loss.value(other, grades)) / 2
    assert loss.value((one + other) / 2, grades) > ends + 0.1
    assert not loss.convex
    assert SlamLoss("AP").convex


def test_nothing_to_order():
    empty = np.zeros(0)
    for loss in VARIANTS:
        assert loss.value(empty, empty) == 0
        assert loss.gradient(empty, empty).shape == (0,)
        assert loss.value(S, -np.ones(4)) == 0
        assert not loss.gradient(S, -np.ones(4)).any()
    for loss in (*VARIANTS[:9], Fidelity()):
        assert loss.value(S, np.ones(4)) == 0
    assert XENDCGLoss().value(S, np.zeros(4)) == 0
    assert not XENDCGLoss().gradient(S, np.zeros(4)).any()
    assert ListNetLoss().value(np.zeros(4), np.ones(4)) == pytest.approx(log(4))


@pytest.mark.parametrize(
    ("make", "error", "says"),
    [
        (lambda: SlamLoss("P@5"), MeasureError, "found P@5"),
        (lambda: SlamLoss("AP@5"), MeasureError, "found AP@5"),
        (lambda: SlamLoss("AP(rel=2)"), MeasureError, "rel=2"),
        (lambda: SlamLoss(margin=-1), DataError, "margin must be a number of at least 0; found -1"),
        (lambda: MaxPairLoss(margin=math.inf), DataError, "margin"),
        (lambda: XENDCGLoss(gamma=1.5), DataError, "gamma must lie between 0 and 1; found 1.5"),
    ],
)
def test_bad_parameters(make, error, says):
    with pytest.raises(error, match=says.replace("(", r"\(").replace(")", r"\)")):
        make()


@st.composite
def scored(draw, *, real_grades=False):
    m = draw(st.integers(1, 8))
    whole = draw(st.booleans())
    score = st.integers(-3, 3).map(float) if whole else st.floats(-10, 10)
    grade = st.sampled_from([0.0, 0.5, 1.0, 2.5, 3.0]) if real_grades else st.integers(0, 4)
    return (
        np.array(draw(st.lists(score, min_size=m, max_size=m))),
        np.array(draw(st.lists(grade, min_size=m, max_size=m)), float),
    )


def measured(measure, s, grades):
    """The measure of one query, ties in row order; nan where nothing is relevant."""
    data = rankloop.QueryDataset.from_arrays(np.zeros((len(s), 1)), grades, group=[len(s)])
    return rankloop.evaluate(data, s, measure).result(measure).values[0]


@pytest.mark.parametrize("measure", ["nDCG", "nDCG@1", "nDCG@3", "AP"])
@given(query=scored(real_grades=True))
def test_slam_bounds_its_measure(measure, query):
    value = measured(measure, *query)
    if not math.isnan(value):
        assert SlamLoss(measure).value(*query) >= 1 - value - 1e-12


@pytest.mark.parametrize("measure", ["nDCG", "nDCG@3", "AP"])
@given(query=scored())
def test_the_worst_pair_bounds_every_measure(measure, query):
    """A measure below 1 shows a pair out of order, or tied: the hinge is at least 1."""
    value = measured(measure, *query)
    if value < 1:
        loss = MaxPairLoss().value(*query)
        assert loss >= 1 - 1e-12
        assert loss >= 1 - value - 1e-12


def brute_force(measure, margin, s, grades):
    """Eq. 9-11 and 24, every maximum by looking at every document; and eq. 13."""
    m = len(s)
    if measure == "AP":
        grades = (grades > 0).astype(float)
    order = sorted(range(m), key=lambda i: (-grades[i], -s[i], i))
    v = np.zeros(m)
    for place, i in enumerate(order, 1):
        if measure == "AP":
            v[i] = float(grades[i] > 0)
        elif place <= int(measure.partition("@")[2] or m):
            v[i] = (2 ** grades[i] - 1) / log2(1 + place)
    v = v / v.sum() if v.sum() > 0 else v
    value, gradient = 0.0, np.zeros(m)
    for i in range(m):
        below = [j for j in range(m) if grades[j] < grades[i]]
        if not below:
            continue
        k = min(below, key=lambda j: (-s[j], j))
        hinge = margin + s[k] - s[i]
        if hinge > 0:
            value += v[i] * hinge
            gradient[i] -= v[i]
            gradient[k] += v[i]
    return value, gradient


@pytest.mark.parametrize("measure", ["nDCG", "nDCG@2", "AP"])
@given(query=scored(real_grades=True), margin=st.sampled_from([0.0, 0.5, 1.0]))
def test_slam_is_its_definition(measure, query, margin):
    value, gradient = brute_force(measure, margin, *query)
    loss = SlamLoss(measure, margin)
    assert loss.value(*query) == pytest.approx(value, abs=1e-12)
    assert loss.gradient(*query) == pytest.approx(gradient, abs=1e-12)


@given(query=scored(real_grades=True))
def test_the_worst_pair_is_its_definition(query):
    s, grades = query
    hinges = [
        max(0.0, 1 + s[j] - s[i])
        for i in range(len(s))
        for j in range(len(s))
        if grades[i] > grades[j]
    ]
    assert MaxPairLoss().value(s, grades) == max(hinges, default=0.0)


@given(query=scored())
def test_rivals(query):
    s, grades = query
    for i, k in enumerate(rivals(s, grades)):
        below = [j for j in range(len(s)) if grades[j] < grades[i]]
        assert k == (min(below, key=lambda j: (-s[j], j)) if below else -1)


@pytest.mark.parametrize("loss", VARIANTS, ids=str)
def test_slopes_where_there_is_one(loss, rng):
    """Away from ties and kinks (random scores) every gradient is the slope, smooth or not."""
    for _ in range(20):
        s, grades = rng.normal(size=9), rng.integers(-1, 4, 9).astype(float)
        gradient, step = loss.gradient(s, grades), 1e-7
        for i, e in enumerate(np.eye(9)):
            rise = loss.value(s + step * e, grades) - loss.value(s - step * e, grades)
            assert rise / (2 * step) == pytest.approx(gradient[i], abs=1e-5)
