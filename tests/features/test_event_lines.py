"""Interactions that are read many at once are those that are read one by one."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop import _core
from rankloop.exceptions import DataError
from rankloop.features import Definitions
from rankloop.features.batch import UnorderedError, fold_events
from rankloop.features.event_log import EventReader
from rankloop.feedback.event_files import read_columns, read_events
from rankloop.feedback.grading import GradingRule, grade_rows

DEFINITIONS = Definitions.read(
    {},
    {
        "ctr": {"rate": "click", "half_life": "1d", "prior": 1},
        "stars": {"mean": "rating", "prior": 1},
        "mine": {"count": "click", "per": ["user", "item"]},
    },
)
RANKINGS = [
    {"ranking_id": "r1", "items": ["a", "b"], "user": "u", "timestamp": 1_600_000_000_000},
    {"ranking_id": "r2", "items": ["b", "ü"], "user": "v", "timestamp": 1_600_000_005_000},
]
names = st.sampled_from(["a", "b", "ü", "", 'quoted "b"', 7])
times = st.integers(0, 10_000).map(lambda ms: 1_600_000_000_000 + ms)
values = st.sampled_from([1, 2.5, -3, 1e3, 0.1, True, None, "4", 12345678901234567890, 4.0625])


@st.composite
def interactions(draw):
    """An event in one of the forms that there are, or nearly."""
    at, item, value = draw(times), draw(names), draw(values)
    ranking = draw(st.sampled_from(["r1", "r2", "r3", None, 1]))
    kind = draw(st.sampled_from(["click", "rating", "impression"]))
    at = draw(st.sampled_from([at, str(at), float(at)]))
    if draw(st.booleans()):
        event = {"event": "interaction", "id": draw(st.sampled_from(["e1", "e2", "", None, 3]))}
        event |= {"timestamp": at, "ranking": ranking, "item": item, "type": kind, "user": "u"}
        return event | {"fields": draw(st.sampled_from([[], [{"name": "value", "value": value}]]))}
    event = {"ranking_id": ranking, "item": item, "timestamp": at, "value": value}
    more = draw(st.sampled_from([{}, {"type": kind}, {"event_id": "e1"}, {"note": "new"}]))
    return event | more


def outcome(read, path, unit="ms"):
    reader = EventReader(DEFINITIONS, unit)
    try:
        log = fold_events(read(str(path), reader), DEFINITIONS)
    except DataError as error:
        return str(error)
    rules = {"click": GradingRule(1.0), "rating": GradingRule(1.0, 0.0, by_value=True)}
    grades = grade_rows(rules, log.feedback, list(map(len, log.items)))
    matrix = np.concatenate(log.matrices).tobytes()
    return log.ids, log.items, matrix, grades.tolist(), log.notes, log.state.digest()


@given(events=st.lists(interactions(), max_size=12), indent=st.sampled_from([None, (",", ":")]))
def test_a_log_is_the_same_however_its_lines_are_read(tmp_path_factory, events, indent):
    path = tmp_path_factory.getbasetemp() / "log.jsonl"
    log = sorted([*RANKINGS, *events], key=lambda event: float(event["timestamp"]))
    path.write_text("\n".join(json.dumps(event, separators=indent) for event in log))
    assert outcome(read_columns, path) == outcome(read_events, path)


def click(**more):
    return {"ranking_id": "r1", "item": "b", "timestamp": 1_600_000_001, **more}


FAST = [
    click(),
    click(type="buy", value=-2.25, event_id="e", user="u", session="s"),
    click(timestamp="1600000001"),
    {
        "event": "interaction", "id": "e", "timestamp": 1, "ranking": "r", "item": "i",
        "fields": [{"name": "source", "value": "mail"}, {"name": "value", "value": 3}],
    },
]  # fmt: skip
SLOW = [
    click(item="ü"),
    click(item="\n"),
    click(value=True),
    click(value=1e300),
    click(timestamp=1_600_000_001.5),
    click(timestamp="2020-01-01"),
    click(timestamp=10**15),
    click(timestamp=-5),
    click(note="new"),
    click(event="interaction"),
    click(ranking_id=None),
    {"ranking_id": "r1", "item": "b"},
    {"event": "ranking", "id": "r", "timestamp": 1, "items": []},
]


def size(line):
    return sum(len(found) for _, found in _core.read_interactions([line], True))


@pytest.mark.parametrize("event", FAST, ids=str)
def test_usual_lines_are_read_at_once(event):
    line = json.dumps(event)
    assert size(line.encode()) == size(f" {line} \r\n".encode()) == 1
    assert all(size(line[:end].encode()) == 0 for end in range(len(line)))
    assert size(f"{line}]".encode()) == 0


@pytest.mark.parametrize("event", SLOW, ids=str)
def test_unusual_lines_are_left_to_the_slower_reader(event):
    assert size(json.dumps(event, ensure_ascii=False).encode()) == 0


@pytest.mark.parametrize("number", ["01", "1.", ".5", "+1", "1e2", "NaN", "--1", "0x1"])
def test_unusual_numbers_are_left_to_the_slower_reader(number):
    assert size(b'{"ranking_id":"r","item":"i","timestamp":1,"value":%b}' % number.encode()) == 0


def test_lines_that_are_not_in_order_of_time_are_noticed(tmp_path):
    path = tmp_path / "log.jsonl"
    lines = [RANKINGS[0], RANKINGS[0], click(timestamp=1_600_000_002_000), click(timestamp=5)]
    path.write_text("\n".join(map(json.dumps, lines)))
    reader = EventReader(DEFINITIONS, "ms")
    with pytest.raises(UnorderedError):
        fold_events(read_columns(str(path), reader), DEFINITIONS)
