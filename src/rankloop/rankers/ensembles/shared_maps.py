"""Feature maps that several rankers share, each computed once."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from rankloop import _core
from rankloop.rankers.online.linear import LinearRanker
from rankloop.rankers.online.newton import NewtonXENDCG, learn_together, sparse_rows
from rankloop.rankers.wrappers.maps import change_numbers, map_rows
from rankloop.rankers.wrappers.prepared import OnlinePrepared

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.rankers.base import Offsets, Rows
    from rankloop.rankers.online.base import OnlineRanker, Queries

    Floats = NDArray[np.float64]
    Team = list[tuple[NewtonXENDCG, Rows, Rows]]


_SHORT = 1000  # documents


class SharedMaps:
    """Rows, and what the maps of rankers make of them.

    A ranker whose maps depend on the rows alone gets them from here; one with a scaler or kernel
    features, or none at all, gets the rows as they are.
    """

    def __init__(self, X: Rows, offsets: Offsets) -> None:
        self._X, self._offsets = X, offsets
        self._made: dict[tuple[tuple[str, ...], int, bool], Rows] = {}

    def learn(
        self, rankers: Sequence[OnlineRanker], queries: Queries, first_row: int, first_query: int
    ) -> Rows:
        """Let rankers learn some of the queries, which begin at this row and query.

        The rankers are copies that nobody else uses; those inside them are copied here. Returns
        their scores before learning, (rankers, documents).
        """
        scores = np.empty((len(rankers), len(queries.y)), np.float32)
        rows = slice(first_row, first_row + len(queries.y))
        teams: dict[tuple[float, ...], Team] = {}
        try:
            for ranker, own in zip(rankers, scores, strict=True):
                inner = _copy_inner(ranker)
                X = self._rows_for(ranker)[rows]
                if type(inner) is NewtonXENDCG:
                    teams.setdefault(inner.settings(), []).append((inner, X, own))
                else:
                    inner._learn_queries(queries._replace(X=X), own)
                    inner.n_queries_seen_ += queries.n
                if inner is not ranker:
                    ranker.n_queries_seen_ += queries.n
            for team in teams.values():
                learn_together(team, queries)
        except _core.QueryError as fault:
            place, reason = fault.args
            raise _core.QueryError(first_query + place, reason) from None
        return scores

    def score(self, rankers: Sequence[OnlineRanker]) -> Floats:
        """Return the scores of all rows by each ranker, (rankers, documents).

        Of a short list, the calls take longer than the sums, so linear rankers that share their
        rows are scored by one call.
        """
        scores = np.empty((len(rankers), len(self._X)))
        is_short = isinstance(self._X, np.ndarray) and len(self._X) <= _SHORT
        linear: dict[int, tuple[Rows, list[Floats], list[int]]] = {}
        for place, ranker in enumerate(rankers):
            inner = ranker.ranker_ if _is_plain(ranker) else ranker
            X = self._rows_for(ranker)
            if is_short and _is_linear(inner) and isinstance(X, np.ndarray):
                _, weights, places = linear.setdefault(id(X), (X, [], []))
                weights.append(inner._ranking_weights())
                places.append(place)
            else:
                scores[place] = inner._score_rows(X, self._offsets)
        for X, weights, places in linear.values():
            _core.score_rows_by(X, weights, places, scores)
        return scores

    def _rows_for(self, ranker: OnlineRanker) -> Rows:
        if not _is_plain(ranker):
            return self._X
        maps, indicators = tuple(ranker.maps_), ranker.indicators
        inner = ranker.ranker_
        is_wide = isinstance(inner, NewtonXENDCG) and inner.wide > 0
        key = maps, indicators, is_wide
        if key not in self._made:
            rows = change_numbers(
                self._X, indicators, lambda numbers: map_rows(maps, numbers, self._offsets)
            )
            self._made[key] = sparse_rows(rows) if is_wide else rows
        return self._made[key]


def _is_linear(ranker: OnlineRanker) -> TypeGuard[LinearRanker]:
    return type(ranker)._score_rows is LinearRanker._score_rows


def _copy_inner(ranker: OnlineRanker) -> OnlineRanker:
    """Return the ranker that gets mapped rows, a copy; a ranker without such maps is it itself."""
    if not _is_plain(ranker):
        return ranker
    ranker.ranker_ = ranker.ranker_.copy()
    return ranker.ranker_


def _is_plain(ranker: OnlineRanker) -> TypeGuard[OnlinePrepared]:
    return isinstance(ranker, OnlinePrepared) and not ranker.features_ and ranker.scale is None
