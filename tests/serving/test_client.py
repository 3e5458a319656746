"""Both clients against a real service: answers, refusals, and what is sent again."""

from __future__ import annotations

import asyncio
import pickle

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from rankloop.cli.app import app
from rankloop.client import AsyncClient, Client, ServiceError
from rankloop.exceptions import DataError
from rankloop.feedback.events import Feedback, Judgement
from rankloop.serving.journal.base import UnreachableError
from rankloop.serving.service import Service
from rankloop.serving.settings.service import as_settings

from .shop import shop_settings
from .tools import running

ITEMS = {"a": [1.0, 0.0], "b": {"1": 0.0, "2": 1.0}}


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    journal = str(tmp_path_factory.mktemp("client") / "j")
    loop = {"features": 2, "rankers": ["solar-i"], "journal": journal}
    started = Service.start(as_settings({"loops": {"shop": loop}}))
    with running(started) as http:
        started.url = str(http.base_url)
        yield started
    started.stop()


def test_the_client_that_waits(service):
    with Client(service.url, "shop") as client:
        shown = client.rank(ITEMS, query="shoes", id="r1")
        assert (shown.ranking_id, shown.ids, shown.policy) == ("r1", ("a", "b"), "best-first")
        click = Feedback("r1", "b")
        assert client.feedback([click, click]) == ["applied", "duplicate"]
        assert client.judge(Judgement("r1", {"a": 0, "b": 1})) == "applied"
        assert client.rank(ITEMS, min_version=client.state()["position"]).ids == ("b", "a")
        with pytest.raises(ServiceError, match="items: found none") as error:
            client.rank({})
        assert error.value.status == 422


def test_arrays_go_as_one_block_and_mistakes_in_them_are_named(service):
    with Client(service.url, "shop") as client:
        arrays = {"a": [1.0, 0.0], "b": (0.0, 1.0)}
        names = {"a": {"1": 1.0, "2": 0.0}, "b": {"1": 0.0, "2": 1.0}}
        assert client.rank(arrays, id="rows").scores == client.rank(names, id="names").scores
        for items, words in (
            ({"a": [1.0, float("nan")]}, "feature '2' of item 'a' is nan"),
            ({"a": [1e300, 0.0]}, "feature '1' of item 'a' is inf"),
            ({"a": [1.0, 2.0], "b": [1.0]}, "item 'b' has 1 features"),
            ({"a": [1.0]}, "1 items of 2 float32 features"),
        ):
            with pytest.raises(ServiceError, match=words):
                client.rank(items)


def test_the_client_waits_as_long_as_the_service_asks(service):
    class Busy:
        headers = {"retry-after": "3"}  # noqa: RUF012

    with Client(service.url, "shop") as client:
        assert [client._pause(n, None) for n in (0, 1, 9)] == [0.1, 0.2, 5.0]
        assert client._pause(0, Busy) == 3.0


def test_the_client_that_does_not(service):
    async def talk():
        async with AsyncClient(service.url, "shop") as client:
            shown = await asyncio.gather(*(client.rank(ITEMS) for _ in range(8)))
            assert len({one.ranking_id for one in shown}) == 8
            events = [Feedback(one.ranking_id, "a") for one in shown]
            assert await client.feedback(events) == ["applied"] * 8
            assert await client.judge(Judgement(shown[0].ranking_id, {"a": 1})) == "applied"
            assert (await client.state())["name"] == "shop"

    asyncio.run(talk())


def test_what_finds_the_service_busy_is_sent_again(service, monkeypatch):
    journal = service.loops["shop"]._journal
    append, failures = journal.append, iter([True, True])

    def sometimes(*drafts):
        outcome = append(*drafts)
        if next(failures, False):
            raise UnreachableError("it was written, but nobody could say so")
        return outcome

    monkeypatch.setattr(journal, "append", sometimes)
    before = service.loops["shop"].reader
    with Client(service.url, "shop") as client:
        shown = client.rank(ITEMS)
        assert client.feedback([Feedback(shown.ranking_id, "a")]) == ["applied"]
    with before() as reader:
        found = [r for r in reader.scan() if r.entry.key == f"ranking:{shown.ranking_id}"]
    assert len(found) == 1


def test_nobody_there():
    refused = pytest.raises(ServiceError, match=r"at http://127\.0\.0\.1:9 cannot be reached")
    with Client("http://127.0.0.1:9", "shop", retries=1) as client, refused:
        client.state()


def models_list(*more):
    return CliRunner().invoke(app, ["models", "list", "--loop", "shop", *more])


def test_a_command_says_which_address_it_tried_and_how_to_name_another(monkeypatch):
    monkeypatch.setattr("rankloop.client.time.sleep", lambda _: None)
    done = models_list("--url", "http://127.0.0.1:9")
    assert done.exit_code == 1
    for words in ("the service at http://127.0.0.1:9 cannot be reached", "--url", "RANKLOOP_URL"):
        assert words in done.output


def test_a_model_without_rankings_has_no_quality_yet(tmp_path):
    loop = {"features": 2, "rankers": ["solar-i"], "journal": str(tmp_path / "j")}
    started = Service.start(as_settings({"loops": {"shop": loop}}))
    with running(started) as http:
        done = models_list("--url", str(http.base_url))
    started.stop()
    assert done.output.split()[-4:] == ["1", "0", "-", "-"], done.output


@pytest.fixture(scope="module")
def catalogue_url(tmp_path_factory):
    """A shop whose loop computes features."""
    journal = str(tmp_path_factory.mktemp("catalogue") / "j")
    started = Service.start(as_settings({"loops": {"shop": shop_settings(journal=journal)}}))
    with running(started) as http:
        yield str(http.base_url)
    started.stop()


FRAME = pd.DataFrame(
    {
        "title": ["red shoe", None],
        "price": [np.nan, 9.5],
        "brand": pd.array(["acme", pd.NA], dtype="string"),
        "sale": pd.array([True, pd.NA], dtype="boolean"),
        "released": pd.to_datetime(["2026-05-01", None]),
    },
    index=["a", "b"],
)


@pytest.mark.parametrize("as_changes", [lambda frame: frame, lambda frame: frame.to_dict("index")])
def test_a_frame_with_gaps_and_dates_is_a_catalogue(catalogue_url, as_changes):
    with Client(catalogue_url, "shop") as client:
        assert client.change("items", as_changes(FRAME)) == 2
        fields = [client.send("GET", f"items/{name}")["fields"] for name in FRAME.index]
        assert client.rank(FRAME.index, fields={"device": np.str_("phone")}).ids == ("a", "b")
        client.change("items", FRAME.index, method="DELETE")
    a, b = ({k: v for k, v in row.items() if v is not None} for row in fields)
    assert a == {"title": "red shoe", "brand": "acme", "sale": 1.0, "released": 1777593600000.0}
    assert b == {"price": 9.5}


@pytest.mark.parametrize(
    ("ask", "words"),
    [
        (lambda c: c.rank(FRAME), "items must be ids, as in frame.index"),
        (lambda c: c.rank("i1"), "items must be ids"),
        (lambda c: c.rank([1, 2]), r"each id in items must be text.*found 1 \(int\)"),
        (lambda c: c.rank({"a": 3}), "the features of item 'a' must be numbers"),
        (lambda c: c.rank(["a"], fields={"device": {1}}), r"fields, 'device'.*found \{1\}"),
        (lambda c: c.feedback(FRAME), "events must be a list of Feedback"),
        (lambda c: c.feedback(["a"]), "each of events must be Feedback"),
        (lambda c: c.judge({"a": 1}), "must be a Judgement"),
        (lambda c: c.change("items", FRAME, "DELETE"), "items must be ids, as in frame.index"),
        (lambda c: c.change("items", ["a"]), r"fields by id, as in \{'a'"),
        (lambda c: c.change("items", FRAME.reset_index()), r"found 0 \(int\)"),
        (lambda c: c.change("items", FRAME.set_axis(["a", "a"])), "'a' twice"),
        (lambda c: c.change("items", {"a": 3}), "the fields of 'a' must be values by field"),
        (
            lambda c: c.change("items", {"a": {"price": 1}, "b": {"price": np.inf}}),
            "item 'b': field 'price': found inf, expected a finite number",
        ),
        (
            lambda c: c.change("items", {"a": {"title": b"red"}}),
            r"item 'a': field 'title': found b'red' \(bytes\), which cannot be sent",
        ),
    ],
)
def test_what_cannot_be_sent_is_named_before_anything_is(catalogue_url, ask, words):
    with Client(catalogue_url, "shop") as client:
        before = client.state()["position"]
        with pytest.raises(DataError, match=words):
            ask(client)
        assert client.state()["position"] == before


@pytest.mark.parametrize("value", [b'""', b"NaN"])
def test_the_service_says_how_to_send_a_missing_value(catalogue_url, value):
    body = b'{"id": "a", "fields": {"price": %s}}' % value
    with (
        Client(catalogue_url, "shop") as client,
        pytest.raises(ServiceError, match="send null for a missing value"),
    ):
        client.send("PUT", "items", content=body)


def test_a_ranking_names_the_items_without_fields(catalogue_url):
    with Client(catalogue_url, "shop") as client:
        client.change("items", {"known": {"price": 3}, "deleted": {"price": 4}})
        client.change("items", ["deleted"], "DELETE")
        assert "unknown" not in client.rank(["known"]).answer
        shown = client.rank(["never", "known", "deleted"])
        assert (shown.unknown, shown.answer["unknown"]) == (
            ("never", "deleted"),
            ["never", "deleted"],
        )
        document = client._http.get("/openapi.json").json()
        assert "unknown" in document["components"]["schemas"]["RankAnswer"]["properties"]


def test_a_rejected_event_says_why_and_all_count_it(service):
    with Client(service.url, "shop") as client:
        shown, before = client.rank(ITEMS), client.state().get("rejected", 0)
        typo, other = (Feedback(shown.ranking_id, *rest) for rest in (("a", "clik"), ("z",)))
        statuses = client.feedback([typo, other, Feedback(shown.ranking_id, "a")])
        assert statuses == ["rejected", "rejected", "applied"]
        assert "found 'clik', expected one of click" in statuses[0].detail
        assert "'z' was not shown" in repr(statuses[1])
        assert statuses[2].detail == ""
        assert client.state()["rejected"] == before + 2
        counted = 'rankloop_events_total{loop="shop",status="rejected"} '
        lines = client._http.get("/metrics").text.splitlines()
        assert f"{counted}{before + 2:.1f}" in lines
        assert pickle.loads(pickle.dumps(statuses))[1].detail == statuses[1].detail


@pytest.mark.parametrize("url", ["localhost:80", "ftp://localhost:80"])
def test_an_address_begins_with_http(url):
    with pytest.raises(DataError, match="such as http://localhost:80"):
        Client(url, "shop")


def test_a_wrong_method_and_flat_fields_get_the_right_ones(catalogue_url):
    with Client(catalogue_url, "shop") as client:
        with pytest.raises(ServiceError, match="found the method POST, expected one of DELETE, PA"):
            client.send("POST", "items", [])
        for body in ({"id": "a", "price": 3}, [{"id": "a", "price": 3}]):
            with pytest.raises(ServiceError, match="put all fields under `fields`"):
                client.send("PUT", "items", body)
