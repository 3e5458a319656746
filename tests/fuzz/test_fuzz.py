"""A little of both fuzzers; `make fuzz` runs more of them."""

from __future__ import annotations

from collections import Counter

from . import core, models
from .harness import run


def test_no_call_of_the_core_crashes(tmp_path):
    names = [name for name, *_ in core.functions()]
    report = run(core, range(60 * len(names)), tmp_path)
    assert report.failures == {}, str(report)
    done = sum(count for what, count in report.outcomes.items() if what.endswith(": done"))
    assert done > 20 * len(names), str(report)


def test_no_file_crashes_what_reads_it(tmp_path):
    models.prepare(tmp_path)
    report = run(models, range(600), tmp_path)
    assert report.failures == {}, str(report)
    came_to = Counter()
    for outcome, count in report.outcomes.items():
        came_to[outcome.partition(": ")[2]] += count
    assert min(came_to["works"], came_to["refused"]) > 50, str(report)
