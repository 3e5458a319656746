"""Programs that speak to Metarank, spoken to in its own words."""

from __future__ import annotations

import json

import pytest

from .test_routes import start  # noqa: F401
from .tools import until

RANKING = {
    "id": "81f46c34",
    "timestamp": "1599391467000",
    "user": "user1",
    "session": "session1",
    "fields": [{"name": "query", "value": "jeans"}, {"name": "price", "value": 3}],
    "items": [
        {
            "id": "item3",
            "fields": [{"name": "match", "value": 2.0}, {"name": "colour", "value": "x"}],
        },
        {"id": "item1", "fields": [{"name": "match", "value": 1.0}]},
        {
            "id": "item2",
            "fields": [{"name": "match", "value": 0.5}, {"name": "price", "value": True}],
        },
    ],
}
CLICK = {
    "event": "interaction",
    "id": "0f4c0036",
    "ranking": "81f46c34",
    "timestamp": "1599391467000",
    "user": "user1",
    "type": "purchase",
    "item": "item1",
    "fields": [{"name": "count", "value": 1}],
}


def test_a_question_is_ranked_and_an_interaction_learnt(start):  # noqa: F811
    service, shop = start(window=0.1)
    form = {"content-type": "application/x-www-form-urlencoded"}  # as curl sends it
    found = shop.post("/rank/shop?explain=true", content=json.dumps(RANKING), headers=form).json()
    assert [place["item"] for place in found["items"]] == ["item3", "item1", "item2"]
    features = {p["item"]: {f["name"]: f["value"] for f in p["features"]} for p in found["items"]}
    assert features["item3"] == {"price": 3, "match": 2.0}
    assert features["item2"] == {"price": 1, "match": 0.5}
    kept = shop.get("/v1/shop/rankings/81f46c34").json()
    assert kept["ranking_id"] == "81f46c34"
    told = shop.post("/feedback", content=json.dumps(CLICK), headers=form).json()
    assert (told["accepted"], told["status"], told["statuses"]) == (1, "ok", {"applied": 1})
    again = shop.post("/feedback", json=[CLICK, {**CLICK, "id": "other", "item": "not shown"}])
    assert again.json()["statuses"] == {"duplicate": 1, "rejected": 1}
    loop = service.loops["shop"]
    until(lambda: loop.published.totals.examples)
    assert loop.published.totals.examples == 1
    assert "features" not in shop.post("/rank/shop", json={**RANKING, "id": "b"}).json()["items"][0]


def test_events_that_teach_nothing_are_counted(start):  # noqa: F811
    _, shop = start()
    shop.post("/rank/shop", json=RANKING)
    events = [
        {"event": "ranking", **RANKING},
        {"event": "item", "id": "1", "item": "item1", "timestamp": 1},
        {"event": "user", "id": "2", "user": "user1", "timestamp": 1},
        {**CLICK, "ranking": None},
        {"event": "ranking", "id": "elsewhere", "items": [{"id": "a"}, {"id": "b"}]},
        {"event": "ranking", **RANKING, "id": "logged"},
        {**CLICK, "id": "late", "ranking": "logged"},
    ]
    found = shop.post("/feedback", json=events).json()
    assert found["statuses"] == {
        "ranking known": 1,
        "item left alone": 1,
        "user left alone": 1,
        "interaction left alone": 1,
        "ranking without features": 1,
        "accepted": 1,
        "applied": 1,
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        ("/rank/shop", "{", 400, "not JSON"),
        ("/rank/shop", '{"id": "r"}', 422, "items"),
        ("/rank/other", json.dumps(RANKING), 404, "no loop"),
        ("/rank/shop", '{"id": "r", "items": [{"id": "a"}]}', 422, "has no value for the feature"),
        ("/rank/shop", '{"id": "r", "items": []}', 422, "at least one"),
        ("/feedback", '{"event": "interaction"}', 422, "id"),
        ("/feedback", json.dumps([CLICK] * 10_001), 422, "at most"),
    ],
)
def test_what_is_wrong_is_said(start, path, body, status, words):  # noqa: F811
    found = start()[1].post(path, content=body)
    assert (found.status_code, words in found.json()["detail"]) == (status, True), found.json()
