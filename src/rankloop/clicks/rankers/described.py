"""A ranker for clicks with a description of its features, as loops that compute features need."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from rankloop.clicks.rankers.base import ClickRanker, features_of
from rankloop.data.validation import as_matrix
from rankloop.exceptions import DataError
from rankloop.rankers.wrappers.described import Described, OnlineDescribed

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from rankloop.clicks.rankers.session import Session
    from rankloop.clicks.users import SimulatedUser
    from rankloop.data.dataset import QueryDataset
    from rankloop.feedback.ranking import Ranking
    from rankloop.rankers.base import Rows


class _DescribedForClicks(OnlineDescribed, ClickRanker, special_case_of=Described):
    """A :class:`Described` whose ranker is one for clicks.

    The ranker sees encoded features, when it chooses what to show and when it learns from clicks.
    It starts with a single ranking, so the description must be given: one ranking is too little to
    learn it from.

    Notes
    -----
    Cost: that of the ranker, and the encoding of each ranking. A ranking keeps its features as
    they were given, with NaN for missing values and one number for a category.

    Examples
    --------
    >>> from rankloop.clicks.rankers.base import click_grades
    >>> from rankloop.clicks.rankers.pdgd import PDGD
    >>> from rankloop.features import Feature, Features
    >>> ranker = Described(PDGD(), description=Features((Feature("brand", "category", limit=3),)))
    >>> shown = ranker.show([[0.0], [1.0], [2.0]], id="r1")
    >>> learnt = ranker.learn_ranking(shown, click_grades(shown, [False, False, True]))
    >>> learnt.ranker_.weights_.shape
    (3,)
    """

    _wraps: ClassVar[type] = ClickRanker

    def _read_rows(self, X: object) -> NDArray[np.float32]:
        """Return checked rows of one query; NaN is a missing value."""
        return as_matrix(X, allow_nan=True)

    def _start_copy(self, X: Rows) -> Self:
        """Return a copy that can encode these rows."""
        now = self.copy()
        now._check_parameters()
        if now.description is None and not now.is_fitted:
            raise DataError(
                "a ranker for clicks learns from one ranking at a time, which is too little to "
                "learn a description of the features from; give one (description=Features(...)), "
                "or start with judged queries (fit)"
            )
        if not now.is_fitted:
            now._reset(X.shape[1])
        now._check_width(X)
        return now

    def _draw(self, X: NDArray[np.float32], rng: np.random.Generator, k: int) -> dict[str, Any]:
        now = self._start_copy(X)
        drawn = _for_clicks(now)._draw(_encode(now, X), rng, k)
        return {**drawn, "version": now.version_}

    def learn_ranking(self, ranking: Ranking, grades: ArrayLike) -> Self:
        """Learn from what was chosen; see :meth:`ClickRanker.learn_ranking`."""
        X = features_of(ranking)
        with self._writing:
            new = self._start_copy(X)
            encoded = replace(ranking, X=_encode(new, X))
            _for_clicks(new).learn_ranking(encoded, grades)
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
        """Learn from simulated clicks; the queries are encoded only once."""
        with self._writing:
            new = self._start_copy(data.X)
            encoded = replace(data, X=_encode(new, data.X), feature_names=None, features=None)
            session = _for_clicks(new).play(encoded, user, rng, impressions, k)
            vars(new)["n_queries_seen_"] += impressions
            self._become(new)
        return session


def _encode(wrapper: _DescribedForClicks, X: Rows) -> NDArray[np.float32]:
    """Return dense rows of finite numbers, as rankers for clicks take them."""
    assert wrapper.features is not None
    return wrapper.features.encode(X)


def _for_clicks(wrapper: _DescribedForClicks) -> ClickRanker:
    """Give this copy of a wrapper a ranker of its own, which may change, and return it."""
    ranker = wrapper.ranker_ = wrapper.ranker_.copy()
    assert isinstance(ranker, ClickRanker)
    return ranker
