"""Arrays that the core fills are filled, or refused: never a converted copy that nobody sees."""

import numpy as np
import pytest

from rankloop import _core

X = np.array([[1, 0], [0, 1], [0, 0]], np.float32)
Y = np.array([1.0, 0.0, 0.0])
OFFSETS = np.array([0, 3])


def learn(w, sizes=None, scores=None):
    sizes = np.zeros(2) if sizes is None else sizes
    return _core.learn_minimax(X, Y, OFFSETS, None, None, w, None, 0, scores, sizes, 0.0, 1.0, 0.0)


def test_an_exact_array_is_filled():
    w, scores = np.zeros(2), np.ones(3, np.float32)
    assert learn(w, scores=scores) == 1
    assert w.any()
    assert not scores.any()  # those before learning


@pytest.mark.parametrize(
    "w",
    [np.zeros(2, np.float32), np.zeros(4)[::2], np.zeros(2, np.int64), [0.0, 0.0]],
    ids=["another type", "strided", "whole numbers", "a list"],
)
def test_other_arrays_are_refused(w):
    before = np.array(w)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        learn(w)
    assert np.array_equal(before, w)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        learn(np.zeros(2), sizes=w)


def test_an_array_that_may_be_left_out_is_no_exception():
    with pytest.raises(TypeError, match="incompatible function arguments"):
        learn(np.zeros(2), scores=np.ones(3))
    with pytest.raises(TypeError, match="incompatible function arguments"):
        learn(np.zeros(2), scores=np.ones(6, np.float32)[::2])


def test_a_protected_array_is_refused():
    w = np.zeros(2)
    w.flags.writeable = False
    with pytest.raises(TypeError, match="incompatible function arguments"):
        learn(w)
