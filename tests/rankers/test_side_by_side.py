"""Rankers that are trained at the same time."""

from __future__ import annotations

from threading import Event

import lightgbm
import numpy as np
import pytest

import rankloop as rl
from rankloop._utils import processors
from rankloop._utils.processors import threads
from rankloop.data.simulate import separable
from rankloop.rankers.ensembles.blend import Blend
from rankloop.rankers.side_by_side import end_if_interrupted, train_side_by_side
from rankloop.rankers.wrappers.prepared import Prepared


def test_results_come_in_the_order_of_the_jobs():
    second_is_done = Event()

    def first():
        assert second_is_done.wait(60)  # they run at once, or this never ends
        return 1

    def second():
        second_is_done.set()
        return 2

    assert list(train_side_by_side([first, second], 2, 1)) == [1, 2]


def test_each_has_its_share_of_the_threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "6")
    assert list(train_side_by_side([threads] * 3, 3, 2)) == [2, 2, 2]
    assert list(train_side_by_side([threads], 1, 2)) == [6]
    assert threads() == 6


def test_lightgbm_has_one_number_of_threads(monkeypatch, rng):
    """It keeps the number for the whole process, so members of all sizes must use the same."""
    monkeypatch.setenv("OMP_NUM_THREADS", "6")
    monkeypatch.setattr(processors, "_VALUES_A_THREAD", 20_000)
    predict, train, used = lightgbm.Booster.predict, lightgbm.Booster.__init__, set()

    def watched_predict(self, *args, **options):
        used.add(options["num_threads"])
        return predict(self, *args, **options)

    def watched_train(self, params=None, *args, **options):
        if params:
            used.add(params["num_threads"])
        return train(self, params, *args, **options)

    monkeypatch.setattr(lightgbm.Booster, "predict", watched_predict)
    monkeypatch.setattr(lightgbm.Booster, "__init__", watched_train)
    data = separable(1000, rng, n_features=10, n_documents=5).data
    data.y[: 5 * 600] = 0  # nothing can be learnt from these
    few = data.select(np.arange(800, 1000))
    wide = Prepared(rl.XENDCGBoost(trees=3), "none", ["raw", "rank"])
    rl.Blend([rl.XENDCGBoost(trees=3), wide], seeds=1, refit=False).fit(data, valid=few)
    assert used == {2}


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
        list(train_side_by_side([fails, goes_on], 2, 1))
    assert ended == [True]


def test_whoever_stops_a_blend_ends_its_members(train, monkeypatch):
    running, ended = Event(), []

    def trained(self, ranker, *_):
        if ranker.random_state == 0:
            assert running.wait(60)
            return ranker.fit(train)
        running.set()
        try:
            while True:
                end_if_interrupted()
        finally:
            ended.append(True)

    def stop(_):
        raise KeyboardInterrupt

    monkeypatch.setenv("OMP_NUM_THREADS", "2")
    monkeypatch.setattr(Blend, "_train", trained)
    with pytest.raises(KeyboardInterrupt) as stopped:  # it keeps all frames
        rl.Blend([rl.XENDCGBoost(trees=1)], seeds=2).fit(train, on_round=stop)
    assert ended == [True]
    assert stopped.traceback


def test_nothing_is_ended_elsewhere():
    assert end_if_interrupted() is None


def test_a_blend_does_not_depend_on_it(train, valid, monkeypatch):
    def bits(asked):
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
        blend = rl.Blend([rl.Auto(adapt=False), rl.XENDCGBoost(trees=12)], seeds=2)
        return blend.fit(train, valid=valid).predict(valid)

    assert np.array_equal(bits("1"), bits("4"))
