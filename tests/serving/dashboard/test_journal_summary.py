"""What the journal tells: places, marks, the newest rankings; bounded, also after a restart."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop.exceptions import DataError
from rankloop.serving.dashboard import journal_summary
from rankloop.serving.dashboard.drift import Drift
from rankloop.serving.dashboard.journal_summary import JournalSummary
from rankloop.serving.journal.action_entries import ExperimentEnded, ExperimentStarted, Promoted
from rankloop.serving.journal.entries import decode_ids, encode
from rankloop.serving.journal.feature_entries import ItemsChanged, UsersChanged
from rankloop.serving.journal.ranking_entries import Closed, Observed
from rankloop.serving.journal.sqlite import SqliteJournal
from rankloop.serving.loop import Loop
from tests.serving.tools import ranked, small


@pytest.fixture
def loop(tmp_path):
    with Loop("loop", small(), SqliteJournal(tmp_path / "a.journal")) as loop:
        yield loop


def live(loop, n=30):
    """Rankings of five items, of which the first is always clicked and the third now and then."""
    rng = np.random.default_rng(1)
    for i in range(n):
        entry = ranked(loop, f"r{i}", rng)
        loop.append(entry)
        shown = [entry.items[row] for row in entry.order]
        loop.append(Observed(f"a{i}", entry.id, shown[0]))
        if i % 3 == 0:
            loop.append(Observed(f"b{i}", entry.id, shown[2]))
        loop.append(Closed(entry.id))
    loop.settle()


def summarize(loop, remembers):
    summary = JournalSummary([False] * 3)
    recent = loop.recent if remembers else lambda position, decode=None: None
    with loop.reader() as journal:
        while summary.position < loop.head:
            summary.follow(journal, recent, loop.head, 37)
    return summary


def test_changes_of_items_are_passed_over_unread(loop):
    items = [(f"i{k}", {"title": f"item number {k}"}) for k in range(200)]
    rest = [ItemsChanged("small", "put", items[:1]), ranked(loop, "r", np.random.default_rng(0))]
    long = [ItemsChanged("all", "put", items), UsersChanged("all", "put", [(b"u" * 3000, {})])]
    for entry in rest:
        assert journal_summary._decode(encode(entry)) == decode_ids(encode(entry))
    for entry in long:
        assert journal_summary._decode(encode(entry)).items == []
    with pytest.raises(DataError):
        journal_summary._decode(b"x" * 3000)


@pytest.mark.parametrize("remembers", [True, False])
def test_feedback_is_counted_by_place(loop, remembers):
    live(loop)
    summary = summarize(loop, remembers)
    assert summary.shown[:6].tolist() == [30, 30, 30, 30, 30, 0]
    assert summary.clicked[:6].tolist() == [30, 0, 10, 0, 0, 0]
    assert (summary.closed, summary.joined) == (30, 30)
    assert summary.newest["r3"].events == 2
    assert summary.newest["r4"].events == 1


def test_acts_are_marked_in_words(loop):
    loop.append(ExperimentStarted("e1", ["solar-i"]))
    loop.append(ExperimentEnded("e1", "ended by hand"))
    loop.append(ExperimentStarted("e2", ["solar-i"], promote="auto"))
    loop.append(ExperimentEnded("e2", "solar-i is better", "solar-i"))
    loop.append(Promoted("p1", "solar-i", "because", by="anyone"))
    assert [(mark.kind, mark.words) for mark in summarize(loop, True).marks] == [
        ("settings", "settings stored"),
        ("experiment", "experiment with solar-i started"),
        ("experiment", "experiment ended (ended by hand)"),
        ("experiment", "experiment with solar-i started"),
        ("promotion", "solar-i promoted: it won an experiment (solar-i is better)"),
        ("promotion", "solar-i promoted (anyone: because)"),
    ]


def test_a_watch_that_falls_behind_says_what_it_passed_over(loop, monkeypatch):
    live(loop, 5)
    summary = summarize(loop, True)
    before = summary.position
    live_more = [Observed(f"x{i}", "r0", "d0") for i in range(50)]
    loop.append(*live_more)
    monkeypatch.setattr(journal_summary, "LOOK_BACK", 20)
    with loop.reader() as journal:
        summary.follow(journal, loop.recent, loop.head, 1000)
    assert summary.position == loop.head
    assert summary.passed_over == loop.head - before - 20


def test_memory_is_bounded(loop, monkeypatch):
    monkeypatch.setattr(journal_summary, "_NEWEST", 7)
    monkeypatch.setattr(journal_summary, "_MAX_OPEN", 3)
    rng = np.random.default_rng(1)
    loop.append(*[ranked(loop, f"r{i}", rng) for i in range(20)])
    summary = summarize(loop, True)
    assert list(summary.newest) == [f"r{i}" for i in range(13, 20)]
    loop.append(*[Closed(f"r{i}") for i in range(20)])
    with loop.reader() as journal:
        summary.follow(journal, loop.recent, loop.head, 1000)
    assert summary.closed == 3  # a sample, each of them whole


def test_under_load_some_rankings_stand_for_all(loop, monkeypatch):
    monkeypatch.setattr(journal_summary, "_MAX_RANKINGS", 4)
    live(loop, 30)
    summary = JournalSummary([False] * 3)
    with loop.reader() as journal:
        summary.follow(journal, loop.recent, loop.head, 1000)
    assert summary.position == loop.head
    assert summary.newest.keys() == {"r0", "r1", "r2", "r3"}
    assert (summary.closed, summary.joined) == (4, 4)
    assert summary.clicked[:4].tolist() == [4, 0, 2, 0]


def test_drift_knows_missing_values_and_categories():
    """One missing value must not spoil a mean for ever, and the mean of codes says nothing."""
    rng = np.random.default_rng(0)
    drift = Drift([False, True, False])
    for n in range(600):
        late = n >= 500
        number = rng.normal(3.0 * late, 1.0, 20)
        code = np.where(rng.random(20) < 0.5, 7.0, 1000.0 if late else 3.0)
        never = np.full(20, np.nan)
        number[rng.random(20) < (0.5 if late else 0.1)] = np.nan
        drift.add(np.column_stack([number, code, never]))
        if n == 499:
            before = drift.shifts()
    assert abs(before[0].shift) < 0.1
    assert before[1].shift < 0.1
    number, category, never = drift.shifts()
    assert 0.5 < number.shift < 2
    assert number.missing > number.was_missing + 0.05
    assert (number.is_category, category.is_category) == (False, True)
    assert 0.1 < category.shift < 0.5
    assert never == (0.0, 1.0, 1.0, False)
