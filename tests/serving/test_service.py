"""The loop as a whole: rank, journal, feedback, close, learn, publish; restart and replay."""

from __future__ import annotations

import threading
import time

import pytest

from rankloop.serving.engine.engine import Engine
from rankloop.serving.engine.snapshots import load_engine, replay
from rankloop.serving.journal.action_entries import ExperimentStarted, ModelAdded, Promoted
from rankloop.serving.journal.base import BusyError
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import Closed, Judged
from rankloop.serving.loop import Loop

from .tools import Clock, best_item, click, ranked, small, until


def a_day(loop, rng, rankings=12, start=0):
    for n in range(start, start + rankings):
        entry = ranked(loop, f"r{n}", rng)
        assert loop.append(entry)[0].status == "accepted"
        assert loop.append(click(f"e{n}", entry))[0].status == "applied"
        loop.append(Closed(entry.id))
        loop.settle()


def test_it_learns_what_is_clicked_and_a_restart_changes_nothing(address, rng):
    with Loop("loop", small(), open_journal(*address)) as loop:
        a_day(loop, rng, rankings=60)
        engine = loop._engine
        assert engine.totals.examples > 40
        model = engine.models["solar-i"]
        assert model.curve.recent > 0.85  # a random order has .59
    digest = loop._engine.digest()
    with open_journal(*address) as journal:
        assert journal.states()[0].position == journal.head() == loop._engine.position
        assert replay(journal).digest() == digest
        assert load_engine(journal).digest() == digest
    with Loop("loop", small(), open_journal(*address)) as loop:
        assert loop.inspect(Engine.digest) == digest
        a_day(loop, rng, rankings=3, start=100)
    later = loop._engine.digest()
    assert later != digest
    with open_journal(*address) as journal:
        assert replay(journal).digest() == later


def test_what_becomes_of_feedback(address, rng):
    with Loop("loop", small(max_events=2), open_journal(*address)) as loop:
        one, other = ranked(loop, "one", rng), ranked(loop, "other", rng)
        early = click("early", other)
        assert [a.status for a in loop.append(early)] == ["pending"]
        loop.append(one, other)
        stray = click("stray", one, "nobody showed this")
        first = click("first", one)
        answers = loop.append(first, first, click("first", one, one.items[0] + "!"), stray)
        assert [a.status for a in answers] == ["applied", "duplicate", "rejected", "rejected"]
        changed = click("first", one, next(i for i in one.items if i != best_item(one)))
        assert loop.append(changed)[0].status == "conflict"
        assert loop.append(early)[0].status == "duplicate"
        assert loop.append(click("2", one), click("3", one))[1].status == "rejected"
        loop.append(Closed("one"), Closed("other"))
        late = loop.append(click("late", one))[0]
        assert late.status == "late"
        loop.settle()
        totals = loop._engine.totals
        assert (totals.events, totals.pending, totals.late) == (5, 1, 1)
        assert (totals.closed, totals.rejected) == (2, 1)
        assert totals.examples == 2
        assert loop.append(Closed("one"))[0].status == "duplicate"
    with Loop("loop", small(max_early=0), open_journal(*address)) as loop:
        assert loop.append(click("x", ranked(loop, "new", rng)))[0].status == "unknown_ranking"


def test_windows_close_by_the_clock(tmp_path, rng):
    clock = Clock()
    journal = open_journal(str(tmp_path / "j"), "loop")
    with Loop("loop", small(window=60.0), journal, clock=clock) as loop:
        entry = ranked(loop, "r", rng)
        loop.append(entry)
        loop.append(click("e", entry))
        clock.now += 59
        time.sleep(0.2)
        assert loop.open_rankings == 1
        clock.now -= 100_000  # a clock that jumps back closes nothing, and breaks nothing
        time.sleep(0.2)
        assert loop.append(ranked(loop, "second", rng))[0].status == "accepted"
        clock.now += 100_002
        until(lambda: loop.open_rankings == 0)
        loop.settle()
        assert loop._engine.totals.examples == 1


def test_too_many_open_rankings_are_closed_early(tmp_path, rng):
    settings = small(max_open=3)
    with Loop("loop", settings, open_journal(str(tmp_path / "j"), "loop")) as loop:
        for n in range(10):
            loop.append(ranked(loop, f"r{n}", rng))
        until(lambda: loop.open_rankings == 3)
        assert list(loop._live.joins.open) == ["r7", "r8", "r9"]


def test_two_processes_reach_the_same_state(address, rng):
    with (
        Loop("loop", small(), open_journal(*address)) as one,
        Loop("loop", small(), open_journal(*address)) as other,
    ):
        until(lambda: one.leads)
        assert not other.leads
        for n in range(20):
            asked, told = (one, other) if n % 2 else (other, one)
            entry = ranked(asked, f"r{n}", rng)
            asked.append(entry)
            told.append(click(f"e{n}", entry), Closed(entry.id))
        until(lambda: one.head == other.head == one._journal.head() or one._writer.others.set())
        until(lambda: one.lag == other.lag == 0)
        until(lambda: one.head == other.head and one.lag == other.lag == 0)
        assert one.inspect(Engine.digest) == other.inspect(Engine.digest)
        assert one._engine.totals.examples > 5


def test_judgements_are_learnt_at_once(tmp_path, rng):
    with Loop("loop", small(), open_journal(str(tmp_path / "j"), "loop")) as loop:
        before = loop.published
        entry = ranked(loop, "r", rng)
        position = loop.append(entry)[0].position
        loop.append(Judged("j1", "r", position, {"d0": 2.0, "d1": 0.0}))
        loop.append(Judged("j2", "r", position, {"nobody": 2.0}))
        loop.settle()
        after = loop.published
        assert after.versions["solar-i"] == position + 1 > before.versions["solar-i"]
        X = entry.matrix()
        low, high = after.models["solar-i"].predict(X[[1, 0]])
        assert low < high
        assert not before.models["solar-i"].predict(X).any()  # what readers hold never changes


def test_promotion_and_a_model_from_elsewhere(address, rng):
    from rankloop.rankers.online.slam import Slam

    trained = Slam("nDCG@10").learn([[1.0, 0, 0], [0, 0, 0]], [1, 0])
    with Loop("loop", small(), open_journal(*address)) as loop:
        loop.append(ModelAdded("mine", trained.dumps()), Promoted("p1", "mine"))
        loop.append(Promoted("p2", "nobody"))
        loop.settle()
        assert loop.published.champion == "mine"
        entry = ranked(loop, "r", rng)
        assert entry.items[entry.order[0]] == best_item(entry)
        digest = loop.inspect(Engine.digest)
    with Loop("loop", small(rankers=("solar-i",)), open_journal(*address)) as loop:
        assert set(loop.published.models) == {"solar-i", "mine"}
    with open_journal(*address) as journal:
        assert replay(journal, until=loop.head - 1).digest() == digest


def test_an_experiment_promotes_the_better_model(tmp_path, rng):
    from rankloop.rankers.online.slam import Slam

    good = Slam("nDCG@10").learn([[1.0, 0, 0], [0, 0, 0]], [1, 0])
    settings = small(rankers=("solar-i:C=1e-9",))
    journal = open_journal(str(tmp_path / "j"), "loop")
    with Loop("loop", settings, journal) as loop:
        bad = Slam("nDCG@10").learn([[1.0, 0, 0], [0, 0, 0]], [0, 1])
        loop.append(ModelAdded("bad", bad.dumps()), Promoted("p1", "bad"))
        loop.append(ModelAdded("good", good.dumps()))
        loop.append(ExperimentStarted("x", ["good"], promote="auto"))
        loop.settle()
        n = 0
        while (entry := ranked(loop, f"r{n}", rng, session=f"s{n}")).policy == "team-draft":
            loop.append(entry, click(f"e{n}", entry), Closed(entry.id))
            loop.settle()
            n += 1
            assert n < 500
        assert n > 0
        until(lambda: loop.published.champion == "good")
        assert loop.published.experiments.promotions == 2
        digest, head = loop.inspect(Engine.digest), loop.head
    with open_journal(str(tmp_path / "j"), "loop") as journal:
        assert replay(journal, head).digest() == digest


def test_a_full_queue_says_so(tmp_path, rng):
    with Loop("loop", small(), open_journal(str(tmp_path / "j"), "l"), max_waiting=4) as loop:
        entries = [ranked(loop, f"r{n}", rng) for n in range(6)]
        append, on_its_way, free = loop._journal.append, threading.Event(), threading.Event()
        loop._journal.append = lambda *d: on_its_way.set() or (free.wait(60) and append(*d))
        futures = [loop.submit([entries[0]])]
        on_its_way.wait()
        futures += [loop.submit([entry]) for entry in entries[1:4]]
        with pytest.raises(BusyError, match="wait for the disk, and at most 4 may wait"):
            loop.submit(entries[4:6])
        free.set()
        for future in futures:
            assert future.result(60)[0].status == "accepted"


def test_features_cannot_change(tmp_path):
    path = str(tmp_path / "j")
    Loop("loop", small(), open_journal(path, "l")).stop()
    with open_journal(path, "l") as journal, pytest.raises(ValueError, match="cannot be changed"):
        Loop("loop", small(features=4), journal)


def test_a_damaged_state_is_passed_over(tmp_path, rng):
    path = str(tmp_path / "j")
    with Loop("loop", small(), open_journal(path, "l")) as loop:
        a_day(loop, rng)
    digest = loop._engine.digest()
    with open_journal(path, "l") as journal:
        (saved,) = journal.states()
        body = bytearray(saved.body)
        body[len(body) // 2] ^= 1
        journal.save(saved._replace(body=bytes(body)))
        assert load_engine(journal).digest() == digest


def test_rankers_for_clicks_learn_from_the_rankings_drawn_for_them(tmp_path, rng):
    settings = small(rankers=("pdgd:rate=0.5", "solar-i"), policy="plackett-luce")
    journal = open_journal(str(tmp_path / "j"), "loop")
    with Loop("loop", settings, journal) as loop:
        a_day(loop, rng, rankings=60)
        model = loop._engine.models["pdgd:rate=0.5"]
        assert (model.refused, model.ranker.n_queries_seen_) == (0, loop._engine.totals.examples)
        weights = model.ranker.weights_
        assert weights[0] > 3 * max(abs(weights[1]), abs(weights[2]))
    with open_journal(str(tmp_path / "j"), "loop") as journal:
        assert replay(journal).digest() == loop._engine.digest()
    with Loop(
        "loop", small(rankers=("pdgd:rate=0.5",)), open_journal(str(tmp_path / "j"), "l")
    ) as loop:
        seen = loop._engine.models["pdgd:rate=0.5"].refused
        a_day(loop, rng, rankings=5, start=100)  # best first: chances are not known, nothing learnt
        assert loop._engine.models["pdgd:rate=0.5"].refused == seen + 5


def test_metrics_of_the_dashboard_are_those_of_the_service():
    import re
    from pathlib import Path

    from rankloop.serving.metrics import Metrics

    dashboard = Path(__file__).parents[2] / "deploy" / "grafana" / "rankloop.json"
    names = set(re.findall(r"rankloop_[a-z_]+", dashboard.read_text()))
    known = Metrics({})
    known.seconds.labels("x", "200").observe(1)
    known.events.labels("x", "applied").inc()
    text = known.text().decode()
    assert {name for name in names if name not in text} == set()
