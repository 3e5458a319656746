"""Feature maps that several rankers share, each computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop import _core
from rankloop.rankers.wrappers.maps import change_numbers, map_rows
from rankloop.rankers.wrappers.prepared import OnlinePrepared

if TYPE_CHECKING:
    from rankloop.rankers.base import Offsets, Rows, Scores
    from rankloop.rankers.online.base import OnlineRanker, Queries


class SharedMaps:
    """Rows, and what the maps of rankers make of them.

    A ranker whose maps depend on the rows alone gets them from here; one with a scaler or kernel
    features, or none at all, gets the rows as they are.
    """

    def __init__(self, X: Rows, offsets: Offsets) -> None:
        self._X, self._offsets = X, offsets
        self._made: dict[tuple[tuple[str, ...], int], Rows] = {}

    def learn(
        self,
        ranker: OnlineRanker,
        queries: Queries,
        first_row: int,
        scores: Rows | None,
        first_query: int = 0,
    ) -> None:
        """Let a ranker learn some of the queries, which begin at this row and query.

        The ranker is a copy that nobody else uses; the one inside it is copied here.
        """
        try:
            if _is_plain(ranker):
                assert isinstance(ranker, OnlinePrepared)
                mapped = self._rows_for(ranker)[first_row : first_row + len(queries.y)]
                ranker.ranker_ = ranker.ranker_.copy()
                ranker.ranker_._learn_queries(queries._replace(X=mapped), scores)
                ranker.ranker_.n_queries_seen_ += queries.n
            else:
                ranker._learn_queries(queries, scores)
        except _core.QueryError as fault:
            place, reason = fault.args
            raise _core.QueryError(first_query + place, reason) from None
        ranker.n_queries_seen_ += queries.n

    def score(self, ranker: OnlineRanker) -> Scores:
        """Return a ranker's scores of all rows."""
        if _is_plain(ranker):
            assert isinstance(ranker, OnlinePrepared)
            return ranker.ranker_._score_rows(self._rows_for(ranker), self._offsets)
        return ranker._score_rows(self._X, self._offsets)

    def _rows_for(self, ranker: OnlinePrepared) -> Rows:
        maps, indicators = tuple(ranker.maps_), ranker.indicators
        if (maps, indicators) not in self._made:
            self._made[maps, indicators] = change_numbers(
                self._X, indicators, lambda numbers: map_rows(maps, numbers, self._offsets)
            )
        return self._made[maps, indicators]


def _is_plain(ranker: OnlineRanker) -> bool:
    return isinstance(ranker, OnlinePrepared) and not ranker.features_ and ranker.scale is None
