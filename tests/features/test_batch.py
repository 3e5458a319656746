"""The features of a log are those that the live fold had at each moment, whatever its form."""

import json
import tempfile
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import rankloop as rl
from rankloop.cli.app import app
from rankloop.exceptions import DataError, ParseError
from rankloop.features import Change, Definitions, FeatureState, Request
from rankloop.features.event_log import EventReader
from rankloop.features.events import Interaction, RankingEvent
from rankloop.feedback.event_sort import SortedEvents
from rankloop.feedback.grading import GradingRule
from rankloop.rankers.training import describe_if_needed

FIELDS = {"item": {"brand": "category", "price": "number"}, "request": {"query": "text"}}
FEATURES = {
    "price": {"number": "item.price"},
    "brand": {"category": "item.brand"},
    "ctr": {"rate": "click", "half_life": "1d", "prior": 1},
    "mine": {"rate": "click", "per": ["user", "item"], "prior": 1},
    "asked": {"rate": "click", "per": ["request.query", "item"], "prior": 1},
}
METARANK = [
    {
        "event": "item", "id": "e1", "timestamp": "1599391467000",
        "item": "a",
        "fields": [{"name": "brand", "value": "acme"}, {"name": "price", "value": 2.5}, {}],
    },
    {
        "event": "ranking", "id": "r1", "timestamp": "1599391468000", "user": "u", "session": "s",
        "fields": [{"name": "query", "value": "cat"}, {"name": "source", "value": "search"}],
        "items": [{"id": "a", "relevancy": 2.0}, {"id": "b"}],
    },
    {
        "event": "ranking", "id": "r2", "timestamp": "1599391469000", "user": "u", "session": "s",
        "fields": [{"name": "query", "value": "cat"}], "items": [{"id": "b"}, {"id": "a"}],
    },
    {
        "event": "interaction", "id": "i1", "timestamp": "1599391470000", "ranking": "r1",
        "item": "b", "type": "click", "user": "u", "session": "s", "fields": [],
    },
    {
        "event": "ranking", "id": "r3", "timestamp": "1599391480000", "user": "u", "session": "s",
        "fields": [{"name": "query", "value": "cat"}], "items": [{"id": "a"}, {"id": "b"}],
    },
]  # fmt: skip
UBI = [
    {"index": {"_index": "ubi_queries"}},
    {"query_id": "r1", "client_id": "u", "user_query": "cat", "timestamp": "2020-09-06T11:24:28Z"},
    {"query_id": "r2", "client_id": "u", "user_query": "cat", "timestamp": "2020-09-06T11:24:29Z",
     "query_response_hit_ids": ["b", "a"]},
    {"query_id": "r3", "client_id": "u", "user_query": "cat", "timestamp": "2020-09-06T11:24:40Z",
     "query_response_hit_ids": ["a", "b"]},
    {"action_name": "impression", "query_id": "r1", "timestamp": "2020-09-06T11:24:28.5Z",
     "event_attributes": {"object": {"object_id": "b"}, "position": {"ordinal": 2}}},
    {"action_name": "impression", "query_id": "r1", "timestamp": "2020-09-06T11:24:28.5Z",
     "event_attributes": {"object": {"object_id": "a"}, "position": {"ordinal": 1}}},
    {"action_name": "click", "query_id": "r1", "timestamp": "2020-09-06T11:24:30Z",
     "client_id": "u", "event_attributes": {"object": {"object_id": "b"}}},
    {"id": "a", "fields": {"brand": "acme", "price": 2.5}, "timestamp": "2020-09-06"},
]  # fmt: skip
OURS = [
    {"id": "a", "fields": {"brand": "acme", "price": 2.5}, "timestamp": 1599391467},
    {"ranking_id": "r1", "items": ["a", "b"], "query": "cat", "user": "u", "timestamp": 1599391468},
    {"ranking_id": "r2", "items": ["b", "a"], "query": "cat", "user": "u", "timestamp": 1599391469},
    {"ranking_id": "r1", "item": "b", "type": "click", "timestamp": 1599391470, "event_id": "i1"},
    {"ranking_id": "r3", "items": ["a", "b"], "query": "cat", "user": "u", "timestamp": 1599391480},
]


def write(path, events):
    path.write_text("\n".join(map(json.dumps, events)) + "\n", encoding="utf-8")
    return path


def live():
    """The same events through the fold, one after the other."""
    state = FeatureState(Definitions.read(FIELDS, FEATURES))
    request, start, rows = Request(b"u", b"s", b"cat"), 1599391467000, []
    state.change_items("items", [Change("a", {"brand": "acme", "price": 2.5})], start)
    for name, items, at in (("r1", "ab", 1000), ("r2", "ba", 2000), ("r3", "ab", 13000)):
        if name == "r3":
            state.observe("b", "click", 1.0, start + 3000, "r1")
        rows.append(state.matrix(list(items), request, start + at))
        state.show(name, list(items), request, start + at)
    return np.concatenate(rows)


@pytest.mark.parametrize("events", [METARANK, UBI, OURS], ids=["metarank", "ubi", "ours"])
def test_a_log_has_the_features_of_each_moment(tmp_path, events):
    notes = []
    data = rl.compute_features(
        write(tmp_path / "log.jsonl", events), fields=FIELDS, features=FEATURES, notice=notes.append
    )
    assert data.X.tobytes() == live().tobytes()
    assert data.y.tolist() == [0, 1, 0, 0, 0, 0]
    assert data.query_ids.tolist() == ["r1", "r2", "r3"]
    assert list(data.doc_ids) == ["a", "b", "b", "a", "a", "b"]
    assert data.features.columns[1].categories[0] == "acme"
    assert [note for note in notes if "left out" in note] == []


def test_the_order_of_lines_does_not_matter_where_times_differ(tmp_path):
    one = rl.compute_features(write(tmp_path / "a", OURS), fields=FIELDS, features=FEATURES)
    two = rl.compute_features(write(tmp_path / "b", OURS[::-1]), fields=FIELDS, features=FEATURES)
    assert one.X.tobytes() == two.X.tobytes()
    assert one.y.tolist() == two.y.tolist()


def test_duplicates_and_strays_count_nothing_and_are_told(tmp_path):
    more = [
        OURS[1],
        OURS[3],
        {"ranking_id": "r1", "item": "z", "timestamp": 1599391471},
        {"ranking_id": "none", "item": "a", "timestamp": 1599391471},
    ]
    notes = []
    path = write(tmp_path / "log.jsonl", OURS[:4] + more + OURS[4:])
    data = rl.compute_features(path, fields=FIELDS, features=FEATURES, notice=notes.append)
    assert data.X.tobytes() == live().tobytes()
    assert notes == [
        "times are seconds",
        "left out: 1 rankings that were there before",
        "left out: 1 events that were there before",
        "left out: 1 events about items that were not shown",
        "left out: 1 events of unknown rankings",
    ]


def test_feedback_before_its_ranking_waits_for_it(tmp_path):
    early = [{**OURS[3], "timestamp": 1599391400}, *OURS[:3], OURS[4]]
    data = rl.compute_features(write(tmp_path / "a", early), fields=FIELDS, features=FEATURES)
    assert data.y.tolist() == [0, 1, 0, 0, 0, 0]
    assert data.X[2, 2] == pytest.approx((1 + 1 * 0.5) / (1 + 1), rel=1e-4)  # it came before r2


def test_grades_follow_the_rules(tmp_path):
    events = [
        {"ranking_id": "r", "items": ["a", "b", "c"], "timestamp": 1},
        {"ranking_id": "r", "item": "a", "type": "stars", "value": 4.5, "timestamp": 2},
        {"ranking_id": "r", "item": "b", "type": "hide", "timestamp": 2},
    ]
    rules = {"stars": GradingRule(1, steps=(3, 4, 5)), "hide": -1}
    data = rl.compute_features(
        write(tmp_path / "a", events), features={"n": {"count": "stars"}}, feedback=rules
    )
    assert data.y.tolist() == [3, 0, 1]


def test_errors_name_the_line(tmp_path):
    path = tmp_path / "log.jsonl"
    for bad, words in (
        ("{", "it is not JSON"),
        ("[1]", "expected JSON objects"),
        ('{"what": 1}', "found an object with what; expected an event"),
        ('{"ranking_id": "r", "items": ["a"]}', "it has no timestamp, only ranking_id, items"),
        ('{"id": "a", "fields": {}, "timestamp": []}', "timestamp: expected a date or a number"),
        ('{"ranking_id": "r", "items": [{}], "timestamp": 1}', "another form than expected"),
    ):
        path.write_text('{"id": "a", "fields": {}, "timestamp": 1}\n' + bad)
        with pytest.raises(ParseError, match=f"log.jsonl:2: .*{words}"):
            rl.compute_features(path, fields=FIELDS, features=FEATURES)
    with pytest.raises(DataError, match="no ranking"):
        rl.compute_features(write(path, OURS[:1]), fields=FIELDS, features=FEATURES)


def test_the_command_writes_a_file_that_trains(tmp_path):
    config, log, out = tmp_path / "shop.toml", tmp_path / "log.jsonl", tmp_path / "train.parquet"
    write(log, METARANK)
    config.write_text(
        "[loops.shop.fields]\n"
        'item = { brand = "category", price = "number" }\nrequest = { query = "text" }\n'
        "[loops.shop.features]\n"
        'price = { number = "item.price" }\nbrand = { category = "item.brand" }\n'
        'ctr = { rate = "click", half_life = "1d", prior = 1 }\n'
        "[loops.shop.feedback]\nclick = 2\n"
    )
    done = CliRunner().invoke(
        app, ["features", str(log), "-c", str(config), "-o", str(out), "--json"]
    )
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["queries"] == 3
    data = rl.read(out)
    np.testing.assert_array_equal(data.X[:, [0, 2]], live()[:, [0, 2]])
    assert data.y.tolist() == [0, 2, 0, 0, 0, 0]
    assert data.features.columns[1].categories == ("acme",)


def test_real_sittings(data_dir, tmp_path):
    path = data_dir / "MovieLens-events" / "events.jsonl"
    if not path.is_file():
        pytest.skip("no MovieLens-events")
    with path.open(encoding="utf-8") as file:
        (tmp_path / "log.jsonl").write_text("".join(islice(file, 8000)), encoding="utf-8")
    data = rl.compute_features(
        tmp_path / "log.jsonl",
        features={"mean": {"mean": "rating", "prior": 5}, "year": {"number": "item.year"}},
        fields={"item": {"year": "number"}},
        feedback={"rating": GradingRule(1.0, steps=(3, 4, 5))},
    )
    quality = [rl.evaluate(data, np.nan_to_num(data.X[:, k]), "nDCG@10")["nDCG@10"] for k in (0, 1)]
    assert quality[0] > quality[1] + 0.02  # what others thought says more than the year


@pytest.mark.parametrize(("unit", "most"), [("s", 2**42), ("ms", 2**52)])
def test_a_time_that_no_clock_shows_is_refused_in_both_units(unit, most):
    reader = EventReader(Definitions.read(FIELDS, FEATURES), unit)
    event = {"event": "item", "id": "e", "item": "a", "fields": []}
    assert reader.read({**event, "timestamp": most - 1})
    with pytest.raises(DataError, match="timestamp"):
        reader.read({**event, "timestamp": most})


def test_a_model_that_saw_no_gaps_scores_features_that_may_be_missing(tmp_path):
    fields = {"item": {"price": "number"}}
    log = [{"id": name, "fields": {"price": n}, "timestamp": 1} for n, name in enumerate("abc")]
    log += [
        {"ranking_id": f"r{k}", "items": list("abc") if k < 8 else ["a", "new"], "timestamp": 2 + k}
        for k in range(9)
    ]
    log += [{"ranking_id": f"r{k}", "item": "b", "timestamp": 20} for k in range(9)]
    data = rl.compute_features(
        write(tmp_path / "log", log), fields=fields, features={"price": {"number": "item.price"}}
    )
    train, test = data.select(slice(0, 8)), data.select(slice(8, 9))
    assert not train.has_missing
    assert test.has_missing
    ranker = describe_if_needed(rl.NewtonXENDCG(), train).fit(train)
    assert np.isfinite(ranker.predict(test)).all()


@given(
    times=st.lists(st.integers(0, 20), max_size=300),
    at_once=st.sampled_from([1, 10, 150, 10_000]),
)
def test_events_that_do_not_fit_into_memory_are_sorted_all_the_same(times, at_once):
    logged = [Interaction(f"i{k}", "click", 1.0, at, "r") for k, at in enumerate(times)]
    events = SortedEvents(at_once)
    for event in logged:
        events.add(event)
    expected = sorted(logged, key=lambda event: event.at)
    assert list(events) == list(events) == expected
    assert events.first == min(times, default=None)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a disk that is full")
def test_a_full_disk_is_named(monkeypatch):
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda: Path("/dev/full").open("w+b"))  # noqa: SIM115
    events = SortedEvents(1)
    event = Interaction("a", "click", 1.0, 0)
    with pytest.raises(DataError, match=r"No space left on device; .* set TMPDIR"):
        events.add(event)


def test_a_log_in_order_is_not_merged():
    events = SortedEvents(10)
    for at in range(100):
        events.add(RankingEvent(f"r{at}", ("a", "b"), Request(fields={"at": at}), at, {}))
    assert len(events._runs) == 1
    assert [event.request.fields["at"] for event in events] == list(range(100))
