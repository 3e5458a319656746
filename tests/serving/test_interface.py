"""What HTTP promises: equal requests are equal, refusals say what to do, the page shows it all."""

from __future__ import annotations

import hashlib
import re

import pytest

from rankloop.serving.service import Service
from rankloop.serving.settings.service import as_settings

from .tools import running

ITEMS = [{"id": "a", "features": [1, 0]}, {"id": "b", "features": [0, 1]}]


@pytest.fixture
def service(tmp_path):
    loop = {"features": 2, "rankers": ["solar-i", "slam"], "journal": str(tmp_path / "j")}
    service = Service.start(as_settings({"loops": {"shop": loop}}))
    yield service
    service.stop()


@pytest.fixture
def shop(service):
    with running(service) as client:
        yield client


def test_what_equals_a_default_is_the_same_event(shop):
    shop.post("/v1/shop/rank", json={"id": "r", "items": ITEMS})
    event = {"event_id": "e", "ranking_id": "r", "item": "a"}
    statuses = [
        shop.post("/v1/shop/feedback", json={"events": [event | more]}).json()
        for more in ({}, {"type": "click"}, {"value": 1, "timestamp": None}, {"type": "purchase"})
    ]
    assert [s["events"][0]["status"] for s in statuses] == [
        "applied",
        "duplicate",
        "duplicate",
        "conflict",
    ]


def test_the_same_id_with_another_k_is_another_request(shop):
    ask = {"id": "r", "items": ITEMS, "k": 1}
    first = shop.post("/v1/shop/rank", json=ask).json()
    assert shop.post("/v1/shop/rank", json=ask).json() == first
    other = shop.post("/v1/shop/rank", json=ask | {"k": 2})
    assert other.status_code == 409
    assert "or another k" in other.json()["detail"]
    shop.post("/v1/shop/rank", json={"id": "all", "items": ITEMS})
    assert shop.post("/v1/shop/rank", json={"id": "all", "items": ITEMS, "k": 9}).is_success


def test_a_method_that_is_not_offered_names_those_that_are(shop):
    assert shop.get("/v1/shop/rank").headers["allow"] == "POST"
    refused = shop.put("/v1/shop/experiments", json={})
    assert refused.status_code == 405
    assert refused.headers["allow"] == "GET, HEAD, POST"


def test_loops_and_experiments_are_shown(shop):
    assert shop.get("/v1").json() == {"loops": ["shop"]}
    assert "experiment" not in shop.get("/v1/shop/experiments").json()
    started = shop.post("/v1/shop/experiments", json={"id": "x", "challengers": ["slam"]})
    assert started.json()["status"] == "accepted"
    found = shop.get("/v1/shop/experiments").json()
    assert (found["experiment"]["id"], found["experiment"]["champion"]) == ("x", "solar-i")
    assert found["budget"]["spent"] == found["budget"]["alpha"] / 2


def test_the_interface_names_tokens_only_where_there_are_any(shop, service, tmp_path):
    document = shop.get("/openapi.json").json()
    assert "securitySchemes" not in document["components"]
    assert "security" not in document["paths"]["/v1/{loop}/rank"]["post"]
    token = {"name": "t", "sha256": hashlib.sha256(b"t").hexdigest(), "scopes": ["rank"]}
    loop = {"features": 2, "journal": str(tmp_path / "k")}
    other = Service.start(as_settings({"loops": {"shop": loop}, "tokens": [token]}))
    with running(other) as client:
        document = client.get("/openapi.json").json()
    other.stop()
    assert document["paths"]["/v1/{loop}/rank"]["post"]["security"] == [{"token": []}]
    assert document["components"]["securitySchemes"]["token"]["scheme"] == "bearer"


def test_the_interface_is_a_page_that_needs_no_network(shop, service):
    page = shop.get("/docs")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for endpoint in service.endpoints:
        assert f"<code>{endpoint.method} {endpoint.path}</code>" in page.text
    places = set(re.findall(r'(?:href|src)="([^"]*)"', page.text))
    ids = set(re.findall(r' id="([^"]*)"', page.text))
    for place in places:
        if place.startswith("#"):
            assert place[1:] in ids
        else:
            assert place.startswith("/")
            assert shop.get(place).status_code == 200
