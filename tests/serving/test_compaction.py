"""Compaction while a service runs: what refers to the archive is answered, and harms nobody."""

from __future__ import annotations

from importlib import import_module

import pytest

from rankloop.serving import operations as do
from rankloop.serving.engine.engine import Engine
from rankloop.serving.engine.snapshots import load_engine, replay
from rankloop.serving.journal.action_entries import Configured
from rankloop.serving.journal.base import CompactedError, make_row
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import Closed, Judged, Observed
from rankloop.serving.loop import Loop
from rankloop.serving.service import Service
from rankloop.serving.settings.service import Settings

from .tools import click, ranked, running, small, until


def live(loop, rng, names):
    entries = []
    for name in names:
        entry = ranked(loop, name, rng)
        loop.append(entry, click(f"e{name}", entry), Closed(name))
        entries.append(entry)
    loop.settle()
    return entries


@pytest.mark.parametrize("restarts", [False, True])
def test_late_and_repeated_feedback_and_judgements_of_a_compacted_ranking(
    address, rng, tmp_path, restarts
):
    loop = Loop("loop", small(), open_journal(*address))
    entry, *_ = live(loop, rng, ["old", "b", "c"])
    with open_journal(*address) as journal:
        last = do.compact(journal, tmp_path / "old.parquet")
    until(lambda: loop.head > last)
    if restarts:
        loop.stop()
        loop = Loop("loop", small(), open_journal(*address))
    fresh = ranked(loop, "new", rng)
    answers = loop.append(
        fresh,
        click("e", entry),
        click("eold", entry),
        Observed("anything", "old", "no item"),
        click("f", fresh),
    )
    statuses = [answer.status for answer in answers]
    unknown = "late" if restarts else "rejected"  # only memory still has the items
    assert statuses == ["accepted", "late", "duplicate", unknown, "applied"]
    assert loop.append(entry)[0].status == "duplicate"
    with pytest.raises(CompactedError):
        loop.find_ranking("old")
    # What had been on its way is left out, by all processes alike.
    loop.append(Judged("j", "old", 2, {"d0": 1.0, "d1": 0.0}))
    loop.settle()
    assert loop.published.totals.failed == 1
    digest = loop.inspect(Engine.digest)
    loop.stop(save=False)  # as after kill -9
    with Loop("loop", small(), open_journal(*address)) as loop:
        assert loop.inspect(Engine.digest) == digest
    with open_journal(*address) as journal:
        assert replay(journal).digest() == load_engine(journal).digest() == digest
        assert do.verify(journal).faults == []


def test_the_service_answers_410(tmp_path, rng):
    place = tmp_path / "products.journal"
    service = Service.start(Settings({"products": small(journal=str(place))}))
    live(service.loops["products"], rng, ["old"])
    with open_journal(str(place), "products") as journal:
        last = do.compact(journal, tmp_path / "old.parquet")
    until(lambda: service.loops["products"].head > last)
    with running(service) as client:
        body = {"ranking_id": "old", "grades": {"d0": 1}}
        judged = client.post("/v1/products/judgements", json=body)
        seen = client.get("/v1/products/rankings/old")
        assert (judged.status_code, seen.status_code) == (410, 410)
        assert "only in the archive" in judged.json()["detail"]
        events = [{"ranking_id": "old", "item": "d1", "event_id": "x"}]
        late = client.post("/v1/products/feedback", json={"events": events})
        assert late.json()["events"][0]["status"] == "late"
    service.stop()


def test_late_feedback_that_is_learnt_only_after_the_compaction(address, rng, tmp_path):
    """New settings let late feedback be learnt, but the ranking is gone: only that is left out."""
    with Loop("loop", small(), open_journal(*address)) as loop:
        entry, *_ = live(loop, rng, ["old", "b"])
    with open_journal(*address) as journal:
        do.compact(journal, tmp_path / "old.parquet")
        journal.append([make_row(Configured(small(late=True).to_bytes(), 3), 0)])
    with Loop("loop", small(late=True), open_journal(*address)) as loop:
        loop.append(Observed("late", "old", entry.items[entry.order[1]]))
        live(loop, rng, ["new"])
        assert loop.published.totals.failed == 1
    with open_journal(*address) as journal:
        assert replay(journal).digest() == loop._engine.digest()


def test_an_entry_that_refers_to_what_is_being_compacted_is_noticed(tmp_path, rng, monkeypatch):
    """Between the look at what is needed, and the entry from which on nothing refers to it."""
    place = str(tmp_path / "j"), "loop"
    with Loop("loop", small(), open_journal(*place)) as loop:
        live(loop, rng, ["a", "b", "c"])
    compact = import_module("rankloop.serving.operations.compact")
    with open_journal(*place) as journal:
        where = journal.find("ranking:b").position
        take = compact.take_snapshot

        def race(engine):
            journal.append([make_row(Judged("j", "b", where, {"d0": 1.0, "d1": 0.0}), 0)])
            return take(engine)

        monkeypatch.setattr(compact, "take_snapshot", race)
        assert do.compact(journal, tmp_path / "old.parquet") == where - 1
        assert load_engine(journal).totals.failed == 0
        assert replay(journal).totals.judgements == 1


def test_the_state_that_replaces_old_entries_is_kept_beside_newer_ones(address, rng, tmp_path):
    """A service saves states often; those that follow must not push out the one to replay from."""
    with Loop("loop", small(snapshot_every=3), open_journal(*address)) as loop:
        for number in range(12):
            live(loop, rng, [f"r{number}"])
    with open_journal(*address) as journal:
        for until in (10, 16):
            do.compact(journal, tmp_path / f"{until}.parquet", until)
            assert journal.states()[-1].position == until
            assert load_engine(journal, until=until + 1).position == until + 1
        assert replay(journal).digest() == load_engine(journal).digest()
