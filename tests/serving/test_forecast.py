"""How long an experiment will take, counted from the journal."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop.clicks.interleaving.power import Effect, impressions_of_sequence
from rankloop.serving.experiments.forecast import estimate_traffic, forecast
from rankloop.serving.journal.action_entries import Configured
from rankloop.serving.journal.base import make_row
from rankloop.serving.journal.opening import open_journal
from rankloop.serving.journal.ranking_entries import Observed, Ranked, pack_features

HOUR = 3_600_000
RULES = {"click": 1.0, "skip": 0.0}


def ranked(name, policy="best-first"):
    features, _ = pack_features(np.zeros((1, 1), np.float32))
    return Ranked(name, ["a"], 1, features, [0], np.zeros(1).tobytes(), policy=policy)


@pytest.fixture
def journal(tmp_path):
    with open_journal(str(tmp_path / "j"), "shop") as journal:
        yield journal


def fill(journal, hours, rankings=100, start=0, policy="best-first"):
    """So many rankings an hour, of which every fourth is clicked twice and all are skipped once."""
    for hour in range(start, start + hours):
        entries = []
        for n in range(rankings):
            name = f"{hour}-{n}"
            entries += [ranked(name, policy), Observed(f"{name} s", name, "a", "skip")]
            if n % 4 == 0:
                entries += [Observed(f"{name} {c}", name, "a") for c in "xy"]
        journal.append([make_row(entry, hour * HOUR) for entry in entries])


def test_rates_are_those_of_the_journal(journal):
    fill(journal, 49)
    traffic = estimate_traffic(journal, RULES)
    assert traffic.days == pytest.approx(2)
    assert traffic.rankings == pytest.approx(2450, rel=0.1)
    assert traffic.clicked == pytest.approx(2450 / 4, rel=0.15)


def test_only_the_last_week_counts(journal):
    fill(journal, 100, rankings=8)
    fill(journal, 169, rankings=2, start=300)
    traffic = estimate_traffic(journal, RULES)
    assert traffic.days == pytest.approx(7)
    assert traffic.rankings == pytest.approx(48, rel=0.1)


def test_imported_logs_do_not_count(journal):
    fill(journal, 1, rankings=1000, policy="logged")
    fill(journal, 24, start=1)
    assert estimate_traffic(journal, RULES).rankings == pytest.approx(2500, rel=0.15)


def test_too_few_rankings_tell_no_rate(journal):
    assert estimate_traffic(journal, RULES) is None
    journal.append([make_row(Configured(b"{}", 1), 0)])
    fill(journal, 2, rankings=10)
    assert estimate_traffic(journal, RULES) is None
    expected = forecast(None, 0.025)
    assert [one.days for one in expected.durations] == [None] * 3
    assert expected.rankings_per_day is None


def test_days_follow_from_the_rate_and_the_share(journal):
    fill(journal, 25)
    traffic = estimate_traffic(journal, RULES)
    whole, tenth = forecast(traffic, 0.025), forecast(traffic, 0.025, 0.1)
    for one, other in zip(whole.durations, tenth.durations, strict=True):
        assert one.outcomes == impressions_of_sequence(Effect(one.preference), 0.025)
        assert one.half < one.outcomes
        assert one.days == pytest.approx(one.outcomes / traffic.clicked)
        assert one.rankings == pytest.approx(one.days * traffic.rankings, abs=1)
        assert other.days == pytest.approx(10 * one.days)


def test_nobody_clicks(journal):
    fill(journal, 25)
    expected = forecast(estimate_traffic(journal, {"buy": 1.0}), 0.025)
    assert expected.clicked_per_day == 0
    assert [one.days for one in expected.durations] == [None] * 3


def test_a_rest_of_the_error_budget_is_enough():
    """What is left after a change of alpha may be a rounding error."""
    needed = [forecast(None, alpha).durations[0].outcomes for alpha in (1e-3, 1e-15, 1e-30)]
    assert needed[0] < needed[1] < needed[2] < 100 * needed[0]
