"""The classification perceptron against its three lines of Python."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl
from rankloop.rankers.registry import make_ranker

from ..streams import stream


@pytest.mark.parametrize("kind", ["short", "forty"])
def test_it_is_algorithm_1(kind):
    data = stream(kind, seed=3)
    w = np.zeros(data.n_features)
    for x, grade in zip(data.X.astype(float), data.y, strict=True):
        side = 1 if grade > 0 else -1
        if grade >= 0 and side * (w @ x) <= 0:
            w += side * x
    assert np.allclose(rl.rankers.Perceptron().partial_fit(data).weights_, w, rtol=1e-12)


def test_rankings_do_not_depend_on_the_rate():
    data = stream("short", seed=4)
    slow, fast = (make_ranker(f"perceptron:rate={r}").fit(data) for r in (0.5, 4.0))
    assert np.allclose(8 * slow.weights_, fast.weights_)
