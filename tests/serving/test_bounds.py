"""What an entrance accepts cannot harm the loop, nor the requests of others."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop.exceptions import DataError, RankloopError
from rankloop.serving import operations as do
from rankloop.serving.journal.base import JournalError, UnreachableError
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import Closed, Judged, Observed
from rankloop.serving.loop import Loop
from rankloop.serving.service import Service
from rankloop.serving.settings.loop import RuleSettings
from rankloop.serving.settings.service import Settings

from .tools import Clock, click, ranked, running, small, until

STARS = {"click": 1, "stars": RuleSettings(gain=1, by_value=True)}
LONG = 400 * "日"  # 1,200 bytes


@pytest.fixture
def client(tmp_path):
    settings = Settings({"products": small(journal=str(tmp_path / "j"), feedback=STARS)})
    service = Service.start(settings)
    with running(service) as client:
        yield client
        assert service.loops["products"].fault is None
    service.stop()


def rank(client, **more):
    items = [{"id": name, "features": [n, 0, 1]} for n, name in enumerate("abc")]
    return client.post("/v1/products/rank", json={"items": items, **more})


def test_grades_and_values_have_bounds_at_every_entrance(client):
    assert rank(client, id="r1").status_code == 200
    bad = client.post("/v1/products/judgements", json={"ranking_id": "r1", "grades": {"a": 1023}})
    assert bad.status_code == 422
    good = client.post("/v1/products/judgements", json={"ranking_id": "r1", "grades": {"a": 30}})
    assert good.status_code == 200
    events = [
        {"ranking_id": "r1", "item": "a", "type": "stars", "value": value, "event_id": f"e{value}"}
        for value in (5, 31, -1e300)
    ]
    answers = client.post("/v1/products/feedback", json={"events": events}).json()["events"]
    assert [answer["status"] for answer in answers] == ["applied", "rejected", "rejected"]
    assert "expected a grade from -30 to 30" in answers[1]["detail"]
    late = {"ranking_id": "r1", "item": "z", "event_id": "z"}
    (answer,) = client.post("/v1/products/feedback", json={"events": [late]}).json()["events"]
    assert answer["detail"] == "item: 'z' was not shown in ranking 'r1'"


def test_ids_are_limited_in_bytes(client):
    answer = rank(client, id=LONG)
    assert answer.status_code == 422
    assert "1,200 bytes; ids have at most 1,000 bytes" in answer.json()["detail"]
    assert rank(client, id=LONG[:333]).status_code == 200
    event = {"ranking_id": "r1", "item": LONG}
    assert client.post("/v1/products/feedback", json={"events": [event]}).status_code == 422
    text = {
        "action_name": "click",
        "timestamp": 0,
        "query_id": "q",
        "event_attributes": {"object": {"object_id": LONG}},
    }
    counts = client.post("/ubi/events", json=text).json()["taken"]
    assert counts == {"not printable, or too long": 1}


@pytest.mark.parametrize("gain", [2000, -31, float("nan"), float("inf")])
def test_settings_with_an_impossible_gain_are_refused(gain):
    with pytest.raises(DataError, match=r"feedback\.purchase: found a gain of"):
        small(feedback={"purchase": gain})


def test_imports_have_the_same_bounds(tmp_path, monkeypatch):
    from rankloop.data.dataset import QueryDataset

    place = str(tmp_path / "j")
    with Loop("loop", small(feedback=STARS), open_journal(place, "loop")):
        pass
    log = tmp_path / "log.jsonl"
    log.write_text('{"ranking_id": "r", "item": "a", "type": "stars", "value": 2000}\n')
    with pytest.raises(DataError, match="line 1: value: found 2000"):
        list(do.import_files(place, "loop", [str(log)], read=None))
    data = QueryDataset.from_arrays(np.ones((2, 3)), [0, 1023], group=[2])
    with pytest.raises(DataError, match="found a grade of 1023, expected at most 30"):
        list(do.import_files(place, "loop", ["x.txt"], read=lambda _: data))


def test_long_ids_are_stored_found_and_closed(address, rng):
    """From imports, for example: PostgreSQL cannot index them, so their digests are the keys."""
    clock, name = Clock(), "é" * 3000
    with Loop("loop", small(window=10), open_journal(*address), clock=clock) as loop:
        entry = ranked(loop, name, rng)
        first, again = loop.append(entry)[0], loop.append(entry)[0]
        assert (first.status, again.status) == ("accepted", "duplicate")
        assert loop.append(ranked(loop, name, rng))[0].status == "conflict"
        assert loop.append(click("e1", entry))[0].status == "applied"
        clock.now += 11
        until(lambda: loop.open_rankings == 0)
    with open_journal(*address) as journal:
        assert journal.find(f"ranking:{name}").entry == entry


def test_one_caller_never_fails_another(tmp_path, rng):
    """Also when their entries are in one transaction, and one of them cannot be stored."""
    loop = Loop("loop", small(), open_journal(str(tmp_path / "j"), "loop"))
    store = loop._writer._journal
    append, sizes = store.append, []

    def fail(rows, keys=()):
        sizes.append(len(rows))
        if any(row.key == "event:bad" for row in rows):
            raise JournalError("this cannot be stored")
        return append(rows, keys)

    entry = ranked(loop, "r1", rng)
    loop.append(entry)
    store.append = fail
    with loop._queue._wake:  # the writer finds all three at once
        futures = [
            loop.submit([Observed(name, "r1", entry.items[0])]) for name in ("a", "bad", "b")
        ]
    assert [futures[n].result(60)[0].status for n in (0, 2)] == ["applied", "applied"]
    with pytest.raises(RankloopError, match="this request cannot be stored"):
        futures[1].result(60)
    assert sizes == [3, 1, 1, 1]
    with loop:
        assert loop.fault is None


def test_a_store_that_does_not_answer_is_not_asked_for_each_request(tmp_path, rng):
    loop = Loop("loop", small(), open_journal(str(tmp_path / "j"), "loop"))
    store, calls = loop._writer._journal, []

    def fail(rows, keys=()):
        calls.append(rows)
        raise UnreachableError("the disk is full")

    entry, append = ranked(loop, "r1", rng), store.append
    store.append = fail
    with loop._queue._wake:
        futures = [loop.submit([entry]), loop.submit([Closed("x")])]
    for future in futures:
        with pytest.raises(UnreachableError):
            future.result(60)
    assert len(calls) == 1
    store.append = append
    with loop:
        assert loop.append(entry)[0].status == "accepted"


def test_a_closing_that_cannot_be_stored_does_not_hold_up_the_others(tmp_path, rng):
    clock = Clock()
    loop = Loop("loop", small(window=10), open_journal(str(tmp_path / "j"), "loop"), clock=clock)
    store = loop._writer._journal
    append = store.append

    def fail(rows, keys=()):
        if any(row.key == "closed:r1" for row in rows):
            raise JournalError("this cannot be stored")
        return append(rows, keys)

    loop.append(*(ranked(loop, f"r{n}", rng) for n in range(3)))
    store.append = fail
    clock.now += 11
    with loop:
        until(lambda: loop.open_rankings == 1)
        assert loop.append(Judged("j", "r2", 4, {"d0": 1.0}))[0].status == "accepted"
