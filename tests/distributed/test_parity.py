"""What one process accepts a cluster accepts: missing values, categories, columns in any order."""

from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

import rankloop as rl
from rankloop.cli.app import app
from rankloop.data.io.tables.reading import from_table
from rankloop.distributed import Parts, evaluate, fit, predict
from rankloop.exceptions import DataError
from rankloop.rankers.wrappers.described import Described
from rankloop.rankers.wrappers.prepared import Prepared

pd = pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def shop():
    rng = np.random.default_rng(0)
    n = 240
    frame = pd.DataFrame(
        {
            "qid": np.repeat(np.arange(30), 8),
            "price": rng.gamma(2, 20, n).round(2),
            "brand": [f"b{k}" for k in rng.integers(0, 9, n)],
            "listed": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.integers(0, 400, n), unit="D"),
            "sale": rng.integers(0, 2, n).astype(bool),
        }
    )
    frame["label"] = ((frame["brand"] < "b4") + (frame["price"] > 30)).astype(int)
    frame.loc[rng.random(n) < 0.1, "price"] = np.nan
    frame.loc[rng.random(n) < 0.1, "brand"] = None
    return frame


@pytest.fixture(scope="module")
def parts_of(shop, tmp_path_factory):
    """Files with columns in another order, categories of their own, and one without rows."""
    folder = tmp_path_factory.mktemp("shop")
    for k in range(3):
        part = shop[shop["qid"] // 10 == k]
        part = part[part.columns[:: 1 if k % 2 else -1]]
        part.to_parquet(folder / f"part-{k}.parquet", index=False)
    shop[:0].to_parquet(folder / "part-3.parquet", index=False)
    return folder


INNER = {
    "linear": rl.XENDCG(),
    "prepared": Prepared(rl.XENDCG(), "standard"),
    "trees": rl.LambdaMART(trees=5, leaves=4, min_data_in_leaf=2),
}


@pytest.mark.parametrize("name", INNER)
def test_described_rankers_learn_what_one_process_learns(name, client, shop, parts_of):
    ranker = Described(INNER[name])
    machines = {"machines": 1} if name == "trees" else {}
    found = fit(ranker, parts_of, client=client, **machines)
    alone = Described(INNER[name]).fit(from_table(shop[shop.columns[::-1]], allow_nan=True))
    assert found.features.names == alone.features.names
    assert found.features == alone.features
    rows = from_table(shop, allow_nan=True)
    ours, theirs = alone.predict(rows), found.predict(rows)
    assert np.ptp(ours) > 0
    assert np.abs(ours - theirs).max() < 2e-3 * np.ptp(ours)
    assert found.n_queries_seen_ == 30
    assert not ranker.is_fitted


def test_online_rankers_have_one_description(client, shop, parts_of):
    ranker = Described(rl.NewtonXENDCG())
    found = fit(ranker, parts_of, client=client)
    assert (found.n_queries_seen_, found.description) == (30, None)
    assert {c.name: len(c.categories) for c in found.features}["brand"] == 9
    assert np.ptp(found.predict(from_table(shop, allow_nan=True))) > 0
    assert rl.loads(found.dumps()).features == found.features


def test_what_fit_refuses_a_cluster_refuses(client, parts_of):
    with pytest.raises(DataError, match="takes numbers only, but these columns hold"):
        fit(rl.XENDCG(), parts_of, client=client)


def test_commands_take_what_the_library_takes(client, shop, parts_of, tmp_path):
    model = tmp_path / "model.rlm"
    address = client.scheduler.address
    asked = ["train", parts_of, "-r", "xendcg", "-o", model, "--cluster", address]
    outcome = CliRunner().invoke(app, [str(word) for word in asked])
    assert outcome.exit_code == 0, outcome.output
    alone = rl.evaluate(
        from_table(shop, allow_nan=True), rl.load(model).predict(from_table(shop, allow_nan=True))
    )
    found = evaluate(rl.load(model), Parts(client, parts_of))
    assert found["nDCG@10"] == pytest.approx(alone["nDCG@10"], abs=1e-12)


def test_kinds_that_differ_are_named(client, shop):
    frames = [shop[shop["qid"] < 15], shop[shop["qid"] >= 15].assign(brand=1.5)]
    parts = [from_table(frame, allow_nan=True) for frame in frames]
    with pytest.raises(DataError, match="'brand' is a category in part 0, but a number in part 1"):
        fit(Described(rl.XENDCG()), parts, client=client)
    parts[1] = from_table(frames[1].assign(brand=np.nan), allow_nan=True)  # nothing is known
    assert fit(Described(rl.XENDCG()), parts, client=client).n_queries_seen_ == 30


def test_a_query_is_a_number_in_one_part_and_text_in_another(client, shop):
    first = shop[shop["qid"] < 15]
    second = shop[shop["qid"] >= 14].assign(qid=lambda rows: rows["qid"].astype(str))
    parts = [from_table(rows, allow_nan=True) for rows in (first, second)]
    with pytest.raises(DataError, match="part 0 and part 1 have a query in common"):
        fit(Described(rl.XENDCG()), Parts(client, parts))


def test_a_dask_frame_in_one_step(client, shop):
    dd = pytest.importorskip("dask.dataframe")
    frame = dd.from_pandas(shop, npartitions=1).repartition(divisions=[0, 80, 160, 239])
    found = fit(Described(rl.XENDCG()), frame, client=client)
    scores = predict(found, frame)
    assert scores.npartitions == 3
    ours = found.predict(from_table(shop, allow_nan=True))
    np.testing.assert_array_equal(scores.compute().to_numpy(), ours)
    with pytest.raises(DataError, match="by_query= belongs to Parts"):
        fit(rl.XENDCG(), Parts(client, frame), by_query=True)


def test_parts_are_scored(client, shop, parts_of):
    ranker = Described(rl.XENDCG()).fit(from_table(shop, allow_nan=True))
    scores = predict(ranker, parts_of, client=client)
    assert [len(some) for some in scores] == [80, 80, 80, 0]
    ours = ranker.predict(from_table(shop, allow_nan=True))
    np.testing.assert_array_equal(np.concatenate(scores), ours)


def test_queries_are_brought_together_with_their_categories(client, shop):
    """Each part numbers its categories by itself, and has its columns in its own order."""
    torn = [shop[k::3][shop.columns[:: 1 if k else -1]] for k in range(3)]
    parts = [from_table(rows, allow_nan=True) for rows in torn]
    found = fit(Described(rl.XENDCG()), parts, client=client, by_query=True)
    alone = Described(rl.XENDCG()).fit(from_table(shop, allow_nan=True))
    assert found.n_queries_seen_ == 30
    rows = from_table(shop, allow_nan=True)
    ours, theirs = alone.predict(rows), found.predict(rows)
    assert np.abs(ours - theirs).max() < 2e-3 * np.ptp(ours)
