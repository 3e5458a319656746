"""Series stay small, and totals survive coarsening."""

from __future__ import annotations

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankloop.serving.dashboard.board import Total
from rankloop.serving.dashboard.past import WINDOW, quality
from rankloop.serving.dashboard.series import Series
from rankloop.serving.dashboard.traffic import quantile


@given(st.integers(2, 20), st.lists(st.floats(0.01, 50), max_size=300))
def test_a_series_is_bounded_and_covers_all_of_the_time(most, gaps):
    series = Series(most, spacing=1.0)
    at, seen = 0.0, []
    for gap in gaps:
        at += gap
        series.add(at, at)
        seen.append(at)
        assert len(series.points) <= most
    times = [point.at for point in series.points]
    assert times == sorted(times)
    assert times[:1] == seen[:1]  # the oldest is never lost
    assert all(b - a >= 1.0 for a, b in pairwise(times))
    if times:
        assert at - times[-1] < 2 * series.spacing


def test_at_its_coarsest_the_oldest_goes():
    series = Series(4, spacing=1.0, coarsest=2.0)
    for second in range(101):
        series.add(float(second), second)
    assert [point.at for point in series.points] == [94.0, 96.0, 98.0, 100.0]


@pytest.mark.parametrize("share", [0.01, 0.5, 0.9, 0.99, 1.0])
def test_quantiles_are_those_of_evenly_spread_times(share):
    bounds = [0.25, 0.5, 0.75, 1.0, math.inf]
    counts = [250, 500, 750, 1000, 1000]
    assert quantile(bounds, counts, share) == pytest.approx(share)


def test_a_quantile_of_nothing_is_unknown_and_beyond_the_last_bucket_is_its_start():
    assert quantile([], [], 0.5) is None
    assert quantile([1.0, math.inf], [0, 0], 0.5) is None
    assert quantile([1.0, math.inf], [0, 10], 0.5) == 1.0


def test_quality_is_the_mean_of_the_rankings_within_the_window():
    step = WINDOW // 4
    good, bad = [0.9] * 8, [0.3] * 8
    totals, n, total = [Total(1000, 500.0)], 1000, 500.0
    for mean in good + bad:
        n, total = n + step, total + step * mean
        totals.append(Total(n, total))
    curve = quality(totals)
    assert curve.mean[0] is None  # what came before this process is not known
    assert curve.mean[8] == pytest.approx(0.9)
    assert curve.mean[10] == pytest.approx((2 * 0.9 + 2 * 0.3) / 4)
    assert curve.mean[16] == pytest.approx(0.3)
    away = 1.96 * math.sqrt(0.3 * 0.7 / WINDOW)
    assert curve.low[16] == pytest.approx(0.3 - away, rel=1e-3)
    assert curve.high[16] == pytest.approx(0.3 + away, rel=1e-3)


def test_a_model_that_begins_anew_has_a_gap():
    totals = [Total(0, 0.0), Total(400, 200.0), Total(50, 40.0), Total(300, 240.0)]
    mean = quality(totals).mean
    assert mean[1] == pytest.approx(0.5)
    assert mean[2] is None
    assert mean[3] == pytest.approx(200 / 250)


def test_a_model_that_came_later_begins_later():
    assert quality([None, None, Total(0, 0.0), Total(100, 70.0)]).mean[2:] == [
        None,
        pytest.approx(0.7),
    ]
