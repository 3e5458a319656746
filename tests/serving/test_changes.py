"""Changes of people that a model notices: in the state, the metrics and on the dashboard."""

from __future__ import annotations

import numpy as np
import pytest

import rankloop as rl
from rankloop.features import Feature, Features
from rankloop.serving.dashboard.now import now_of
from rankloop.serving.engine.engine import Engine
from rankloop.serving.engine.snapshots import replay
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import Closed, Observed
from rankloop.serving.learning.changes import adaptive_part
from rankloop.serving.routes.state import loop_state
from rankloop.serving.service import Service
from rankloop.serving.settings.service import as_settings
from tests.serving.tools import ranked

CHANGE, END = 120, 220


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A shop whose people like a high price first, and later a low one."""
    journal = str(tmp_path_factory.mktemp("shop") / "shop.journal")
    loop = {"features": ["price", "match", "age"], "rankers": ["auto", "slam"], "window": 3600}
    service = Service.start(as_settings({"loops": {"shop": loop | {"journal": journal}}}))
    loop, rng = service.loops["shop"], np.random.default_rng(0)
    for n in range(END):
        entry = ranked(loop, f"r{n}", rng)
        worth = entry.matrix()[:, 0] * (1 if n < CHANGE else -1)
        best = entry.items[int(worth.argmax())]
        loop.append(entry, Observed(f"e{n}", entry.id, best), Closed(entry.id))
    loop.settle()
    service.boards.look()
    service.boards.look()  # a second look marks nothing again
    yield service, journal
    service.stop()


def noticed_at(service):
    (position,) = service.loops["shop"].published.changes["auto"].positions
    return position


def test_the_state_says_when_and_what(shop):
    service, _ = shop
    loop = service.loops["shop"]
    position = noticed_at(service)
    assert 3 * CHANGE < position < 3 * (CHANGE + 60)
    auto, slam = loop_state(loop, loop.published).models
    assert auto.adaptation.changes == [position]
    assert auto.adaptation.memory < END - CHANGE + 30
    assert auto.adaptation.moved[0].feature == "price"
    assert auto.adaptation.moved[0].now < 0 < auto.adaptation.moved[0].before
    assert slam.adaptation is None


def test_what_moved_has_the_names_of_categories():
    rng = np.random.default_rng(2)
    brand = Feature("brand", "category", ("acme", "best", "cosy"))
    ranker = rl.rankers.Described(rl.Auto(), description=Features((brand,)))
    for n in range(200):
        X = rng.integers(0, 3, (8, 1)).astype(np.float32)
        ranker.learn(X, X[:, 0] == (0 if n < CHANGE else 2))
    moved = adaptive_part(ranker).moved_weights()
    assert {part["feature"] for part in moved} == {"brand = acme", "brand = best", "brand = cosy"}
    assert moved[0]["feature"] in ("brand = acme", "brand = cosy")


def test_the_dashboard_marks_it_once(shop):
    service, _ = shop
    marks = now_of(service, service.boards.loops["shop"]).marks
    (mark,) = [mark for mark in marks if mark.kind == "change"]
    assert mark.position == noticed_at(service)
    assert "auto noticed that people or items changed" in mark.words
    assert "price" in mark.words


def test_metrics_have_it(shop):
    text = shop[0].metrics.text().decode()
    assert 'rankloop_changes_total{loop="shop",model="auto"} 1.0' in text
    assert 'rankloop_memory{loop="shop",model="auto"}' in text
    assert 'model="slam"' not in text.split("rankloop_memory{")[1].splitlines()[0]


@pytest.mark.slow
def test_every_replica_notices_at_the_same_entry(shop):
    service, journal = shop
    with open_journal(journal, "shop") as opened:
        clean = replay(opened)
        records = opened.read(0, clean.position, 10_000)
        entries = {record.position: record.entry for record in records}
        one_by_one = Engine(entries.__getitem__)
        for record in records:
            one_by_one.apply(record)
            one_by_one.learn()
    expected = service.loops["shop"].inspect(lambda engine: engine.digest())
    assert clean.digest() == one_by_one.digest() == expected
    assert one_by_one.models["auto"].changes.positions == [noticed_at(service)]
