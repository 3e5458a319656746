"""Checks that every loss of one query must pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rankloop.losses.base import Loss

    Case = tuple[NDArray[np.float64], NDArray[np.float64]]


def cases(seed: int = 0) -> Iterator[Case]:
    """Yield scores and grades of many kinds of queries: long, short, tied, with one grade."""
    rng = np.random.default_rng(seed)
    for m in (1, 2, 3, 7, 20):
        yield rng.normal(size=m), rng.integers(0, 5, m).astype(np.float64)
        yield rng.normal(size=m), rng.integers(0, 2, m).astype(np.float64)
        yield np.zeros(m), rng.integers(0, 3, m).astype(np.float64)
        yield rng.normal(size=m), np.ones(m)
        yield rng.normal(size=m), np.zeros(m)


def check_value_is_finite_and_not_negative(loss: Loss) -> None:
    """The loss is a finite number of at least 0."""
    for scores, grades in cases():
        value = loss.value(scores, grades)
        assert np.isfinite(value), f"the loss of {scores} is {value}"
        assert value >= -1e-12, f"the loss of {scores} is {value}"


def check_extreme_scores(loss: Loss) -> None:
    """Scores of plus or minus a thousand do not overflow."""
    for scores, grades in cases():
        with np.errstate(over="raise", invalid="raise"):
            assert np.isfinite(loss.value(1000 * scores, grades)), "the loss overflows"
            assert np.isfinite(loss.gradient(1000 * scores, grades)).all(), "the gradient overflows"


def check_gradient_matches_value(loss: Loss) -> None:
    """The gradient of a smooth loss agrees with finite differences."""
    if not loss.smooth:
        return
    step = 1e-6
    for scores, grades in cases():
        gradient = loss.gradient(scores, grades)
        for i in range(len(scores)):
            aside = step * np.eye(len(scores))[i]
            rise = loss.value(scores + aside, grades) - loss.value(scores - aside, grades)
            assert np.isclose(gradient[i], rise / (2 * step), rtol=1e-4, atol=1e-6), (
                f"gradient {gradient[i]}, finite difference {rise / (2 * step)}"
            )


def check_gradient_supports_convex_loss(loss: Loss) -> None:
    """A convex loss lies above its tangents: value(t) >= value(s) + gradient(s).(t - s)."""
    if not loss.convex:
        return
    rng = np.random.default_rng(1)
    for scores, grades in cases():
        value, gradient = loss.value(scores, grades), loss.gradient(scores, grades)
        for _ in range(5):
            step = rng.normal(size=len(scores))
            below = value + gradient @ step
            assert loss.value(scores + step, grades) >= below - 1e-9, "not a subgradient"


def check_permuting_documents(loss: Loss) -> None:
    """Permuting documents permutes the gradient and keeps the value (without ties)."""
    rng = np.random.default_rng(2)
    for scores, grades in cases():
        if len(set(scores)) < len(scores):
            continue
        order = rng.permutation(len(scores))
        value = loss.value(scores[order], grades[order])
        assert np.isclose(value, loss.value(scores, grades)), (
            "the loss depends on the order of documents"
        )
        gradient = loss.gradient(scores[order], grades[order])
        assert np.allclose(gradient, loss.gradient(scores, grades)[order]), "gradient not permuted"


def check_inputs_are_left_alone(loss: Loss) -> None:
    """Arguments are not changed."""
    for scores, grades in cases():
        before = scores.copy(), grades.copy()
        loss.value(scores, grades)
        loss.gradient(scores, grades)
        assert np.array_equal(before[0], scores), "the loss changed the scores"
        assert np.array_equal(before[1], grades), "the loss changed the grades"


def check_unjudged_documents_take_no_part(loss: Loss) -> None:
    """Documents with a grade below 0 have no effect, and their gradient is 0."""
    for scores, grades in cases():
        with_more = np.r_[scores, 5.0], np.r_[grades, -1.0]
        assert np.isclose(loss.value(*with_more), loss.value(scores, grades)), "unjudged counts"
        gradient = loss.gradient(*with_more)
        assert gradient[-1] == 0, "an unjudged document has a gradient"
        assert np.allclose(gradient[:-1], loss.gradient(scores, grades)), "unjudged counts"


def check_curvature_matches_gradient(loss: Loss) -> None:
    """The curvature, if the loss has one, agrees with finite differences of the gradient."""
    curvature = getattr(loss, "curvature", None)
    if curvature is None:
        return
    step = 1e-5
    for scores, grades in cases():
        bends = curvature(scores, grades)
        for i in range(len(scores)):
            aside = step * np.eye(len(scores))[i]
            rise = loss.gradient(scores + aside, grades) - loss.gradient(scores - aside, grades)
            assert np.isclose(bends[i], rise[i] / (2 * step), rtol=1e-3, atol=1e-4), (
                f"curvature {bends[i]}, finite difference {rise[i] / (2 * step)}"
            )
