"""Clicks as training data."""

from __future__ import annotations

import numpy as np
import pytest

from rankloop.clicks.corrections import (
    DoublyRobustCorrection,
    InversePropensity,
    Naive,
    training_data,
)
from rankloop.clicks.log.log import ClickLog
from rankloop.clicks.offpolicy.examination import Examination
from rankloop.exceptions import DataError

SLOPES, OFFSETS = np.array([0.9, 0.4, 0.2]), np.array([0.1, 0.05, 0.0])


def many_pages(relevance: np.ndarray, examination: Examination, rng) -> ClickLog:
    """Show the same three documents in that order, over and over."""
    n = 20_000
    chances = examination.slopes * relevance + examination.offsets
    clicks = rng.random((n, 3)) < chances
    return ClickLog.from_rows(
        np.zeros(3 * n, int), np.tile(np.arange(3), n), clicks.ravel(), page=np.repeat(range(n), 3)
    )


@pytest.mark.parametrize("offsets", [np.zeros(3), OFFSETS])
def test_corrected_clicks_are_relevance_on_average(rng, offsets):
    relevance = np.array([0.2, 0.6, 0.9])
    examination = Examination(SLOPES, offsets)
    log = many_pages(relevance, examination, rng)
    wrong = np.tile([0.9, 0.1, 0.1], len(log))
    for correction in (
        InversePropensity(examination, clip=0.0),
        DoublyRobustCorrection(examination, wrong, clip=0.0),
        DoublyRobustCorrection(examination, np.tile(relevance, len(log)), clip=0.9),
    ):
        found = correction.relevance(log).reshape(-1, 3).mean(axis=0)
        np.testing.assert_allclose(found, relevance, atol=0.03)
    naive = Naive().relevance(log).reshape(-1, 3).mean(axis=0)
    assert abs(naive[2] - relevance[2]) > 0.5  # which is why there are corrections
    clipped = InversePropensity(examination, clip=0.9).relevance(log).reshape(-1, 3).mean(axis=0)
    assert clipped[2] < 0.5


def test_normalised_clicks_count_as_many_as_they_are():
    log = ClickLog.from_pages([("q", list("abc"), ["b", "c"]), ("r", list("abc"), [])])
    examination = Examination.of(SLOPES)
    found = InversePropensity(examination, normalised=True).relevance(log)
    np.testing.assert_allclose(found[:3], [0, 2 * 2.5 / 7.5, 2 * 5 / 7.5])
    assert found[3:].tolist() == [0, 0, 0]


def test_weights_are_relevance_of_clicks_and_its_rest_of_others():
    log = ClickLog.from_pages([("q", list("abc"), ["b"]), ("r", list("abc"), [])])
    examination = Examination(SLOPES, OFFSETS)
    data = training_data(log, np.eye(6), InversePropensity(examination, clip=0.3))
    assert len(data) == 1  # the page without a click teaches nothing
    expected = [1 + 0.1 / 0.9, (1 - 0.05) / 0.4, 1 + 0.0]
    np.testing.assert_allclose(data.sample_weight, expected)
    assert training_data(log, np.eye(6)).sample_weight.tolist() == [1, 1, 1]
    cut = training_data(log, np.eye(6), InversePropensity(examination), largest=1.5)
    assert cut.sample_weight.max() == 1.5


def test_pages_keep_their_counts_and_grades():
    log = ClickLog.from_pages([("q", list("ab"), []), ("q", list("ab"), ["b"])])
    log = log.with_counts([3.0, 7.0])
    data = training_data(log, np.eye(4), grades=[0, 0, 0, 2], feature_names=list("wxyz"))
    assert data.query_weight.tolist() == [7]
    assert data.y.tolist() == [0, 2]
    assert data.feature_names == ("w", "x", "y", "z")
    np.testing.assert_array_equal(data.X, np.eye(4)[2:])


def test_bad_input_is_refused():
    log = ClickLog.from_pages([("q", list("ab"), ["b"])])
    examination = Examination.of([1.0, 0.0])
    calls = {
        "the examination of position 2 is 0": lambda: InversePropensity(examination, 0.0).relevance(
            log
        ),
        "clip must be from 0 to 1": lambda: InversePropensity(examination, 2.0).relevance(log),
        "X has 3 values for 2": lambda: training_data(log, np.eye(3)),
        "row 0 has grade 1, but was not clicked": lambda: training_data(
            log, np.eye(2), grades=[1, 1]
        ),
        "largest must be above 0": lambda: training_data(log, np.eye(2), largest=0),
        "predicted has 1 values": lambda: DoublyRobustCorrection(examination, [0.5]).relevance(log),
        "no page of the log has a click": lambda: training_data(
            log.with_clicks([False, False]), np.eye(2)
        ),
    }
    for words, call in calls.items():
        with pytest.raises(DataError, match=words):
            call()
