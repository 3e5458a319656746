"""Whatever happens to a loop, in any order: its state is that of a clean replay."""

from __future__ import annotations

import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

import msgspec
import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from rankloop.exceptions import DataError
from rankloop.serving import operations as do
from rankloop.serving.engine.engine import Engine
from rankloop.serving.engine.history import make_rollback
from rankloop.serving.engine.snapshots import replay
from rankloop.serving.engine.state import ENGINE
from rankloop.serving.journal.action_entries import (
    EpochStarted,
    ExperimentEnded,
    ExperimentStarted,
    ModelAdded,
    Promoted,
)
from rankloop.serving.journal.base import CompactedError, JournalError
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import Closed, Judged, Observed, Paged
from rankloop.serving.loop import Loop

from .tools import best_item, ranked, small, until

CHAMPIONS = ("slam:measure=AP", "solar-i")
MODELS = (*CHAMPIONS, "frozen")


class Life(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.rng = np.random.default_rng(0)
        self.rankings, self.made, self.changed, self.base = [], 0, {}, 0
        self.acknowledged = {}  # key: body, of all that the loop said is durable
        self.start()

    def start(self):
        journal = open_journal(str(self.folder / "j"), "loop")
        self.loop = Loop("loop", small(**self.options), journal)

    @property
    def options(self):
        return {"check_every": 7, "snapshot_every": 13, "max_early": 2} | self.changed

    def is_compacted(self, entry):
        return self.acknowledged[entry.key][0] <= self.base

    def send(self, entry):
        (answer,) = self.loop.append(entry)
        if answer.position is not None and answer.status != "conflict":
            body = self.acknowledged.setdefault(entry.key, (answer.position, entry))
            assert body[0] == answer.position  # once, however often it is sent
        return answer.status

    def name(self):
        self.made += 1
        return f"n{self.made}"

    @rule(k=st.integers(1, 5), in_session=st.booleans())
    def rank(self, k, in_session):
        entry = ranked(self.loop, self.name(), self.rng, k=k, session="s" if in_session else None)
        assert self.send(entry) == "accepted"
        self.rankings.append(entry)

    @precondition(lambda self: self.rankings)
    @rule(which=st.integers(0, 100), best=st.booleans())
    def click(self, which, best):
        entry = self.rankings[which % len(self.rankings)]
        item = best_item(entry) if best else entry.items[which % len(entry.items)]
        known = self.loop._live.joins.find(entry.id)
        shown = item in [entry.items[row] for row in entry.shown(known.pages)]
        status = self.send(Observed(self.name(), entry.id, item))
        if self.is_compacted(entry):  # only a process that has it in memory knows what was shown
            assert status == "late" or (status == "rejected" and not shown)
        else:
            assert status in (("applied", "late") if shown else ("rejected",))

    @rule()
    def click_before_the_ranking(self):
        name = self.name()
        assert self.send(Observed(self.name(), name, "d0")) == "pending"
        entry = ranked(self.loop, name, self.rng)
        self.send(entry)
        self.rankings.append(entry)

    @rule()
    def click_on_nothing(self):
        assert self.send(Observed(self.name(), self.name(), "d0")) == "pending"

    @precondition(lambda self: self.acknowledged)
    @rule(which=st.integers(0, 1000), other=st.booleans())
    def send_again(self, which, other):
        keys = sorted(self.acknowledged)
        _, entry = self.acknowledged[keys[which % len(keys)]]
        if isinstance(entry, Observed):
            changed = Observed(entry.id, entry.ranking_id, entry.item, "purchase")
            assert self.send(changed if other else entry) == ("conflict" if other else "duplicate")
        else:
            assert self.send(entry) == "duplicate"

    @precondition(lambda self: self.rankings)
    @rule(which=st.integers(0, 100))
    def close(self, which):
        self.send(Closed(self.rankings[which % len(self.rankings)].id))

    @rule(which=st.integers(0, 2), holdback=st.sampled_from([0.0, 0.5, 1.0]))
    def promote(self, which, holdback):
        self.send(Promoted(self.name(), MODELS[which], holdback=holdback))

    @rule()
    def add_a_model(self):
        trained = self.loop.inspect(lambda engine: engine.models[CHAMPIONS[0]].ranker.dumps())
        self.send(ModelAdded("frozen", trained))

    @rule(
        challengers=st.lists(st.sampled_from(MODELS), max_size=3),
        promote=st.sampled_from(["no", "auto", "snapshot"]),
        share=st.sampled_from([0.5, 1.0]),
        holdback=st.sampled_from([0.0, 1.0]),
    )
    def experiment(self, challengers, promote, share, holdback):
        self.send(ExperimentStarted(self.name(), challengers, promote, share, holdback))

    @rule(winner=st.sampled_from(["", *MODELS]))
    def end_the_experiment(self, winner):
        self.loop.settle()
        experiment = self.loop.published.experiment
        self.send(ExperimentEnded("none" if experiment is None else experiment.id, "", winner))

    @precondition(lambda self: self.rankings)
    @rule(which=st.integers(0, 100), page=st.integers(2, 4))
    def show_another_page(self, which, page):
        entry = self.rankings[which % len(self.rankings)]
        assert not set(entry.page(page)) & set(entry.order)
        self.send(Paged(entry.id, page))
        known = self.loop._live.joins.find(entry.id)
        if known is not None:
            assert page in known.pages
        for row in entry.page(page):
            status = self.send(Observed(self.name(), entry.id, entry.items[row]))
            assert status in ("applied", "late")

    @rule(k=st.integers(1, 5))
    def show_a_sorted_list(self, k):
        entry = ranked(self.loop, self.name(), self.rng, k=k, own_order=True)
        assert entry.order == list(range(k))
        assert self.send(entry) == "accepted"
        self.rankings.append(entry)

    @precondition(lambda self: self.rankings)
    @rule(which=st.integers(0, 100), good=st.integers(0, 4))
    def judge(self, which, good):
        entry = self.rankings[which % len(self.rankings)]
        position, _ = self.acknowledged[entry.key]
        self.send(Judged(self.name(), entry.id, position, {"d0": 1.0, f"d{good}": 2.0}))

    @precondition(lambda self: self.rankings)
    @rule(which=st.integers(0, 100), grade=st.sampled_from([1023.0, 1e300, -1e300]))
    def judge_beyond_all_bounds(self, which, grade):
        """The entrances refuse it; here it has got into the journal nevertheless."""
        entry = self.rankings[which % len(self.rankings)]
        position, _ = self.acknowledged[entry.key]
        self.send(Judged(self.name(), entry.id, position, {"d0": grade, "d1": 0.0}))

    @rule()
    def compact(self):
        self.loop.settle()
        with self.loop.reader() as journal:
            with suppress(DataError):  # nothing to compact
                self.base = do.compact(journal, self.folder / f"{self.name()}.parquet")
            until(lambda: self.loop.head == journal.head())

    @rule()
    def start_an_epoch(self):
        """As an upgrade does: from here on, replays begin with the state in the journal."""
        self.loop.settle()
        position, state = self.loop.inspect(
            lambda engine: (engine.position, msgspec.msgpack.encode(engine.state()))
        )
        self.loop.append(EpochStarted(ENGINE, position, state))

    @precondition(lambda self: any(isinstance(e, Judged) for _, e in self.acknowledged.values()))
    @rule(which=st.integers(0, 100))
    def quarantine(self, which):
        self.loop.settle()
        judged = [p for p, entry in self.acknowledged.values() if isinstance(entry, Judged)]
        with self.loop.reader() as journal:
            try:
                do.quarantine(journal, judged[which % len(judged)])
            except (DataError, JournalError):
                assert self.base  # the entry, or what it would be computed from, is compacted
            until(lambda: self.loop.head == journal.head())

    @precondition(lambda self: self.rankings)
    @rule(which=st.integers(0, 100))
    def click_on_a_page_through_another_process(self, which):
        entry = self.rankings[which % len(self.rankings)]
        if not entry.page(2):
            return
        journal = open_journal(str(self.folder / "j"), "loop")
        with Loop("loop", small(**self.options), journal, closes=False) as other:
            self.send(Paged(entry.id, 2))
            (answer,) = other.append(Observed(self.name(), entry.id, entry.items[entry.page(2)[0]]))
            assert answer.status in ("applied", "late")
            assert other.wait_for_entry(answer.position, 60)
            until(lambda: self.loop.head >= answer.position)
            for loop in (self.loop, other):
                loop.settle()
            if self.loop.head == other.head:
                assert self.loop.inspect(Engine.digest) == other.inspect(Engine.digest)

    @rule(back=st.integers(0, 10))
    def roll_back(self, back):
        self.loop.settle()
        with self.loop.reader() as journal:
            position = max(self.loop.head - back, 1)
            try:
                entry = make_rollback(journal, self.name(), position, "")
            except (DataError, JournalError):
                assert self.base
                return
        self.send(entry)
        self.loop.settle()
        assert set(entry.models) <= set(self.loop.published.models)

    @rule(late=st.booleans(), learn_from=st.sampled_from(["grades", "shown", "pairs"]))
    def edit_the_settings(self, late, learn_from):
        self.changed = {"late": late, "learn_from": learn_from}
        self.restart(save=True)

    @rule(save=st.booleans())
    def restart(self, save):
        self.loop.stop(save=save)
        self.start()

    @invariant()
    def all_that_was_acknowledged_is_there_once(self):
        with self.loop.reader() as journal:
            for key, (position, _) in self.acknowledged.items():
                try:
                    assert journal.find(key).position == position
                except CompactedError:
                    assert position <= self.base
            assert journal.head() >= len(self.acknowledged)

    def teardown(self):
        self.loop.stop()
        with open_journal(str(self.folder / "j"), "loop") as journal:
            clean = replay(journal)
            assert clean.position == self.loop._engine.position == journal.head()
            assert clean.digest() == self.loop._engine.digest()
        shutil.rmtree(self.folder)


TestLife = Life.TestCase
TestLife.settings = settings(
    max_examples=8,
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=list(HealthCheck),
)
