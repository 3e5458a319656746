"""Who may ask, from where and how often; who did what; and logs that say nothing of people."""

from __future__ import annotations

import hashlib
import json
import logging

import httpx
import numpy as np
import pytest

from rankloop.exceptions import RankloopError
from rankloop.serving.journal.ranking_entries import Observed
from rankloop.serving.problems import HTTPProblem
from rankloop.serving.security.limits import Buckets
from rankloop.serving.security.tickets import Tickets
from rankloop.serving.server import _JsonLines
from rankloop.serving.service import Service
from rankloop.serving.settings.keyring import MASTER, SIGNING, new_key
from rankloop.serving.settings.service import as_settings, read_settings

from .tools import Clock, running

ITEMS = [{"id": "a", "features": [1.0, 0.5]}, {"id": "b", "features": [0, 1]}]
PAGE = "https://shop.example"
FEEDBACK = {
    "click": 1,
    "dwell": {"gain": 1, "at_least": 30},
    "stars": {"gain": 1, "by_value": True},
}


@pytest.fixture
def start(tmp_path):
    started = []

    def make(loop=(), **more):
        values = {"features": 2, "rankers": ["solar-i"], "journal": str(tmp_path / "j")}
        values |= {"feedback": FEEDBACK} | dict(loop)
        service = Service.start(as_settings({"loops": {"shop": values}} | more))
        shop = running(service)
        started.append((service, shop))
        return service, shop.__enter__()

    yield make
    for service, shop in started:
        shop.__exit__(None, None, None)
        service.stop()


@pytest.fixture
def browsers(monkeypatch):
    monkeypatch.setenv(SIGNING, new_key())
    return {"origins": [PAGE], "types": ["click", "dwell"], "events_per_minute": 6}


def token(name, *scopes):
    digest = hashlib.sha256(name.encode()).hexdigest()
    return {"name": name, "sha256": digest, "scopes": list(scopes)}


def bearer(name):
    return {"authorization": f"Bearer {name}"}


def tell(shop, ticket, *events, origin=PAGE, kind="text/plain"):
    headers = {"content-type": kind} | ({} if origin is None else {"origin": origin})
    body = json.dumps({"ticket": ticket, "events": list(events)})
    return shop.post("/v1/shop/beacon", content=body, headers=headers)


def test_a_browser_tells_by_a_ticket(start, browsers):
    service, shop = start(browsers=browsers, tokens=[token("web", "rank")])
    ranked = shop.post("/v1/shop/rank", json={"items": ITEMS}, headers=bearer("web")).json()
    told = tell(shop, ranked["ticket"], {"item": "a"}, {"item": "zzz"})
    assert told.json() == {"statuses": ["applied", "rejected"]}
    assert told.headers["access-control-allow-origin"] == PAGE
    assert told.headers["vary"] == "origin"
    again = tell(shop, ranked["ticket"], {"item": "a", "value": 7})
    assert again.json() == {"statuses": ["duplicate"]}  # an item counts once, whatever is said
    with service.loops["shop"].reader() as journal:
        events = [r.entry for r in journal.scan() if isinstance(r.entry, Observed)]
    assert [(e.item, e.type, e.value) for e in events] == [("a", "click", 1.0)]


@pytest.mark.slow
@pytest.mark.parametrize("origin", [None, "https://evil.example", "null", f"{PAGE}.evil.example"])
def test_pages_of_others_are_refused(start, browsers, origin):
    service, shop = start(browsers=browsers)
    ticket = shop.post("/v1/shop/rank", json={"items": ITEMS}).json()["ticket"]
    told = tell(shop, ticket, {"item": "a"}, origin=origin)
    headers = {} if origin is None else {"origin": origin}
    asked = shop.options("/v1/shop/beacon", headers=headers)
    for answer in (told, asked):
        assert answer.status_code == 403
        assert "access-control-allow-origin" not in answer.headers
    assert service.loops["shop"].head == 2


def test_a_preflight_is_answered_for_allowed_pages_alone(start, browsers):
    _, shop = start(browsers=browsers)
    allowed = shop.options("/v1/shop/beacon", headers={"origin": PAGE})
    assert allowed.status_code == 204
    assert allowed.headers["access-control-allow-origin"] == PAGE
    assert allowed.headers["access-control-allow-methods"] == "POST"
    other = shop.options("/v1/shop/feedback", headers={"origin": PAGE})
    assert other.status_code == 405
    assert "access-control-allow-origin" not in other.headers


@pytest.mark.slow
@pytest.mark.parametrize(
    ("event", "status", "words"),
    [
        ({"item": "a", "type": "stars", "value": 1e9}, 422, "expected one of click, dwell"),
        ({"item": "a", "weight": 1e9}, 422, "unknown field `weight`"),
        ({"item": "a", "event_id": "mine"}, 422, "unknown field `event_id`"),
        ({"item": "a\n"}, 422, "not printable"),
    ],
)
def test_what_browsers_may_not_say(start, browsers, event, status, words):
    _, shop = start(browsers=browsers)
    ticket = shop.post("/v1/shop/rank", json={"items": ITEMS}).json()["ticket"]
    told = tell(shop, ticket, event)
    assert told.status_code == status
    assert words in told.json()["detail"]


def test_what_one_address_teaches_is_bounded(start, browsers):
    _, shop = start(browsers=browsers)
    statuses = []
    for n in range(5):
        ticket = shop.post("/v1/shop/rank", json={"items": ITEMS, "id": f"r{n}"}).json()["ticket"]
        told = tell(shop, ticket, {"item": "a"}, {"item": "b"})
        statuses.append(told.status_code)
    assert statuses == [200, 200, 200, 429, 429]  # six events a minute
    assert 1 <= int(told.headers["retry-after"]) <= 20
    assert shop.get("/v1/shop").json()["totals"]["events"] <= 6


def test_no_browsers_unless_they_are_allowed(start):
    _, shop = start()
    assert "ticket" not in shop.post("/v1/shop/rank", json={"items": ITEMS}).json()
    assert tell(shop, "x.y.z", {"item": "a"}).status_code == 404


def test_tickets_expire_and_cannot_be_made_up():
    clock = Clock()
    old, new = b"1" * 32, b"2" * 32
    before = Tickets([old], 60, clock)
    ticket = before.sign("shop", "r.1")
    assert before.ranking("shop", ticket) == "r.1"
    rotated = Tickets([new, old], 60, clock)
    assert rotated.ranking("shop", ticket) == "r.1"
    assert rotated.sign("shop", "r.1") != ticket
    ranking, expiry, signature = ticket.rsplit(".", 2)
    later = f"{ranking}.{int(expiry, 16) + 999:x}.{signature}"
    forged = [later, f"r.2.{expiry}.{signature}", "", "..", "r.1", f"{ticket}é", ticket[:-1]]
    for one in forged:
        with pytest.raises(HTTPProblem, match="not valid"):
            before.ranking("shop", one)
    for tickets, loop in ((before, "other"), (Tickets([new], 60, clock), "shop")):
        with pytest.raises(HTTPProblem, match="not valid"):
            tickets.ranking(loop, ticket)
    clock.now += 61
    with pytest.raises(HTTPProblem, match="has expired"):
        rotated.ranking("shop", ticket)


def test_a_page_of_another_site_cannot_use_the_browser_of_an_operator(start):
    """Neither with its own origin, nor by a name that leads to this machine."""
    service, shop = start()
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"host": "evil.example"},
    ):
        answer = shop.post("/ubi/events", json=[], headers=headers)
        assert answer.status_code == 403
    own = str(shop.base_url).rstrip("/")
    assert shop.get("/v1/shop", headers={"origin": own}).status_code == 200
    for host in ("localhost:1", "127.0.0.1", "[::1]:8080"):
        assert shop.get("/v1/shop", headers={"host": host}).status_code == 200
    assert service.loops["shop"].head == 1


def test_requests_are_limited_by_token(start):
    tokens = [token("one", "metrics"), token("two", "metrics")]
    _, shop = start(tokens=tokens, limits={"requests_per_second": 0.01})
    statuses = [shop.get("/v1/shop", headers=bearer("one")).status_code for _ in range(3)]
    assert statuses == [200, 429, 429]
    answer = shop.get("/v1/shop", headers=bearer("one"))
    assert 90 <= int(answer.headers["retry-after"]) <= 100
    assert answer.headers["content-type"] == "application/problem+json"
    assert shop.get("/v1/shop", headers=bearer("two")).status_code == 200
    guesses = [shop.get("/v1/shop", headers=bearer(f"x{n}")).status_code for n in range(3)]
    assert guesses == [401, 429, 429]
    assert shop.get("/livez").status_code == 200


def test_events_are_limited_by_token(start):
    _, shop = start(limits={"events_per_second": 0.3})
    events = [{"ranking_id": "r", "item": "a", "event_id": str(n)} for n in range(3)]
    assert shop.post("/v1/shop/feedback", json={"events": events}).status_code == 200
    again = shop.post("/v1/shop/feedback", json={"events": events})
    assert again.status_code == 429
    assert "0.3 per second" in again.json()["detail"]


def test_buckets_remember_few_clients_and_no_clock_that_jumps_back():
    clock = Clock()
    buckets = Buckets(1, 2, max_clients=3, clock=clock)
    for n in range(100):
        assert buckets.wait(f"client {n}") == 0
    assert len(buckets._levels) == 3
    assert [buckets.wait("me") for _ in range(3)] == [0, 0, 1]
    clock.now -= 1000
    assert buckets.wait("me") == 1
    clock.now += 1
    assert buckets.wait("me") == 0
    assert buckets.wait("many", 100) == 0  # a full bucket takes them, and is then in debt
    assert buckets.wait("many") == 99


def test_acts_say_who(start, tmp_path):
    tokens = [token("grace", "admin", "metrics", "rank", "feedback")]
    service, shop = start(tokens=tokens, loop={"rankers": ["solar-i", "slam:measure=AP"]})
    shop.headers.update(bearer("grace"))
    shop.post("/v1/shop/promote", json={"model": "slam:measure=AP", "reason": "because"})
    shop.post("/v1/shop/rollback", json={"position": 1, "id": "back"})
    actions = shop.get("/v1/shop").json()["actions"]
    assert [(act["by"], act["action"]) for act in actions] == [
        ("rankloop", "configured"),
        ("grace", "promoted"),
        ("grace", "rolled back"),
    ]
    assert (actions[1]["what"], actions[1]["reason"]) == ("slam:measure=AP", "because")
    with service.loops["shop"].reader() as journal:
        assert journal.find("action:back").entry.by == "grace"


def test_logs_are_json_name_acts_and_hold_nothing_personal(start, monkeypatch, caplog):
    monkeypatch.setenv(MASTER, new_key())
    caplog.set_level(logging.DEBUG)
    service, shop = start(tokens=[token("t0ken", "rank", "feedback", "admin", "metrics")])
    shop.headers.update(bearer("t0ken"))
    secret = {
        "query": "q-secret",
        "user": "u-secret",
        "session": "s-secret",
        "about": {"x": "a-secret"},
    }
    shop.post("/v1/shop/rank", json={"id": "r1", "items": ITEMS} | secret)
    shop.post(
        "/v1/shop/rank", json={"id": "r2", "items": [], "query": "q-secret", "user": "u-secret"}
    )
    shop.post("/v1/shop/rank", content=b'{"user": "u-secret", "items": [}')
    shop.post("/ubi/queries", json=[{"user_query": "q-secret"}])
    shop.get("/v1/shop/rankings/r1/personal")
    loop = service.loops["shop"]
    append = loop._journal.append
    loop._journal.append = lambda *_: (_ for _ in ()).throw(RankloopError("the disk is full"))
    shop.post("/v1/shop/rank", json={"id": "r3", "items": ITEMS} | secret)
    loop._journal.append = append
    shop.post("/v1/shop/forget", json={"user": "u-secret"})
    own = [record for record in caplog.records if record.name.startswith(("rankloop", "uvicorn"))]
    lines = [_JsonLines().format(record) for record in own]
    assert not [line for line in lines if "secret" in line]
    told = [json.loads(line) for line in lines]
    forgot = next(line for line in told if line.get("action") == "forgot")
    assert (forgot["by"], forgot["what"]) == ("t0ken", "1 key")
    assert next(line for line in told if line.get("action") == "read personal")["by"] == "t0ken"
    assert [line for line in told if "the disk is full" in line["message"]]


def test_a_model_with_a_weight_that_is_not_finite_is_refused(start):
    """The last good one goes on ranking, learns from what comes next, and replay agrees."""
    service, shop = start(loop={"rankers": ["slam:measure=AP"]})
    loop = service.loops["shop"]
    ranker = loop._engine.models["slam:measure=AP"].ranker

    def learn(ranking_id):
        shop.post("/v1/shop/rank", json={"id": ranking_id, "items": ITEMS})
        grades = {"a": 0, "b": 1}
        shop.post("/v1/shop/judgements", json={"ranking_id": ranking_id, "grades": grades})
        loop.settle()
        return loop.published.models["slam:measure=AP"].digest()

    good = learn("r1")
    fit = ranker.predict_then_learn

    def broken(example):
        scores = fit(example)
        ranker.last_weights_ = np.array([np.inf, 1.0])
        return scores

    ranker.predict_then_learn = broken
    assert learn("r2") == good
    assert loop._engine.models["slam:measure=AP"].refused == 1
    assert shop.post("/v1/shop/rank", json={"items": ITEMS}).status_code == 200
    ranker.predict_then_learn = fit
    assert learn("r3") != good


@pytest.mark.slow
def test_a_model_file_with_a_weight_that_is_not_finite_is_refused(start, monkeypatch):
    service, shop = start(loop={"rankers": ["slam:measure=AP"]})
    loop = service.loops["shop"]
    ranker = loop._engine.models["slam:measure=AP"].ranker
    fine = ranker.dumps()
    state = ranker._state()
    monkeypatch.setattr(
        type(ranker), "_state", lambda _: state | {"last_weights_": np.array([np.nan, 1.0])}
    )
    bad = ranker.dumps()
    monkeypatch.undo()
    refused = shop.post("/v1/shop/models/bad", content=bad)
    assert refused.status_code == 422
    assert "finite" in refused.json()["detail"]
    assert shop.post("/v1/shop/models/fine", content=fine).status_code == 200


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[browsers]\norigins = ['shop.example']", "browsers.origins: found 'shop.example'"),
        ("[browsers]\norigins = ['https://a.example/']", "browsers.origins: found"),
        (
            "[browsers]\norigins = ['https://a.example']\ntypes = ['wave']",
            "browsers.types: loop shop has no rule for 'wave'",
        ),
        ("[browsers]\nsigned_for = 0", "browsers.signed_for: expected"),
        ("[limits]\nrequests_per_second = -1", "limits.requests_per_second: expected"),
        ("[limits]\nrequests = 1", "limits: object contains unknown field `requests`"),
        ("[privacy]\nkey = 'x'", "privacy: object contains unknown field `key`"),
        ("[server]\nproxies = ['me']", "server.proxies: found 'me'"),
    ],
)
def test_wrong_settings_name_the_key(tmp_path, text, words):
    path = tmp_path / "a.toml"
    path.write_text(f"[loops.shop]\nfeatures = 2\n{text}\n")
    with pytest.raises(ValueError, match=rf"a.toml: {words}"):
        read_settings(path, {})


def test_values_that_browsers_make_up_cannot_count(browsers):
    plain = {"features": 2, "feedback": FEEDBACK}
    with pytest.raises(ValueError, match="'stars' counts by its value"):
        as_settings({"loops": {"shop": plain}, "browsers": browsers | {"types": ["stars"]}})


def test_origins_need_a_key(monkeypatch):
    monkeypatch.delenv(SIGNING, raising=False)
    settings = as_settings({"loops": {"shop": {"features": 2}}, "browsers": {"origins": [PAGE]}})
    with pytest.raises(ValueError, match="no key to sign tickets"):
        settings.signing_keys()


def test_two_tokens_of_one_name_are_refused():
    tokens = [token("a", "rank"), token("a", "admin")]
    with pytest.raises(ValueError, match="expected different names"):
        as_settings({"loops": {"shop": {"features": 2}}, "tokens": tokens})


def test_only_named_proxies_are_believed(start):
    _, shop = start(limits={"requests_per_second": 0.01}, server={"proxies": ["127.0.0.1"]})
    for n in range(3):  # each is another client, says the proxy
        headers = {"x-forwarded-for": f"192.0.2.{n}"}
        assert shop.get("/v1/shop", headers=headers).status_code == 200
    assert shop.get("/v1/shop", headers={"x-forwarded-for": "192.0.2.0"}).status_code == 429


def test_nobody_is_believed_by_default(start):
    _, shop = start(limits={"requests_per_second": 0.01})
    statuses = [
        shop.get("/v1/shop", headers={"x-forwarded-for": f"192.0.2.{n}"}).status_code
        for n in range(2)
    ]
    assert statuses == [200, 429]


def test_no_redirect_to_a_host_that_somebody_named(start):
    _, shop = start()
    assert isinstance(shop, httpx.Client)
    assert shop.get("/v1/shop/").status_code == 404
