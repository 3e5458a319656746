"""A table of features: UBI queries become rankings, and bad files are named."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rankloop.exceptions import DataError
from rankloop.serving.feature_table import FeatureTable

from .test_routes import start  # noqa: F401

CSV = "id,match,name,price\na,1,Ann,5\nb,0.5,Bob,7\n7,0,Eve,9\n"


def test_queries_of_another_engine_are_learnt_from(start, tmp_path):  # noqa: F811
    table = tmp_path / "items.csv"
    table.write_text(CSV)
    service, shop = start(table=str(table))
    queries = [
        {"user_query": "x", "query_id": "q1", "query_response_hit_ids": ["b", "a", 7]},
        {"user_query": "x", "query_id": "q2", "query_response_hit_ids": ["b", "unknown"]},
        {"user_query": "x", "query_id": "q3"},
    ]
    taken = shop.post("/ubi/queries", json=queries).json()["taken"]
    assert taken == {"accepted": 1, "unknown_ranking": 2}
    assert shop.post("/ubi/queries", json=queries[0]).json()["taken"] == {"joined": 1}
    click = {
        "action_name": "click",
        "timestamp": 1,
        "query_id": "q1",
        "event_attributes": {"object": {"object_id": "a"}},
    }
    assert shop.post("/ubi/events", json=click).json()["taken"] == {"applied": 1}
    kept = service.loops["shop"].find_ranking("q1").entry
    assert kept.items == ["b", "a", "7"]
    assert kept.matrix().tolist() == [[7.0, 0.5], [5.0, 1.0], [9.0, 0.0]]


def test_parquet_is_read_as_csv_is(tmp_path):
    path = tmp_path / "items.parquet"
    pq.write_table(pa.table({"id": ["a", "b"], "price": [5, 7], "match": [1.0, 0.5]}), path)
    table = FeatureTable.read(str(path), ["price", "match"])
    assert len(table) == 2
    assert table.features(["b"]).tolist() == [[7.0, 0.5]]
    assert table.features(["c"]) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,price\na,1\n", "no column 'match'"),
        ("", "no column 'id'"),
        ("id,price,match\na,1,2\na,1,2\n", "'a' occurs twice"),
        ("id,price,match\na,1,x\n", "not a number"),
        ("id,price,match\na,1,nan\n", "'match' of item 'a' is nan"),
        ("id,price,match\na,1\n", "line 2 has 2 values"),
    ],
)
def test_a_table_that_cannot_be_used(tmp_path, text, words):
    path = tmp_path / "items.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=words):
        FeatureTable.read(str(path), ["price", "match"])
    with pytest.raises(DataError, match="cannot be read"):
        FeatureTable.read(str(tmp_path / "none.csv"), ["price"])
