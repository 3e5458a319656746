"""Both clients against a real service: answers, refusals, and what is sent again."""

from __future__ import annotations

import asyncio

import pytest

from rankloop.client import AsyncClient, Client, ServiceError
from rankloop.feedback.events import Feedback, Judgement
from rankloop.serving.app import Service
from rankloop.serving.config import as_settings
from rankloop.serving.journal.base import JournalError

from .tools import running

ITEMS = {"a": [1.0, 0.0], "b": {"1": 0.0, "2": 1.0}}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    journal = str(tmp_path_factory.mktemp("client") / "j")
    loop = {"features": 2, "learners": ["solar-i"], "journal": journal}
    started = Service.start(as_settings({"loops": {"shop": loop}}))
    with running(started) as http:
        started.url = str(http.base_url)
        yield started
    started.stop()


def test_the_client_that_waits(service):
    with Client(service.url, "shop") as client:
        shown = client.rank(ITEMS, query="shoes", id="r1")
        assert (shown.ranking_id, shown.ids, shown.policy) == ("r1", ("a", "b"), "best-first")
        click = Feedback("r1", "b")
        assert client.feedback([click, click]) == ["applied", "duplicate"]
        assert client.judge(Judgement("r1", {"a": 0, "b": 1})) == "applied"
        assert client.rank(ITEMS, min_version=client.state()["position"]).ids == ("b", "a")
        with pytest.raises(ServiceError, match="items: found none") as error:
            client.rank({})
        assert error.value.status == 422


def test_the_client_that_does_not(service):
    async def talk():
        async with AsyncClient(service.url, "shop") as client:
            shown = await asyncio.gather(*(client.rank(ITEMS) for _ in range(8)))
            assert len({one.ranking_id for one in shown}) == 8
            events = [Feedback(one.ranking_id, "a") for one in shown]
            assert await client.feedback(events) == ["applied"] * 8
            assert await client.judge(Judgement(shown[0].ranking_id, {"a": 1})) == "applied"
            assert (await client.state())["name"] == "shop"

    asyncio.run(talk())


def test_what_finds_the_service_busy_is_sent_again(service, monkeypatch):
    journal = service.loops["shop"]._journal
    append, failures = journal.append, iter([True, True])

    def sometimes(*drafts):
        outcome = append(*drafts)
        if next(failures, False):
            raise JournalError("it was written, but nobody could say so")
        return outcome

    monkeypatch.setattr(journal, "append", sometimes)
    before = service.loops["shop"].reader
    with Client(service.url, "shop") as client:
        shown = client.rank(ITEMS)
        assert client.feedback([Feedback(shown.ranking_id, "a")]) == ["applied"]
    with before() as reader:
        found = [r for r in reader.scan() if r.entry.key == f"ranking:{shown.ranking_id}"]
    assert len(found) == 1


def test_nobody_there():
    refused = pytest.raises(ServiceError, match="cannot be reached")
    with Client("http://127.0.0.1:9", "shop", retries=1) as client, refused:
        client.state()
