"""Feature maps in front of a ranker for clicks: ranks, min-max, products and kernel features."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rankloop.clicks.rankers.base import ClickRanker, features_of
from rankloop.clicks.rankers.pdgd import PDGD
from rankloop.exceptions import DataError
from rankloop.rankers.wrappers.mapped import Mapped, map_rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from rankloop.clicks.rankers.session import Session
    from rankloop.clicks.users import SimulatedUser
    from rankloop.data.dataset import QueryDataset
    from rankloop.feedback.ranking import Ranking
    from rankloop.rankers.base import Rows
    from rankloop.rankers.online.base import OnlineRanker


class MappedClicks(Mapped, ClickRanker):
    """A ranker for clicks that receives mapped features: PDGD on ranks, or on a kernel.

    The ranker sees every query through the maps of :class:`Mapped`, when it chooses what to show
    and when it learns from clicks. A score is a product of weights and mapped features, so with
    `nystrom(rbf(1),200)` or `fourier(rbf(1),200)` this is PDGD on a kernel, and with `minmax` or
    `rank` it is PDGD on features that depend on the whole query.

    Parameters
    ----------
    ranker : a ranker for clicks: :class:`PDGD` (None), :class:`NeuralPDGD`, :class:`Thompson` ...
    maps : see :class:`Mapped`; the landmarks of `nystrom` come from the first rankings learnt
    passes, random_state : see :class:`Mapped`

    Notes
    -----
    Cost: that of the ranker, and that of the maps twice for each ranking: when it is shown, and
    when it is learnt. A ranking keeps its features as they were given, so a journal does not grow.

    Examples
    --------
    >>> from rankloop.clicks.rankers.base import click_grades
    >>> ranker = MappedClicks(PDGD(), ["minmax", "rank"])
    >>> shown = ranker.show([[1.0], [5.0], [21.0]], id="r1")
    >>> shown.order.tolist()
    [0, 1, 2]
    >>> ranker.learn_ranking(shown, click_grades(shown, [False, False, True])).ranker_.weights_
    array([0.0225, 0.0125])
    """

    def __init__(
        self,
        ranker: OnlineRanker | None = None,
        maps: Sequence[str] = ("minmax",),
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        super().__init__(ranker, maps, None, passes, random_state)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.ranker is not None and not isinstance(self.ranker, ClickRanker):
            raise DataError(
                "ranker must be a ranker for clicks, such as PDGD() or FromClicks(ranker); "
                f"found {self.ranker!r}"
            )

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        self.ranker_ = PDGD() if self.ranker is None else copy.deepcopy(self.ranker)

    def _started(self, X: Rows) -> Self:
        """Return a copy that can map these rows."""
        now = self.copy()
        now._check_parameters()
        if not now.is_fitted:
            now._reset(X.shape[1])
        now._check_width(X)
        return now

    def _seen_as(self, X: Rows) -> Rows:
        """Map the rows of one query, which may become landmarks."""
        features = self.kernel_features()
        for one in features.values():
            one.partial_fit(X)
        self.features_ = {name: one.to_dict() for name, one in features.items()}
        return map_rows(self.maps, X, np.array([0, len(X)]), features)

    def _draw(self, X: NDArray[np.float32], rng: np.random.Generator, k: int) -> dict[str, Any]:
        now = self._started(X)
        drawn = _for_clicks(now)._draw(now._seen_as(X), rng, k)
        return {**drawn, "version": now.version_}

    def learn_ranking(self, ranking: Ranking, grades: ArrayLike) -> Self:
        """Learn from what was chosen; see :meth:`ClickRanker.learn_ranking`."""
        X = features_of(ranking)
        with self._writing:
            new = self._started(X)
            _for_clicks(new).learn_ranking(replace(ranking, X=new._seen_as(X)), grades)
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
        if self._kernel_maps():
            return super().play(data, user, rng, impressions, k)
        with self._writing:
            new = self._started(data.X)
            new._refuse_missing(data)
            rows = map_rows(self.maps, data.X, data.offsets)
            mapped = replace(data, X=rows, feature_names=None)
            session = _for_clicks(new).play(mapped, user, rng, impressions, k)
            vars(new)["n_queries_seen_"] += impressions
            self._become(new)
        return session


def _for_clicks(wrapper: MappedClicks) -> ClickRanker:
    """Give this copy of a wrapper a ranker of its own, which may change, and return it."""
    ranker = wrapper.ranker_ = wrapper.ranker_.copy()
    assert isinstance(ranker, ClickRanker)
    return ranker
