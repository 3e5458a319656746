"""Learning on a cluster: what one machine learns from the same parts, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl
from rankloop.data.io.mapped_write import write_mapped
from rankloop.distributed import Parts, evaluate, fit
from rankloop.distributed.tree_machine import environment
from rankloop.exceptions import DataError
from rankloop.rankers.batch.loss_sum import LentLoss
from rankloop.rankers.online.base import shuffled
from rankloop.rankers.wrappers.prepared import Prepared

from .conftest import dealt, queries

LINEAR = [
    rl.XENDCG(C=3, power=0.5),
    rl.ListNet(),
    rl.RankSVM(),
    rl.make_ranker("ranknet"),
]


def in_order(ranker, parts):
    """The twin: one process that adds up the same parts."""
    ranker = ranker.copy()
    total = LentLoss(parts, ranker.part_loss)
    return ranker.fit_sum(total, parts[0], n_queries=sum(map(len, parts)))


@pytest.mark.slow
@pytest.mark.parametrize("ranker", LINEAR, ids=repr)
def test_linear_rankers_are_those_of_one_process(ranker, client, data):
    found = fit(ranker, Parts(client, dealt(data)))
    assert found.digest() == in_order(ranker, dealt(data)).digest()
    assert not ranker.is_fitted
    alone = ranker.copy().fit(data)
    np.testing.assert_allclose(found.weights_, alone.weights_, rtol=1e-3, atol=1e-5)


def test_rounds_and_parts_are_shown_and_validation_stops(client, data, files):
    rounds, shown = [], []
    ranker = rl.XENDCG(patience=1)
    parts = Parts(client, files)
    valid = queries(seed=5)
    found = fit(ranker, parts, valid=valid, on_round=rounds.append, on_progress=shown.append)
    assert [row.number for row in rounds] == list(range(1, len(rounds) + 1))
    assert found.rounds_ == max((row for row in rounds if row.best), key=lambda r: r.number).number
    assert [(one.what, one.done, one.total) for one in shown][:4] == [
        ("loading", k, 4) for k in range(1, 5)
    ]
    assert str(shown[3]) == "loading: 4 of 4 parts, about 0 s left"
    assert found.n_queries_seen_ == len(data)


def mixed(ranker, parts, every):
    """The twin: one process that learns and merges part after part."""
    model = ranker.copy()
    longest = max(map(len, parts))
    for number in range(ranker.passes):
        for first in range(0, longest, every or longest):
            learnt = []
            for k, part in enumerate(parts):
                order = np.arange(len(part))
                if ranker.random_state is not None:
                    rng = np.random.default_rng([ranker.random_state, number, k])
                    order = rng.permutation(len(part))
                chosen = order[first : first + (every or longest)]
                if len(chosen):
                    with shuffled():
                        learnt.append(model.copy().partial_fit(part.select(chosen)))
            base = model if model.is_fitted else None
            model = learnt[0].merge(learnt[1:], base)
    return model


@pytest.mark.slow
@pytest.mark.parametrize("every", [None, 4])
@pytest.mark.parametrize(
    "ranker",
    [rl.Slam(passes=2, random_state=1), rl.SolarI(), rl.SolarII(), rl.NewtonXENDCG(), rl.Auto()],
    ids=repr,
)
def test_online_rankers_are_mixed(ranker, every, client, data):
    parts = dealt(data, 3)
    found = fit(ranker, Parts(client, parts), mix_every=every)
    assert found.digest() == mixed(ranker, parts, every).digest()
    assert found.n_queries_seen_ == ranker.passes * len(data)


@pytest.mark.slow
def test_what_adapts_does_so_after_the_cluster(client, data):
    parts = Parts(client, dealt(data, 3))
    plain = fit(rl.Auto(adapt=False), parts, mix_every=4)
    auto = fit(rl.Auto(), parts, mix_every=4)
    assert [m.digest() for m in auto.members_] == [m.digest() for m in plain.members_]
    auto.partial_fit(data)
    assert len(auto.members_) > 2


def test_scalers_are_fitted_to_a_sample_of_all_parts(client, data):
    """A small data set is its own sample."""
    ranker = Prepared(rl.XENDCG(), scale="standard")
    found = fit(ranker, Parts(client, dealt(data)))
    alone = ranker.copy().fit(data)
    np.testing.assert_allclose(found.scaler_["centre"], alone.scaler_["centre"])
    np.testing.assert_allclose(found.ranker_.weights_, alone.ranker_.weights_, rtol=1e-3, atol=1e-5)
    assert found.n_queries_seen_ == len(data)


def test_evaluation_is_that_of_one_process(client, data, files):
    model = rl.XENDCG().fit(data)
    found = evaluate(model, Parts(client, files), ["nDCG@10", "AP"], "letor4")
    alone = rl.evaluate(data, model.predict(data), ["nDCG@10", "AP"], "letor4")
    for one, other in zip(found, alone, strict=True):
        np.testing.assert_array_equal(one.values, other.values)
        assert one.mean == other.mean


@pytest.mark.slow
def test_trees_are_the_same_for_the_same_parts(client, data):
    ranker = rl.XENDCGBoost(trees=6, leaves=5, patience=2)
    valid, rounds = queries(20, seed=5), []
    parts = Parts(client, dealt(data))
    found = fit(ranker, parts, valid=valid, machines=2, on_round=rounds.append)
    again = fit(ranker, parts, valid=valid, machines=2)
    assert found.digest() == again.digest()
    assert found.get_params() == ranker.get_params()
    assert found.n_queries_seen_ == len(data)
    assert 1 <= found.rounds_ <= len(rounds) or found.rounds_ == 0
    assert "127.0.0.1" not in found.booster_


@pytest.mark.slow
def test_trees_of_one_machine_are_those_of_one_process(client, data):
    ranker = rl.LambdaMART(trees=4)
    found = fit(ranker, Parts(client, dealt(data)), machines=1)
    assert found.digest() == ranker.copy().fit(data).digest()


@pytest.mark.slow
@pytest.mark.parametrize(("has", "asked", "used"), [(3, "1", "3"), (1, "4", "4")])
def test_trees_use_all_threads_of_a_worker(has, asked, used, monkeypatch):
    """Dask sets OMP_NUM_THREADS=1 for its workers, unless it is set already."""
    from distributed import Client, LocalCluster

    monkeypatch.setenv("OMP_NUM_THREADS", asked)
    settings = {"n_workers": 1, "threads_per_worker": has, "dashboard_address": "127.0.0.1:0"}
    with LocalCluster(**settings) as started, Client(started) as client:
        assert client.submit(environment).result()["OMP_NUM_THREADS"] == used


@pytest.mark.slow
def test_a_worker_may_have_several_machines(client, data):
    """They wait for each other, and a worker has one thread; so it is after a worker was lost."""
    ranker = rl.LambdaMART(trees=2, leaves=3)
    found = fit(ranker, Parts(client, dealt(data)), machines=3)
    assert found.rounds_ == 2
    assert found.n_queries_seen_ == len(data)


@pytest.mark.slow
def test_several_kinds_of_parts(client, data, files, tmp_path):
    ranker = rl.XENDCG()
    expected = in_order(ranker, dealt(data)).weights_
    pandas = pytest.importorskip("pandas")
    frames = pytest.importorskip("dask.dataframe")
    bags = pytest.importorskip("dask.bag")
    names = [f"f{j}" for j in range(data.n_features)]

    def frame(part):
        return pandas.DataFrame(part.X, columns=names).assign(
            qid=np.repeat(part.query_ids, part.sizes), label=part.y
        )

    tables = [frame(part) for part in dealt(data)]
    write_mapped(data, tmp_path / "all.rlds")
    kinds = {
        "pattern": f"{files}/*.parquet",
        "frame": frames.from_map(lambda k: tables[k], range(4), meta=tables[0]),
        "bag of rows": bags.from_delayed([_rows(table) for table in tables]),
        "mapped": tmp_path / "all.rlds",
    }
    for name, kind in kinds.items():
        found = fit(ranker, Parts(client, kind))
        np.testing.assert_allclose(found.weights_, expected, rtol=1e-3, atol=1e-5, err_msg=name)


def _rows(table):
    import dask

    return dask.delayed(table.to_dict("records"))


def test_queries_in_several_parts(client, data):
    rows = rl.data.to_table(data)
    thirds = [rows.slice(a, 150) for a in range(0, rows.num_rows, 150)]
    torn = [rl.from_table(third) for third in thirds]
    with pytest.raises(DataError, match="part 0 and part 1 have a query in common"):
        fit(rl.XENDCG(), Parts(client, torn))
    whole = Parts(client, torn, by_query=True)
    assert len(whole) == len(torn)
    found = fit(rl.XENDCG(), whole)
    assert found.n_queries_seen_ == len(data)
    alone = rl.XENDCG().fit(data)
    np.testing.assert_allclose(found.weights_, alone.weights_, rtol=1e-3, atol=1e-5)


def test_text_ids_are_shuffled_too(client, data):
    from dataclasses import replace

    named = replace(data, query_ids=np.array([f"q{i}" for i in range(len(data))]))
    parts = Parts(client, dealt(named), by_query=True)
    assert sum(parts.map(len)) == len(data)
    parts.check_queries()
