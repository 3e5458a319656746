"""A model of a table with texts, dates and gaps is served as it is: callers send the raw values."""

from __future__ import annotations

import csv
import datetime
import json

import numpy as np
import pandas as pd
import pytest

import rankloop as rl
from rankloop.exceptions import DataError
from rankloop.rankers.training import describe_if_needed, read_like
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.learning.fitting import check_model, fit_codes
from rankloop.serving.operations.export import export_queries
from rankloop.serving.operations.verify import verify
from rankloop.serving.service import Service
from rankloop.serving.settings.options import ServeOptions, choose_settings, write_settings
from rankloop.serving.settings.service import as_settings, read_settings

from .tools import Clock, running, until

COLUMNS = ("price", "brand", "released", "sale", "genres", "seen at")
BRANDS = ("acme", "best", "cosy", "5")


def rows(n, seed=0, brands=BRANDS):
    rng = np.random.default_rng(seed)
    for k in range(n):
        genres = rng.choice(["Drama", "War", "Sport"], rng.integers(0, 4)).tolist()
        yield {
            "session": f"s{k // 6}",
            "label": k % 3,
            "price": "" if k % 7 == 0 else f"{rng.normal():.3f}",
            "brand": "" if k % 11 == 0 else str(rng.choice(brands)),
            "released": "" if k % 5 == 0 else f"20{10 + k % 10}-0{1 + k % 9}-1{k % 10}",
            "sale": "" if k % 13 == 0 else str(rng.random() < 0.5).lower(),
            "genres": "|".join(genres),
            "seen at": f"2026-01-0{1 + k % 9}T0{k % 10}:3{k % 6}:12.123457",
        }


def write_rows(path, some):
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, ["session", "label", *COLUMNS])
        writer.writeheader()
        writer.writerows(some)
    return path


def as_sent(row):
    """A row as JSON: types as they are, and null for what is missing."""
    typed = {
        "price": lambda text: float(text),
        "sale": lambda text: text == "true",
        "genres": lambda text: text.split("|"),
    }
    values = {name: row[name] for name in COLUMNS}
    return {n: typed.get(n, str)(v) if v else None for n, v in values.items()}


RANKERS = {
    "auto": rl.Auto,
    "newton": rl.NewtonXENDCG,
    "lambdamart": lambda: rl.LambdaMART(trees=10),
    "scaled": lambda: rl.Prepared(rl.XENDCG(), "standard"),
}


def train(tmp_path, ranker="auto", brands=BRANDS, **limits):
    table = write_rows(tmp_path / "train.csv", rows(240, brands=brands))
    data = rl.read(table, query="session", lists=["genres=|"])
    model = describe_if_needed(RANKERS[ranker](), data, **limits).fit(data)
    path = tmp_path / "model.rlm"
    model.save(path)
    return path, model


@pytest.fixture
def start(tmp_path):
    started = []

    def run(settings):
        service = Service.start(settings, clock=run.clock)
        context = running(service)
        started.append((service, context))
        return service, context.__enter__()

    def stop():
        while started:
            service, context = started.pop()
            context.__exit__(None, None, None)
            service.stop()

    run.stop, run.clock = stop, Clock()
    yield run
    stop()


def options(tmp_path, path, **more):
    return ServeOptions(model=path, journal=str(tmp_path / "loop.journal"), **more)


@pytest.mark.slow  # each model is tried in a process of its own
@pytest.mark.parametrize("ranker", RANKERS)
def test_the_service_scores_raw_values_as_the_model_scores_the_table(start, tmp_path, ranker):
    path, model = train(tmp_path, ranker, category_limit=3, category_buckets=2)
    new = list(rows(60, seed=1, brands=(*BRANDS, "new", "other")))
    table = write_rows(tmp_path / "new.csv", new)
    data = rl.read(table, labelled=False, **read_like(model))
    expected = data.in_row_order(np.asarray(model.predict(data)))
    _, loop = start(choose_settings(None, options(tmp_path, path)))
    for first in range(0, 60, 6):
        some = new[first : first + 6]
        items = [{"id": str(k), "features": as_sent(row)} for k, row in enumerate(some)]
        answer = loop.post("/v1/loop/rank", json={"items": items})
        assert answer.status_code == 200, answer.text
        scores = {item["id"]: item["score"] for item in answer.json()["items"]}
        assert [scores[str(k)] for k in range(6)] == expected[first : first + 6].tolist()
        assert answer.json().get("unknown", []) == []


@pytest.mark.slow
def test_other_forms_of_the_same_values_are_the_same(start, tmp_path):
    path, model = train(tmp_path)
    assert model.query_name_ == "session"
    service, loop = start(choose_settings(None, options(tmp_path, path)))
    shared = {"released": "2015-03-14", "sale": True}
    own = {"price": 1.5, "brand": 5, "genres": "War|Drama", "seen at": None}
    forms = [
        {"items": [{"id": "a", "features": {**shared, **own}}, "b"]},
        {"items": [{"id": "a", "features": own}, "b"], "context": shared},
        {"items": [{"id": "a", "features": {**own, **shared, "brand": "5", "sale": 1}}, "b"]},
        {"items": [{"id": "a", "features": {**shared, **own, "genres": ["War", "Drama"]}}, "b"]},
    ]
    answers = [loop.post("/v1/loop/rank", json={**form, "explain": True}) for form in forms]
    assert {answer.status_code for answer in answers} == {200}, answers[0].text
    scores = [
        {i["id"]: i["score"] for i in answer.json()["items"]}["a"]
        for k, answer in enumerate(answers)
        if k != 1  # whose other item has a date, too
    ]
    assert len(set(scores)) == 1
    fields = [{"name": name, "value": value} for name, value in {**shared, **own}.items()]
    metarank = {"id": "m", "items": [{"id": "a", "fields": fields}, {"id": "b"}]}
    answer = loop.post("/rank/loop", json=metarank)
    assert {i["item"]: i["score"] for i in answer.json()["items"]}["a"] == scores[0]
    client = rl.client.Client(str(loop.base_url).rstrip("/"), "loop")
    seen = {"seen at": pd.NaT, "released": datetime.date(2015, 3, 14), "price": np.float64(1.5)}
    by_client = client.rank({"a": {**shared, **own, **seen}, "b": {}})
    client.close()
    assert dict(zip(by_client.ids, by_client.scores, strict=True))["a"] == scores[0]
    ranking = answers[0].json()["ranking_id"]
    loop.post("/v1/loop/feedback", json={"ranking_id": ranking, "item": "b", "type": "click"})
    entry = service.loops["loop"].find_ranking(ranking).entry
    names = service.loops["loop"].published.settings.names
    assert dict(zip(names, entry.matrix()[0].tolist(), strict=True))["sale"] == 1


@pytest.mark.slow
def test_feedback_is_learnt_and_the_journal_can_be_verified_and_exported(start, tmp_path):
    path, model = train(tmp_path)
    settings = choose_settings(None, options(tmp_path, path))
    service, loop = start(settings)
    some = [as_sent(row) for row in rows(12, seed=3)]
    scores = {}
    for first in (0, 6):
        shown = [{"id": str(k), "features": some[first + k]} for k in range(6)]
        ranking = loop.post("/v1/loop/rank", json={"items": shown}).json()
        name = ranking["ranking_id"]
        scores |= {(name, item["id"]): item["score"] for item in ranking["items"]}
        click = {"event_id": f"e{first}", "ranking_id": name, "item": "1"}
        answer = loop.post("/v1/loop/feedback", json={"events": [{**click, "type": "click"}]})
        assert answer.json()["events"][0]["status"] == "applied"
    start.clock.now += 5000
    until(lambda: service.loops["loop"].published.totals.examples == 2)
    models = {m["name"]: m["quality"]["rankings"] for m in loop.get("/v1/loop").json()["models"]}
    assert min(models.values()) > 0
    start.stop()
    with open_journal(settings.loops["loop"].journal, "loop") as journal:
        assert verify(journal, rankings=2).faults == []
        data = export_queries(journal)
    assert len(scores) == 12
    assert sorted(model.predict(data)) == sorted(scores.values())


@pytest.mark.slow
def test_a_value_of_another_type_is_refused_by_name(start, tmp_path):
    path, _ = train(tmp_path)
    _, loop = start(choose_settings(None, options(tmp_path, path)))
    for name, value, words in (
        ("price", "cheap", "item 'a': feature 'price' is \"cheap\"; expected a number, true"),
        ("brand", ["x"], "field 'brand' must be a text or a whole number"),
        ("released", "soon", "field 'released' must be a date such as '2024-05-31'"),
        ("sale", "yes", "field 'sale' must be true or false"),
        ("genres", 3, "field 'genres' must be a text, or a list of texts"),
        ("colour", "red", "has a feature 'colour' that callers do not send"),
    ):
        asked = {"items": [{"id": "a", "features": {name: value}}]}
        answer = loop.post("/v1/loop/rank", json=asked)
        assert answer.status_code == 422
        assert words in answer.json()["detail"]


@pytest.mark.slow
def test_the_service_starts_again_and_a_newer_model_takes_its_place(start, tmp_path):
    path, _ = train(tmp_path)
    settings = choose_settings(None, options(tmp_path, path))
    item = {"items": [{"id": "a", "features": {"brand": "acme"}}, {"id": "b"}], "id": "r1"}
    service, loop = start(settings)
    first = loop.post("/v1/loop/rank", json=item).json()
    loop.post("/v1/loop/feedback", json={"ranking_id": "r1", "item": "b", "type": "click"})
    start.stop()
    service, loop = start(settings)
    assert loop.post("/v1/loop/rank", json={**item, "id": "r2"}).json()["items"] == first["items"]
    start.stop()
    newer, model = train(tmp_path, brands=("zeta", *BRANDS))
    service, loop = start(choose_settings(None, options(tmp_path, newer)))
    until(lambda: service.loops["loop"].published.champion.startswith("model-"))
    asked = {"items": [{"id": "a", "features": {"brand": "zeta"}}, {"id": "b"}]}
    answer = loop.post("/v1/loop/rank", json=asked).json()
    gaps = dict.fromkeys(COLUMNS)
    table = [{**gaps, "session": 1, "label": 0, "brand": brand} for brand in ("zeta", None)]
    data = rl.read(write_rows(tmp_path / "two.csv", table), labelled=False, **read_like(model))
    assert {i["id"]: i["score"] for i in answer["items"]} == dict(
        zip("ab", model.predict(data).tolist(), strict=True)
    )


def test_settings_for_editing_have_a_definition_for_each_feature(tmp_path):
    path, _ = train(tmp_path)
    config = tmp_path / "shop.toml"
    assert "start with" in write_settings(config, options(tmp_path, path, loop="shop"))
    loop = read_settings(config, {}).loops["shop"]
    assert loop.model == str(path)
    same = choose_settings(None, options(tmp_path, path, loop="shop")).loops["shop"]
    assert loop.features == same.features
    assert '\nbrand = { given = "category", values = ["' in config.read_text()
    assert '\ngenres = { given = "categories", ' in config.read_text()
    assert '\n"seen at" = { given = "date", origin = "2026-01-09" }\n' in config.read_text()


def test_a_model_with_other_codes_is_translated_or_refused(tmp_path):
    _, model = train(tmp_path)
    features = {"brand": {"given": "category", "values": ["best", "acme"], "buckets": 3}}
    others = {name: {"given": "number"} for name in model.feature_names_in_ if name != "brand"}
    loop = as_settings({"loops": {"x": {"features": {**features, **others}, "journal": "j"}}})
    with pytest.raises(DataError, match="feature 'brand': the model was trained on other codes"):
        check_model(model, loop.loops["x"])
    plain = {name: {"given": "number"} for name in model.feature_names_in_}
    loop = as_settings({"loops": {"x": {"features": plain, "journal": "j"}}})
    with pytest.raises(DataError, match="is a category for the model, but this loop gives it as a"):
        check_model(model, loop.loops["x"])
    loop = as_settings({"loops": {"x": {"features": list(plain), "journal": "j"}}})
    with pytest.raises(DataError, match=r"rankloop serve --model MODEL --init"):
        check_model(model, loop.loops["x"])
    brands = pd.DataFrame({"qid": 1, "label": [2, 1, 0], "brand": ["acme", "best", "cosy"]})
    one = rl.Described(rl.XENDCG()).fit(rl.from_table(brands))
    only = as_settings({"loops": {"x": {"features": features, "journal": "j"}}}).loops["x"]
    with pytest.raises(DataError, match="feature 'brand': the model was trained on other codes"):
        check_model(one, only)
    state = rl.features.FeatureState(only.definitions)
    fitted = fit_codes(one, only, state)
    check_model(fitted, only)
    scores = fitted.predict(np.array([[1.0], [0.0], [np.nan]], np.float32)).tolist()
    frame = pd.DataFrame({"brand": ["acme", "best", None]})
    assert scores == one.predict(frame).tolist()


def test_definitions_of_given_features_are_checked():
    read = rl.features.Definitions.read
    for options, words in (
        ({"given": "text"}, "given must be number, boolean, date, category or categories; found"),
        ({"given": "category", "buckets": 0}, "give values, or buckets of at least 1"),
        ({"given": "category", "values": ["a", "a"]}, "must be a list of texts, all differ"),
        ({"given": "category", "values": "a"}, "must be a list of texts"),
        ({"given": "categories", "longest": 0}, "longest must be a number from 1 to 100"),
        ({"given": "categories", "separator": 1}, "separator must be a text; found 1"),
        ({"given": "date", "origin": "soon"}, "must be a date such as"),
        ({"given": "boolean", "default": 1}, "unknown option 'default'"),
    ):
        with pytest.raises(DataError, match=f"feature 'x': .*{words}"):
            read({}, {"x": options})


def test_a_log_gives_the_same_columns(tmp_path):
    features = {
        "brand": {"given": "category", "values": ["acme", "best"], "buckets": 0},
        "released": {"given": "date"},
        "genres": {"given": "categories", "values": ["War"], "buckets": 0, "longest": 2},
    }
    sent = {"brand": "best", "released": "1970-01-03", "genres": ["Drama", "War", "War"]}
    log = [
        {"ranking_id": "r", "items": [{"id": "a", "features": sent}, {"id": "b"}], "timestamp": 1}
    ]
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, log)))
    data = rl.compute_features(path, features=features)
    assert data.feature_names == ("brand", "released", "genres 1", "genres 2")
    assert [c.categories for c in data.features] == [("acme", "best"), (), ("War",), ("War",)]
    assert data.X[0].tolist()[:2] == [1.0, 2.0]
    assert np.isnan(data.X[0, 2])
    assert data.X[0, 3] == 0.0
    assert np.isnan(data.X[1]).all()
