"""A model knows the name of the column of query ids, in its file and through wrappers."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import rankloop as rl
from rankloop.exceptions import ModelError
from rankloop.rankers.model_files.archive import archive_bytes
from rankloop.rankers.model_files.saving import to_tree

RNG = np.random.default_rng(3)
N = 120
SHOP = pd.DataFrame(
    {
        "session": RNG.permutation(np.repeat([f"s{k}" for k in range(24)], 5)),
        "price": RNG.normal(size=N),
        "stars": RNG.integers(1, 6, N),
        "label": RNG.integers(0, 3, N),
    }
)
X = SHOP[["price", "stars"]]
RANKERS = [
    rl.Prepared(rl.Slam(), "query-minmax"),
    rl.Described(rl.Prepared(rl.Auto(), "query-minmax")),
    rl.Blend(),
    rl.LambdaMART(trees=3),
    rl.rankers.Stacked(rl.LambdaMART(trees=3)),
]
FRAMES = {"pandas": lambda f: f, "polars": pl.DataFrame}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("ranker", RANKERS, ids=repr)
def test_a_loaded_model_finds_the_queries(ranker, kind, tmp_path):
    data = rl.from_table(SHOP, query="session")
    one, other = ranker.copy().fit(data), ranker.copy().fit(X, SHOP.label, qid=SHOP.session)
    assert one.query_name_ == other.query_name_ == "session"
    one.save(tmp_path / "model.rlm")
    model = rl.load(tmp_path / "model.rlm")
    assert model.query_name_ == "session"
    assert rl.loads(other.dumps()).query_name_ == "session"
    frame = FRAMES[kind](SHOP.drop(columns="label"))
    expected = data.in_row_order(np.asarray(one.predict(data)))
    assert np.array_equal(model.predict(frame), expected)
    assert np.array_equal(model.predict(X, qid=SHOP.session), expected)
    assert model.score(frame, SHOP.label) == model.score(data)


def test_the_name_is_kept_while_learning_goes_on_and_forgotten_by_another_fit():
    data, unnamed = (
        rl.from_table(SHOP, query="session"),
        rl.QueryDataset.from_arrays(X, SHOP.label, qid=SHOP.session.to_numpy()),
    )
    model = rl.Prepared(rl.Slam(), "query-minmax").partial_fit(data)
    assert model.query_name_ == "session"
    assert model.partial_fit(unnamed).query_name_ == "session"
    assert model.copy().query_name_ == "session"
    assert model.fit(unnamed).query_name_ is None
    trees = rl.LambdaMART(trees=3).fit(data)
    assert rl.rankers.Stacked.over(trees, data).query_name_ == "session"
    assert unnamed.query_name is None


def test_the_name_is_not_part_of_what_was_learnt():
    renamed = rl.from_table(SHOP.rename(columns={"session": "visit"}), query="visit")
    one, other = (rl.Slam().fit(d) for d in (rl.from_table(SHOP, query="session"), renamed))
    assert one.query_name_ != other.query_name_
    assert one.digest() == other.digest()


def test_parts_of_data_and_files_keep_the_name(tmp_path):
    data = rl.from_table(SHOP, query="session")
    rl.write(data, tmp_path / "data.rlds")
    mapped = rl.read(tmp_path / "data.rlds")
    again = [
        data.select([3, 1]),
        data.keep(data.y > 0),
        data.shuffle(RNG),
        data.without_features(),
        data.to_sparse().to_dense(),
        rl.data.concat([data.select([0]), data.select([1])]),
        mapped,
    ]
    assert {part.query_name for part in again} == {"session"}
    with pytest.raises(rl.DataError, match="query_name must be a name, or None; found 3"):
        rl.QueryDataset(data.X, data.y, data.offsets, data.query_ids, query_name=3)


def test_a_table_is_read_with_the_usual_query_unless_another_is_named(tmp_path):
    table = SHOP.assign(qid=1)
    read = {name: rl.from_table(table, **options, features=["price"]) for name, options in {
        "usual": {"usual_query": "session"},
        "named": {"usual_query": "session", "query": "qid"},
        "absent": {"usual_query": "visit"},
    }.items()}  # fmt: skip
    assert {name: data.query_name for name, data in read.items()} == {
        "usual": "session",
        "named": "qid",
        "absent": "qid",
    }


def test_a_damaged_name_is_refused():
    tree = {**to_tree(rl.Slam().fit(rl.from_table(SHOP, query="session"))), "version": 1}
    with pytest.raises(ModelError, match="query_name must be a name or null; found 3"):
        rl.loads(archive_bytes({**tree, "query_name": 3}))
    assert rl.loads(archive_bytes(tree)).query_name_ is None
