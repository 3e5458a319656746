"""Click logs: rows in any order, alike pages, tables by ids, and the formats they come in."""

from __future__ import annotations

import gzip
import json
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.clicks.log.coding import code_ids, match_ids
from rankloop.clicks.log.log import ClickLog
from rankloop.clicks.log.summary import check_separable
from rankloop.clicks.log.table import from_click_table, read_click_table
from rankloop.clicks.log.ubi import read_ubi
from rankloop.clicks.log.yandex import read_yandex_clicks
from rankloop.clicks.models.ctr import DocumentCTR
from rankloop.exceptions import DataError, ParseError

from .twins import random_pages


def as_pages(log):
    """Back to (query, documents, clicked), in words."""
    for p in range(len(log)):
        rows = slice(log.offsets[p], log.offsets[p + 1])
        shown = log.document_ids[log.documents[rows]]
        clicked = shown[log.clicks[rows]].tolist()
        yield log.query_ids[log.queries[p]], shown.tolist(), clicked


@given(st.integers(0, 10**6))
def test_pages_there_and_back(seed):
    pages = random_pages(np.random.default_rng(seed), n=12)
    assert list(as_pages(ClickLog.from_pages(pages))) == pages


def test_rows_in_any_order(rng):
    pages = random_pages(rng, n=30)
    rows = [
        (p, query, document, k, document in clicked)
        for p, (query, shown, clicked) in enumerate(pages)
        for k, document in enumerate(shown, start=1)
    ]
    mixed = [rows[i] for i in rng.permutation(len(rows))]
    page, query, document, position, clicked = map(np.array, zip(*mixed, strict=True))
    log = ClickLog.from_rows(query, document, clicked, position=position, page=page)
    order = log.page_ids.tolist()
    assert list(as_pages(log)) == [pages[p] for p in order]
    assert np.array_equal(position[log.rows], log.positions)
    sizes = [len(shown) for _, shown, _ in pages]
    assert log.sizes.tolist() == [sizes[p] for p in order]


def test_groups_count_alike_pages_once(rng):
    pages = random_pages(rng, n=400, longest=2)
    log = ClickLog.from_pages(pages)
    seen = Counter((query, tuple(shown), tuple(clicked)) for query, shown, clicked in pages)
    grouped = log.grouped_pages
    assert grouped.counts.sum() == len(pages)
    assert len(grouped.counts) == len(seen)
    documents = grouped.document_ids[grouped.pair_documents[grouped.pairs]]
    queries = np.repeat(np.arange(len(log.query_ids)), np.diff(grouped.query_pages))
    for p, n in enumerate(grouped.counts):
        rows = slice(grouped.offsets[p], grouped.offsets[p + 1])
        shown = documents[rows]
        key = (
            int(grouped.query_ids[queries[p]]),
            tuple(shown.tolist()),
            tuple(shown[grouped.clicks[rows] > 0].tolist()),
        )
        assert seen.pop(key) == n
    pairs = {(query, document) for query, shown, _ in pages for document in shown}
    assert grouped.n_pairs == len(pairs)


def test_tables_go_by_ids_not_codes():
    train = ClickLog.from_pages([("x", ["a", "b"], ["b"]), ("y", ["b"], [])])
    test = ClickLog.from_pages([("y", ["c", "b"], []), ("x", ["b", "a"], []), ("z", ["a"], [])])
    model = DocumentCTR().fit(train)
    third = 1 / 3
    assert model.probabilities(test) == pytest.approx([0.5, third, 2 * third, third, 0.5])
    assert model.rates.get("x", "nothing") == 0.5
    numbers = ClickLog.from_pages([(1, [2], [2])])
    assert model.probabilities(numbers).tolist() == [0.5]


def test_selecting():
    log = ClickLog.from_pages([("x", ["a", "b"], ["b"]), ("y", ["b"], []), ("x", ["c"], [])])
    assert list(as_pages(log.select([2, 0]))) == [("x", ["c"], []), ("x", ["a", "b"], ["b"])]
    assert list(as_pages(log.of_queries(["y"]))) == [("y", ["b"], [])]
    assert log.select([2, 0]).rows.tolist() == [3, 0, 1]
    assert log.select(np.array([False, True, False])).with_counts([3]).row_counts.tolist() == [3]


def test_ids():
    codes, ids = code_ids([30, 10, 30], "query")
    assert codes.tolist() == [0, 1, 0]
    assert ids.tolist() == [30, 10]
    assert match_ids(ids, np.array([10, 20, 30])).tolist() == [2, 0]


def test_row_errors():
    rows = {"query": ["q", "q"], "document": ["a", "b"], "clicked": [0, 1]}
    with pytest.raises(DataError, match=r"whole numbers from 1; found 0 in row 1: add 1"):
        ClickLog.from_rows(**rows, position=[1, 0])
    with pytest.raises(DataError, match="row 1 is at position 2 of its page, but another"):
        ClickLog.from_rows(**rows, position=[2, 2])
    with pytest.raises(DataError, match="found -1 in row 0"):
        ClickLog.from_rows(["q"], ["a"], [-1])
    with pytest.raises(DataError, match="document has 1 values for 2 rows"):
        ClickLog.from_rows(["q", "q"], ["a"], [0, 0])
    with pytest.raises(
        DataError, match="row 1 has query 'r', but other rows of its page have a different query"
    ):
        ClickLog.from_rows(["q", "r"], ["a", "b"], [0, 0], page=[1, 1])
    with pytest.raises(DataError, match=r"above 0 and at most 1; found 0\.0 in row 1"):
        ClickLog.from_rows(**rows, propensity=[0.5, 0.0])
    with pytest.raises(DataError, match="booleans or numbers"):
        ClickLog.from_rows(["q"], ["a"], ["yes"])


def test_yandex_text(tmp_path):
    path = tmp_path / "log.txt.gz"
    path.write_bytes(gzip.compress(b"7_1\t5,6 : 6 , 6 , 9; 7_1\t6,5 :; \n8_2\t5 : 5;\n"))
    log = read_yandex_clicks(path)
    assert list(as_pages(log)) == [
        ("7_1", ["5", "6"], ["6"]),
        ("7_1", ["6", "5"], []),
        ("8_2", ["5"], ["5"]),
    ]
    assert log.notes == ("1 clicks on documents that were not shown left out",)
    (tmp_path / "bad.txt").write_text("q\ta:\nq a : a;\n")
    with pytest.raises(ParseError, match=r"bad.txt:2: found 'q a : a', expected 'query TAB"):
        read_yandex_clicks(tmp_path / "bad.txt")


def table():
    return {
        "qid": ["x", "x", "y"],
        "item": [3, 4, 3],
        "rank": [2, 1, 1],
        "clicks": [1, 0, 0],
        "colour": ["red", None, "blue"],
    }


@pytest.mark.parametrize("make", [pa.table, pd.DataFrame, pl.DataFrame])
def test_tables_in_memory(make):
    log = from_click_table(make(table()))
    assert list(as_pages(log)) == [("x", [4, 3], [3]), ("y", [3], [])]


def test_table_files(tmp_path):
    expected = [("x", [4, 3], [3]), ("y", [3], [])]
    pd.DataFrame(table()).to_csv(tmp_path / "log.csv.xz", index=False)
    pd.DataFrame(table()).to_csv(tmp_path / "log.tsv", index=False, sep="\t")
    pq.write_table(pa.table(table()), tmp_path / "log.parquet")
    for name in ("log.csv.xz", "log.tsv", "log.parquet"):
        assert list(as_pages(read_click_table(tmp_path / name))) == expected
    by_name = from_click_table(pa.table(table()), query="rank", document="item", position="item")
    assert [query for query, _, _ in as_pages(by_name)] == [2, 1]


def test_table_errors(tmp_path):
    with pytest.raises(DataError, match="no column is named 'clicked' or 'click'"):
        from_click_table(pa.table(table()).drop_columns("clicks"))
    with pytest.raises(DataError, match="there is no column 'colr'"):
        from_click_table(pa.table(table()), query="colr")
    with pytest.raises(DataError, match="there is no role 'label'"):
        from_click_table(pa.table(table()), label="rank")
    with pytest.raises(DataError, match="row 1 has no query"):
        from_click_table(pa.table(table()), query="colour")
    with pytest.raises(DataError, match="'qid', 'query' could each be the query"):
        from_click_table(pa.table({**table(), "query": [1, 1, 2]}))
    (tmp_path / "log.csv").write_text("query,item,rank,click\nx,1,0,1\n")
    with pytest.raises(
        ParseError, match=r"log.csv:2: it has the position 0; expected a whole number from 1"
    ):
        read_click_table(tmp_path / "log.csv")


def event(action, query, item, ordinal=None, **more):
    position = {} if ordinal is None else {"ordinal": ordinal}
    attributes = {"object": {"object_id": item}, "position": position}
    return {"action_name": action, "query_id": query, "event_attributes": attributes, **more}


def test_ubi_joins_queries_and_events(tmp_path):
    queries = [
        {"query_id": "1", "user_query": "tv", "application": "shop", "query_response_hit_ids": []},
        {
            "query_id": "2",
            "user_query": "radio",
            "application": "other",
            "query_response_hit_ids": ["c", "b", "a"],
        },
        {"query_id": "3", "user_query": "lamp", "query_response_hit_ids": ["d"]},
        {"user_query": "lost"},
    ]
    events = [
        event("click", "1", "b", 1, message=None),  # before its impression
        event("impression", "1", "a", 0),
        event("impression", "1", "b", 1),
        event("impression", "1", "b", 1),
        event("click", "1", "z"),
        event("impression", "2", "a"),  # no ordinal: its rank among the hits
        event("impression", "2", "c", 17),
        event("click", "2", "a"),
        event("hover", "2", "a"),
        {"action_name": "click", "event_attributes": None, "query_id": "1"},
        event("impression", "5", "a", 1),  # no query of that id
        event("impression", "6", "a", 1, user_query="sofa", application="other"),
    ]
    bulk = tmp_path / "bulk.ndjson"
    with bulk.open("w") as file:
        for entry in events:
            file.write('{"index": {"_index": "ubi_events"}}\n' + json.dumps(entry) + "\n")
    (tmp_path / "queries.json").write_text(json.dumps(queries))
    log = read_ubi(bulk, tmp_path / "queries.json")
    found = dict(zip(log.page_ids.tolist(), as_pages(log), strict=True))
    assert found == {
        "1": ("tv", ["a", "b"], ["b"]),
        "2": ("radio", ["c", "a"], ["a"]),
        "3": ("lamp", ["d"], []),
        "6": ("sofa", ["a"], []),
    }
    places = np.split(log.positions, log.offsets[1:-1])
    positions = dict(zip(log.page_ids.tolist(), places, strict=True))
    assert positions["1"].tolist() == [1, 2]  # that application counts from 0
    assert positions["2"].tolist() == [1, 3]
    assert positions["6"].tolist() == [1]
    assert set(log.notes) == {
        "1 events of other kinds left out",
        "1 queries without query_id or user_query left out",
        "1 events without query_id or object_id left out",
        "1 queries without text or shown documents left out",
        "1 clicks on objects that were not shown left out",
    }


def test_ubi_errors(tmp_path):
    path = tmp_path / "events.ndjson"
    path.write_text('{"a": 1}\n[1]\n')
    with pytest.raises(ParseError, match=r"events.ndjson:2: found '\[1\]', expected a JSON object"):
        read_ubi(path)
    path.write_text('{"a": 1}\n{"a"\n')
    with pytest.raises(ParseError, match=r"events.ndjson:2: it is not JSON"):
        read_ubi(path)
    path.write_text('{"a": 1}\n')
    with pytest.raises(DataError, match="no query could be joined"):
        read_ubi(path)
    with pytest.raises(DataError, match="at least one file"):
        read_ubi()


SHOWN = {"query": ["q"] * 4 + ["r"] * 2, "product_id": list("abcdab"), "click": [0, 1, 0, 0, 1, 0]}


def test_unseen_documents_are_left_out():
    """As the page says: 0 where nobody looked. Positions stay as they were."""
    log = from_click_table(pa.table({**SHOWN, "seen": [1, 1, 1, 0, 1, 0]}))
    assert log.document_ids[log.documents].tolist() == ["a", "b", "c", "a"]
    assert log.positions.tolist() == [1, 2, 3, 1]
    assert log.row_counts.tolist() == [1, 1, 1, 1]
    assert log.notes == ("2 unseen documents left out",)
    gap = from_click_table(pa.table({**SHOWN, "seen": [0, 1, 0, 0, 1, 1]}))
    assert gap.positions.tolist() == [2, 1, 2]
    nobody = from_click_table(pa.table({**SHOWN, "click": [0] * 6, "seen": [1, 1, 1, 1, 0, 0]}))
    assert len(nobody) == 1
    with pytest.raises(DataError, match="row 1 was clicked, but seen"):
        from_click_table(pa.table({**SHOWN, "seen": [1, 0, 1, 1, 1, 1]}))


def test_pages_that_were_shown_several_times():
    log = from_click_table(pa.table({**SHOWN, "page_count": [3, 3, 3, 3, 2, 2]}))
    assert log.counts.tolist() == [3, 2]
    with pytest.raises(DataError, match="row 5 has the count 1"):
        from_click_table(pa.table({**SHOWN, "page_count": [3, 3, 3, 3, 2, 1]}))


def test_a_log_of_clicks_only_is_refused():
    only = {"query": [f"q{k % 5}" for k in range(30)], "document": range(30), "clicked": [1] * 30}
    with pytest.raises(DataError, match="all 30 rows were clicked"):
        from_click_table(pa.table({**only, "document": list(range(30))}))


def test_bias_is_not_estimated_from_a_fixed_order():
    pages = [(f"q{k % 3}", ["a", "b"], ["a"]) for k in range(9)]
    with pytest.raises(DataError, match=r"0\.0% of .* cannot be separated"):
        check_separable(ClickLog.from_pages(pages))
    check_separable(ClickLog.from_pages([*pages, ("q0", ["b", "a"], [])]))


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_arrow_never_reads_from_python(suffix, tmp_path, monkeypatch):
    """A thread of arrow that calls Python while the program ends aborts the process."""
    from pyarrow import csv

    taken, handlers = [], []
    read_csv, parsing = csv.read_csv, csv.ParseOptions
    monkeypatch.setattr(csv, "read_csv", lambda x, **o: taken.append(x) or read_csv(x, **o))
    monkeypatch.setattr(csv, "ParseOptions", lambda **o: handlers.append(o) or parsing(**o))
    path = tmp_path / f"log{suffix}"
    text = b"query,document,clicked\n1,2,0\n1,3,1\n"
    path.write_bytes(gzip.compress(text) if suffix.endswith("gz") else text)
    assert len(read_click_table(path).documents) == 2
    assert not any("invalid_row_handler" in options for options in handlers)
    assert [type(x) for x in taken] == [pa.BufferReader if suffix.endswith("gz") else str]
