"""A little of both fuzzers, and that they notice what they are for."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from rankloop import _core

from . import core, faulty, live, models, surface
from .harness import STATUS, run

CASES = 60  # of each function


def test_no_call_of_the_core_crashes_and_all_functions_are_reached(tmp_path):
    names = [function.name for function in core.functions()]
    report = run(core, range(CASES * len(names)), tmp_path)
    assert report.failures == {}, str(report)
    done = {name: report.outcomes[f"{name}: done"] for name in names}
    seldom = {name: count for name, count in done.items() if count < CASES / 4}
    assert seldom == {}, f"these functions are hardly ever called with arguments that fit: {report}"


def _empty(*types):
    return [np.zeros(0, kind) for kind in types]


CRASHED = {
    "more queries than can be counted": lambda: _core.group_click_log(
        np.zeros(1, np.int64), *_empty("i4", "i4", "i4", "u1"), None, 2**64 - 1
    ),
    "more ranks than can be squared": lambda: _core.browsing_clicks(
        np.ones(1), np.ones(1, np.int32), *_empty("f8"), 2**32, np.array([0, 1]), np.ones(1)
    ),
    "clicks on documents without features": lambda: _core.play_pdgd(
        np.zeros((1, 0), np.float32),
        np.array([0, 1]),
        *[np.ones(1)] * 3,
        np.zeros(1, np.int64),
        np.ones(2),
        stops=False,
        w=np.zeros(0),
        total=None,
        queries=0,
        sizes=np.zeros(2),
        clip=10.0,
        rate=0.1,
        decay=0.0,
        keep=1.0,
        shown=np.zeros((1, 1), np.int64),
        clicks=np.zeros((1, 1), np.uint8),
    ),
}


@pytest.mark.parametrize("call", CRASHED.values(), ids=CRASHED)
def test_what_crashed_once_is_refused(call):
    with pytest.raises(ValueError, match=r"queries|ranks|feature"):
        call()


def _fold(**changes):
    return _core.FeatureFold(**live.SHOP | changes, max_keys=9, max_rankings=9)


def _asked(*words):
    return _core.FeatureContext(b"a", None, None, list(words), [0.0])


def _fill(*steps, rows=1, width=2, at=0):
    view = live.full().view(["a"], _asked("a"))
    view.fill(_core.FeatureSteps(list(steps), width), at, np.zeros((rows, width), np.float32))


BEYOND = {
    "a key of a field that is not there": lambda: _fold(slots=[("item_field", 5)]),
    "a key of numbers": lambda: _fold(slots=[("user_field", 0)]),
    "a key of a field of no request": lambda: _fold(request_fields=0),
    "two lists in a key": lambda: _fold(recipes=[("click", "", [7, 8], "each", 0, 0)]),
    "a vector without numbers": lambda: _fold(items=[("vector", 0, False)], slots=[], recipes=[]),
    "a request without its category": lambda: _fold().view(["a"], _asked()),
    "a shown category too many": lambda: _fold().show("r", ["a"], _asked("a", "b"), 0, 1),
    "a place after the last": lambda: _fold().show("r", ["a", "b"], _asked("a"), 0, 2**64 - 1),
    "a time after the last": lambda: _fold().show("r", ["a"], _asked("a"), 2**63 - 1, 1),
    "a time before the first": lambda: live.full().view(["a"], _asked("a")).sums(2, 0, -(2**63)),
    "an item that is not there": lambda: live.full().view(["a"], _asked("a")).sums(2, 1, 0),
    "a field that is not there": lambda: _fill(("number", 0, "item", 5, 0, 0, 1, 0.0)),
    "a field of another type": lambda: _fill(("code", 0, "user", 0, 0, 2, 1, 0.0)),
    "a number that no request has": lambda: _fill(("age", 0, "request", 1, 0, 0, 1, 0.0)),
    "a category that no request has": lambda: _fill(("code", 0, "request", 1, 0, 2, 1, 0.0)),
    "a list of a request": lambda: _fill(("flags", 0, "request", 0, 0, 1, 1, 0.0)),
    "a counter that is not there": lambda: _fill(("affinity", 0, "item", 0, 9, 0, 1, 1.0)),
    "more buckets than can be counted": lambda: _fill(
        ("flags", 0, "item", 2, 0, 2**32 - 1, 2, 0.0)
    ),
    "no buckets": lambda: _fill(("code", 0, "item", 1, 0, 0, 0, 0.0)),
    "a column behind the last": lambda: _fill(("number", 2, "item", 0, 0, 0, 1, 0.0)),
    "columns behind the last": lambda: _fill(("flags", 1, "item", 2, 0, 1, 1, 0.0)),
    "another number of rows": lambda: _fill(rows=2),
    "a matrix at no time": lambda: _fill(at=2**63 - 1),
    "a cross of a list": lambda: live.full().view(["a"], _asked("a")).cross([7], 3),
    "a cross of what is not there": lambda: live.full().view(["a"], _asked("a")).cross([99], 3),
    "a catalogue twice": lambda: live.full().read_part(*live.filled()[0]),
}


@pytest.mark.parametrize("call", BEYOND.values(), ids=BEYOND)
def test_live_features_read_nothing_beyond_their_state(call):
    with pytest.raises(
        ValueError, match=r"field|categor|number|part|place|time|column|new|item|counter|bucket"
    ):
        call()


def test_a_damaged_part_changes_nothing():
    for name, part in live.filled():
        fold = _fold()
        new = fold.to_parts()
        with pytest.raises(ValueError, match="damaged"):
            fold.read_part(name, part[:-1])
        assert fold.to_parts() == new


def test_an_argument_of_a_new_type_is_a_failure(monkeypatch, tmp_path):
    unknown = core.Function("new", print, (("x", "complex"),))
    monkeypatch.setattr(core, "functions", lambda: [unknown])
    with pytest.raises(NotImplementedError, match="complex"):
        core.outcome(0, tmp_path)


@pytest.mark.slow
def test_no_file_crashes_what_reads_it(tmp_path):
    models.prepare(tmp_path)
    report = run(models, range(600), tmp_path)
    assert report.failures == {}, str(report)
    came_to = Counter()
    for outcome, count in report.outcomes.items():
        came_to[outcome.partition(": ")[2]] += count
    assert min(came_to["works"], came_to["refused"]) > 50, str(report)


@pytest.mark.slow
@pytest.mark.skipif(not STATUS.exists(), reason="reads the memory of a process from /proc")
def test_whatever_goes_wrong_is_noticed(tmp_path):
    report = run(faulty, range(faulty.WAYS.index("hangs")), tmp_path)
    hung = run(faulty, range(faulty.WAYS.index("hangs"), len(faulty.WAYS)), tmp_path, seconds=3)
    report.failures |= hung.failures
    assert report.outcomes + hung.outcomes == {"works": 3}, str(report)
    expected = {
        1: "raises: raised KeyError: 'a'",
        2: "crashes: killed by SIGSEGV",
        3: "ends: ended with code 3",
        4: "swells: took ",
        6: "hangs: hung",
    }
    assert report.failures.keys() == expected.keys(), str(report)
    for case, says in expected.items():
        assert report.failures[case].startswith(says), report.failures[case]


@pytest.mark.parametrize("n", [300, pytest.param(2_000, marks=pytest.mark.slow)])
def test_the_public_surface_raises_only_our_errors(n, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # text may be taken for the name of a file
    found = [
        f"{name}: {type(error).__name__}: {error}; {positional!r:.200} {named!r:.200}"
        for name, positional, named, error in surface.calls(n)
    ]
    assert not found, "\n".join(found)
