"""Upgrades that change arithmetic, and what is left of entries that were compacted."""

from __future__ import annotations

import pytest

from rankloop.exceptions import DataError
from rankloop.serving import operations as do
from rankloop.serving.engine import DivergedError, Engine
from rankloop.serving.history import audited, rolled_back
from rankloop.serving.journal.base import Draft, JournalError
from rankloop.serving.journal.entries import Checked, Closed, Configured, EpochStarted, Promoted
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.service import Loop
from rankloop.serving.snapshots import brought_back, replayed, saved_state
from rankloop.serving.state import ENGINE

from .tools import click, ranked, small


def live(loop, rng, name, n=12):
    for number in range(n):
        entry = ranked(loop, f"{name}{number}", rng)
        loop.append(entry, click(f"{name}e{number}", entry), Closed(entry.id))
        loop.settle()


@pytest.fixture
def place(tmp_path):
    return str(tmp_path / "j"), "loop"


@pytest.fixture
def old(place, rng, monkeypatch):
    """The address of a journal that an older version of the engine wrote."""
    for module in ("state", "engine", "service", "epochs"):
        monkeypatch.setattr(f"rankloop.serving.{module}.ENGINE", ENGINE - 1)
    monkeypatch.setattr(Engine, "digest", lambda self: f"of another arithmetic, {self.position}")
    with Loop("loop", small(), open_journal(*place)) as loop:
        live(loop, rng, "old")
    monkeypatch.undo()
    return place


@pytest.mark.parametrize("damaged", [False, True])
def test_an_upgrade_goes_on_from_a_journaled_state(old, rng, damaged, caplog):
    with open_journal(*old) as journal:
        left, head = journal.saved()[0], journal.head()
        if damaged:
            journal.save(left._replace(digest="?"), keep=1)
    with Loop("loop", small(), open_journal(*old)) as loop:
        assert "continues from the state after that" in caplog.text
        examples = loop.published.counters.examples
        assert examples > 5
        live(loop, rng, "new")
    digest = loop._engine.digest()
    with open_journal(*old) as journal:
        assert isinstance(journal.at(head + 1), EpochStarted)
        assert replayed(journal).digest() == brought_back(journal).digest() == digest
        assert sum(isinstance(r.entry, EpochStarted) for r in journal.scan()) == 1
        found = do.verify(journal)
        assert found.faults == []
        assert 5 < found.rankings_recomputed <= 12  # those of the new epoch
        with pytest.raises(DataError, match="choose a position after the upgrade"):
            rolled_back(journal, "a", head - 3, "")
        with pytest.raises(DataError, match=f"made by version {ENGINE - 1} of the engine"):
            audited(journal, "old3")
        rolled_back(journal, "a", head + 5, "")
    with Loop("loop", small(), open_journal(*old)) as loop:  # and no further epoch
        assert loop.inspect(Engine.digest) == digest


def test_digests_count_within_an_epoch(old):
    with Loop("loop", small(), open_journal(*old)) as loop:
        pass
    with open_journal(*old) as journal:
        engine = brought_back(journal)
        position = journal.head()
        engine.digests[position] = engine.digest()
        journal.append([Draft(Checked(position, "another"), 0)])
        with pytest.raises(DivergedError):
            engine.apply(journal.read(position)[0])
    assert loop.fault is None


def test_a_state_that_others_overtook_is_passed_over(old):
    with open_journal(*old) as journal:
        engine = brought_back(journal)
        journal.append([Draft(Promoted("p", "solar-i"), 0)])
        state = saved_state(engine).body
        journal.append([Draft(EpochStarted(ENGINE, engine.position, state), 0)])
    with Loop("loop", small(), open_journal(*old)) as loop:
        assert loop._engine.epoch == ENGINE
    with open_journal(*old) as journal:
        assert sum(isinstance(r.entry, EpochStarted) for r in journal.scan()) == 2
        assert replayed(journal).digest() == loop._engine.digest()


def test_a_newer_journal_is_refused(place):
    with open_journal(*place) as journal:
        journal.append([Draft(Configured(small().journaled(), ENGINE), 0)])
        journal.append([Draft(EpochStarted(ENGINE + 1, 1, b""), 0)])
    with pytest.raises(DataError, match="install the newer version"):
        Loop("loop", small(), open_journal(*place))


def test_what_took_the_place_of_entries_stays(address, rng, tmp_path):
    settings = small(snapshot_every=5)
    with Loop("loop", settings, open_journal(*address)) as loop:
        live(loop, rng, "a", 20)
    with open_journal(*address) as journal:
        base = do.compact(journal, tmp_path / "old.parquet")
        assert base == journal.head()
    with Loop("loop", settings, open_journal(*address)) as loop:
        live(loop, rng, "b", 20)
    with open_journal(*address) as journal:
        assert len(journal.saved()) == 4  # the newest three, and the first
        assert journal.saved()[-1].position == base
        assert replayed(journal).digest() == brought_back(journal).digest() == loop._engine.digest()
        assert do.verify(journal).faults == []
        with pytest.raises(DataError, match=f"entries up to {base} were compacted"):
            rolled_back(journal, "a", base - 1, "")
        for act in (replayed, lambda j, until: brought_back(j, until=until)):
            with pytest.raises(JournalError, match="compacted"):
                act(journal, until=base - 1)
        rolled_back(journal, "a", base + 1, "")


def test_compaction_keeps_what_later_judgements_and_late_feedback_need(address, rng, tmp_path):
    from rankloop.serving.journal.entries import Judged, Observed

    settings = small(late=True)
    with Loop("loop", settings, open_journal(*address)) as loop:
        entry = ranked(loop, "r", rng)
        where = loop.append(entry, Closed("r"))[0].position
        live(loop, rng, "a", 3)
    with open_journal(*address) as journal:
        assert do.compact(journal, tmp_path / "x") == where - 1  # the settings alone
    with Loop("loop", small(), open_journal(*address)) as loop:
        middle = loop.head
        loop.append(Judged("j", "r", where, {"d0": 1.0, "d1": 0.0}))
        loop.append(Observed("late", "r", entry.items[entry.order[0]]))
    with open_journal(*address) as journal:
        digest = replayed(journal).digest()
        with pytest.raises(DataError, match="nothing to compact"):
            do.compact(journal, tmp_path / "old.parquet", until=middle)
        assert brought_back(journal).digest() == digest
