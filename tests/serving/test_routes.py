"""Every route: what it answers, and what it says of requests that cannot be right."""

from __future__ import annotations

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import msgspec
import numpy as np
import pytest

from rankloop.serving.journal.base import CompactedError, UnreachableError
from rankloop.serving.routes.openapi import document
from rankloop.serving.service import Service
from rankloop.serving.settings.service import as_settings

from .tools import running, until

RANK, FEEDBACK = "/v1/shop/rank", "/v1/shop/feedback"


def starter(folder, stack):
    def make(server=None, tokens=(), **loop):
        values = {"features": ["price", "match"], "rankers": ["solar-i", "slam:measure=AP"]}
        values |= {"journal": str(folder / "shop.journal"), "window": 3600} | loop
        plain = {"loops": {"shop": values}, "server": server or {}, "tokens": list(tokens)}
        service = Service.start(as_settings(plain))
        stack.callback(service.stop)
        return service, stack.enter_context(running(service))

    return make


@pytest.fixture
def start(tmp_path):
    with ExitStack() as stack:
        yield starter(tmp_path, stack)


@pytest.fixture
def shop(start):
    return start()[1]


@pytest.fixture(scope="module")
def still(tmp_path_factory):
    """A service of which tests ask only what it refuses."""
    with ExitStack() as stack:
        yield starter(tmp_path_factory.mktemp("still"), stack)({"max_bytes": 200_000})[1]


ITEMS = [{"id": "a", "features": [1.0, 0.5]}, {"id": "b", "features": {"match": 1, "price": 0}}]


def test_from_ranking_to_learning(start):
    service, shop = start()
    ranked = shop.post(RANK, json={"id": "r1", "query": "shoes", "items": ITEMS}).json()
    assert [item["id"] for item in ranked["items"]] == ["a", "b"]
    assert ranked["items"][0] == {"id": "a", "rank": 1, "score": 0.0}
    assert (ranked["ranking_id"], ranked["model"], ranked["policy"]) == (
        "r1",
        "solar-i",
        "best-first",
    )
    told = shop.post(FEEDBACK, json={"events": [{"ranking_id": "r1", "item": "b"}]}).json()
    assert told["events"][0]["status"] == "applied"
    judged = shop.post("/v1/shop/judgements", json={"ranking_id": "r1", "grades": {"a": 0, "b": 3}})
    position = judged.json()["position"]
    assert judged.json()["status"] == "applied"
    better = shop.post(RANK, json={"items": ITEMS, "min_version": position, "explain": True}).json()
    assert [item["id"] for item in better["items"]] == ["b", "a"]
    assert better["model_version"] == position
    top = better["items"][0]
    assert top["contributions"].keys() == {"price", "match"}
    assert top["contributions"]["match"] > 0
    state = shop.get("/v1/shop").json()
    assert state["totals"]["judgements"] == 1
    assert [m["name"] for m in state["models"] if m["champion"]] == ["solar-i"]
    assert service.loops["shop"].published.totals.examples == 1


def test_the_same_question_under_one_id_gets_the_same_answer(shop):
    body = {"id": "r1", "items": ITEMS, "k": 1}
    first = shop.post(RANK, json=body).json()
    shop.post("/v1/shop/judgements", json={"ranking_id": "r1", "grades": {"a": 0, "b": 3}})
    assert shop.post(RANK, json=body).json() == first
    assert shop.get("/v1/shop/rankings/r1").json() == first
    other = shop.post(RANK, json=body | {"items": ITEMS[:1]})
    assert other.status_code == 409
    assert "'r1' already exists with other items" in other.json()["detail"]


def test_packed_candidates_are_ranked_alike(shop):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 2)).astype(np.float32)
    ids = [f"d{n}" for n in range(5)]
    items = [{"id": i, "features": row} for i, row in zip(ids, X.tolist(), strict=True)]
    first = shop.post(RANK, json={"id": "one", "items": items}).json()
    grades = {"d1": 1, "d3": 0}
    shop.post("/v1/shop/judgements", json={"ranking_id": "one", "grades": grades})
    plain = shop.post(RANK, json={"items": items, "min_version": 3}).json()
    body = msgspec.msgpack.encode({"items": ids, "features": X.tobytes(), "min_version": 3})
    headers = {"content-type": "application/msgpack"}
    packed = shop.post(RANK, content=body, headers=headers).json()
    assert packed["items"] == plain["items"] != first["items"]
    short = msgspec.msgpack.encode({"items": ids, "features": b"1234"})
    assert (
        "features has 4 bytes" in shop.post(RANK, content=short, headers=headers).json()["detail"]
    )


@pytest.mark.parametrize(
    ("items", "words"),
    [
        ([], "items: found none"),
        ([{"id": "a", "features": [1]}], "'a' has 1 features; this loop has 2: price, match"),
        ([{"id": "a", "features": {"price": 1}}], "'a' has no value for the feature 'match'"),
        ([{"id": "a", "features": {"price": 1, "match": 1, "x": 1}}], "an unknown feature 'x'"),
        ([{"id": "a", "features": [1e39, 1]}], "feature 'price' of item 'a' is inf"),
        (
            [{"id": "a", "features": ["1", 1]}],
            "items[0]: feature 'price' of item 'a' is \"1\", expected a number; send one",
        ),
        (
            [{"id": "a", "features": {"price": 1, "match": 1, "brand": "Acme"}}],
            "item 'a' has an unknown feature 'brand'; leave it out",
        ),
        (
            [{"id": "a", "features": {"price": None, "match": 1}}],
            "feature 'price' of item 'a' is null, expected a number; send one, or leave it out",
        ),
        ([{"id": "a", "features": "1, 2"}], "the features of item 'a' are neither 2 numbers nor"),
        ([{"id": "", "features": [1, 1]}], "items[0].id: expected `str` of length >= 1"),
        ([{"id": "a\0", "features": [1, 1]}], "is not printable text"),
        ([{"id": "a", "features": [1, 1], "x": 1}], "items[0]: object contains unknown field `x`"),
        ([{"id": "a", "features": [1, 1]}] * 2, "item 'a' occurs twice"),
        ([{"id": str(n), "features": [1, 1]} for n in range(1001)], "at most 1,000"),
        ([None], "items[0]: expected `str | object`, got `null`"),
    ],
)
def test_candidates_that_cannot_be_right(still, items, words):
    answer = still.post(RANK, json={"items": items})
    assert answer.status_code == 422
    assert answer.headers["content-type"] == "application/problem+json"
    assert words in answer.json()["detail"]
    assert still.get("/v1/shop").json()["position"] == 1  # nothing was journaled


def test_an_unknown_field_of_a_request_is_answered_with_the_known_ones(still):
    said = still.post(RANK, json={"ids": ["a"]}).json()["detail"]
    assert said.startswith("the body: object contains unknown field `ids`; it may have ")
    assert " items," in said


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b"{", "application/json", 400),
        (b"[" * 100_000, "application/json", 422),
        (b'{"items": ' + b"[" * 100_000, "application/json", 422),
        (b'{"items": [NaN]}', "application/json", 400),
        (b"\xff", "application/json", 400),
        (b"{}", "application/json", 422),
        (b"{}", "text/plain", 415),
        (b" " * 200_001, "application/json", 413),
        (b"\xc1", "application/msgpack", 400),
    ],
)
def test_bodies_that_cannot_be_read(still, content, kind, status):
    answer = still.post(RANK, content=content, headers={"content-type": kind})
    assert answer.status_code == status
    assert answer.json()["status"] == status
    assert answer.json()["detail"]


def test_a_long_body_in_pieces_is_refused(start):
    _, shop = start(server={"max_bytes": 1000})
    answer = shop.post(RANK, content=(b" " * 100 for _ in range(100)))
    assert answer.status_code == 413


def test_events_and_what_becomes_of_them(shop):
    shop.post(RANK, json={"id": "r1", "items": ITEMS})
    click = {"event_id": "e1", "ranking_id": "r1", "item": "a"}
    events = [click, click, click | {"event_id": "e2", "item": "zzz"}]
    events.append({"event_id": "e3", "ranking_id": "later", "item": "a"})
    answer = shop.post(FEEDBACK, json={"events": events})
    assert answer.status_code == 200
    statuses = [event["status"] for event in answer.json()["events"]]
    assert statuses == ["applied", "duplicate", "rejected", "pending"]
    other = shop.post(FEEDBACK, json={"events": [click | {"type": "cart"}, click]})
    assert other.status_code == 409
    assert [event["status"] for event in other.json()["events"]] == ["conflict", "duplicate"]
    metrics = shop.get("/metrics").text
    assert 'rankloop_events_total{loop="shop",status="duplicate"} 2.0' in metrics
    assert 'rankloop_open_rankings{loop="shop"} 1.0' in metrics


def test_the_same_again_in_another_order_is_a_duplicate(shop):
    shop.post(RANK, json={"id": "r1", "items": ITEMS})
    packed = {"id": "r1", "items": ["a", "b"], "features": np.float32([1, 0.5, 0, 1]).tobytes()}
    kind = {"content-type": "application/msgpack"}
    again = shop.post(RANK, content=msgspec.msgpack.encode(packed), headers=kind)
    assert again.status_code == 200
    judged = {"event_id": "j1", "ranking_id": "r1", "grades": {"a": 0, "b": 3.0}}
    turned = dict(reversed(judged.items())) | {"grades": {"b": 3, "a": 0.0}}
    sent = [shop.post("/v1/shop/judgements", json=body) for body in (judged, turned)]
    assert [answer.json()["status"] for answer in sent] == ["applied", "duplicate"]
    other = judged | {"grades": {"b": 3, "a": 1}}
    assert shop.post("/v1/shop/judgements", json=other).status_code == 409
    click = {"event_id": "e1", "ranking_id": "r1", "item": "a", "value": 2, "timestamp": 5}
    turned = dict(reversed(click.items())) | {"value": 2.0, "timestamp": 5.0, "type": "click"}
    found = shop.post(FEEDBACK, json={"events": [click, turned]}).json()["events"]
    assert [event["status"] for event in found] == ["applied", "duplicate"]


def test_feedback_may_bring_its_ranking(start):
    service, shop = start(window=0)
    body = {
        "rankings": [{"ranking_id": "logged", "items": ITEMS}],
        "events": [{"ranking_id": "logged", "item": "b", "type": "purchase"}],
    }
    assert shop.post(FEEDBACK, json=body).json()["events"][0]["status"] == "applied"
    loop = service.loops["shop"]
    until(lambda: loop.published.totals.examples)
    assert loop.published.totals.examples == 1
    assert loop.published.shown.mean < 1  # the purchase was on the second place


@pytest.mark.slow
def test_an_act_is_answered_once_it_took_effect(start):
    service, shop = start()
    loop = service.loops["shop"]
    file = loop.inspect(lambda engine: engine.models["solar-i"].ranker.dumps())
    with ThreadPoolExecutor(1) as elsewhere:
        with loop._learning.lock:  # the learning thread is behind
            added = elsewhere.submit(shop.post, "/v1/shop/models/mine", content=file)
            with pytest.raises(TimeoutError):
                added.result(0.3)
        assert added.result(60).json()["status"] == "accepted"
    assert "mine" in loop.published.models


@pytest.mark.slow
def test_operators_promote_roll_back_and_experiment(start):
    service, shop = start()
    loop = service.loops["shop"]
    shop.post(RANK, json={"id": "r1", "items": ITEMS})
    shop.post("/v1/shop/judgements", json={"ranking_id": "r1", "grades": {"a": 0, "b": 1}})
    loop.settle()
    learnt = loop.published.models["solar-i"].digest()
    file = loop._engine.models["solar-i"].ranker.dumps()
    assert shop.post("/v1/shop/models/mine", content=file).json()["status"] == "accepted"
    assert shop.post("/v1/shop/models/mine", content=file).json()["status"] == "duplicate"
    assert "not a model file" in shop.post("/v1/shop/models/x", content=b"?").json()["detail"]
    act = {"model": "mine", "id": "p1", "reason": "it is better"}
    assert shop.post("/v1/shop/promote", json=act).json()["id"] == "p1"
    assert shop.post("/v1/shop/promote", json={"model": "none"}).status_code == 404
    loop.settle()
    assert loop.published.champion == "mine"
    with loop.reader() as journal:
        promoted = journal.find("action:p1").entry
    assert (promoted.reason, promoted.by) == ("it is better", "anyone")

    begun = shop.post("/v1/shop/experiments", json={"challengers": ["solar-i"], "id": "x1"})
    assert begun.json()["status"] == "accepted"
    loop.settle()
    shown = shop.post(RANK, json={"items": ITEMS}).json()
    assert shown["policy"] == "team-draft"
    assert shown["experiment"] == "x1"
    assert shop.get("/v1/shop").json()["experiment"]["challengers"][0]["name"] == "solar-i"
    again = shop.post("/v1/shop/experiments", json={"challengers": ["solar-i"]})
    assert again.status_code == 409
    assert shop.post("/v1/shop/experiments/x1/end", json={}).json()["status"] == "accepted"
    loop.settle()
    assert loop.published.experiment is None

    shop.post(
        "/v1/shop/judgements",
        json={"ranking_id": "r1", "grades": {"a": 1, "b": 0}, "event_id": "bad-1"},
    )
    loop.settle()
    assert loop.published.models["solar-i"].digest() != learnt
    wrong = shop.post("/v1/shop/rollback", json={})
    assert "either position or without_events" in wrong.json()["detail"]
    done = shop.post("/v1/shop/rollback", json={"without_events": ["bad-*"], "id": "q1"})
    assert done.json()["status"] == "accepted"
    loop.settle()
    assert loop.published.models["solar-i"].digest() == learnt
    assert loop.published.champion == "mine"
    shop.post("/v1/shop/rollback", json={"position": 2})
    loop.settle()
    assert loop.published.champion == "solar-i"
    assert loop.published.models["solar-i"].digest() != learnt
    assert shop.post("/v1/shop/rollback", json={"position": 999}).status_code == 422


@pytest.mark.slow
def test_an_experiment_starts_although_nobody_can_say_how_long_it_takes(start, monkeypatch):
    _, shop = start()

    def is_compacted(*_):
        raise CompactedError("entry 1 was compacted and is only in the archive")

    monkeypatch.setattr("rankloop.serving.routes.experiments.estimate_traffic", is_compacted)
    assert shop.get("/v1/shop/experiments").json()["next"]["rankings_per_day"] is None
    begun = shop.post("/v1/shop/experiments", json={"challengers": ["slam:measure=AP"]})
    assert begun.json()["status"] == "accepted"
    assert begun.json()["forecast"]["durations"][0]["outcomes"] > 0


@pytest.mark.slow
def test_scopes(start):
    def token(name, *scopes):
        digest = hashlib.sha256(name.encode()).hexdigest()
        return {"name": name, "sha256": digest, "scopes": list(scopes)}

    tokens = [token("web", "rank", "feedback"), token("boss", "admin", "metrics")]
    service, shop = start(tokens=tokens)
    for endpoint in service.endpoints:
        path = endpoint.path.replace("{loop}", "shop").replace("{id}", "x").replace("{name}", "x")
        bare = shop.request(endpoint.method, path, json={})
        wrong = shop.request(endpoint.method, path, json={}, headers={"authorization": "Bearer x"})
        if endpoint.scope is None:
            assert bare.status_code == wrong.status_code
            assert bare.status_code in (200, 404)
            continue
        assert bare.status_code == wrong.status_code == 401
        other = "boss" if endpoint.scope in ("rank", "feedback") else "web"
        headers = {"authorization": f"Bearer {other}"}
        assert shop.request(endpoint.method, path, json={}, headers=headers).status_code == 403
        right = {"boss": "web", "web": "boss"}[other]
        headers = {"authorization": f"Bearer {right}"}
        with shop.stream(endpoint.method, path, json={}, headers=headers) as answer:
            assert answer.status_code in (200, 404, 422)
    assert service.loops["shop"].head == 1  # of all these requests, none was journaled


def test_what_is_not_there(shop):
    assert "there are: shop" in shop.post("/v1/x/rank", json={"items": ITEMS}).json()["detail"]
    assert shop.get("/nothing").status_code == 404
    assert shop.get("/nothing").headers["content-type"] == "application/problem+json"
    assert shop.get(RANK).status_code == 405
    assert shop.get("/v1/shop/rankings/x").status_code == 404
    assert shop.get("/livez").json() == {"status": "alive"}
    assert shop.get("/readyz").json() == {"status": "ready"}


def test_the_document_names_every_route(start):
    service, shop = start()
    found = shop.get("/openapi.json").json()
    assert found == document(service.endpoints, ["shop"], tokens=False)
    assert found["openapi"] == "3.1.0"
    for endpoint in service.endpoints:
        operation = found["paths"][endpoint.path][endpoint.method.lower()]
        assert "security" not in operation  # there are no tokens
        assert ("requestBody" in operation) == (endpoint.body is not None or endpoint.raw)
    assert "RankRequest" in found["components"]["schemas"]


def test_a_fault_is_told_and_asks_to_come_again(start):
    service, shop = start()
    loop = service.loops["shop"]

    def full(*_):
        raise UnreachableError("shop.journal: database or disk is full")

    append, loop._journal.append = loop._journal.append, full
    answer = shop.post(RANK, json={"id": "r1", "items": ITEMS})
    assert answer.status_code == 503
    assert answer.headers["retry-after"] == "1"
    assert "disk is full" in answer.json()["detail"]
    loop._journal.append = append
    assert shop.post(RANK, json={"id": "r1", "items": ITEMS}).status_code == 200


def test_ubi_as_it_is(shop):
    shop.post(RANK, json={"id": "q1", "items": ITEMS})
    click = {
        "action_name": "click",
        "query_id": "q1",
        "timestamp": "2026-01-01T00:00:00Z",
        "message": None,
        "event_attributes": {"position": {}, "object": {"object_id": "b", "name": "shoe"}},
    }
    again = dict(reversed(click.items()))  # the same, written in another order
    astray = click | {"event_attributes": {"object": {"object_id": "zzz"}}}
    bare = {"action_name": "scroll", "timestamp": "now"}
    found = shop.post("/ubi/events", json=[click, again, astray, bare]).json()["taken"]
    expected = {"applied": 1, "duplicate": 1, "rejected": 1, "without query_id or object_id": 1}
    assert found == expected
    lines = "\n".join(json.dumps(one) for one in (click, click | {"action_name": "cart"}))
    found = shop.post("/ubi/events", content=lines).json()["taken"]
    assert found == {"duplicate": 1, "applied": 1}
    query = {"user_query": "shoes", "query_id": "q1", "query_response_hit_ids": ["a", "b"]}
    queries = [query, query | {"query_id": "other"}]
    taken = shop.post("/ubi/queries", json=queries).json()["taken"]
    assert taken == {"joined": 1, "unknown_ranking": 1}
    pretty = json.dumps(query, indent=2)
    assert shop.post("/ubi/queries", content=pretty).json()["taken"] == {"joined": 1}
    assert shop.post("/ubi/queries", content="[{]").status_code == 400
    assert shop.post("/ubi/events", json=[{"timestamp": 1}]).status_code == 422


def test_ubi_may_have_large_numbers_and_deep_lists(shop):
    shop.post(RANK, json={"id": "q1", "items": ITEMS})
    place = {"object": {"object_id": "b"}, "x": 10**30}
    click = {"action_name": "click", "query_id": "q1", "event_attributes": place}
    other = click | {"event_attributes": place | {"x": 10**30 + 1}}
    found = shop.post("/ubi/events", json=[click, click, other]).json()["taken"]
    assert found == {"applied": 2, "duplicate": 1}
    text = json.dumps(click).replace(str(10**30), "[" * 600 + "]" * 600)
    deep = shop.post("/ubi/events", content=text)
    assert deep.status_code == 400
    assert "object 1: it is nested too deeply" in deep.json()["detail"]


def test_an_apprentice_shows_the_callers_order(start):
    service, shop = start(policy="apprentice")
    shop.post("/v1/shop/judgements", json={"ranking_id": "r1", "grades": {"a": 0, "b": 1}})
    for n in range(3):
        shown = shop.post(RANK, json={"id": f"r{n}", "items": ITEMS}).json()
        assert [item["id"] for item in shown["items"]] == ["a", "b"]
        shop.post("/v1/shop/judgements", json={"ranking_id": f"r{n}", "grades": {"a": 0, "b": 1}})
        service.loops["shop"].settle()
    state = shop.get("/v1/shop").json()
    assert state["shown"]["mean"] < state["models"][0]["quality"]["mean"]
    assert state["totals"]["agreed"] < 3


def test_exploration_says_how_likely_each_place_was(start):
    _, shop = start(policy="plackett-luce", explore_top=1)
    firsts = set()
    for n in range(30):
        body = {"id": f"r{n}", "items": [*ITEMS, {"id": "c", "features": [1, 1]}]}
        items = shop.post(RANK, json=body).json()["items"]
        firsts.add(items[0]["id"])
        assert [item["propensity"] for item in items] == [pytest.approx(1 / 3), 1, 1]
    assert firsts == {"a", "b", "c"}


def test_null_for_a_feature_with_a_default_is_explained(start):
    _, shop = start(defaults={"price": 4})
    for features, more in (({"price": None, "match": 1}, ""), ([None, 1], " (then send features")):
        answer = shop.post(RANK, json={"items": [{"id": "a", "features": features}]})
        assert answer.status_code == 422
        words = "items[0]: feature 'price' of item 'a' is null, expected a number; leave it out to"
        assert f"{words} use its default{more}" in answer.json()["detail"]


def test_feedback_of_an_unknown_type_is_rejected(shop):
    shop.post(RANK, json={"id": "r1", "items": ITEMS})
    event = {"ranking_id": "r1", "item": "b"}
    events = [{**event, "type": "buy", "event_id": "e1"}, event, {**event, "type": "skip"}]
    answers = shop.post(FEEDBACK, json={"events": events}).json()["events"]
    assert [one["status"] for one in answers] == ["rejected", "applied", "applied"]
    assert "found 'buy', expected one of click, cart, purchase, skip" in answers[0]["detail"]
    assert answers[0].keys() == {"event_id", "status", "detail"}
    again = shop.post(FEEDBACK, json={"events": events[:1]}).json()["events"]
    assert again == answers[:1]
    again = shop.post(FEEDBACK, json={"events": [{**event, "event_id": "e1"}]}).json()["events"]
    assert again[0]["status"] == "applied"  # what was rejected was not stored
