"""Upgrades that change arithmetic, and what is left of entries that were compacted."""

from __future__ import annotations

import pytest

from rankloop.exceptions import DataError
from rankloop.serving import operations as do
from rankloop.serving.engine.engine import Engine
from rankloop.serving.engine.history import audit_ranking, make_rollback
from rankloop.serving.engine.snapshots import load_engine, replay, take_snapshot
from rankloop.serving.engine.state import ENGINE
from rankloop.serving.journal.action_entries import (
    Checked,
    Configured,
    EpochStarted,
    ExperimentEnded,
    ExperimentStarted,
    Promoted,
)
from rankloop.serving.journal.base import JournalError, make_row
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import Closed
from rankloop.serving.learning.failures import DivergedError
from rankloop.serving.loop import Loop

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
    return write_old(place, rng, monkeypatch)


def write_old(place, rng, monkeypatch, *last):
    """Write a journal as an older version of the engine did, with some more entries at its end."""
    for module in ("engine.state", "engine.engine", "engine.effects", "loop", "engine.epochs"):
        monkeypatch.setattr(f"rankloop.serving.{module}.ENGINE", ENGINE - 1)
    monkeypatch.setattr(Engine, "digest", lambda self: f"of another arithmetic, {self.position}")
    with Loop("loop", small(), open_journal(*place)) as loop:
        live(loop, rng, "old")
        for entry in last:
            loop.append(entry)
    monkeypatch.undo()
    return place


@pytest.mark.slow
@pytest.mark.parametrize("damaged", [False, True])
def test_an_upgrade_goes_on_from_a_journaled_state(old, rng, damaged, caplog):
    with open_journal(*old) as journal:
        left, head = journal.states()[0], journal.head()
        if damaged:
            journal.save(left._replace(digest="?"), keep=1)
    with Loop("loop", small(), open_journal(*old)) as loop:
        assert "continues from the state after that" in caplog.text
        examples = loop.published.totals.examples
        assert examples > 5
        live(loop, rng, "new")
    digest = loop._engine.digest()
    with open_journal(*old) as journal:
        assert isinstance(journal.at(head + 1), EpochStarted)
        assert replay(journal).digest() == load_engine(journal).digest() == digest
        assert sum(isinstance(r.entry, EpochStarted) for r in journal.scan()) == 1
        found = do.verify(journal)
        harm = [f"the state saved after entry {left.position} is damaged"] if damaged else []
        assert found.faults == harm
        assert 5 < found.rankings_recomputed <= 12  # those of the new epoch
        with pytest.raises(DataError, match="choose a position after the upgrade"):
            make_rollback(journal, "a", head - 3, "")
        with pytest.raises(DataError, match=f"made by version {ENGINE - 1} of the engine"):
            audit_ranking(journal, "old3")
        make_rollback(journal, "a", head + 5, "")
    with Loop("loop", small(), open_journal(*old)) as loop:  # and no further epoch
        assert loop.inspect(Engine.digest) == digest


def test_a_journal_can_be_verified_before_its_upgrade(old):
    """As the upgrade's documentation says; what another version computed is not compared."""
    with open_journal(*old) as journal:
        found = do.verify(journal)
        assert (found.faults, found.rankings_recomputed) == ([], 0)
        assert found.entries == journal.head()


@pytest.mark.parametrize("holdback", [False, True])
def test_an_experiment_ends_with_its_epoch(place, rng, monkeypatch, holdback, caplog):
    """Outcomes of two versions cannot be added."""
    started = ExperimentStarted("x", ["solar-i"])
    promoted = Promoted("p", "solar-i", holdback=0.5)
    write_old(place, rng, monkeypatch, promoted if holdback else started)
    with open_journal(*place) as journal:
        running = load_engine(journal).running
        assert running.is_holdback == holdback
    with Loop("loop", small(), open_journal(*place)) as loop:
        assert loop.published.experiment is None
        assert loop.published.champion == ("solar-i" if holdback else "slam:measure=AP")
        assert f"experiment {running.id} ends" in caplog.text
        live(loop, rng, "new")
    with open_journal(*place) as journal:
        (ended,) = [r.entry for r in journal.scan() if isinstance(r.entry, ExperimentEnded)]
        assert (ended.id, ended.winner) == (running.id, "")
        assert replay(journal).digest() == loop._engine.digest()


def test_digests_count_within_an_epoch(old):
    with Loop("loop", small(), open_journal(*old)) as loop:
        pass
    with open_journal(*old) as journal:
        engine = load_engine(journal)
        position = journal.head()
        engine.digests[position] = engine.digest()
        journal.append([make_row(Checked(position, "another"), 0)])
        with pytest.raises(DivergedError):
            engine.apply(journal.read(position)[0])
    assert loop.fault is None


def test_a_state_that_others_overtook_is_passed_over(old):
    with open_journal(*old) as journal:
        engine = load_engine(journal)
        journal.append([make_row(Promoted("p", "solar-i"), 0)])
        state = take_snapshot(engine).body
        journal.append([make_row(EpochStarted(ENGINE, engine.position, state), 0)])
    with Loop("loop", small(), open_journal(*old)) as loop:
        assert loop._engine.epoch == ENGINE
    with open_journal(*old) as journal:
        assert sum(isinstance(r.entry, EpochStarted) for r in journal.scan()) == 2
        assert replay(journal).digest() == loop._engine.digest()


def test_a_newer_journal_is_refused(place):
    with open_journal(*place) as journal:
        journal.append([make_row(Configured(small().to_bytes(), ENGINE), 0)])
        journal.append([make_row(EpochStarted(ENGINE + 1, 1, b""), 0)])
    with pytest.raises(DataError, match="install the newer version"):
        Loop("loop", small(), open_journal(*place))


@pytest.mark.parametrize("saved", [False, True])
def test_a_journal_that_a_newer_version_began_or_saved_is_refused(place, rng, monkeypatch, saved):
    """An older version must not begin an epoch of its own after it."""
    for module in ("engine.state", "engine.engine", "engine.effects", "loop", "engine.epochs"):
        monkeypatch.setattr(f"rankloop.serving.{module}.ENGINE", ENGINE + 1)
    with Loop("loop", small(), open_journal(*place)) as loop:
        live(loop, rng, "new")
        if not saved:
            monkeypatch.setattr(loop, "_save", lambda: None)
    monkeypatch.undo()
    with open_journal(*place) as journal:
        assert bool(journal.states()) == saved
        head = journal.head()
        assert "install the newer version" in do.verify(journal).faults[0]
        for use in (load_engine, replay, lambda j: do.quarantine(j, 2)):
            with pytest.raises(DataError, match="install the newer version"):
                use(journal)
    with pytest.raises(DataError, match="install the newer version"):
        Loop("loop", small(), open_journal(*place))
    with open_journal(*place) as journal:
        assert journal.head() == head


@pytest.mark.slow
def test_what_took_the_place_of_entries_stays(address, rng, tmp_path):
    settings = small(snapshot_every=5)
    with Loop("loop", settings, open_journal(*address)) as loop:
        live(loop, rng, "a", 20)
    with open_journal(*address) as journal:
        base = do.compact(journal, tmp_path / "old.parquet")
        assert base == journal.head() - 1  # then comes the entry that says so
    with Loop("loop", settings, open_journal(*address)) as loop:
        live(loop, rng, "b", 20)
    with open_journal(*address) as journal:
        assert len(journal.states()) == 4  # the newest three, and the first
        assert journal.states()[-1].position == base
        assert replay(journal).digest() == load_engine(journal).digest() == loop._engine.digest()
        assert do.verify(journal).faults == []
        with pytest.raises(DataError, match=f"entries up to {base} were compacted"):
            make_rollback(journal, "a", base - 1, "")
        for act in (replay, lambda j, until: load_engine(j, until=until)):
            with pytest.raises(JournalError, match="compacted"):
                act(journal, until=base - 1)
        make_rollback(journal, "a", base + 1, "")


@pytest.mark.slow
def test_compaction_keeps_what_later_judgements_and_late_feedback_need(address, rng, tmp_path):
    from rankloop.serving.journal.ranking_entries import Judged, Observed

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
        digest = replay(journal).digest()
        with pytest.raises(DataError, match="nothing to compact"):
            do.compact(journal, tmp_path / "old.parquet", until=middle)
        assert load_engine(journal).digest() == digest
