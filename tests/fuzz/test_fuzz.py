"""A little of both fuzzers; `make fuzz` runs more of them."""

from __future__ import annotations

from collections import Counter

from . import core, faulty, models
from .harness import run

OF_LOGS = {  # these need whole logs of clicks, which random arrays hardly ever are
    *("group_click_log", "gather_rows", "browsing_clicks", "browsing_click_probabilities"),
    *(
        f"fit_{kind}_model"
        for kind in ("browsing", "trust", "dependent", "bayesian", "click_chain")
    ),
}


def test_no_call_of_the_core_crashes(tmp_path):
    names = [name for name, *_ in core.functions()]
    report = run(core, range(60 * len(names)), tmp_path)
    assert report.failures == {}, str(report)
    for name, overloads in Counter(names).items():
        if name in OF_LOGS:
            continue
        done = report.outcomes[f"{name}: done"]
        assert done >= 15 * overloads, f"{name} was hardly ever called: {report}"


def test_no_file_crashes_what_reads_it(tmp_path):
    models.prepare(tmp_path)
    report = run(models, range(600), tmp_path)
    assert report.failures == {}, str(report)
    came_to = Counter()
    for outcome, count in report.outcomes.items():
        came_to[outcome.partition(": ")[2]] += count
    assert min(came_to["works"], came_to["refused"]) > 50, str(report)


def test_whatever_goes_wrong_is_noticed(tmp_path):
    report = run(faulty, range(len(faulty.WAYS)), tmp_path, seconds=10)
    assert report.outcomes == {"done": 3}
    for case, says in {
        1: "raises: raised KeyError: 'a'",
        2: "crashes: killed by SIGSEGV",
        3: "ends: ended with code 3",
        4: "swells: took ",
        6: "hangs: hung",
    }.items():
        assert report.failures.pop(case).startswith(says)
    assert report.failures == {}
