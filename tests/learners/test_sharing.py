"""Threads that share a learner: what is read is one state of it, whatever another thread does."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

import rankloop as rl
from rankloop.learners.model_files.saving import load
from rankloop.learners.registry import learner_names, make_learner

from .streams import stream
from .test_properties import same

SHARED = ["slam:average=True", "solar-ii", "newton", "committee", "kernel-slam:budget=20", "mapped"]
BATCH = ["rankboost:rounds=60", "keeprank", "coordinate-ascent:rounds=4", "lambdamart:trees=30"]


def wide(n_queries=60, n_features=300, seed=0):
    """Queries whose weights are long, so that a torn read would show."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(6 * n_queries, n_features)).astype(np.float32)
    y = rng.integers(0, 3, len(X)).astype(float)
    return rl.QueryDataset.from_arrays(X, y, group=[6] * n_queries)


def while_it_learns(learn, look):
    """Call `look` as often as can be while another thread learns, and once more at the end."""
    raised = []

    def run():
        try:
            learn()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    seen = []
    while thread.is_alive():
        seen.append(look())
    thread.join()
    assert raised == []
    return [*seen, look()]


def states(name, data):
    """What a learner is after each query, in one thread alone."""
    learner, found = make_learner(name), {}
    for query in data:
        learner.learn(query.X, query.y)
        found[learner.n_queries_seen_] = copy.deepcopy(learner)
    return found


def seen_while_learning(name, data, look):
    """What `look` makes of a learner while another thread learns query by query."""
    learner, (first, *rest) = make_learner(name), list(data)
    learner.learn(first.X, first.y)
    return while_it_learns(
        lambda: [learner.learn(query.X, query.y) for query in rest], lambda: look(learner)
    )


@pytest.mark.parametrize("name", SHARED)
def test_a_file_saved_while_another_thread_learns_is_one_state(name, tmp_path):
    data = stream("forty", seed=1) if name == "newton" else wide(n_features=60)
    known = states(name, data)

    def saved(learner):
        learner.save(tmp_path / "model.rlm")
        return load(tmp_path / "model.rlm")

    for model in seen_while_learning(name, data, saved):
        same(model, known[model.n_queries_seen_])


def pickled(learner):
    return pickle.loads(pickle.dumps(learner))


@pytest.mark.parametrize("way", [copy.deepcopy, pickled])
@pytest.mark.parametrize("name", ["committee", "mix"])
def test_copies_and_pickles_are_one_state(name, way):
    data = wide(n_queries=30, n_features=20)
    known = states(name, data)
    for model in seen_while_learning(name, data, way):
        same(model, known[model.n_queries_seen_])


def test_a_ranking_bears_the_version_that_made_it():
    data = wide(n_queries=200)
    rows = data.query(0).X
    known = {n: learner.rank(rows) for n, learner in states("slam:average=True", data).items()}
    for ranking in seen_while_learning("slam:average=True", data, lambda one: one.rank(rows)):
        assert np.array_equal(ranking.scores, known[ranking.version].scores)


@pytest.mark.parametrize("name", BATCH)
def test_a_batch_learner_is_the_old_model_until_the_new_one_is_whole(name, train, valid, tmp_path):
    learner, other = make_learner(name).fit(train), make_learner(name).fit(valid)
    known = [learner.predict(valid), other.predict(valid)]

    def saved():
        learner.save(tmp_path / "model.rlm")
        return load(tmp_path / "model.rlm").predict(valid)

    for scores in while_it_learns(lambda: learner.fit(valid), saved):
        assert any(np.array_equal(scores, one) for one in known)
    assert np.array_equal(learner.predict(valid), known[1])


@pytest.mark.parametrize("name", ["scaled", "lifted", "blend"])
def test_so_is_one_with_others_inside(name, train, valid):
    learner = make_learner(name)
    if name == "blend":
        learner.set_params(seeds=1, members=[rl.RankSVM(), rl.LambdaMART(trees=5)])
    other = copy.deepcopy(learner).fit(valid)
    known = [learner.fit(train).predict(valid), other.predict(valid)]
    for scores in while_it_learns(lambda: learner.fit(valid), lambda: learner.predict(valid)):
        assert any(np.array_equal(scores, one) for one in known)
    learner.set_params(warm_start=True)
    before = learner.predict(valid)
    after = copy.deepcopy(learner).fit(train).predict(valid)
    for scores in while_it_learns(lambda: learner.fit(train), lambda: learner.predict(valid)):
        assert np.array_equal(scores, before) or np.array_equal(scores, after)


def test_who_watches_sees_what_each_round_leaves(train, valid):
    for learner in (rl.LambdaMART(trees=5), rl.Scaled(rl.LambdaMART(trees=5)), rl.ListNet()):
        seen = []
        learner.fit(
            train,
            on_round=lambda done, learner=learner, seen=seen: seen.append(
                (learner.rounds_ - done.number, learner.predict(valid).tobytes())
            ),
        )
        assert {behind for behind, _ in seen} == {0}
        assert len({scores for _, scores in seen}) == len(seen) > 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("name", ["rankboost:rounds=9", "lambdamart:trees=9", "listnet"])
def test_an_interrupt_leaves_what_the_last_round_left(name, error, train, valid):
    known = {}
    rounds = make_learner(name).fit(train).rounds_
    for stop in range(1, rounds):
        learner = make_learner(name)

        def interrupt(done, stop=stop):
            if done.number == stop:
                raise error

        with pytest.raises(error):
            learner.fit(train, on_round=interrupt)
        assert learner.rounds_ == stop
        known[stop] = learner.predict(valid)
        assert np.array_equal(pickled(learner).predict(valid), known[stop])
    assert len({scores.tobytes() for scores in known.values()}) == len(known)


@pytest.mark.parametrize("name", learner_names())
def test_a_lock_is_nothing_that_was_learnt_or_copied(name):
    learner = make_learner(name)
    before = dict(vars(learner))
    lock = learner._writing
    assert learner._writing is lock
    assert vars(learner) == before
    for copied in (copy.deepcopy(learner), pickled(learner)):
        assert copied._writing is not lock
        assert repr(copied) == repr(learner)
