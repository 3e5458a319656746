"""Requests from Metarank's documentation, to a loop that computes features; and its extractors."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rankloop.cli.app import app
from rankloop.exceptions import DataError
from rankloop.features.definitions import Definitions
from rankloop.feedback.metarank_settings import translate_metarank
from rankloop.serving.settings.service import as_settings

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


CONFIGURATION = """
interactions: [{name: click, weight: 1}]
features:
  - {name: price, type: number, scope: item, source: item.price, ttl: 60d, refresh: 1h}
  - {name: age, type: number, scope: user, field: user.age}
  - {name: bm25, type: number, scope: item, field: ranking.bm25}
  - {name: sale, type: boolean, scope: item, field: item.sale}
  - {name: genre, type: string, encode: onehot, source: metadata.genres, values: [drama, war]}
  - {name: brand, type: string, encode: index, source: item.brand}
  - {name: length, type: word_count, field: item.title}
  - {name: n_genres, type: list_size, source: item, field: genres}
  - {name: cheap, type: relative_number, source: item, field: price, method: {type: log_minmax}}
  - {name: als, type: vector, field: item.als, reduce: [vector10]}
  - {name: sizes, type: vector, field: item.sizes}
  - {name: fresh, type: item_age, source: item.created_at}
  - {name: hour, type: local_time, parse: time_of_day, source: ranking.localts}
  - {name: month, type: local_time, parse: month_of_year, source: ranking.localts}
  - {name: clicks, type: interaction_count, interaction: click, scope: session}
  - {name: weeks, type: window_count, interaction: click, scope: item, bucket_size: 24h,
     windows: [7, 14]}
  - {name: ctr, type: rate, top: click, bottom: impression, scope: item, bucket: 24h,
     periods: [7], normalize: {weight: 10}}
  - {name: liked, type: interacted_with, interaction: click, field: [item.genres, item.color],
     scope: user}
  - {name: title_match, type: field_match, itemField: item.title, rankingField: ranking.query,
     method: {type: ngram, language: en, n: 3}}
  - {name: meaning, type: field_match, itemField: item.title, rankingField: ranking.query,
     method: {type: transformer, model: some, dim: 384}}
  - {name: price_diff, type: diversity, source: item.price, top: 10}
  - {name: color_diff, type: diversity, source: item.color}
  - {name: relevancy, type: relevancy}
  - {name: position, type: position, position: 5}
  - {name: platform, type: ua, source: ranking.ua, field: platform}
  - {name: odd, type: unheard_of}
"""
TRANSLATED = {
    "price": {"number": "item.price"},
    "age": {"number": "user.age"},
    "bm25": {"given": "number"},
    "sale": {"boolean": "item.sale"},
    "genre": {"categories": "item.genres", "limit": 2},
    "brand": {"category": "item.brand"},
    "length": {"words": "item.title"},
    "n_genres": {"size": "item.genres"},
    "cheap as it is": {"number": "item.price"},
    "cheap": {"relative": "cheap as it is", "by": "rank"},
    "als": {"vector": "item.als"},
    "fresh": {"age": "item.created_at"},
    "hour": {"clock": "hour"},
    "clicks": {"count": "click", "per": ["session"]},
    "weeks_7": {"count": "click", "per": ["item"], "window": "7d"},
    "weeks_14": {"count": "click", "per": ["item"], "window": "14d"},
    "ctr_7": {"rate": "click", "of": "impression", "per": ["item"], "window": "7d"},
    "liked_genres": {"affinity": "item.genres", "to": "click", "per": "user"},
    "liked_color": {"affinity": "item.color", "to": "click", "per": "user"},
    "title_match": {"match": ["request.query", "item.title"], "by": "ngrams"},
    "price_diff": {"relative": "price", "by": "above_middle"},
    "color_diff": {"diversity": "item.color", "top": 10},
    "relevancy": {"given": "number"},
}


def test_a_configuration_is_translated_and_what_is_left_out_is_named(tmp_path):
    source, out = tmp_path / "config.yml", tmp_path / "shop.toml"
    source.write_text(CONFIGURATION)
    shown = CliRunner().invoke(app, ["init", "--metarank", str(source), "-o", str(out)])
    assert shown.exit_code == 0, shown.output
    settings = tomllib.loads(out.read_text())
    loop = settings["loops"]["default"]
    assert loop["features"] == TRANSLATED
    assert loop["feedback"] == {"click": 1}
    as_settings(settings).loops["default"].check()
    for name in ("sizes", "month", "meaning", "position", "platform", "odd"):
        assert f"left out: feature {name}, " in shown.output


def test_a_configuration_with_models_has_a_loop_for_each(tmp_path):
    extractors = [
        {"name": "price", "type": "number", "source": "item.price"},
        {"name": "sale", "type": "boolean", "source": "item.sale"},
        {"name": "title", "type": "string", "source": "item.title"},
        {"name": "words", "type": "word_count", "source": "item.title"},
    ]
    models = {
        "one": {"type": "lambdamart", "weights": {"click": 2}, "features": ["price", "title"]},
        "two": {"type": "lambdamart", "weights": {"buy": 1}, "features": ["title", "words"]},
        "no": {"type": "noop"},
    }
    source = tmp_path / "config.json"
    source.write_text(json.dumps({"features": extractors, "models": models, "api": {}}))
    loops = translate_metarank(source)
    assert {name: list(loop.features) for name, loop in loops.items()} == {
        "one": ["price", "title"],
        "two": ["title"],
    }
    assert loops["one"].feedback == {"click": 2.0}
    assert "left out: model no, of the type noop" in loops["one"].notes
    assert "send it under two names" in " ".join(loops["two"].notes)
    for text, words in (("[1]", "an object"), ("{}", "no list of features"), ("a: [", "YAML")):
        source.write_text(text)
        with pytest.raises(DataError, match=words):
            translate_metarank(source)
