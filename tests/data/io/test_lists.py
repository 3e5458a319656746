"""Columns that hold several categories: Arrow's lists, and texts with a separator."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa
import pytest

import rankloop as rl
from rankloop.rankers import Described

GENRES = [["drama", "war"], ["comedy"], None, ["war", "drama", "crime"]]
OTHER = {"qid": [1, 1, 2, 2], "label": [1, 0, 1, 0], "year": [1.0, 2.0, 3.0, 4.0]}
TEXTS = ["drama| war", "comedy", None, "war|drama||crime"]


def codes(data, list_name="genres"):
    """Return the categories of each row."""
    columns = [(j, c) for j, c in enumerate(data.features) if c.part_of == list_name]
    return [
        {c.categories[int(row[j])] for j, c in columns if row[j] == row[j]}
        for row in data.X.tolist()
    ]


@pytest.mark.parametrize("values", [GENRES, TEXTS], ids=["lists", "texts"])
@pytest.mark.parametrize("first", ["genres", "year"])
def test_each_category_of_a_list_counts(values, first, tmp_path):
    table = {first: {**OTHER, "genres": values}[first], **OTHER, "genres": values}
    options = {"lists": ["genres=|"]} if values is TEXTS else {}
    data = rl.from_table(pa.table(table), allow_nan=True, **options)
    assert codes(data) == [set(genres or ()) for genres in GENRES]
    ranker = Described().fit(data)
    wanted = {f"genres = {name}" for name in ("drama", "war", "comedy", "crime")}
    assert set(ranker.features.encoded_names) == {"year", *wanted}
    assert ranker.features.encode(ranker.features.take(data)).sum() == 10 + 6
    frame = pd.DataFrame({"year": OTHER["year"], "genres": values})
    assert ranker.predict(frame, group=[2, 2]).tolist() == ranker.predict(data).tolist()
    path = tmp_path / "data.parquet"
    rl.data.write_table(data, path)
    again = rl.read(path)
    assert again.features == data.features
    assert codes(again) == codes(data)
    trees = Described(rl.LambdaMART(trees=2)).fit(data)
    assert set(trees.ranker_.feature_names_in_) == {"year", *wanted}


def test_other_data_may_have_shorter_and_longer_lists():
    ranker = Described().fit(rl.from_table(pa.table({**OTHER, "genres": GENRES}), allow_nan=True))
    short = {"qid": [1, 1], "label": [0, 1], "year": [1.0, 1.0], "genres": [["war"], ["unknown"]]}
    data = rl.from_table(pa.table(short), allow_nan=True)
    rows = ranker.features.encode(ranker.features.take(data))
    assert rows.sum(axis=1).tolist() == [2, 1]
    longer = {**short, "genres": [["war", "drama", "crime", "comedy"], []]}
    data = rl.from_table(pa.table(longer), allow_nan=True)
    rows = ranker.features.encode(ranker.features.take(data))
    assert rows.sum(axis=1).tolist() == [4, 1]  # three of the four: as many as in training
    frame = pd.DataFrame(longer)[["year", "genres"]]
    assert ranker.predict(frame, group=[2]).tolist() == ranker.predict(data).tolist()


def test_batches_and_chosen_columns(tmp_path):
    path = tmp_path / "movies.csv"
    pd.DataFrame({**OTHER, "genres": TEXTS}).to_csv(path, index=False)
    options = {"lists": ["genres=|"], "features": ["genres", "year"]}
    data = rl.read(path, **options)
    assert data.feature_names == ("genres 1", "genres 2", "genres 3", "genres 4", "year")
    parts = list(rl.data.iter_table(path, batch_rows=2, allow_nan=True, **options))
    assert [part.n_documents for part in parts] == [2, 2]
    assert codes(parts[0]) + codes(parts[1]) == codes(data)


def test_errors():
    table = pa.table({**OTHER, "genres": TEXTS})
    for bad in ("genres", "genres=", "genre=|"):
        with pytest.raises(rl.DataError, match="lists must name a column and its separator"):
            rl.from_table(table, lists=[bad], allow_nan=True)
    wide = pa.table({**OTHER, "genres": [["a"], ["b"] * 101, None, None]})
    with pytest.raises(rl.DataError, match=r"'genres' of row 1 has 101 categories; at most 100"):
        rl.from_table(wide, allow_nan=True)
    ranker = Described().fit(rl.from_table(pa.table({**OTHER, "genres": GENRES}), allow_nan=True))
    with pytest.raises(rl.DataError, match="genres"):
        ranker.predict(pd.DataFrame({"year": [1.0], "tags": [["a"]]}))
    with pytest.raises(rl.DataError, match=r"lists of categories \(genres\) cannot be exported"):
        rl.export.program_of(ranker)
