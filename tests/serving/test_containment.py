"""Whatever an entry does wrong, the loop goes on without it, and every machine decides alike."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rankloop.exceptions import DataError
from rankloop.rankers.online.solar_i import SolarI
from rankloop.serving import operations as do
from rankloop.serving.engine import effects
from rankloop.serving.engine.engine import Engine
from rankloop.serving.engine.snapshots import load_engine, replay
from rankloop.serving.engine.state import ENGINE, State
from rankloop.serving.journal.action_entries import Configured, EpochStarted, ModelAdded, RolledBack
from rankloop.serving.journal.base import JournalError, Record
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import Closed, Judged, Observed, Ranked, pack_features
from rankloop.serving.learning.failures import NewerEngineError
from rankloop.serving.loop import Loop
from rankloop.serving.service import Service
from rankloop.serving.settings.loop import RuleSettings
from rankloop.serving.settings.service import Settings

from .tools import click, ranked, running, small, until

ITEMS = ["a", "b", "c", "d"]
POISON = 7.0  # a feature that the broken ranker below cannot learn from


def rankings(n=12, poison=()):
    """Settings, then rankings, each clicked and closed."""
    rng = np.random.default_rng(0)
    entries = [Configured(small(check_every=10_000).to_bytes(), ENGINE)]
    for number in range(n):
        X = rng.normal(size=(4, 3)).astype(np.float32)
        if number in poison:
            X[0, 2] = POISON
        scores = rng.normal(size=4).tobytes()
        entries.append(Ranked(f"r{number}", ITEMS, 3, pack_features(X)[0], [2, 0, 3, 1], scores))
        entries.append(Observed(f"e{number}", f"r{number}", ITEMS[int(X[:, 0].argmax())]))
        entries.append(Closed(f"r{number}"))
    return entries


def engine_of(entries, every=1_000_000):
    """The engine after entries; it learns at least after each `every` of them."""
    by_position = dict(enumerate(entries, start=1))
    engine = Engine(by_position.__getitem__)
    for position, entry in by_position.items():
        engine.apply(Record(position, position, entry))
        if position % every == 0:
            engine.learn()
    engine.learn()
    return engine


@pytest.fixture
def broken(monkeypatch):
    """SOLAR-I fails at one feature, as a fault of its code would."""
    learn = SolarI._learn_data

    def fail(self, data, *more):
        if (np.float32(POISON) == data.X).any():
            raise ZeroDivisionError("a fault of the ranker")
        return learn(self, data, *more)

    monkeypatch.setattr(SolarI, "_learn_data", fail)


@pytest.mark.parametrize("every", [1, 7, 1_000_000])
def test_a_ranker_that_fails_misses_one_example_and_the_others_learn_it(broken, every):
    engine = engine_of(rankings(poison=[5]), every)
    bad, good = engine.models["solar-i"], engine.models["slam:measure=AP"]
    assert (bad.refused, good.refused) == (1, 0)
    assert (bad.ranker.n_queries_seen_, good.ranker.n_queries_seen_) == (11, 12)
    assert engine.totals.failed == 1
    assert engine.failures[0].position == 19  # the closing of the sixth ranking
    assert engine.failures[0].what == "solar-i"
    assert engine.failures[0].error == "ZeroDivisionError: a fault of the ranker"
    assert engine.digest() == engine_of(rankings(poison=[5])).digest()


BAD = {
    "a grade too large for 2^grade": Judged("j", "r3", 11, {"a": 1023.0, "b": 0.0}),
    "a grade of a million": Judged("j", "r3", 11, {"a": 1e6, "b": 0.0}),
    "a judgement of what is no ranking": Judged("j", "r3", 12, {"a": 1.0}),
    "settings with other features": Configured(small(features=4).to_bytes(), ENGINE),
    "settings that are no settings": Configured(b"{", ENGINE),
    "a model that is none": ModelAdded("x", b"nothing"),
    "a rollback to what is no model": RolledBack("b", {"solar-i": b""}, "solar-i"),
    "an epoch without a state": EpochStarted(ENGINE, 37, b"nothing"),
}


@pytest.mark.parametrize("entry", BAD.values(), ids=BAD)
def test_an_entry_that_cannot_be_applied_is_counted_and_left_out(entry):
    before, engine = engine_of(rankings()), engine_of([*rankings(), entry])
    assert engine.totals.failed == 1
    assert engine.failures[0].position == 38
    for name, model in before.models.items():
        assert engine.models[name].ranker.digest() == model.ranker.digest()
    body = msgspec.msgpack.encode(engine.state())  # the next start knows it too
    again = Engine({}.__getitem__)
    again.restore(msgspec.msgpack.decode(body, type=State))
    assert again.failures == engine.failures
    assert again.digest() == engine.digest()


def test_an_event_of_an_impossible_value_spoils_one_ranking():
    entries = rankings()
    settings = small(feedback={"click": 1, "stars": RuleSettings(gain=1, by_value=True)})
    entries[0] = Configured(settings.to_bytes(), ENGINE)
    entries.insert(18, Observed("x", "r5", "b", "stars", 1e308))
    engine = engine_of(entries)
    assert (engine.totals.failed, engine.totals.closed, engine.totals.examples) == (1, 12, 11)


def test_a_model_that_scores_nothing_has_no_curve(monkeypatch):
    engine = engine_of(rankings(4))
    model = engine.models["solar-i"]
    model.ranker = _Silent()
    entries = rankings(8)
    engine._fetch = dict(enumerate(entries, start=1)).__getitem__
    for position in range(14, len(entries) + 1):
        engine.apply(Record(position, position, entries[position - 1]))
    engine.learn()
    assert (model.curve.n, engine.models["slam:measure=AP"].curve.n) == (4, 8)
    assert model.refused == 4


class _Silent:
    feature_names_in_ = ()

    def predict(self, data):
        return np.full(data.n_documents, np.nan)


@pytest.mark.parametrize("error", [JournalError("the disk"), MemoryError()])
def test_errors_of_this_machine_are_raised(error):
    def fetch(_):
        raise error

    engine = Engine(fetch)
    *entries, closing = rankings(1)
    for position, entry in enumerate(entries, start=1):
        engine.apply(Record(position, position, entry))
    with pytest.raises(type(error)):
        engine.apply(Record(4, 4, closing))


def test_a_journal_of_a_newer_version_is_refused():
    with pytest.raises(NewerEngineError, match="install the newer version"):
        engine_of([*rankings(), EpochStarted(ENGINE + 1, 37, b"")])


def test_entries_out_of_order_are_refused():
    engine = engine_of(rankings())
    with pytest.raises(DataError, match="expected entry 38, but found 40"):
        engine.apply(Record(40, 0, Closed("r1")))


def live(loop, rng, first, n, poison=None):
    """Rankings that are clicked and closed; return the positions of the closings."""
    closings = []
    for number in range(first, first + n):
        entry = ranked(loop, f"r{number}", rng)
        if number == poison:
            X = entry.matrix().copy()
            X[0, 2] = POISON
            entry = msgspec.structs.replace(entry, features=pack_features(X)[0])
        *_, closing = loop.append(entry, click(f"e{number}", entry), Closed(entry.id))
        loop.settle()
        closings.append(closing.position)
    return closings


@pytest.mark.slow
def test_a_service_goes_on_and_says_what_it_left_out(tmp_path, rng, broken):
    settings = Settings({"products": small(journal=str(tmp_path / "j"))})
    service = Service.start(settings)
    loop = service.loops["products"]
    with running(service) as client:
        live(loop, rng, 0, 3, poison=1)
        assert client.get("/readyz").json() == {"status": "ready", "failed": {"products": 1}}
        state = client.get("/v1/products").json()
        assert state["totals"]["failed"] == 1
        assert [(f["position"], f["what"]) for f in state["failures"]] == [(7, "solar-i")]
        assert 'rankloop_failed_total{loop="products"} 1.0' in client.get("/metrics").text
        board = service.boards.loops["products"]
        until(lambda: board.health.word == "Left out")
        assert "entry 7, solar-i: ZeroDivisionError" in board.health.sentence
    service.stop()
    digest = loop._engine.digest()
    with open_journal(str(tmp_path / "j"), "products") as journal:
        assert replay(journal).digest() == digest


@pytest.mark.slow
def test_a_quarantined_entry_is_as_if_it_did_not_exist(address, rng):
    """Also for a process that has applied it, and for all that start later."""
    with Loop("loop", small(check_every=5), open_journal(*address)) as loop:
        *_, bad, _ = live(loop, rng, 0, 9)
        with open_journal(*address) as journal:
            at = do.quarantine(journal, bad, "a harmful closing", "ada")
        until(lambda: loop.published.position >= at)
        position, digest = loop.inspect(lambda engine: (engine.position, engine.digest()))
        with open_journal(*address) as journal:
            assert load_engine(journal, until=position).digest() == digest
        assert loop.actions.last()[-1].what == f"entry {bad}"
        assert loop.open_rankings == 0  # it is closed, but nothing was learnt from it
        assert loop.published.totals.examples == 8
        live(loop, rng, 9, 4)
    digest = loop._engine.digest()
    with open_journal(*address) as journal:
        assert replay(journal).digest() == load_engine(journal).digest() == digest
        assert do.verify(journal).faults == []
        for saved in journal.states():  # a start without any saved state
            journal.save(saved._replace(digest="?"))
        assert load_engine(journal).digest() == digest
    with Loop("loop", small(check_every=5), open_journal(*address)) as loop:
        assert loop.inspect(Engine.digest) == digest


def test_an_entry_that_ends_every_process_can_be_quarantined(tmp_path, rng, monkeypatch):
    place = str(tmp_path / "j"), "loop"
    with Loop("loop", small(), open_journal(*place)) as loop:
        bad = live(loop, rng, 0, 5)[2]
    learn = effects._learn_from

    def end(engine, ranking, position, **options):
        if position == bad:
            raise MemoryError  # stands for a process that ends
        return learn(engine, ranking, position, **options)

    monkeypatch.setattr(effects, "_learn_from", end)
    with open_journal(*place) as journal:
        for saved in journal.states():
            journal.save(saved._replace(digest="?"))
        with pytest.raises(MemoryError):
            load_engine(journal)
        do.quarantine(journal, bad)
    with Loop("loop", small(), open_journal(*place)) as loop:
        assert loop.published.totals.examples == 4
        live(loop, rng, 5, 2)
    digest = loop._engine.digest()
    with open_journal(*place) as journal:
        assert replay(journal).digest() == digest


def test_what_failed_can_be_retried_once_the_fault_is_mended(tmp_path, rng, monkeypatch):
    place = str(tmp_path / "j"), "loop"
    fault = DataError("a fault of this version")
    mended = Engine.add_example

    def fail(self, ranking, *more, **options):
        if ranking.id == "r1":
            raise fault
        return mended(self, ranking, *more, **options)

    monkeypatch.setattr(Engine, "add_example", fail)
    with Loop("loop", small(), open_journal(*place)) as loop:
        bad = live(loop, rng, 0, 3)[1]
        assert loop.published.totals.failed == 1
        assert loop.published.totals.examples == 2
    monkeypatch.setattr(Engine, "add_example", mended)
    with open_journal(*place) as journal:
        do.retry(journal, bad, "ada")
        with pytest.raises(DataError, match="position: found 99"):
            do.retry(journal, 99)
    with Loop("loop", small(), open_journal(*place)) as loop:
        assert loop.published.totals.examples == 3
        assert loop.published.models["solar-i"].n_queries_seen_ == 3


@pytest.mark.parametrize("position", [0, 99])
def test_a_position_that_does_not_exist_cannot_be_quarantined(tmp_path, position):
    with Loop("loop", small(), open_journal(str(tmp_path / "j"), "loop")):
        pass
    with open_journal(str(tmp_path / "j"), "loop") as journal:
        with pytest.raises(DataError, match=f"found {position}, expected one from 1 to 1"):
            do.quarantine(journal, position)
        with pytest.raises(DataError, match="cannot be left out"):
            do.quarantine(journal, 1)
