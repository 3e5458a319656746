"""Loops that compute features: a catalogue and clicks, and nothing else."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from msgspec import structs

import rankloop as rl
from rankloop.rankers.wrappers.described import Described
from rankloop.serving.journal.base import make_row
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.operations import verify
from rankloop.serving.operations.features import check_features
from rankloop.serving.service import Service
from rankloop.serving.settings.service import as_settings

from .shop import FEATURES, catalogue, shop_settings
from .tools import Clock, running, until


@pytest.fixture
def start(tmp_path):
    """Start a shop; all that is started stops at the end."""
    started, clock = [], Clock()

    def run(**changes):
        loop = shop_settings(journal=str(tmp_path / "shop.journal"), **{"window": 60.0, **changes})
        service = Service.start(as_settings({"loops": {"shop": loop}}), clock=clock)
        context = running(service)
        client = context.__enter__()
        started.append((service, context))
        return service, client

    run.clock = clock

    def stop():
        while started:
            service, context = started.pop()
            context.__exit__(None, None, None)
            service.stop()

    run.stop = stop
    yield run
    stop()


IDS = [f"i{k}" for k in range(6)]


def test_ids_are_enough_and_clicks_change_what_is_computed_at_once(start):
    service, shop = start()
    put = shop.put("/v1/shop/items", json=catalogue())
    assert put.status_code == 200, put.text
    assert put.json()["changed"] == 12
    asked = {"items": IDS, "query": "red shoes", "user": "anna", "fields": {"device": "phone"}}
    first = shop.post("/v1/shop/rank", json=asked)
    assert first.status_code == 200, first.text
    ranking = first.json()
    assert {item["id"] for item in ranking["items"]} == set(IDS)
    loop = service.loops["shop"]
    entry = loop.find_ranking(ranking["ranking_id"]).entry
    X, names = entry.matrix(), loop.published.settings.names
    column = dict(zip(names, X.T.tolist(), strict=True))
    assert column["price"][1:5] == [11, 12, 13, 14]
    assert column["price"][0] != column["price"][0]  # missing
    assert column["sale"] == [1, 0, 1, 0, 1, 0]
    assert column["brand"] == [0, 1, 2, 0, 1, 2]
    click = {"ranking_id": ranking["ranking_id"], "item": "i3", "event_id": "c1"}
    sent = shop.post("/v1/shop/feedback", json={"events": [click, click]}).json()["events"]
    assert [event["status"] for event in sent] == ["applied", "duplicate"]
    second = shop.post("/v1/shop/rank", json=asked).json()
    X = loop.find_ranking(second["ranking_id"]).entry.matrix()
    ctr = dict(zip(names, X.T.tolist(), strict=True))["ctr"]
    assert ctr[3] > max(ctr[:3])
    start.clock.now += 61
    until(lambda: loop.published.totals.examples == 1)


@pytest.mark.parametrize(
    ("method", "path", "body", "words"),
    [
        ("PUT", "items", [{"id": "a", "fields": {"price": "dear"}}], "item 'a'"),
        ("PUT", "items", [{"id": "a", "fields": {"colour": "red"}}], "unknown field 'colour'"),
        ("PATCH", "users", [{"id": "u", "fields": {"age": 3}}], "unknown field 'age'"),
        ("PUT", "items", [], "found none"),
        ("POST", "rank", {"items": ["a"], "fields": {"colour": "red"}}, "unknown field 'colour'"),
        ("POST", "rank", {"items": ["a"], "fields": {"device": [1]}}, "device"),
        (
            "POST",
            "rank",
            {"items": [{"id": "a", "features": {"price": 3}}]},
            "callers do not send",
        ),
        ("POST", "rank", {"items": [{"id": "a", "features": {"bm25": "x"}}]}, "expected a number"),
        ("POST", "rank", {"items": ["a", "a"]}, "occurs twice"),
        ("POST", "rank", {"items": []}, "found none"),
    ],
)
def test_what_does_not_fit_is_named_and_nothing_changes(still, method, path, body, words):
    service, shop = still
    head = service.loops["shop"].head
    answer = shop.request(method, f"/v1/shop/{path}", json=body)
    assert (answer.status_code, words in answer.json()["detail"]) == (422, True), answer.text
    assert service.loops["shop"].head == head


@pytest.fixture(scope="module")
def still(tmp_path_factory):
    """A shop of which tests ask only what it refuses."""
    loop = shop_settings(journal=str(tmp_path_factory.mktemp("still") / "shop.journal"))
    service = Service.start(as_settings({"loops": {"shop": loop}}))
    with running(service) as client:
        yield service, client
    service.stop()


def matrix_of(service, ranking_id):
    loop = service.loops["shop"]
    X = loop.find_ranking(ranking_id).entry.matrix()
    return dict(zip(loop.published.settings.names, X.T.tolist(), strict=True))


def test_items_are_patched_deleted_and_shown(start):
    _, shop = start()
    lines = "\n".join(json.dumps(item) for item in catalogue())
    assert shop.put("/v1/shop/items", content=lines).json()["changed"] == 12
    key = {"idempotency-key": "once"}
    patch = [{"id": "i1", "fields": {"price": 99}}]
    assert shop.patch("/v1/shop/items", json=patch, headers=key).json()["status"] == "accepted"
    assert shop.patch("/v1/shop/items", json=patch, headers=key).json()["status"] == "duplicate"
    other = [{"id": "i2", "fields": {}}]
    assert shop.patch("/v1/shop/items", json=other, headers=key).status_code == 409
    known = shop.get("/v1/shop/items/i1").json()
    assert (known["fields"]["price"], known["fields"]["brand"]) == (99, "best")
    assert shop.request("DELETE", "/v1/shop/items", json=["i1", {"id": "i2"}]).status_code == 200
    assert shop.get("/v1/shop/items/i1").status_code == 404
    shop.put("/v1/shop/users", json=[{"id": "anna", "fields": {"country": "ch"}}])
    assert shop.get("/v1/shop/users/anna").json()["fields"] == {"country": "ch"}


def test_own_features_context_and_retries(start):
    service, shop = start()
    shop.put("/v1/shop/items", json=catalogue())
    items = [{"id": "i0", "features": {"bm25": 2.5}}, {"id": "i1", "features": [None]}, "i2"]
    asked = {"id": "r", "items": items}
    first = shop.post("/v1/shop/rank", json=asked).json()
    assert str(matrix_of(service, "r")["bm25"]) == "[2.5, nan, nan]"
    shop.post("/v1/shop/feedback", json={"events": [{"ranking_id": "r", "item": "i2"}]})
    again = shop.post("/v1/shop/rank", json=asked).json()  # by now, features would be others
    assert again == first
    changed = {**asked, "items": [{"id": "i0", "features": {"bm25": 2}}, *items[1:]]}
    assert shop.post("/v1/shop/rank", json=changed).status_code == 409
    shared = {"id": "s", "items": ["i0", "i1"], "context": {"bm25": 7}}
    assert shop.post("/v1/shop/rank", json=shared).status_code == 200
    assert matrix_of(service, "s")["bm25"] == [7, 7]


def test_the_same_fields_in_another_order_are_a_duplicate(start):
    _, shop = start()
    key = {"idempotency-key": "once"}
    fields = {"price": 99, "brand": "best"}
    bodies = ([{"id": "x", "fields": fields}], [{"fields": _turned(fields), "id": "x"}])
    sent = [shop.put("/v1/shop/items", json=body, headers=key).json() for body in bodies]
    assert [answer["status"] for answer in sent] == ["accepted", "duplicate"]
    fields = {"device": 1, "query": "shoes"}
    event = {"event_id": "e", "item": "x", "type": "purchase", "fields": fields}
    body = {"events": [event, event | {"fields": dict(reversed(fields.items()))}]}
    found = shop.post("/v1/shop/feedback", json=body).json()["events"]
    assert [one["status"] for one in found] == ["applied", "duplicate"]
    asked = {"id": "r", "items": ["x"], "fields": fields}
    sent = [asked, asked | {"fields": dict(reversed(fields.items()))}]
    first, again = (shop.post("/v1/shop/rank", json=body).json() for body in sent)
    assert again == first


def _turned(fields):
    """The same fields in another order, with floats for integers."""
    return {n: float(v) if isinstance(v, int) else v for n, v in reversed(fields.items())}


def test_unknown_items_may_be_refused(start):
    _, shop = start(unknown_items="refuse")
    shop.put("/v1/shop/items", json=catalogue(1))
    answer = shop.post("/v1/shop/rank", json={"items": ["i0", "nobody"]})
    assert answer.status_code == 422
    assert "1 of 2 items are unknown: 'nobody'" in answer.json()["detail"]


def test_events_without_a_ranking_change_counters_only(start):
    service, shop = start()
    shop.put("/v1/shop/items", json=catalogue())
    event = {"event_id": "p1", "item": "i3", "type": "purchase", "user": "anna"}
    sent = shop.post("/v1/shop/feedback", json={"events": [event, event]}).json()["events"]
    assert [e["status"] for e in sent] == ["applied", "duplicate"]
    shop.post("/v1/shop/rank", json={"id": "r", "items": IDS})
    assert matrix_of(service, "r")["sold"][3] > matrix_of(service, "r")["sold"][2] == 0
    assert service.loops["shop"].published.totals.events == 0


def test_a_score_is_explained_by_the_names_of_features(start):
    service, shop = start(window=0.0)
    shop.put("/v1/shop/items", json=catalogue())
    for n in range(3):
        shop.post("/v1/shop/rank", json={"id": f"r{n}", "items": IDS})
        shop.post("/v1/shop/feedback", json={"events": [{"ranking_id": f"r{n}", "item": "i4"}]})
    until(lambda: service.loops["shop"].published.totals.examples == 3)
    shown = shop.post("/v1/shop/rank", json={"items": IDS, "explain": True}).json()["items"]
    assert list(shown[0]["contributions"]) == list(FEATURES)
    assert shown[0]["contributions"]["brand"] != 0


@pytest.mark.parametrize(
    ("ranker", "learn_from"), [("newton", "pairs"), ("slam", "grades"), ("pdgd", "grades")]
)  # pairs, documents, and rankers that learn from clicks themselves
def test_a_ranker_learns_on_after_features_are_added(start, ranker, learn_from):
    policy = "plackett-luce" if ranker == "pdgd" else "best-first"
    how = {"rankers": [ranker], "learn_from": learn_from, "policy": policy}
    service, shop = start(**how)
    shop.put("/v1/shop/items", json=catalogue())
    start.stop()
    service, shop = start(
        **how, features={"seen": {"count": "impression", "per": "item"}, **FEATURES}
    )
    ranked = shop.post("/v1/shop/rank", json={"id": "r", "items": IDS}).json()
    click = {"ranking_id": "r", "item": ranked["items"][2]["id"]}
    shop.post("/v1/shop/feedback", json={"events": [click]})
    start.clock.now += 61
    loop = service.loops["shop"]
    until(lambda: loop.published.totals.examples == 1)
    old, new = (loop.published.models[name] for name in (ranker, f"{ranker}.2"))
    assert old.n_queries_seen_ == new.n_queries_seen_ > 0


def test_the_state_says_that_a_model_lacks_a_feature_to_learn(start):
    service, shop = start()
    shop.put("/v1/shop/items", json=catalogue())
    start.stop()
    service, shop = start(features={name: FEATURES[name] for name in FEATURES if name != "price"})
    shop.post("/v1/shop/rank", json={"id": "r", "items": IDS})
    shop.post("/v1/shop/feedback", json={"events": [{"ranking_id": "r", "item": "i1"}]})
    start.clock.now += 61
    until(lambda: service.loops["shop"].published.totals.examples == 1)
    models = {model["name"]: model for model in shop.get("/v1/shop").json()["models"]}
    assert models["newton"]["refused"] == 1
    assert "refused" not in models["newton.2"]


def test_a_restart_and_a_replay_compute_the_same_bits(start):
    service, shop = start()
    shop.put("/v1/shop/items", json=catalogue())
    asked = {"items": IDS, "query": "red shoes", "user": "anna", "fields": {"device": "phone"}}
    for n in range(4):
        shop.post("/v1/shop/rank", json={**asked, "id": f"r{n}"})
        click = {"ranking_id": f"r{n}", "item": f"i{n}"}
        shop.post("/v1/shop/feedback", json={"events": [click]})
    digest = service.loops["shop"].live.features.state.digest()
    start.stop()
    service, shop = start()
    assert service.loops["shop"].live.features.state.digest() == digest
    shop.post("/v1/shop/rank", json={**asked, "id": "last"})
    start.stop()
    with open_journal(service.settings.loops["shop"].journal, "shop") as journal:
        assert journal.fold_positions()
        found = verify(journal, rankings=2)
        assert (found.faults, found.features_recomputed) == ([], 5)
        (record,) = [r for r in journal.scan() if getattr(r.entry, "id", "") == "r2"]
        damaged = structs.replace(record.entry, id="x", features=bytes(len(record.entry.features)))
        journal.append([make_row(damaged, record.at)])
        assert "ranking x: these features differ" in str(check_features(journal).faults)


def test_features_can_be_added(start):
    service, shop = start()
    shop.put("/v1/shop/items", json=catalogue())
    shop.post("/v1/shop/rank", json={"id": "r0", "items": IDS})
    shop.post("/v1/shop/feedback", json={"events": [{"ranking_id": "r0", "item": "i1"}]})
    start.stop()
    more = {**FEATURES, "seen": {"count": "impression", "per": "item"}}
    service, shop = start(features=more)
    loop = service.loops["shop"]
    assert set(loop.published.models) == {"newton", "newton.2"}
    assert loop.published.champion == "newton"
    shop.post("/v1/shop/rank", json={"id": "r1", "items": IDS})
    assert matrix_of(service, "r1")["seen"] == [1] * 6  # from before it was defined
    start.clock.now += 61
    until(lambda: loop.published.totals.examples == 1)
    assert loop.published.models["newton.2"].n_queries_seen_ == 1
    assert loop.published.models["newton"].n_queries_seen_ == 1  # and the champion goes on
    for ranking in ("r0", "r1"):  # with the features of then, and of now
        seen = shop.get(f"/dashboard/loops/shop/rankings/{ranking}")
        assert seen.status_code == 200, seen.text
        assert set(seen.json()["others"]) == {"newton", "newton.2"}
    parts = [part for item in seen.json()["items"] for part in item["parts"]]
    brands = {part["value"] for part in parts if part["feature"] == "brand"}
    assert brands <= {"brand = acme", "brand = best", "brand = cosy", None}
    assert brands
    shop.post("/v1/shop/promote", json={"model": "newton.2"})
    assert shop.post("/v1/shop/rank", json={"items": IDS}).json()["model"] == "newton.2"
    start.stop()
    with open_journal(service.settings.loops["shop"].journal, "shop") as journal:
        assert verify(journal, rankings=3).faults == []


def test_rankers_for_clicks_learn_from_computed_features(start):
    names = ["pdgd", "thompson", "neural-pdgd"]
    service, shop = start(rankers=names, policy="plackett-luce")
    shop.put("/v1/shop/items", json=catalogue())
    for n in range(6):
        shown = shop.post("/v1/shop/rank", json={"id": f"r{n}", "items": IDS}).json()["items"]
        event = {"ranking_id": f"r{n}", "item": shown[3]["id"]}
        shop.post("/v1/shop/feedback", json={"events": [event]})
    start.clock.now += 61
    loop = service.loops["shop"]
    until(lambda: loop.published.totals.examples == 6)
    models = loop.inspect(lambda engine: {**engine.models})
    assert {
        m.name: (m.refused, m.ranker.n_queries_seen_) for m in models.values()
    } == dict.fromkeys(names, (0, 6))
    start.stop()
    with open_journal(service.settings.loops["shop"].journal, "shop") as journal:
        assert verify(journal, rankings=6).faults == []


def test_models_must_fit_by_name(start):
    service, shop = start()
    given = rl.QueryDataset.from_arrays([[1.0], [2.0]], [0, 1], group=[2], feature_names=["bm25"])
    plain = rl.make_ranker("newton").partial_fit(given)
    answer = shop.post("/v1/shop/models/plain", content=plain.dumps())
    assert "accepts no missing values" in answer.json()["detail"]
    fits = Described(rl.make_ranker("newton")).fit(given)
    assert shop.post("/v1/shop/models/fits", content=fits.dumps()).status_code == 200
    shop.post("/v1/shop/rank", json={"id": "r0", "items": IDS})
    other = rl.QueryDataset.from_arrays([[1.0], [2.0]], [0, 1], group=[2], feature_names=["age"])
    answer = shop.post(
        "/v1/shop/models/other", content=Described(rl.make_ranker("newton")).fit(other).dumps()
    )
    assert "1 features that this loop does not have: 'age'" in answer.json()["detail"]
    assert "fits" in service.loops["shop"].published.models


@pytest.mark.slow
@pytest.mark.parametrize("ranker", [rl.NewtonXENDCG(), rl.LambdaMART(trees=20)])
def test_a_model_with_categories_knows_them_by_name(start, tmp_path, ranker):
    """A table numbers brands in another order than the loop, and has one that the loop has not."""
    rng = np.random.default_rng(0)
    brands = ["best", "other", "cosy", "acme"]
    frame = pd.DataFrame({"brand": rng.choice(brands, 2400), "bm25": rng.random(2400)})
    worth = frame["brand"].map({"cosy": 2, "acme": 1}).fillna(0).astype(int).rename("worth")
    model = Described(ranker).fit(frame, worth, group=[12] * 200)
    service, shop = start()
    shop.put("/v1/shop/items", json=catalogue(5))
    answer = shop.post("/v1/shop/models/trained", content=model.dumps())
    assert answer.status_code == 200, answer.text
    shop.post("/v1/shop/promote", json={"model": "trained"})
    items = [{"id": f"i{k}", "features": {"bm25": 0.5}} for k in range(3)]
    ranking = shop.post("/v1/shop/rank", json={"id": "r", "items": items}).json()
    assert [item["id"] for item in ranking["items"]] == ["i2", "i0", "i1"]  # cosy, acme, best
    scores = {item["id"]: item["score"] for item in ranking["items"]}
    same = pd.DataFrame({"brand": ["acme", "best", "cosy"], "bm25": [0.5] * 3})
    assert [scores[f"i{k}"] for k in range(3)] == model.predict(same).tolist()
    event = {"ranking_id": "r", "item": "i2"}
    shop.post("/v1/shop/feedback", json={"events": [event]})
    start.clock.now += 61
    loop = service.loops["shop"]
    until(lambda: loop.published.totals.examples == 1)
    assert loop.published.curves["trained"].mean == 1  # learning and measuring know them, too
    start.stop()
    with open_journal(service.settings.loops["shop"].journal, "shop") as journal:
        assert verify(journal, rankings=6).faults == []


def test_a_person_is_forgotten_and_statistics_are_shown(start):
    service, shop = start()
    shop.put("/v1/shop/items", json=catalogue())
    shop.put("/v1/shop/users", json=[{"id": "anna", "fields": {"country": "ch"}}])
    asked = {"items": [*IDS, "new"], "user": "anna", "session": "s1"}
    shop.post("/v1/shop/rank", json={**asked, "id": "r"})
    before = shop.get("/v1/shop/features").json()
    assert before["state"]["users"] == 1
    assert before["unknown_items"] == 1 / 7
    missing = {column["name"]: column["missing"] for column in before["columns"]}
    assert (missing["bm25"], missing["price"]) == (1, 3 / 7)
    columns = {column["name"]: column for column in before["columns"]}
    brand = columns["brand"]
    assert (brand["mean"], brand["different"], brand["shift"]) == (None, 3, 0)
    assert "click / impression by item; half-life 7d" in before["state"]["counters"]
    service.boards.look()
    seen = shop.get("/dashboard/loops/shop").json()
    assert (seen["computed"]["items"], seen["computed"]["unknown"]) == (12, 1 / 7)
    assert {one["feature"] for one in seen["shifts"]} == set(columns)
    assert {one["feature"] for one in seen["shifts"] if one["is_category"]} == {"brand"}
    assert b"anna" not in service.loops["shop"].read(lambda j: j.rows(2, 3)[0].body)
    assert shop.post("/v1/shop/forget", json={"ranking_id": "r"}).status_code == 200
    after = shop.get("/v1/shop/features").json()
    assert after["state"]["users"] == 0
    metrics = shop.get("/metrics").text
    assert 'rankloop_catalogue{kind="items",loop="shop"} 12.0' in metrics
    assert 'rankloop_feature_missing{feature="bm25",loop="shop"} 1.0' in metrics
