"""Requests from Metarank's documentation, to a loop that computes features; and its extractors."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from rankloop.features.definitions import Definitions

from .test_computed import matrix_of, start  # noqa: F401

PAGE = Path(__file__).resolve().parents[2] / "docs" / "coming-from-metarank.md"
FIELDS = {
    "item": {
        "price": "number",
        "sale": "boolean",
        "brand": "category",
        "genres": "categories",
        "title": "text",
        "image": "vector(4)",
        "released": "date",
        "color": "category",
    },
    "user": {"age": "number", "country": "category"},
    "request": {"query": "text", "source": "category", "image": "vector(4)"},
}
FEATURES = {
    "price": {"number": "item.price"},
    "color": {"category": "item.color", "limit": 4, "buckets": 2},
    "age": {"number": "user.age"},
    "relevancy": {"given": "number"},
    "stars": {"mean": "rating", "prior": 1},
    "ctr": {"rate": "click", "of": "impression", "prior": 1},
}
ITEM = {
    "event": "item",
    "id": "81f46c34-a4bb-469c-8708-f8127cd67d27",
    "item": "item1",
    "timestamp": "1599391467000",
    "fields": [
        {"name": "title", "value": "Nice jeans"},
        {"name": "price", "value": 25.0},
        {"name": "color", "value": "blue"},
        {"name": "availability", "value": True},
    ],
}
USER = {
    "event": "user",
    "id": "8a3c1a2b",
    "user": "user1",
    "timestamp": "1599391467000",
    "fields": [{"name": "age", "value": 33.0}, {"name": "gender", "value": "m"}],
}
RANKING = {
    "event": "ranking",
    "id": "81f46c34",
    "timestamp": "1599391467000",
    "user": "user1",
    "session": "session1",
    "fields": [{"name": "query", "value": "cat"}, {"name": "source", "value": "search"}],
    "items": [
        {"id": "item3", "relevancy": 2.0},
        {"id": "item1", "relevancy": 1.0},
        {"id": "item2", "relevancy": 0.5},
    ],
}
RATING = {
    "event": "interaction",
    "id": "0f4c0036",
    "ranking": "81f46c34",
    "timestamp": "1599391467000",
    "user": "user1",
    "session": "session1",
    "type": "rating",
    "item": "item1",
    "fields": [{"name": "value", "value": 4.5}],
}


def test_all_four_kinds_of_events_change_features(start):  # noqa: F811
    service, shop = start(fields=FIELDS, features=FEATURES)
    alone = {**RATING, "id": "alone", "ranking": None, "item": "item3"}
    sent = shop.post("/feedback", json=[ITEM, USER, RANKING, RATING, alone, ITEM, RANKING])
    assert sent.json()["statuses"] == {
        "accepted": 4,
        "applied": 1,
        "duplicate": 1,
        "ranking known": 1,
    } or sent.json()["statuses"] == {"accepted": 4, "applied": 1, "duplicate": 2}
    answer = shop.post("/rank/shop?explain=true", json={**RANKING, "id": "next"}).json()
    features = {p["item"]: {f["name"]: f["value"] for f in p["features"]} for p in answer["items"]}
    assert features["item1"] == pytest.approx(
        {"price": 25, "color": 0, "age": 33, "relevancy": 1, "stars": 4.5, "ctr": 0}
    )
    assert features["item3"]["stars"] == 4.5
    assert "price" not in features["item3"]
    known = matrix_of(service, "next")
    assert known["relevancy"] == [2, 1, 0.5]
    stored = service.loops["shop"].read(lambda journal: journal.read(1, 2))[0].entry
    assert stored.items[0][1]["availability"] is True  # for features that are defined later


def test_ubi_without_a_query_changes_counters_and_queries_become_rankings(start):  # noqa: F811
    service, shop = start(fields=FIELDS, features=FEATURES)
    query = {
        "application": "shop",
        "query_id": "q1",
        "client_id": "CLIENT-1",
        "user_query": "jeans",
        "query_response_hit_ids": ["item1", "item2"],
        "timestamp": "2024-05-03T10:15:30Z",
    }
    assert shop.post("/ubi/queries", json=query).json()["taken"] == {"accepted": 1}
    event = {
        "action_name": "click",
        "timestamp": "2024-05-03T10:15:31Z",
        "client_id": "CLIENT-1",
        "session_id": "S",
        "user_query": "jeans",
        "event_attributes": {"object": {"object_id": "item1", "object_id_type": "product"}},
    }
    joined = {**event, "query_id": "q1"}
    taken = shop.post("/ubi/events", json=[event, joined, event]).json()["taken"]
    assert taken == {"accepted": 1, "applied": 1, "duplicate": 1}
    counters = shop.get("/v1/shop/items/item1").json()["counters"]
    assert counters["ctr"] == {"n": 2, "m": 1}
    assert service.loops["shop"].published.settings.names[-1] == "ctr"


def test_objects_of_ubi_are_fields_of_items(start):  # noqa: F811
    service, shop = start(fields=FIELDS, features=FEATURES)
    target = {
        "object_id": "item1",
        "object_id_field": "product",
        "name": "Nice jeans",
        "object_detail": {"price": 25, "color": ["no", 1.5], "released": "2026-01-01"},
    }
    event = {
        "action_name": "click",
        "timestamp": "2024-05-03T10:15:31Z",
        "client_id": "CLIENT-1",
        "event_attributes": {"object": target},
    }
    dearer = {**target, "object_detail": {"price": 30}}
    events = [{**event, "session_id": str(n)} for n in range(3)]
    events.append({**event, "event_attributes": {"object": dearer}})
    assert shop.post("/ubi/events", json=events).json()["taken"] == {"accepted": 4}
    fields = shop.get("/v1/shop/items/item1").json()["fields"]
    assert (fields["price"], fields["color"], fields["title"]) == (30, None, None)
    head = service.loops["shop"].head
    again = {**event, "session_id": "4", "event_attributes": {"object": dearer}}
    shop.post("/ubi/events", json=again)
    assert service.loops["shop"].head == head + 1  # what was known is not stored again


def test_every_extractor_of_the_page_is_a_definition():
    definitions = re.findall(r"`(\{ [^`]* \})`", PAGE.read_text(encoding="utf-8"))
    assert len(definitions) >= 17
    features = {"price": {"number": "item.price"}}
    for number, text in enumerate(definitions):
        features[f"f{number}"] = tomllib.loads(f"value = {text}")["value"]
    read = Definitions.read(FIELDS, features)
    assert len(read.features) == len(features)
