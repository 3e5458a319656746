"""Rollbacks after rollbacks, models that people upload, and ids with unusual characters."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop.exceptions import DataError
from rankloop.rankers.model_files.saving import dumps, loads
from rankloop.rankers.online.solar_i import SolarI
from rankloop.serving.engine.engine import Engine
from rankloop.serving.engine.history import make_quarantine, make_rollback
from rankloop.serving.engine.snapshots import load_engine, replay
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import Closed, Judged, Observed
from rankloop.serving.learning.trial import run_trial
from rankloop.serving.loop import Loop
from rankloop.serving.service import Service
from rankloop.serving.settings.service import Settings

from .tools import best_item, ranked, running, small


def live(loop, rng, names, prefix):
    for name in names:
        entry = ranked(loop, name, rng)
        loop.append(entry, Observed(f"{prefix}-{name}", name, best_item(entry)), Closed(name))
        loop.settle()


def digests(loop):
    loop.settle()
    return {name: model.digest() for name, model in loop.published.models.items()}


def test_events_are_left_out_also_after_a_rollback_to_a_position_and_after_another(address, rng):
    with Loop("loop", small(), open_journal(*address)) as loop:
        live(loop, rng, ["a"], "good")
        clean = digests(loop)
        live(loop, rng, ["b"], "bad")
        where = loop.head
        live(loop, rng, ["c"], "worse")
        with loop.reader() as journal:
            loop.append(make_rollback(journal, "1", where, ""))
            loop.append(make_quarantine(journal, "2", ["bad-*"], ""))
            assert digests(loop) == clean
            live(loop, rng, ["d"], "other")
            loop.append(make_quarantine(journal, "3", ["other-d"], ""))
            assert digests(loop) == clean  # what was left out before stays left out
            with pytest.raises(DataError, match="found no event with the id 'nobody'"):
                make_quarantine(journal, "4", ["nobody"], "")
    with open_journal(*address) as journal:
        assert replay(journal).digest() == load_engine(journal).digest() == loop._engine.digest()


@pytest.fixture
def service(tmp_path):
    service = Service.start(Settings({"shop": small(journal=str(tmp_path / "j"))}))
    yield service
    service.stop()


def fitted(**parameters):
    X = np.arange(12, dtype=np.float32).reshape(4, 3)
    return SolarI(**parameters).fit(X, [0, 1, 2, 0], qid=[1, 1, 1, 1])


@pytest.mark.slow
def test_a_model_is_tried_before_it_is_accepted_and_can_be_removed(service):
    loop = service.loops["shop"]
    broken = fitted()
    broken.last_weights_ = np.full(3, 1e300)  # finite, but scores are not
    with running(service) as client:
        bad = client.post("/v1/shop/models/bad", content=dumps(broken))
        assert bad.status_code == 422
        assert "is not finite" in bad.json()["detail"]
        assert loop.head == 1  # nothing was journaled
        assert client.post("/v1/shop/models/good", content=dumps(fitted())).status_code == 200
        assert client.delete("/v1/shop/models/none").status_code == 404
        assert client.delete("/v1/shop/models/solar-i").status_code == 409
        assert client.delete("/v1/shop/models/good").json()["status"] == "accepted"
        assert "good" not in loop.published.models
        assert loop.actions.last()[-1].action == "removed"


def test_a_model_that_takes_too_long_is_refused(monkeypatch):
    """In a process of its own, which the system ends."""
    import signal
    import subprocess

    from rankloop.serving.learning import trial

    def end(command, **_):
        return subprocess.CompletedProcess(command, -signal.SIGPROF, b"", b"")

    monkeypatch.setattr(trial.subprocess, "run", end)
    with pytest.raises(DataError, match="needs more than 10 seconds"):
        trial.try_model(b"")


def test_a_trial_takes_every_ranker_of_the_service():
    for text in ("auto", "solar-ii", "pairwise", "slam"):
        ranker = small(rankers=(text,)).make_rankers()[text]
        body = dumps(ranker.fit(np.eye(3, dtype=np.float32), [0, 1, 2], qid=[1, 1, 1]))
        run_trial(body)
        assert dumps(loads(body)) == body  # it can be tried again, by every machine


def test_ids_may_contain_slashes(service):
    items = [{"id": name, "features": [n, 0, 1]} for n, name in enumerate("ab")]
    with running(service) as client:
        for name in ("a/b", "a/personal", "/"):
            sent = client.post("/v1/shop/rank", json={"id": name, "items": items})
            assert sent.status_code == 200
        assert client.get("/v1/shop/rankings/a%2Fb").json()["ranking_id"] == "a/b"
        assert client.get("/v1/shop/rankings/a%2Fb/personal").json()["status"] == "none"


def test_a_judgement_can_be_left_out(tmp_path, rng):
    with Loop("loop", small(), open_journal(str(tmp_path / "j"), "loop")) as loop:
        before = digests(loop)
        where = loop.append(ranked(loop, "r", rng))[0].position
        loop.append(Judged("bad-1", "r", where, {"d0": 1.0, "d1": 0.0}))
        assert digests(loop) != before
        with loop.reader() as journal:
            loop.append(make_quarantine(journal, "q", ["bad-1"], ""))
        assert digests(loop) == before
        assert loop.inspect(Engine.digest)
