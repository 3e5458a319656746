"""Frames as people have them: shuffled, wider than the model, with text, as validation data."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import rankloop as rl
from rankloop.exceptions import DataError, DataTypeError

RNG = np.random.default_rng(5)
N = 80
SHOP = pd.DataFrame(
    {
        "product": [f"p{k}" for k in range(N)],
        "price": RNG.normal(size=N),
        "qid": np.repeat(np.arange(16), 5),
        "stars": RNG.integers(1, 6, N),
        "brand": RNG.choice(["a", "b"], N),
    }
).assign(label=lambda f: (f.price > 0).astype(int) + (f.stars > 3))
X = SHOP[["price", "stars"]]
FRAMES = {"pandas": lambda f: f, "polars": pl.DataFrame, "arrow": pa.Table.from_pandas}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize(
    "ranker",
    [
        rl.Slam(),
        rl.LambdaMART(trees=3),
        rl.Prepared(rl.RankSVM(), "standard"),
        rl.Described(rl.Slam()),
        rl.Prepared(rl.Auto(), "log"),
    ],
    ids=repr,
)
def test_columns_are_found_in_a_wider_table(ranker, kind):
    model = ranker.copy().fit(X, SHOP.label, qid=SHOP.qid)
    expected = np.asarray(model.predict(X, qid=SHOP.qid))
    wide = SHOP[["brand", "stars", "label", "price", "product"]]
    assert np.array_equal(model.predict(FRAMES[kind](wide), qid=SHOP.qid), expected)
    data = rl.from_table(SHOP[["qid", "stars", "label", "price"]].assign(more=1))
    assert np.array_equal(model.predict(data), expected)
    with pytest.raises(DataError, match="'stars'"):
        model.predict(wide.drop(columns="stars"), qid=SHOP.qid)


def test_what_is_learnt_is_not_found_silently():
    model = rl.Slam().fit(X, SHOP.label, qid=SHOP.qid)
    with pytest.raises(DataError, match="not known: 'more'"):
        model.partial_fit(X.assign(more=1), SHOP.label, qid=SHOP.qid)


def test_the_index_of_a_shuffled_frame_is_no_feature():
    frame = SHOP.sample(frac=1, random_state=0)
    model = rl.Described(rl.Slam())
    model.fit(frame[["price", "brand"]], frame.label, qid=frame.qid)
    assert model.feature_names_in_ == ("price", "brand")
    one = model.predict(SHOP[["price", "brand"]])[7]
    assert model.predict(frame[["price", "brand"]])[list(frame.index).index(7)] == one


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_are_validation_data(kind):
    frame = FRAMES[kind](SHOP)
    data = rl.from_table(SHOP, features=["price", "stars"], drop=["brand", "product"])
    one, other = (
        rl.LambdaMART(trees=20).fit(X, SHOP.label, qid=SHOP.qid, valid=v) for v in (frame, data)
    )
    assert one.digest() == other.digest()
    for wrong in (SHOP.to_numpy(), [1], "valid"):
        with pytest.raises(DataTypeError, match="valid must be a QueryDataset, or a frame"):
            rl.Slam().fit(X, SHOP.label, qid=SHOP.qid, valid=wrong)


def test_errors_name_the_column_and_what_there_is():
    gaps = X.assign(price=X.price.where(X.index != 3))
    for call in (
        lambda: rl.Slam().fit(gaps, SHOP.label, qid=SHOP.qid),
        lambda: rl.Slam().fit(X, SHOP.label, qid=SHOP.qid).predict(gaps),
        lambda: rl.QueryDataset.from_arrays(gaps, SHOP.label, qid=SHOP.qid),
    ):
        with pytest.raises(
            DataError, match=r"feature price of row 3 is missing.*Described\(ranker"
        ):
            call()
    text = SHOP[["price", "brand"]]
    with pytest.raises(DataError, match=r"'brand' \(category\); wrap the ranker"):
        rl.Slam().fit(text, SHOP.label, qid=SHOP.qid)
    model = rl.Slam().fit(X, SHOP.label, qid=SHOP.qid)
    with pytest.raises(DataError, match="but not all values of 'stars' are"):
        model.predict(X.assign(stars="many"))


@pytest.mark.parametrize("kind", FRAMES)
def test_ids_grades_and_facts_of_a_log_are_no_features(kind):
    shop = SHOP.assign(points=SHOP.label, search=SHOP.qid, clicked=1, product_id=3)
    leaky = ["label", "qid", "points", "search", "clicked", "product_id"]
    if kind == "arrow":  # its columns do not know their names
        shop, leaky = shop.drop(columns=["points", "search"]), [*leaky[:2], *leaky[4:]]
    frame = FRAMES[kind](shop)
    numbers = frame.select(["price", *leaky]) if kind != "pandas" else frame[["price", *leaky]]
    y, qid = (
        (frame["label"], frame["qid"]) if kind == "arrow" else (frame["points"], frame["search"])
    )
    for fit in (
        lambda X: rl.Described(rl.Auto()).fit(X, y, qid=qid),
        lambda X: rl.LambdaMART(trees=3).fit(X, y, qid=qid),
        lambda X: rl.Slam().partial_fit(X, y, qid=qid),
        lambda X: rl.QueryDataset.from_arrays(X, y, qid=qid),
    ):
        for name in leaky:
            with pytest.raises(DataError, match=rf"not features.*'{name}'.*X.drop\("):
                fit(numbers)
    with pytest.raises(DataError, match=r"not features.*'label'.*'clicked'"):
        rl.Slam().learn(numbers, y)
    way_out = numbers.drop(columns=leaky) if kind == "pandas" else numbers.drop(leaky)
    model = rl.Slam().fit(way_out, y, qid=qid)
    assert model.feature_names_in_ == ("price",)
    assert np.array_equal(model.predict(numbers), model.predict(way_out))
    assert model.score(numbers, y, qid=qid) == model.score(way_out, y, qid=qid)
    data = rl.QueryDataset.from_arrays(numbers, y, qid=qid, feature_names=["price", *leaky])
    assert data.n_features == 1 + len(leaky)  # what is named is meant


def test_numbers_as_names_are_compared_by_their_values():
    table = SHOP[["price", "stars", "label"]].set_axis([0, 1, 2], axis=1)
    with pytest.raises(DataError, match=r"not features.*'2'"):
        rl.Slam().fit(table, table[2], qid=SHOP.qid)
    assert rl.Slam().fit(table[[0, 1]], table[2].rename(0), qid=SHOP.qid).is_fitted


@pytest.mark.parametrize("kind", FRAMES)
def test_queries_are_found_by_the_name_of_their_column(kind):
    mixed = SHOP.sample(frac=1, random_state=0).drop(columns="label")
    names = {
        "srch": mixed.rename(columns={"qid": "srch"}),
        "Query_ID": mixed.rename(columns={"qid": "Query_ID"}),
    }
    ranker = rl.Prepared(rl.Slam(), "query-minmax")  # whose scores depend on whole queries
    for name, table in names.items():
        model = ranker.copy().fit(X, SHOP.label, qid=SHOP.qid.rename(name))
        frame, one = FRAMES[kind](table), FRAMES[kind](table[table[name] == 3])
        expected = np.asarray(model.predict(table[["price", "stars"]], qid=table[name]))
        assert np.array_equal(model.predict(frame), expected)
        with pytest.raises(DataError, match="these are of 16 queries"):
            model.rank(frame)
        assert len(model.rank(one).order) == 5
        parts = model.contributions(frame)
        assert np.allclose(parts.sum(axis=1), expected)
        assert np.array_equal(parts[(table[name] == 3).to_numpy()], model.contributions(one))
    data = rl.from_table(SHOP, drop=["product", "brand"])
    with pytest.raises(DataError, match="these are of 16 queries"):
        model.rank(data)
    for ranker in (model, rl.LambdaMART(trees=3, start=rl.Slam()).fit(data)):
        found = [ranker.contributions(query) for query in data]
        assert np.allclose(ranker.contributions(data), np.concatenate(found))
    with pytest.raises(DataError, match="pass qid="):
        model.predict(X)


def test_text_in_a_column_of_numbers_is_named_with_its_row():
    shop = SHOP.drop(columns=["product", "brand"])
    prices = shop.price.astype(object)
    prices[5] = "12,50 EUR"
    mixed = shop.assign(price=prices)
    model = rl.Described(rl.Slam()).fit(rl.from_table(shop))
    assert np.array_equal(model.predict(shop), model.predict(X))  # also where all are numbers
    for call in (
        lambda: rl.from_table(mixed),
        lambda: model.predict(mixed),
        lambda: model.predict(mixed.assign(price=prices.astype(str))),
    ):
        with pytest.raises(DataError, match=r"'price'.*row 5 has '12,50 EUR'.*missing="):
            call()
    numbers = rl.Slam().fit(X, SHOP.label, qid=SHOP.qid)
    with pytest.raises(DataError, match=r"row 5 of 'price' has '12,50 EUR'"):
        numbers.predict(mixed)
    with pytest.raises(DataError, match=r"'price' should hold numbers, but row 0 has 'many'"):
        model.predict(shop.assign(price="many"))
    prices[5] = "2.50"  # a number, as text among numbers
    right = model.predict(shop.assign(price=shop.price.where(shop.index != 5, 2.5)))
    assert np.array_equal(model.predict(shop.assign(price=prices)), right)
    assert rl.from_table(shop.assign(price=prices)).features is None


@pytest.mark.parametrize("kind", FRAMES)
def test_grades_and_query_ids_without_a_name_are_known_by_their_values(kind):
    shop = pd.concat([SHOP, SHOP], ignore_index=True).rename(
        columns={"qid": "srch", "label": "points"}
    )
    shop["zero"], y, qid = 0, shop.points.to_numpy(), [f"q{k}" for k in shop.srch]
    for column, grades in (("points", y), ("points", shop[["points"]]), ("srch", y)):
        frame = FRAMES[kind](shop[["price", "zero", column]])
        ids = qid if column == "points" else shop.srch.to_numpy()
        with pytest.raises(DataError, match=f"not features.*: '{column}';"):
            rl.QueryDataset.from_arrays(frame, grades, qid=ids)
    texts = FRAMES[kind](shop[["price", "zero"]].assign(srch=qid))
    with pytest.raises(DataError, match=r"not features.*: 'srch';"):
        rl.Described(rl.Slam()).fit(texts, y, qid=qid)
    few = FRAMES[kind](shop[["price", "zero", "points"]][:20])
    assert rl.QueryDataset.from_arrays(few, y[:20], group=[20]).n_features == 3
    with pytest.raises(DataError, match="'__index_level_0__'"):
        rl.Slam().fit(pa.Table.from_pandas(shop[["price"]].sort_values("price")), y, group=[160])
    same = FRAMES[kind](shop[["price", "zero"]])
    weights = shop.price.abs().rename("price")  # a feature may be a weight, too
    data = rl.QueryDataset.from_arrays(
        same, np.zeros(160), qid=np.zeros(160, int), sample_weight=weights.to_numpy()
    )
    assert data.n_features == 2


def test_a_missing_value_gets_no_score():
    """Else NaN would be compared with scores, and the ranking could be any."""
    ranker = rl.Slam().fit(np.eye(2), [1, 0], group=[2])
    data = rl.QueryDataset.from_arrays([[np.nan, 0], [0, 1]], [1, 0], qid=[7, 7], allow_nan=True)
    for score in (ranker.predict, lambda data: ranker.rank(next(iter(data)))):
        with pytest.raises(DataError, match="feature 1 of a document of query 7 is nan, but Slam"):
            score(data)
    assert np.isfinite(rl.Described(rl.NewtonXENDCG()).fit(data).predict(data)).all()


def test_a_series_is_no_table_and_no_measure_is_no_measure():
    for column in (SHOP.label, SHOP.label.rename(None)):
        with pytest.raises(DataError, match="cannot take a Series as a table"):
            rl.from_table(column)
    model = rl.Slam().fit(X, SHOP.label, qid=SHOP.qid)
    for measure in ((), [], ["nDCG@10"], None):
        with pytest.raises(rl.RankloopError, match="a measure is text such as"):
            model.score(X, SHOP.label, qid=SHOP.qid, measure=measure)


def test_arguments_of_wrong_types_are_named(tmp_path):
    data = rl.from_table(SHOP, features=["price", "stars"])
    for call, words in (
        (lambda: rl.write_letor(data, tmp_path / "a.txt", sparse={1}), "sparse must be True or Fa"),
        (
            lambda: rl.QueryDataset(data.X, data.y, [[1], 2], data.query_ids),
            "offsets must be one-d",
        ),
        (lambda: rl.XENDCG().fit(data, on_round=rl.nDCG), "on_round must be a function that takes"),
    ):
        with pytest.raises(DataError, match=words):
            call()
    seen = []
    rl.XENDCG().fit(data, on_round=seen.append)
    assert seen
