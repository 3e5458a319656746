"""First definitions: what a catalogue and a log look like, and that what is written works."""

import json
import tomllib

import pytest
from typer.testing import CliRunner

import rankloop as rl
from rankloop.cli.app import app
from rankloop.data.catalogue import read_catalogue
from rankloop.exceptions import DataError, ParseError
from rankloop.features.fields import Field
from rankloop.feedback.compute_features import read_definitions
from rankloop.feedback.first_definitions import propose_definitions
from rankloop.serving.settings.service import as_settings

from .test_batch import write

TABLE = """id,title,price,brand,genres,released,sale,shelf_id,empty
a,Red shoe for the winter,59.5,acme,Shoe|Red,2026-05-01,yes,7,
b,Blue shoe for the summer,49,best,Shoe,2026-06-01,no,8,
c,A hat that is not a shoe,,acme,Hat,2025-01-01,no,7,
"""
TYPES = {
    "title": "text",
    "price": "number",
    "brand": "category",
    "genres": "categories",
    "released": "date",
    "sale": "boolean",
    "shelf_id": "category",
}
LOG = [
    {
        "ranking_id": "r1", "items": ["a", "b", "c"], "query": "shoe", "user": "u1",
        "fields": {"device": "phone"}, "timestamp": 1700000100,
    },
    {"ranking_id": "r1", "item": "b", "type": "click", "timestamp": 1700000130},
    {"ranking_id": "r1", "item": "b", "type": "rating", "value": 4, "timestamp": 1700000131},
    {"ranking_id": "r2", "items": ["a", "b"], "query": "x", "user": "u2", "timestamp": 1700000200},
    {"ranking_id": "r2", "item": "b", "type": "click", "timestamp": 1700000230},
    {"ranking_id": "r2", "item": "a", "type": "rating", "value": 2, "timestamp": 1700000231},
]  # fmt: skip


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "items.csv"
    path.write_text(TABLE)
    return path


def test_what_is_written_serves_and_computes(tmp_path, table):
    log, out = write(tmp_path / "log.jsonl", LOG), tmp_path / "shop.toml"
    options = ["init", "--items", str(table), "--events", str(log), "-o", str(out)]
    shown = CliRunner().invoke(app, options)
    assert shown.exit_code == 0, shown.output
    text = out.read_text()
    settings = tomllib.loads(text)
    loop = settings["loops"]["shop"]
    assert loop["fields"] == {"item": TYPES, "request": {"device": "category", "query": "text"}}
    assert loop["feedback"] == {"click": 1.0, "rating": {"gain": 1, "steps": [2.0, 4.0]}}
    as_settings(settings).loops["shop"].check()
    data = rl.compute_features(log, items=table, **read_definitions(out))
    features = loop["features"]
    assert data.n_documents == 5
    assert features["title_match"] == {"match": ["request.query", "item.title"], "by": "bm25"}
    assert features["click_taste_brand"]["per"] == "user"
    assert features["rating_mean"] == {"mean": "rating", "prior": 5}
    lines = {line.partition(" = ")[0]: line for line in text.splitlines()}
    worth = rl.evaluate(data, column(data, "click_rate"), ["nDCG@10"])["nDCG@10"]
    assert lines["click_rate"].endswith(f"# {worth:.3f}")
    again = CliRunner().invoke(app, options)
    assert again.exit_code == 2


def column(data, name):
    values = data.X[:, list(data.feature_names).index(name)].astype(float)
    values[values != values] = -1e9
    return values


def test_a_catalogue_alone_is_enough_and_says_that_worth_is_unknown(table):
    first = propose_definitions(table)
    assert first.fields["item"] == TYPES
    assert "price" in first.features
    assert any("unknown" in note for note in first.notes)
    assert "empty" in " ".join(first.notes)
    assert first.remarks["item.price"] == '2 values, such as "59.5", 33% missing'


def test_ids_and_titles_are_no_categories_and_lists_count_their_parts(tmp_path):
    rows = "".join(f"a{i},hat {i},x{i},{'red|new' if i % 2 else 'new|old'}\n" for i in range(200))
    (tmp_path / "items.csv").write_text(f"id,title,code,tags\n{rows}")
    log = write(tmp_path / "log.jsonl", [
        {"ranking_id": "r", "items": ["a1", "a2"], "user": "u", "timestamp": 1700000100},
        {"ranking_id": "r", "item": "a2", "type": "click", "timestamp": 1700000130},
    ])  # fmt: skip
    first = propose_definitions(tmp_path / "items.csv", [log])
    assert first.fields["item"] == {"title": "text", "code": "category", "tags": "categories"}
    assert "nearly every item has another one" in first.remarks["item.code"]
    assert not [name for name in first.features if "code" in name]
    assert first.features["tags"]["limit"] == 8
    assert first.remarks["item.tags"].startswith("3 values")


@pytest.mark.parametrize(
    ("last", "said"),
    [
        (",about 20,2026-05-01", "item.price is a category here; 95% of the values are numbers"),
        (",20,2026-05-01", ""),
        (",20,01.05.2026", ""),
    ],
)
def test_values_that_are_probably_mistakes_are_named(tmp_path, last, said):
    day = "31.12.2025" if last.endswith("2026") else "2025-12-31"
    rows = "".join(f"a{i},{i},{day}\n" for i in range(20))
    (tmp_path / "items.csv").write_text(f"id,price,released\n{rows}z{last}\n")
    notes = " ".join(propose_definitions(tmp_path / "items.csv").notes)
    assert said in notes
    assert ("item.released is a category" in notes) == (day == "31.12.2025")
    assert ("item.price" in notes) == bool(said)


def test_all_formats_of_a_catalogue_have_the_same_items(tmp_path, table):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    fields = {name: Field.read(name, kind) for name, kind in TYPES.items()}
    left = []
    rows = list(read_catalogue(table, fields, notice=left.append))
    assert rows[0][1]["genres"] == ["Shoe", "Red"]
    assert (rows[1][1]["price"], rows[1][1]["sale"], rows[2][1]["price"]) == (49.0, False, None)
    assert left == [f"{table}: left out: empty; the settings define no such fields"]
    flat = [{"id": name, **values} for name, values in rows]
    pq.write_table(pa.Table.from_pylist(flat), tmp_path / "items.parquet")
    (tmp_path / "flat.jsonl").write_text("\n".join(map(json.dumps, flat)))
    nested = [{"id": name, "fields": values} for name, values in rows]
    (tmp_path / "nested.jsonl").write_text("\n".join(map(json.dumps, nested)))
    for name in ("items.parquet", "flat.jsonl", "nested.jsonl"):
        assert list(read_catalogue(tmp_path / name, fields)) == rows


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("id,price\na,3,4\n", "items.csv:2: found 3 columns"),
        ("name,price\na,3\n", "no column 'id'; name the column of the ids with item_id='...'"),
        ("id,price\n,3\n", "items.csv:2: it has no id"),
        ("", "no items"),
    ],
)
def test_errors_of_catalogues_name_the_line(tmp_path, text, words):
    path = tmp_path / "items.csv"
    path.write_text(text)
    with pytest.raises((DataError, ParseError), match=words):
        list(read_catalogue(path))


def test_a_catalogue_before_the_log_is_as_if_the_log_began_with_it(tmp_path, table):
    fields = {"item": {"brand": "category"}}
    features = {"brand": {"category": "item.brand"}, "ctr": {"rate": "click", "per": "item.brand"}}
    items = [
        {"id": name, "fields": {"brand": brand}, "timestamp": 1}
        for name, brand in (("a", "acme"), ("b", "best"), ("c", "acme"))
    ]
    alone = write(tmp_path / "alone.jsonl", LOG)
    whole = write(tmp_path / "whole.jsonl", [*items, *LOG])
    one = rl.compute_features(alone, fields=fields, features=features, items=table)
    two = rl.compute_features(whole, fields=fields, features=features)
    assert one.X.tobytes() == two.X.tobytes()


def test_objects_of_ubi_are_fields_of_items(tmp_path):
    target = {"object_id": "b", "name": "Shoe", "object_detail": {"price": 3, "brand": [1.5]}}
    log = [
        {"query_id": "r1", "user_query": "cat", "timestamp": 1, "query_response_hit_ids": ["b"]},
        {"action_name": "click", "query_id": "r1", "timestamp": 2,
         "event_attributes": {"object": target}},
        {"query_id": "r2", "user_query": "cat", "timestamp": 3, "query_response_hit_ids": ["b"]},
    ]  # fmt: skip
    notes = []
    data = rl.compute_features(
        write(tmp_path / "ubi.jsonl", log),
        fields={"item": {"price": "number", "name": "text", "brand": "category"}},
        features={"price": {"number": "item.price"}, "words": {"words": "item.name"}},
        notice=notes.append,
    )
    assert str(data.X.tolist()) == "[[nan, nan], [3.0, 1.0]]"
    assert any("values of object brand" in note for note in notes)


def test_categories_of_requests_are_crossed_with_those_of_items(tmp_path, table):
    log, at = [], 1_700_000_000
    for k in range(40):  # on the phone, people choose acme; at the desk, best
        device, liked = ("phone", "a") if k % 2 else ("desk", "b")
        shown = ["a", "b"] if k % 4 < 2 else ["b", "a"]
        asked = {"fields": {"device": device}, "timestamp": at + 10 * k}
        log.append({"ranking_id": f"r{k}", "items": shown, **asked})
        log.append({"ranking_id": f"r{k}", "item": liked, "timestamp": at + 10 * k + 1})
    first = propose_definitions(table, [write(tmp_path / "log.jsonl", log)])
    cross = first.features["device_brand"]
    assert cross["cross"] == ["request.device", "item.brand"]
    assert "device_sale" not in first.features  # a boolean is no category
    assert float(first.remarks["device_brand"]) > 0.95
    assert float(first.remarks["brand"]) < 0.9
    assert any("by what its grades were before" in note for note in first.notes)
