"""Commands that talk to a running service, which need no name where there is only one loop."""

from __future__ import annotations

import os

import numpy as np
import pytest

from rankloop.client import Client
from rankloop.rankers.online.solar_i import SolarI
from rankloop.serving.journal.action_entries import ExperimentEnded
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.learning.model_file import check_models
from rankloop.serving.server import background
from rankloop.serving.service import Service
from rankloop.serving.settings.options import ServeOptions, choose_settings
from rankloop.serving.settings.service import as_settings


@pytest.fixture
def model(tmp_path):
    X = np.arange(12, dtype=np.float32).reshape(4, 3)
    SolarI().fit(X, [0, 1, 2, 0], qid=[1, 1, 1, 1]).save(tmp_path / "m.rlm")
    return tmp_path / "m.rlm"


def service_of(folder, *names):
    loops = {
        name: {"features": 3, "rankers": ["solar-i", "slam"], "journal": str(folder / name)}
        for name in names
    }
    return Service.start(as_settings({"loops": loops}))


@pytest.fixture
def service(tmp_path, monkeypatch):
    service = service_of(tmp_path, "shop")
    with background(service) as url:
        monkeypatch.setenv("RANKLOOP_URL", url)
        yield service
    service.stop()


@pytest.mark.slow
def test_experiments_are_started_shown_and_ended(ok, run, service):
    shown = ok("experiments", "show")
    assert "no experiment is running" in shown.out
    assert "traffic: too few rankings to say" in shown.out
    expected = ok("experiments", "show", "--json").json["next"]
    assert [d["preference"] for d in expected["durations"]] == [0.02, 0.05, 0.1]
    started = ok("experiments", "start", "slam", "--share", "0.5").out
    assert started.startswith("started: accepted")
    assert f"{expected['durations'][2]['outcomes']:,}" in started
    shown = ok("experiments", "show")
    assert "on 50% of rankings, against solar-i" in shown.out
    assert ["slam", "0", "0", "0", "-1.000", "to", "+1.000"] in shown.cells
    assert ok("experiments", "show", "--json").json["experiment"]["share"] == 0.5
    assert "not counted yet" not in shown.out
    with Client(os.environ["RANKLOOP_URL"]) as client:
        client.rank({"a": [1, 2, 3], "b": [3, 2, 1]})
    for command in (("experiments", "show"), ("models", "list")):
        assert "feedback is not over: 1 ranking\n" in ok(*command).out
    again = run("experiments", "start", "slam")
    assert again.code == 1
    assert "is running and cannot be changed" in again.err
    assert ok("experiments", "end", "--reason", "enough").out.startswith("ended: accepted")
    shown = ok("experiments", "show").out
    assert "no experiment is running" in shown
    assert "no winner; reason: enough; by " in shown
    assert service.loops["shop"].actions.last()[-1].reason == "enough"
    again = run("experiments", "end")
    assert (again.code, "no experiment is running" in again.err) == (1, True)
    loop = service.loops["shop"]
    ok("experiments", "start", "slam")
    loop.submit([ExperimentEnded(loop.published.experiment.id, "slam is better", "slam")]).result()
    loop.wait_for_entry(loop.head, 10)
    assert "slam won; reason: slam is better; by rankloop" in ok("experiments", "show").out
    assert ok("experiments", "show", "--json").json["last"]["winner"] == "slam"


@pytest.mark.slow
def test_models_need_no_name_of_the_only_loop(ok, run, service, model, tmp_path, monkeypatch):
    ok("models", "add", "new", model)
    assert ok("models", "promote", "new").out.startswith("new: accepted")
    champions = [row[0] for row in ok("models", "list").cells if "*" in row]
    assert champions == ["new"]
    both = service_of(tmp_path, "one", "two")
    with background(both) as url:
        monkeypatch.setenv("RANKLOOP_URL", url)
        refused = run("models", "list")
        assert refused.code == 1
        assert "several loops; give the name of one: one, two" in refused.err
        ok("models", "list", "--loop", "two")
    both.stop()


@pytest.mark.slow
def test_a_model_file_ranks_from_the_start_and_only_once(model, tmp_path):
    settings = choose_settings(None, ServeOptions(journal=str(tmp_path / "j"), model=model))
    assert settings.loops["loop"].features == 3
    champion = None
    for start in range(3):
        service = Service.start(settings)
        loop = service.loops["loop"]
        names = list(loop.published.models)
        champion = loop.published.champion
        if start == 1:  # what operators decide stays
            assert champion.startswith("m-")
            with background(service) as url:
                import httpx

                body = {"model": "auto"}
                httpx.post(f"{url}/v1/loop/promote", json=body, trust_env=False, timeout=60)
        service.stop()
    assert len(names) == 2
    assert champion == "auto"


def test_a_model_file_that_does_not_fit_is_found_before_the_start(model, tmp_path, run):
    path = tmp_path / "s.toml"
    path.write_text(f'[loops.shop]\nfeatures = 4\nmodel = "{model.name}"\n')
    refused = run("serve", path, "--check")
    assert refused.code == 1
    assert "loops.shop.model: " in refused.err
    assert "the model has 3 features, but this loop has 4" in refused.err
    path.write_text(f'[loops.shop]\nfeatures = 3\nmodel = "{model.name}"\n')
    assert run("serve", path, "--check").code == 0
    check_models(choose_settings(path, ServeOptions()))


@pytest.mark.slow
def test_an_import_uses_the_journal_that_the_service_will_use(ok, postgres, tmp_path):
    path, logs = tmp_path / "s.toml", tmp_path / "logs.jsonl"
    path.write_text("[loops.goods]\nfeatures = 1\n")
    logs.write_text('{"ranking_id": "r", "items": [{"id": "a", "features": [1]}]}\n')
    ok("journal", "import", postgres, logs, "--config", path)
    with open_journal(postgres, "goods") as journal:
        assert journal.find("ranking:r") is not None


@pytest.mark.slow
def test_the_only_journal_of_a_database_needs_no_name(ok, run, postgres):
    with open_journal(postgres, "goods"):
        pass
    assert ok("journal", "stats", postgres).cells[-1] == ["all", "0"]
    with open_journal(postgres, "more"):
        pass
    refused = run("journal", "stats", postgres)
    assert refused.code == 1
    assert "2 loops; choose one with --loop: goods, more" in refused.err
    assert ok("journal", "stats", postgres, "--loop", "more").cells[-1] == ["all", "0"]
