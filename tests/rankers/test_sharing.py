"""Threads that share a ranker: what is read is one state of it, whatever another thread does."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

import rankloop as rl
from rankloop.rankers.model_files.saving import load
from rankloop.rankers.registry import make_ranker

from .small import EVERY
from .streams import stream
from .test_properties import same

SHARED = [
    "slam:average=True",
    "solar-ii",
    "newton",
    "committee",
    "kernel-slam:budget=20",
    "prepared:maps=['rank']",
]
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
    """What a ranker is after each query, in one thread alone."""
    ranker, found = make_ranker(name), {}
    for query in data:
        ranker.learn(query.X, query.y)
        found[ranker.n_queries_seen_] = copy.deepcopy(ranker)
    return found


def seen_while_learning(name, data, look):
    """What `look` makes of a ranker while another thread learns query by query."""
    ranker, (first, *rest) = make_ranker(name), list(data)
    ranker.learn(first.X, first.y)
    return while_it_learns(
        lambda: [ranker.learn(query.X, query.y) for query in rest], lambda: look(ranker)
    )


@pytest.mark.parametrize("name", SHARED)
def test_a_file_saved_while_another_thread_learns_is_one_state(name, tmp_path):
    data = stream("forty", seed=1) if name == "newton" else wide(n_features=60)
    known = states(name, data)

    def saved(ranker):
        ranker.save(tmp_path / "model.rlm")
        return load(tmp_path / "model.rlm")

    for model in seen_while_learning(name, data, saved):
        same(model, known[model.n_queries_seen_])


def pickled(ranker):
    return pickle.loads(pickle.dumps(ranker))


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
    known = {n: ranker.rank(rows) for n, ranker in states("slam:average=True", data).items()}
    for ranking in seen_while_learning("slam:average=True", data, lambda one: one.rank(rows)):
        assert np.array_equal(ranking.scores, known[ranking.version].scores)


@pytest.mark.slow
@pytest.mark.parametrize("name", BATCH)
def test_a_batch_ranker_is_the_old_model_until_the_new_one_is_whole(name, train, valid, tmp_path):
    ranker, other = make_ranker(name).fit(train), make_ranker(name).fit(valid)
    known = [ranker.predict(valid), other.predict(valid)]

    def saved():
        ranker.save(tmp_path / "model.rlm")
        return load(tmp_path / "model.rlm").predict(valid)

    for scores in while_it_learns(lambda: ranker.fit(valid), saved):
        assert any(np.array_equal(scores, one) for one in known)
    assert np.array_equal(ranker.predict(valid), known[1])


@pytest.mark.slow
@pytest.mark.parametrize(
    "ranker",
    [
        rl.Prepared(rl.RankSVM(), "log"),
        rl.rankers.Lifted(rl.RankSVM()),
        rl.Blend([rl.RankSVM(), rl.LambdaMART(trees=5)], seeds=1),
    ],
    ids=lambda ranker: type(ranker).__name__,
)
def test_so_is_one_with_others_inside(ranker, train, valid):
    other = copy.deepcopy(ranker).fit(valid)
    known = [ranker.fit(train).predict(valid), other.predict(valid)]
    for scores in while_it_learns(lambda: ranker.fit(valid), lambda: ranker.predict(valid)):
        assert any(np.array_equal(scores, one) for one in known)
    inside = "ranker__" if hasattr(ranker, "ranker") else ""
    ranker.set_params(**{f"{inside}warm_start": True})
    before = ranker.predict(valid)
    after = copy.deepcopy(ranker).fit(train).predict(valid)
    for scores in while_it_learns(lambda: ranker.fit(train), lambda: ranker.predict(valid)):
        assert np.array_equal(scores, before) or np.array_equal(scores, after)


def test_who_watches_sees_what_each_round_leaves(train, valid):
    for ranker in (
        rl.LambdaMART(trees=5),
        rl.Prepared(rl.LambdaMART(trees=5), "log"),
        rl.ListNet(),
    ):
        seen = []
        ranker.fit(
            train,
            on_round=lambda done, ranker=ranker, seen=seen: seen.append(
                (ranker.rounds_ - done.number, ranker.predict(valid).tobytes())
            ),
        )
        assert {behind for behind, _ in seen} == {0}
        assert len({scores for _, scores in seen}) == len(seen) > 2


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("name", ["rankboost:rounds=9", "lambdamart:trees=9", "listnet"])
def test_an_interrupt_leaves_what_the_last_round_left(name, error, train, valid):
    known = {}
    rounds = make_ranker(name).fit(train).rounds_
    for stop in range(1, rounds):
        ranker = make_ranker(name)

        def interrupt(done, stop=stop):
            if done.number == stop:
                raise error

        with pytest.raises(error):
            ranker.fit(train, on_round=interrupt)
        assert ranker.rounds_ == stop
        known[stop] = ranker.predict(valid)
        assert np.array_equal(pickled(ranker).predict(valid), known[stop])
    assert len({scores.tobytes() for scores in known.values()}) == len(known)


@pytest.mark.parametrize("name", EVERY)
def test_a_lock_is_nothing_that_was_learnt_or_copied(name):
    ranker = make_ranker(name)
    before = dict(vars(ranker))
    lock = ranker._writing
    assert ranker._writing is lock
    assert vars(ranker) == before
    for copied in (copy.deepcopy(ranker), pickled(ranker)):
        assert copied._writing is not lock
        assert repr(copied) == repr(ranker)
