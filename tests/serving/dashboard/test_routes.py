"""What the page asks the service for."""

from __future__ import annotations

import re

import numpy as np
import pytest

from rankloop.serving.dashboard.now import still_needed
from rankloop.serving.experiments.intervals import Outcomes
from rankloop.serving.journal.action_entries import ExperimentStarted
from tests.serving.tools import Clock, running

from .shop import FEATURES, live, look, start


@pytest.fixture(scope="module")
def shop(tmp_path_factory):
    """A service with some past, and a client; tests only look at it."""
    clock = Clock()
    service = start(tmp_path_factory.mktemp("shop"), more=["news"], clock=clock)
    service.loops["shop"].append(ExperimentStarted("trial", ["solar-i"]))
    service.loops["shop"].settle()
    look(service, clock)
    with running(service) as client:
        yield service, client
    service.stop()


def test_the_page_and_its_files_are_ours_alone(shop):
    _, client = shop
    page = client.get("/")
    policy = page.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert page.headers["cache-control"] == "no-cache"
    names = re.findall(r'(?:src|href)="(/dashboard/[^"]+)"', page.text)
    assert {name.rpartition("/")[2] for name in names} == {
        "app.js",
        "icon.svg",
        "look.css",
        "style.css",
    }
    assert not re.findall(r"https?://", page.text)
    for name in names:
        found = client.get(name)
        assert found.status_code == 200
        assert "immutable" in found.headers["cache-control"]
        plain = client.get(name, headers={"accept-encoding": "identity"})
        assert "content-encoding" not in plain.headers
        assert plain.content == found.content
    assert client.get("/dashboard/static/other/app.js").status_code == 404
    assert client.get(names[0].rpartition("/")[0] + "/..%2Froutes.py").status_code == 404


def test_a_loop_now(shop):
    _, client = shop
    assert [one["name"] for one in client.get("/dashboard/loops").json()["loops"]] == [
        "shop",
        "news",
    ]
    now = client.get("/dashboard/loops/shop").json()
    assert now["health"] == {
        "level": "good",
        "word": "Ready",
        "sentence": "Ranks, stores and learns.",
    }
    assert now["totals"]["rankings"] == 180
    assert now["lag"] == 0
    assert now["open_rankings"] == 9
    assert now["closed"] == 171
    assert [place["shown"] for place in now["places"]] == [171] * 5
    assert sum(place["clicked"] for place in now["places"]) == 171
    assert {one["feature"] for one in now["shifts"]} == set(FEATURES)
    (experiment,) = now["experiment"]["challengers"]
    assert experiment["name"] == "solar-i"
    assert experiment["outcomes"] == 171
    assert experiment["low"] < 0 < experiment["high"]
    assert client.get("/dashboard/loops/nothing").status_code == 404


def test_a_loop_over_time(shop):
    _, client = shop
    past = client.get("/dashboard/loops/shop/past").json()
    times = np.diff(past["at"])
    assert len(past["at"]) == 4
    assert (times == 60).all()
    assert past["rankings"] == [0.0, 1.0, 1.0, 1.0]
    quality = past["shown"]
    assert quality["mean"][0] is None
    for low, mean, high in zip(quality["low"], quality["mean"], quality["high"], strict=True):
        if mean is not None:
            assert 0 <= low < mean < high <= 1
    assert past["models"].keys() == {"perceptron", "solar-i"}
    assert set(past["weights"]["features"]) == set(FEATURES)
    assert {change["feature"] for change in past["changes"]} == set(FEATURES)
    assert client.get("/dashboard/loops/news/past").json()["changes"] == []


def test_a_ranking_closely(shop):
    service, client = shop
    newest = client.get("/dashboard/loops/shop/rankings").json()["rankings"]
    assert [one["id"] for one in newest[:2]] == ["r3059", "r3058"]
    for ranking_id, state in (("r3059", "open"), ("r3000", "closed")):
        found = client.get(f"/dashboard/loops/shop/rankings/{ranking_id}").json()
        assert found["state"] == state
        clicked = [item for item in found["items"] if item["events"]]
        assert len(clicked) == 1
        assert clicked[0]["events"][0]["type"] == "click"
        X = service.loops["shop"].find_ranking(ranking_id).entry.matrix()
        for item in found["items"]:
            row = int(item["item"][1:])
            assert {part["feature"]: part["value"] for part in item["parts"]} == pytest.approx(
                dict(zip(FEATURES, X[row].tolist(), strict=True))
            )
        assert found["others"].keys() == {"perceptron", "solar-i"}
        for order in found["others"].values():
            assert sorted(order) == sorted(item["item"] for item in found["items"])
    assert client.get("/dashboard/loops/shop/rankings/none").status_code == 404


def test_what_an_experiment_still_needs():
    outcomes = Outcomes()
    for i in range(200):
        outcomes.add(1 if i % 5 < 2 else -1 if i % 5 == 2 else 0)
    needs = still_needed(outcomes, 0.001)
    assert needs is not None
    assert needs > 0
    for share, decided in ((0.9, False), (1.05, True)):
        n = outcomes.n + round(share * needs)
        wins, losses = round(outcomes.wins * n / 200), round(outcomes.losses * n / 200)
        grown = Outcomes(wins, losses, n - wins - losses)
        assert (grown.interval(0.001).sign != 0) is decided
    assert still_needed(Outcomes(), 0.05) is None
    assert still_needed(Outcomes(5, 5, 10), 0.05) is None


def test_trouble_is_told_in_words(tmp_path):
    service = start(tmp_path)
    board = service.boards.loops["shop"]
    try:
        live(service, 5)
        loop = service.loops["shop"]
        service.boards.stop()
        board.look(1.0, 0.0)
        assert board.health.level == "good"
        loop._progress.head += 500  # as if rankers were behind
        board._heads.clear()
        for second in (0.0, 5.0, 11.0):
            board._follow = lambda: None
            board.look(second, second)
        assert (board.health.level, board.health.word) == ("warn", "Behind")
        loop._progress.head -= 500
        board._follow = lambda: "it does not answer"
        board.look(12.0, 12.0)
        assert board.health.word == "Journal unreachable"
        assert "it does not answer" in board.health.sentence
        loop._progress.fault = ValueError("a broken disk")
        board.look(13.0, 13.0)
        assert board.health.word == "Fault"
        assert "a broken disk" in board.health.sentence
    finally:
        board.close()
        service.loops["shop"]._progress.fault = None
        service.stop()
