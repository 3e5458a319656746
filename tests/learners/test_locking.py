"""Threads that share a learner: what is read is one state of it, and nobody waits for ever."""

from __future__ import annotations

import copy
import pickle
import threading
import time

import numpy as np
import pytest

import rankloop as rl
from rankloop.learners.locking import Lock
from rankloop.learners.registry import NAMES, make_learner
from rankloop.learners.saving import load

from .streams import stream
from .test_properties import same

SHARED = ["slam:average=True", "solar-ii", "newton", "committee", "kernel-slam:budget=20", "mapped"]


def wide(n_queries=60, n_features=300, seed=0):
    """Queries whose weights are long, so that a torn read would show."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6 * n_queries, n_features)).astype(np.float32)
    y = rng.integers(0, 3, len(X)).astype(float)
    return rl.QueryDataset.from_arrays(X, y, group=[6] * n_queries)


def wait_for(condition):
    """Wait until something is so, but not for ever."""
    for _ in range(30_000):
        if condition():
            return
        time.sleep(0.001)
    raise AssertionError("it did not happen")


def in_thread(function):
    """Start a function; what it raises is raised by `join`."""
    raised = []

    def run():
        try:
            function()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()

    def join():
        thread.join(60)
        assert not thread.is_alive(), "a thread still waits"
        if raised:
            raise raised[0]

    return join


def while_learning(name, data, look):
    """Learn query by query in another thread, and look at the learner as often as can be."""
    learner = make_learner(name)
    learner.learn(data.query(0).X, data.query(0).y)
    join = in_thread(lambda: [learner.learn(query.X, query.y) for query in list(data)[1:]])
    seen = []
    while learner.queries_ < len(data):
        seen.append(look(learner))
    join()
    return [*seen, look(learner)]


def states(name, data):
    """What a learner is after each query, one thread alone."""
    learner, found = make_learner(name), {}
    for query in data:
        learner.learn(query.X, query.y)
        found[learner.queries_] = copy.deepcopy(learner)
    return found


@pytest.mark.parametrize("name", SHARED)
def test_a_file_saved_while_another_thread_learns_is_one_state(name, tmp_path):
    data = stream("forty", seed=1) if name == "newton" else wide(n_features=60)
    known = states(name, data)

    def saved(learner):
        learner.save(tmp_path / "model.rlm")
        return load(tmp_path / "model.rlm")

    for model in while_learning(name, data, saved):
        same(model, known[model.queries_])


def pickled(learner):
    return pickle.loads(pickle.dumps(learner))


@pytest.mark.parametrize("way", [copy.deepcopy, pickled])
def test_copies_and_pickles_are_one_state(way):
    data = wide()
    known = states("committee", data)
    for model in while_learning("committee", data, way):
        same(model, known[model.queries_])


def test_scores_are_those_of_one_state():
    data = wide(n_queries=200)
    rows = data.query(0).X
    known = {
        number: learner.rank(rows) for number, learner in states("slam:average=True", data).items()
    }
    for ranking in while_learning("slam:average=True", data, lambda learner: learner.rank(rows)):
        assert ranking.id == known[ranking.version].id


@pytest.mark.parametrize("name", NAMES)
def test_a_lock_is_nothing_that_was_learnt_or_copied(name):
    learner = make_learner(name)
    before = dict(vars(learner))
    lock = learner._lock
    assert learner._lock is lock
    assert vars(learner) == before
    for copied in (copy.deepcopy(learner), pickled(learner)):
        assert copied._lock is not lock
        assert repr(copied) == repr(learner)


def test_an_error_gives_the_lock_back():
    learner = make_learner("slam").fit(stream())
    for call in (lambda: learner.learn([[1.0]], [1.0]), lambda: learner.predict([[1.0]])):
        with pytest.raises(rl.DataError):
            call()
    in_thread(lambda: learner.learn(stream().query(3).X, stream().query(3).y))()
    in_thread(lambda: learner.predict(stream()))()


def test_a_learner_may_be_used_inside_its_own_fit(train, valid):
    """A callback sees the model as the last round left it."""
    ranker, seen = rl.ListNet(), []
    ranker.fit(train, valid=valid, on_round=lambda _: seen.append(ranker.predict(valid)))
    assert len(seen) >= ranker.rounds_
    copy.deepcopy(ranker)


# The lock itself


def test_readers_do_not_wait_for_each_other():
    lock, both = Lock(), threading.Barrier(2)
    join = in_thread(lambda: lock.read(both.wait, 30))
    lock.read(both.wait, 30)  # returns only while the other thread reads too
    join()


def test_one_writes_while_nobody_else_reads_or_writes():
    lock, inside, overlaps = Lock(), [], []

    def write():
        inside.append("writer")
        if len(inside) > 1:
            overlaps.append(list(inside))
        time.sleep(0.0005)
        inside.remove("writer")

    def read():
        if "writer" in inside:
            overlaps.append(list(inside))
        inside.append("reader")
        time.sleep(0.0001)
        inside.remove("reader")

    joins = [
        in_thread(lambda act=act, how=how: [act(how) for _ in range(60)])
        for act, how in [(lock.write, write), (lock.read, read)] * 4
    ]
    for join in joins:
        join()
    assert (overlaps, inside) == ([], [])


def test_who_wants_to_write_comes_before_new_readers():
    lock, order = Lock(), []
    reading, leave = threading.Event(), threading.Event()
    joins = [in_thread(lambda: lock.read(lambda: (reading.set(), leave.wait(30))))]
    reading.wait(30)
    joins.append(in_thread(lambda: lock.write(order.append, "writer")))
    wait_for(lambda: lock._wanted)
    joins.append(in_thread(lambda: lock.read(order.append, "reader")))
    time.sleep(0.02)
    assert order == []
    leave.set()
    for join in joins:
        join()
    assert order == ["writer", "reader"]


def test_a_thread_inside_may_enter_again():
    lock = Lock()
    assert lock.write(lock.write, lock.read, lock.write, lambda: "done") == "done"
    assert lock.read(lock.read, lambda: "done") == "done"
    in_thread(lambda: lock.write(lambda: None))()  # nothing is left held


def test_a_reader_enters_again_while_a_writer_waits():
    lock, reading = Lock(), threading.Event()

    def read_twice():
        reading.set()
        wait_for(lambda: lock._wanted)
        return lock.read(lambda: None)

    join = in_thread(lambda: lock.read(read_twice))
    reading.wait(30)
    in_thread(lambda: lock.write(lambda: None))()
    join()


def test_threads_that_come_at_once_share_one_lock():
    for _ in range(50):
        learner, found, start = make_learner("slam"), [], threading.Barrier(4)

        def take(learner=learner, found=found, start=start):
            start.wait(30)
            found.append(learner._lock)

        for join in [in_thread(take) for _ in range(4)]:
            join()
        assert len(set(map(id, found))) == 1
