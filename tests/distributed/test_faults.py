"""Faults: the right result, or an error that says what to do."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import rankloop as rl
from rankloop.distributed import Parts, connect, evaluate, fit
from rankloop.exceptions import DataError, RankloopError

from .conftest import dealt, queries


class KillOnce:
    """Kills a worker when it is called for the n-th time."""

    def __init__(self, kill, n):
        self.kill, self.left = kill, n

    def __call__(self, _):
        self.left -= 1
        if self.left == 0:
            self.kill()


@pytest.mark.slow
@pytest.mark.parametrize("when", [1, 3])
def test_linear_rankers_survive_the_loss_of_a_worker(when, client, kill, data):
    parts = Parts(client, dealt(data))
    expected = fit(rl.XENDCG(), parts)
    killing = KillOnce(kill, when)
    found = fit(rl.XENDCG(), parts, on_round=killing)
    assert killing.left <= 0
    assert found.digest() == expected.digest()


@pytest.mark.slow
def test_online_rankers_survive_the_loss_of_a_worker(client, kill, data):
    parts = Parts(client, dealt(data))
    expected = fit(rl.NewtonXENDCG(), parts, mix_every=5)
    killing = KillOnce(kill, 6)  # after all parts are loaded, and two mixes
    found = fit(rl.NewtonXENDCG(), parts, mix_every=5, on_progress=killing)
    assert killing.left <= 0
    assert found.digest() == expected.digest()


@pytest.mark.slow
def test_trees_start_again_after_the_loss_of_a_worker(client, kill, data):
    """The worker is lost when the rows are loaded, and its machine is needed to grow trees.

    `python -m benchmarks.distributed --kills 20` kills workers at random moments.
    """
    parts = Parts(client, dealt(data))
    ranker = rl.XENDCGBoost(trees=4, leaves=5)
    expected = fit(ranker, parts, machines=2)
    killing, shown = KillOnce(kill, 2), []

    def watch(done):
        shown.append(done.what)
        killing(done)

    found = fit(ranker, parts, machines=2, on_progress=watch)
    assert found.digest() == expected.digest()
    assert shown.count("loading") > 2  # started again


@pytest.mark.slow
def test_an_unreadable_part_is_named(client, files, tmp_path):
    good = files / "part-0.parquet"
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(good.read_bytes()[:1000])
    for other, said in ((bad, r"bad\.parquet"), (tmp_path / "none.parquet", r"none\.parquet")):
        with pytest.raises(RankloopError, match=said):
            fit(rl.XENDCG(), Parts(client, [good, other]))


def test_parts_with_other_columns_are_named(client, data):
    other = queries(10, seed=3, n_features=4)
    other = rl.QueryDataset(other.X, other.y, other.offsets, other.query_ids + 1000)
    with pytest.raises(DataError, match="part 1 has other columns than part 0: 4 features"):
        fit(rl.XENDCG(), Parts(client, [data, other]))


def test_bad_values_are_those_of_one_process(client, data):
    X = data.X.copy()
    X[0, 0] = np.nan
    bad = rl.QueryDataset(X, data.y, data.offsets, data.query_ids)
    with pytest.raises(DataError, match="part 0: feature 1 of a document of query"):
        fit(rl.XENDCG(), Parts(client, [bad]))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ranker", "more", "said"),
    [
        (rl.KeepRank(), {}, r"^KeepRank needs all data in one process; on a cluster, train"),
        (rl.rankers.PRank(), {}, "PRank cannot be merged; on a cluster, train .* takes any ranker"),
        (rl.XENDCG(), {"mix_every": 3}, "mix_every is for online"),
        (rl.Slam(), {"machines": 3}, "machines is for boosted trees"),
        (rl.make_ranker("ranknet:hidden=2"), {}, "one data set in memory"),
        (rl.XENDCGBoost(), {"machines": 99}, "99 machines cannot share 4 parts"),
        (rl.XENDCGBoost(gamma="best-of-2"), {}, "grows several models"),
    ],
    ids=lambda value: None,
)
def test_what_a_cluster_cannot_do(ranker, more, said, client, data):
    with pytest.raises(DataError, match=said):
        fit(ranker, Parts(client, dealt(data)), **more)


@pytest.mark.slow
def test_no_parts(client):
    with pytest.raises(DataError, match="there are no parts"):
        Parts(client, [])


def test_a_machine_without_lessons_is_named(client, data):
    flat = rl.QueryDataset(data.X, np.zeros(data.n_documents), data.offsets, data.query_ids + 500)
    with pytest.raises(DataError, match=r"machine 2 .* has no query with two different grades"):
        fit(rl.XENDCGBoost(trees=2), Parts(client, [data, flat]), machines=2)


def test_nobody_answers(monkeypatch):
    monkeypatch.setattr("rankloop.distributed.cluster._PATIENCE", "1s")
    with pytest.raises(DataError, match="no Dask scheduler answers"), connect("127.0.0.1:9"):
        pass


@pytest.mark.parametrize("text", ["local", "local:0", "here", "tcp://", ""])
def test_clusters_that_cannot_be(text):
    with pytest.raises(DataError, match="cluster must be local:N"), connect(text):
        pass


def test_a_model_that_does_not_fit_the_parts(client, data, files):
    model = rl.XENDCG().fit(queries(10, n_features=3))
    with pytest.raises(DataError, match=r"part-0\.parquet: X has 5 features"):
        evaluate(model, Parts(client, [files / "part-0.parquet"]))


@pytest.mark.slow
def test_trees_wait_for_the_first_worker():
    """As all tasks do, which a cluster without workers keeps until one comes."""
    from distributed import Client, LocalCluster

    from rankloop.distributed.cluster import workers

    with (
        LocalCluster(n_workers=0, dashboard_address="127.0.0.1:0") as started,
        Client(started) as client,
    ):
        timer = threading.Timer(0.5, started.scale, [1])
        timer.start()
        assert len(workers(client)) == 1
        timer.join()
