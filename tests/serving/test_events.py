"""What changes in a loop, as it changes."""

from __future__ import annotations

import msgspec
import pytest

from rankloop.serving.journal.action_entries import ExperimentEnded, ExperimentStarted, Promoted
from rankloop.serving.journal.ranking_entries import Closed
from rankloop.serving.routes import events
from rankloop.serving.routes.state import loop_state

from .test_routes import start  # noqa: F401
from .tools import click, ranked, until

EVENTS = "/v1/shop/events"


def messages(http):
    """Give the messages of a stream: their kind, their position, what they tell."""
    with http.stream("GET", EVENTS) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        kind = None
        for line in answer.iter_lines():
            name, _, value = line.partition(": ")
            if line.startswith(":"):
                yield "heartbeat", None, None
            elif name == "event":
                kind = value
            elif name == "id":
                position = int(value)
            elif name == "data":
                yield kind, position, msgspec.json.decode(value)


@pytest.fixture
def shop(start, monkeypatch):  # noqa: F811
    monkeypatch.setattr(events, "BETWEEN", 0.01)
    return start()


def test_each_message_tells_what_is_new(shop, rng):
    service, http = shop
    loop = service.loops["shop"]
    heard = messages(http)
    kind, position, state = next(heard)
    assert (kind, position) == ("state", loop.head)
    assert {"name", "features", "models", "totals", "budget"} <= state.keys()
    entry = ranked(loop, "r", rng)
    loop.append(entry, click("e", entry), Closed("r"))
    examples = 0
    while not examples:
        kind, position, new = next(heard)
        assert kind == "change"
        assert "features" not in new  # nothing that stayed as it was
        examples = new.get("totals", {}).get("examples", 0)
    loop.append(Promoted("p", "slam:measure=AP"))
    kind, position, new = next(heard)
    assert kind == "promotion"
    assert [one["name"] for one in new["models"] if one["champion"]] == ["slam:measure=AP"]
    loop.append(ExperimentStarted("x", ["solar-i"]))
    kind, position, new = next(heard)
    assert (kind, new["experiment"]["id"]) == ("experiment", "x")
    loop.append(Promoted("q", "solar-i", holdback=1.0))
    assert next(heard)[0] == "promotion"
    loop.settle()
    loop.append(ExperimentEnded(loop.published.experiment.id, "", "slam:measure=AP"))
    assert next(heard)[0] == "rollback"
    heard.close()


def test_a_message_tells_the_state_it_was_made_of_though_another_follows(shop):
    service, _ = shop
    loop = service.loops["shop"]
    before = loop.published
    loop.append(Promoted("p", "slam:measure=AP"))
    loop.settle()
    told = loop_state(loop, before)
    assert [one.name for one in told.models if one.champion] == [before.champion]
    assert (told.lag, loop_state(loop, loop.published).lag) == (1, 0)


def test_silence_is_broken_by_heartbeats_and_the_end_is_told(shop, monkeypatch):
    service, http = shop
    monkeypatch.setattr(events, "HEARTBEAT", 0.05)
    heard = messages(http)
    assert next(heard)[0] == "state"
    assert next(heard)[0] == "heartbeat"
    service.draining = True
    assert [kind for kind, *_ in heard][-1] == "end"


def test_too_many_clients_are_refused_and_the_gone_are_forgotten(shop, monkeypatch):
    service, http = shop
    monkeypatch.setattr(events, "MAX_CLIENTS", 1)
    first = messages(http)
    next(first)
    assert http.get(EVENTS).status_code == 503
    assert "try again later" in http.get(EVENTS).json()["detail"]
    first.close()
    until(lambda: service.listening["shop"] == 0)
    assert http.get("/v1/nobody/events").status_code == 404
