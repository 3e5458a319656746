"""Checks that every measure must pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.measures.evaluation import evaluate
from rankloop.measures.measure import parse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.measures.measure import Measure


def make_queries(seed: int = 0) -> tuple[QueryDataset, NDArray[np.float64]]:
    """Make 60 small judged queries and scores without ties."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, 25, 60)
    n = int(sizes.sum())
    grades = rng.choice(5, n, p=[0.5, 0.2, 0.15, 0.1, 0.05]).astype(np.float64)
    return QueryDataset.from_arrays(np.zeros((n, 1)), grades, group=sizes), rng.permutation(
        n
    ).astype(np.float64)


def check_prints_as_it_parses(measure: Measure) -> None:
    """`parse(str(measure))` is the measure."""
    assert parse(str(measure)) == measure, f"{measure} is not read back as the same measure"


def check_is_not_negative(measure: Measure) -> None:
    """Values are at least 0, and at most 1 if the measure is a share."""
    data, scores = make_queries()
    values = evaluate(data, scores, measure).results[0].values
    values = values[~np.isnan(values)]
    assert len(values), "no query has a value"
    assert (values >= 0).all(), f"{measure} is {values.min()}"
    if measure.name != "DCG":
        assert (values <= 1 + 1e-12).all(), f"{measure} is {values.max()}"


def check_best_ranking_is_best(measure: Measure) -> None:
    """Ranking by grade is at least as good as ranking by other scores."""
    data, scores = make_queries()
    best = evaluate(data, data.y, measure).results[0].values
    other = evaluate(data, scores, measure).results[0].values
    assert (best >= other - 1e-12)[~np.isnan(best)].all(), f"{measure} prefers another order"


def check_ignores_scale_of_scores(measure: Measure) -> None:
    """Only the order of the scores matters."""
    data, scores = make_queries()
    values = evaluate(data, scores, measure).results[0].values
    moved = evaluate(data, 3.0 * scores - 1000.0, measure).results[0].values
    assert np.array_equal(values, moved, equal_nan=True), f"{measure} depends on the scores' scale"


def check_ignores_order_of_rows(measure: Measure) -> None:
    """Without ties, neither the order of rows nor the order of queries matters."""
    data, scores = make_queries()
    values = evaluate(data, scores, measure).results[0].values
    shuffled = data.shuffle(np.random.default_rng(1))
    again = evaluate(shuffled, shuffled.from_row_order(scores), measure).results[0].values
    assert np.allclose(values, again, rtol=1e-12, equal_nan=True), (
        "the measure depends on the order of rows"
    )


def check_queries_do_not_mix(measure: Measure) -> None:
    """A query has the same value alone as together with other queries."""
    data, scores = make_queries()
    values = evaluate(data, scores, measure).results[0].values
    for q in (0, 7, len(data) - 1):
        rows = slice(data.offsets[q], data.offsets[q + 1])
        alone = evaluate(data.select([q]), scores[rows], measure).results[0].values[0]
        assert alone == values[q] or (np.isnan(alone) and np.isnan(values[q])), "queries mix"
