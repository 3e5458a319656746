"""A model that is trained on a batch of features scores the same in a loop of the same features."""

from __future__ import annotations

import json

import numpy as np
import pytest

import rankloop as rl
from rankloop.features.definitions import Definitions
from rankloop.rankers.training import describe_if_needed
from rankloop.serving.learning.fitting import check_model
from rankloop.serving.settings.loop import LoopSettings

from .test_computed import start  # noqa: F401

pytestmark = pytest.mark.slow  # each model is tried in a process of its own

FIELDS = {"item": {"genres": "categories", "brand": "category", "price": "number"}}
FEATURES = {
    "genres": {"categories": "item.genres", "limit": 6, "buckets": 1},
    "brand": {"category": "item.brand", "limit": 8, "buckets": 2},
    "price": {"number": "item.price"},
}
ITEMS = {
    "a": {"genres": ["Drama", "War"], "brand": "acme", "price": 1.0},
    "b": {"genres": ["Comedy"], "brand": "best", "price": 2.0},
    "c": {"genres": [], "brand": "cosy"},
    "d": {"genres": ["War", "Comedy"], "brand": "acme", "price": 4.0},
}


def train(tmp_path, ranker):
    """Train on a log that met the categories in the order of the items."""
    rng = np.random.default_rng(0)
    log = [{"id": name, "fields": fields, "timestamp": 1} for name, fields in ITEMS.items()]
    for k in range(60):
        shown = rng.permutation(list(ITEMS)).tolist()
        log.append({"ranking_id": f"r{k}", "items": shown, "timestamp": 2 + k})
        clicked = "d" if rng.random() < 0.6 else "a"
        log.append({"ranking_id": f"r{k}", "item": clicked, "timestamp": 2 + k})
    path = tmp_path / "log.jsonl"
    path.write_text("\n".join(map(json.dumps, log)))
    data = rl.compute_features(path, fields=FIELDS, features=FEATURES)
    model = describe_if_needed(ranker, data).fit(data)
    scores = dict(zip(data.doc_ids[:4], model.predict(data)[:4].tolist(), strict=True))
    return model, data, scores


@pytest.mark.parametrize("ranker", [rl.NewtonXENDCG(), rl.LambdaMART(trees=10)])
def test_a_model_of_a_batch_scores_the_same_in_a_loop(start, tmp_path, ranker):  # noqa: F811
    model, data, scores = train(tmp_path, ranker)
    assert data.feature_names[:3] == ("genres has Drama", "genres has War", "genres has Comedy")
    assert len(set(scores.values())) > 1
    _, shop = start(fields=FIELDS, features=FEATURES)
    for name in reversed(ITEMS):  # the loop meets them in another order
        item = {"id": name, "fields": ITEMS[name]}
        shop.put("/v1/shop/items", json=[item])
    answer = shop.post("/v1/shop/models/trained", content=model.dumps())
    assert answer.status_code == 200, answer.text
    shop.post("/v1/shop/promote", json={"model": "trained"})
    ranking = shop.post("/v1/shop/rank", json={"items": list(ITEMS)}).json()
    assert {item["id"]: item["score"] for item in ranking["items"]} == scores


def test_a_category_that_the_loop_never_met_is_named(start, tmp_path):  # noqa: F811
    model, *_ = train(tmp_path, rl.NewtonXENDCG())
    service, shop = start(fields=FIELDS, features=FEATURES)
    shop.put("/v1/shop/items", json=[{"id": "b", "fields": ITEMS["b"]}])
    answer = shop.post("/v1/shop/models/trained", content=model.dumps())
    assert answer.status_code == 422
    assert "genres has Drama" in answer.json()["detail"]
    with pytest.raises(rl.exceptions.DataError, match="does not have"):
        check_model(model, service.loops["shop"].published.settings)
    assert Definitions.read(FIELDS, FEATURES).names[0] == "genres[0]"


def test_a_model_of_a_raw_table_is_told_the_way_to_a_loop_that_can_use_it(tmp_path):
    table = tmp_path / "raw.csv"
    table.write_text("qid,label,price,brand\n1,1,2,acme\n1,0,1,best\n2,1,3,acme\n2,0,1,cosy\n")
    model = rl.Described(rl.NewtonXENDCG()).fit(rl.read(table))
    fields = {"item": {"price": "number", "brand": "category"}}
    features = {"price": {"number": "item.price"}, "brand": {"category": "item.brand", "limit": 8}}
    for settings, words in (
        (LoopSettings(features=("price", "brand")), "`rankloop init --items CATALOGUE"),
        (LoopSettings(features=features, fields=fields), "add it with `rankloop models add`"),
        (
            LoopSettings(features=features | {"brand": {"number": "item.price"}}, fields=fields),
            "train it on what `rankloop features` writes",
        ),
    ):
        with pytest.raises(rl.exceptions.DataError, match=words):
            check_model(model, settings)
