"""A little of both fuzzers, and that they notice what they are for."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from rankloop import _core

from . import core, faulty, models
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
        shown=np.zeros((1, 1), np.int64),
        clicks=np.zeros((1, 1), np.uint8),
    ),
}


@pytest.mark.parametrize("call", CRASHED.values(), ids=CRASHED)
def test_what_crashed_once_is_refused(call):
    with pytest.raises(ValueError, match=r"queries|ranks|feature"):
        call()


def test_an_argument_of_a_new_type_is_a_failure(monkeypatch, tmp_path):
    unknown = core.Function("new", print, (("x", "complex"),))
    monkeypatch.setattr(core, "functions", lambda: [unknown])
    with pytest.raises(NotImplementedError, match="complex"):
        core.outcome(0, tmp_path)


def test_no_file_crashes_what_reads_it(tmp_path):
    models.prepare(tmp_path)
    report = run(models, range(600), tmp_path)
    assert report.failures == {}, str(report)
    came_to = Counter()
    for outcome, count in report.outcomes.items():
        came_to[outcome.partition(": ")[2]] += count
    assert min(came_to["works"], came_to["refused"]) > 50, str(report)


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
