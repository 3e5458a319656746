"""Pages of a ranking, features that a question shares, lists that users sorted, late feedback."""

from __future__ import annotations

import pytest

from rankloop.serving.engine.engine import Engine
from rankloop.serving.engine.snapshots import replay
from rankloop.serving.journal.opening import open_journal

from .test_routes import FEEDBACK, RANK, start  # noqa: F401
from .tools import until

MANY = [{"id": f"d{n}", "features": [float(n), 1.0]} for n in range(8)]


def ids(answer):
    return [item["id"] for item in answer.json()["items"]]


@pytest.fixture
def shop(start):  # noqa: F811
    return start()


def test_pages_go_on_and_never_repeat(shop):
    service, http = shop
    loop = service.loops["shop"]
    http.post(RANK, json={"id": "r", "items": MANY, "k": 3})
    http.post("/v1/shop/judgements", json={"ranking_id": "r", "grades": {"d0": 0, "d7": 1}})
    loop.settle()
    first = http.post(RANK, json={"id": "p", "items": MANY, "k": 3})
    http.post("/v1/shop/judgements", json={"ranking_id": "r", "grades": {"d0": 5, "d7": 0}})
    loop.settle()  # the model is another one by now
    second = http.post(RANK, json={"id": "p", "items": MANY, "k": 3, "page": 2})
    third = http.post(RANK, json={"id": "p", "page": 3})
    assert ids(http.post(RANK, json={"id": "p", "page": 4})) == []
    assert (len(ids(first)), len(ids(second)), len(ids(third))) == (3, 3, 2)
    assert sorted([*ids(first), *ids(second), *ids(third)]) == [f"d{n}" for n in range(8)]
    assert [item["rank"] for item in second.json()["items"]] == [4, 5, 6]
    assert second.json()["model_version"] == first.json()["model_version"]
    scores = [item["score"] for item in [*first.json()["items"], *second.json()["items"]]]
    assert scores == sorted(scores, reverse=True)


def test_feedback_on_a_page_needs_the_page_to_be_shown(shop):
    service, http = shop
    loop = service.loops["shop"]
    first = ids(http.post(RANK, json={"id": "p", "items": MANY, "k": 3}))
    unseen = next(item["id"] for item in MANY if item["id"] not in first)

    def click(event, item):
        events = [{"event_id": event, "ranking_id": "p", "item": item}]
        return http.post(FEEDBACK, json={"events": events}).json()["events"][0]["status"]

    assert click("e1", unseen) == "rejected"
    second = ids(http.post(RANK, json={"id": "p", "page": 2}))
    assert unseen in second
    assert click("e2", unseen) == "applied"
    assert click("e3", first[0]) == "applied"
    from rankloop.serving.journal.ranking_entries import Closed

    loop.append(Closed("p"))
    loop.settle()
    assert loop.published.totals.examples == 1
    assert loop.published.totals.strays == 0
    digest, head = loop.inspect(Engine.digest), loop.head
    with loop.reader() as journal:
        assert replay(journal, head).digest() == digest


def test_mistakes_with_pages_are_named(shop):
    _, http = shop
    http.post(RANK, json={"id": "p", "items": MANY, "k": 3})
    for body, status, words in (
        ({"page": 2}, 422, "needs the id"),
        ({"page": 2, "id": "nobody"}, 404, "no ranking 'nobody'"),
        ({"page": 2, "id": "p", "items": MANY[:4]}, 409, "has other items"),
        ({"page": 2, "id": "p", "k": 5}, 409, "have 3 items; found k = 5"),
        ({"page": 0, "id": "p"}, 422, "page"),
        ({"id": "q"}, 422, "items: found none"),
    ):
        found = http.post(RANK, json=body)
        assert (found.status_code, words in found.json()["detail"]) == (status, True), found.json()


def test_context_gives_what_items_share(shop):
    service, http = shop
    items = [{"id": "a", "features": [0.5]}, {"id": "b", "features": {"match": 2}}]
    http.post(RANK, json={"id": "r", "items": items, "context": {"price": 7}})
    entry = service.loops["shop"].find_ranking("r").entry
    assert entry.matrix().tolist() == [[7.0, 0.5], [7.0, 2.0]]
    for context, words in (
        ({"colour": 1}, "unknown feature 'colour'"),
        ({"price": 1e300}, "finite"),
        ({"price": 1, "match": 1}, "features"),
    ):
        found = http.post(RANK, json={"items": items, "context": context})
        assert found.status_code == 422
        assert words in found.json()["detail"]
    empty = [{"id": "a", "features": []}, {"id": "b", "features": {}}]
    whole = {"price": 1, "match": 2}
    assert http.post(RANK, json={"items": empty, "context": whole}).status_code == 200


def test_a_sorted_list_stays_sorted(shop):
    service, http = shop
    http.post("/v1/shop/experiments", json={"challengers": ["slam:measure=AP"]})
    service.loops["shop"].settle()
    own = http.post(RANK, json={"items": MANY, "own_order": True, "k": 4})
    assert ids(own) == ["d0", "d1", "d2", "d3"]
    assert own.json()["policy"] == "own-order"
    assert http.post(RANK, json={"items": MANY, "k": 4}).json()["policy"] == "team-draft"


@pytest.mark.parametrize("late", [False, True])
def test_late_feedback_is_learnt_where_the_loop_says_so(start, late):  # noqa: F811
    service, http = start(window=0, late=late)
    loop = service.loops["shop"]
    http.post(RANK, json={"id": "r", "items": MANY, "k": 5})
    until(lambda: not loop.open_rankings)
    shown = service.loops["shop"].find_ranking("r").entry
    item = shown.items[shown.order[-1]]
    events = [{"event_id": "e", "ranking_id": "r", "item": item}]
    status = http.post(FEEDBACK, json={"events": events}).json()["events"][0]["status"]
    assert status == "late"
    loop.settle()
    assert loop.published.totals.late == 1
    assert loop.published.totals.examples == int(late)
    digest, head = loop.inspect(Engine.digest), loop.head
    with open_journal(service.settings.loops["shop"].journal, "shop") as journal:
        assert replay(journal, head).digest() == digest
