"""Rankers that are trained at the same time."""

from __future__ import annotations

from threading import Event

import numpy as np
import pytest

import rankloop as rl
from rankloop._utils.processors import threads
from rankloop.rankers.side_by_side import end_if_interrupted, train_side_by_side


def test_results_come_in_the_order_of_the_jobs():
    second_is_done = Event()

    def first():
        assert second_is_done.wait(60)  # they run at once, or this never ends
        return 1

    def second():
        second_is_done.set()
        return 2

    assert list(train_side_by_side([first, second], 2)) == [1, 2]


def test_each_has_its_share_of_the_threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "6")
    assert list(train_side_by_side([threads] * 3, 3)) == [2, 2, 2]
    assert list(train_side_by_side([threads], 1)) == [6]
    assert list(train_side_by_side([threads] * 8, 8)) == [1] * 8


@pytest.mark.parametrize("error", [KeyboardInterrupt, ValueError])
def test_an_error_ends_the_others_after_their_round(error):
    running, ended = Event(), []

    def fails():
        assert running.wait(60)
        raise error

    def goes_on():
        running.set()
        try:
            while True:
                end_if_interrupted()
        finally:
            ended.append(True)

    with pytest.raises(error):
        list(train_side_by_side([fails, goes_on], 2))
    assert ended == [True]


def test_nothing_is_ended_elsewhere():
    assert end_if_interrupted() is None


def test_a_blend_does_not_depend_on_it(train, valid, monkeypatch):
    def bits(asked):
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
        blend = rl.Blend([rl.Auto(adapt=False), rl.XENDCGBoost(trees=12)], seeds=2)
        return blend.fit(train, valid=valid).predict(valid)

    assert np.array_equal(bits("1"), bits("4"))
