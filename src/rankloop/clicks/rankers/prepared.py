"""Prepared features for a ranker for clicks: ranks, min-max, products and kernel features."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rankloop.clicks.rankers.base import ClickRanker, features_of
from rankloop.exceptions import DataError
from rankloop.rankers.wrappers.maps import kernel_maps, map_rows
from rankloop.rankers.wrappers.prepared import OnlinePrepared, Prepared

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankloop.clicks.rankers.session import Session
    from rankloop.clicks.users import SimulatedUser
    from rankloop.data.dataset import QueryDataset
    from rankloop.feedback.ranking import Ranking
    from rankloop.rankers.base import Rows


class _PreparedForClicks(OnlinePrepared, ClickRanker, special_case_of=Prepared):
    """A :class:`Prepared` whose ranker is one for clicks: PDGD on ranks, or on a kernel.

    The ranker sees every query through the maps, when it chooses what to show and
    when it learns from clicks. A score is a product of weights and mapped features, so with
    `nystrom(rbf(1),200)` or `fourier(rbf(1),200)` this is PDGD on a kernel, and with `minmax` or
    `rank` it is PDGD on features that depend on the whole query. The landmarks of `nystrom` come
    from the first rankings learnt.

    Notes
    -----
    Cost: that of the ranker, and that of the maps twice for each ranking: when it is shown, and
    when it is learnt. A ranking keeps its features as they were given, so a journal does not grow.

    Examples
    --------
    >>> from rankloop.clicks.rankers.base import click_grades
    >>> from rankloop.clicks.rankers.pdgd import PDGD
    >>> ranker = Prepared(PDGD(), maps=["minmax", "rank"])
    >>> shown = ranker.show([[1.0], [5.0], [21.0]], id="r1")
    >>> shown.order.tolist()
    [0, 1, 2]
    >>> ranker.learn_ranking(shown, click_grades(shown, [False, False, True])).ranker_.weights_
    array([0.0225, 0.0125])
    """

    _wraps: ClassVar[type] = ClickRanker

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.scale is not None:
            raise DataError(
                "a ranker for clicks learns from one ranking at a time, which is too little to fit "
                "a scaler to; use maps, such as maps=['minmax'], instead of scale"
            )

    def _start_copy(self, X: Rows) -> Self:
        """Return a copy that can map these rows."""
        now = self.copy()
        now._check_parameters()
        if not now.is_fitted:
            now._reset(X.shape[1])
        now._check_width(X)
        return now

    def _map(self, X: Rows) -> Rows:
        """Map the rows of one query, which may become landmarks."""
        features = self.kernel_features()
        for kernel in features.values():
            kernel.partial_fit(X)
        self.features_ = {name: kernel.to_dict() for name, kernel in features.items()}
        return map_rows(self.maps_, X, np.array([0, len(X)]), features)

    def _draw(self, X: NDArray[np.float32], rng: np.random.Generator, k: int) -> dict[str, Any]:
        now = self._start_copy(X)
        drawn = _for_clicks(now)._draw(now._map(X), rng, k)
        return {**drawn, "version": now.version_}

    def learn_ranking(self, ranking: Ranking, grades: ArrayLike) -> Self:
        """Learn from what was chosen; see :meth:`ClickRanker.learn_ranking`."""
        X = features_of(ranking)
        with self._writing:
            new = self._start_copy(X)
            _for_clicks(new).learn_ranking(replace(ranking, X=new._map(X)), grades)
            vars(new)["n_queries_seen_"] += 1
            self._become(new)
        return self

    def play(
        self,
        data: QueryDataset,
        user: SimulatedUser,
        rng: np.random.Generator,
        impressions: int,
        k: int = 10,
    ) -> Session:
        """Learn from simulated clicks; without landmarks the queries are mapped only once."""
        if kernel_maps(self.maps):
            return super().play(data, user, rng, impressions, k)
        with self._writing:
            new = self._start_copy(data.X)
            new._refuse_missing(data)
            rows = new._transform_rows(data.X, data.offsets)
            mapped = replace(data, X=rows, feature_names=None)
            session = _for_clicks(new).play(mapped, user, rng, impressions, k)
            vars(new)["n_queries_seen_"] += impressions
            self._become(new)
        return session


def _for_clicks(wrapper: _PreparedForClicks) -> ClickRanker:
    """Give this copy of a wrapper a ranker of its own, which may change, and return it."""
    ranker = wrapper.ranker_ = wrapper.ranker_.copy()
    assert isinstance(ranker, ClickRanker)
    return ranker
