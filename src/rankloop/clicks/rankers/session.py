"""Sessions: a ranker shows rankings to simulated users and learns from their clicks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.models.behaviour import Chain
from rankloop.data.validation import check_counts, check_rng
from rankloop.exceptions import DataError
from rankloop.measures.conventions import as_convention
from rankloop.measures.evaluation import measure_queries
from rankloop.measures.measure import parse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.rankers.base import ClickRanker
    from rankloop.clicks.users import SimulatedUser
    from rankloop.data.dataset import QueryDataset
    from rankloop.measures.conventions import Convention
    from rankloop.measures.measure import Measure


@dataclass(frozen=True, eq=False)
class Session:
    """What was shown, and clicked, in a number of impressions.

    queries : (impressions,) the query's number in the data set
    shown : (impressions, k) rows of the query from the top, -1 beyond its end
    clicks : (impressions, k)
    """

    queries: NDArray[np.int64]
    shown: NDArray[np.int64]
    clicks: NDArray[np.bool_]

    def quality(
        self,
        data: QueryDataset,
        measure: str | Measure = "nDCG@10",
        convention: str | Convention = "standard",
    ) -> NDArray[np.float64]:
        """Measure what was shown in each impression by the true grades.

        If the convention would leave out a query without a relevant document, it scores 0, so that
        every impression counts.
        """
        sizes = np.diff(data.offsets)[self.queries]
        offsets = np.r_[0, np.cumsum(sizes)]
        rows = np.arange(offsets[-1]) + np.repeat(data.offsets[self.queries] - offsets[:-1], sizes)
        scores = np.full(offsets[-1], -np.inf)
        places = np.broadcast_to(-np.arange(self.shown.shape[1], dtype=float), self.shown.shape)
        there = self.shown >= 0
        scores[(offsets[:-1, None] + self.shown)[there]] = places[there]
        rules = as_convention(convention)
        values = measure_queries(scores, data.y[rows], offsets, (parse(measure),), rules)
        return np.where(np.isnan(values[0]), 0.0, values[0])


def play(
    ranker: ClickRanker,
    data: QueryDataset,
    user: SimulatedUser,
    rng: np.random.Generator,
    impressions: int,
    k: int = 10,
) -> Session:
    """Show rankings for random queries, draw clicks by the true grades, and learn from them.

    Parameters
    ----------
    ranker : learns, in place
    data : judged queries; the ranker never sees the grades
    user : who clicks
    rng : random generator of the queries, the clicks and the ids of the rankings
    impressions : how many rankings are shown, at least 1
    k : the length of the lists

    Notes
    -----
    Cost: that of the ranker, and about 40 microseconds per impression.
    """
    from rankloop.clicks.rankers.base import click_grades

    check_rng(rng)
    check_counts(impressions=impressions, k=k)
    check_queries(data)
    queries = rng.integers(len(data), size=impressions)
    names = rng.bytes(8).hex()
    by_row = user.behaviour(data.y)
    shown = np.full((impressions, k), -1, np.int64)
    clicks = np.zeros((impressions, k), bool)
    for t, q in enumerate(queries.tolist()):
        first, end = data.offsets[q : q + 2]
        ranking = ranker.show(data.X[first:end], id=f"{names}-{t}", k=k)
        n, rows = len(ranking), first + ranking.order
        shown[t, :n] = ranking.order
        # For users who read from the top, behaviour was computed once for all rows; for others it
        # depends on the positions of this page.
        page = by_row.page(rows) if isinstance(by_row, Chain) else user.behaviour(data.y[rows])
        clicks[t, :n] = page.sample(rng)
        ranker.learn_ranking(ranking, click_grades(ranking, clicks[t, :n]))
    return Session(queries, shown, clicks)


def check_queries(data: QueryDataset) -> None:
    """Raise if there is nothing to show."""
    if len(data) == 0:
        raise DataError("there are no queries to show rankings for; give at least one")
