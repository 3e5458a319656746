"""Rankers with a description of their features: missing values, dates and categories."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop.data.dataset import Query, QueryDataset
from rankloop.data.features import RULES, Features
from rankloop.data.frames import frame_rows, has_other_kinds
from rankloop.data.validation import as_matrix, column_names
from rankloop.exceptions import DataError, ModelError
from rankloop.rankers.explaining import with_feature_names
from rankloop.rankers.forms import FittedRanker, Values
from rankloop.rankers.inputs import as_dataset
from rankloop.rankers.online.base import OnlineRanker
from rankloop.rankers.parameters import check_rankers
from rankloop.rankers.wrappers.base import Wrapped

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self, TypeVar

    from numpy.typing import ArrayLike

    from rankloop.data.features import Missing
    from rankloop.measures.measure import Measure
    from rankloop.rankers.base import Offsets, Ranker, Rows, Scores
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.forms import Form
    from rankloop.rankers.online.base import Queries
    from rankloop.rankers.state import State

    R = TypeVar("R", bound=Ranker)


def suited(features: Features, data: QueryDataset, native: bool) -> QueryDataset:
    """Return a data set as is, for rankers that accept missing values, or else encoded."""
    rows = features.take(data)
    names: tuple[str, ...]
    if native:
        X, names = features.natural(rows), features.names
    else:
        X, names = features.encode(rows), tuple(features.encoded_names)
    return replace(data, X=X, feature_names=names, features=None)


def with_categories(ranker: R, features: Features) -> R:
    """Return the ranker; if it accepts categories, with their columns as a parameter."""
    if not features.categorical or not ranker.takes_nan or not hasattr(ranker, "categorical"):
        return ranker
    told = copy.deepcopy(ranker)
    return told.set_params(categorical=tuple({*ranker.categorical, *features.categorical}))


class _Describes:
    """Shared by both kinds of described rankers: it reads rows by column name and kind."""

    takes_nan: ClassVar[bool] = True
    takes_kinds: ClassVar[bool] = True
    description_: dict[str, object]
    n_features_in_: int
    _check_width: Callable[[Rows], None]

    @property
    def is_native(self) -> bool:
        """Whether its ranker itself accepts missing values and categories."""
        return False

    @property
    def features(self) -> Features | None:
        """The description; None before `fit`."""
        known = getattr(self, "description_", {})
        return Features.from_dict(known) if known else None

    def _described_rows(self, X: object) -> Rows:
        """Return rows with the columns and codes of the description."""
        features = self.features
        assert features is not None
        if isinstance(X, QueryDataset):
            if X.feature_names is None:
                self._check_width(X.X)
            return features.take(X)
        if isinstance(X, Query):
            return X.X
        if column_names(X) is not None and (has_other_kinds(X) or not features.are_numbers):
            return frame_rows(X, features)[0]
        rows = as_matrix(X, allow_nan=True)
        self._check_width(rows)
        names = column_names(X)
        if names is None or names == features.names:
            return rows
        return np.ascontiguousarray(rows[:, features.places(names)])


class Described(_Describes, Wrapped):
    """A batch ranker for data with missing values, booleans, dates and categories.

    A description of the features (:class:`Features`) is learnt from the training data, stored in
    the model and applied whenever it predicts; columns are found by name. Rankers that accept
    missing values, which are those with trees, receive NaN, dates as ages, and categories
    unchanged. All others receive missing values filled in and marked, numbers clipped to the range
    of the training data, and categories encoded as columns.

    Parameters
    ----------
    ranker : any ranker; default: second-order XE_NDCG. An online ranker has no rounds.
    missing : what rankers without trees receive for a missing value: with `indicator` the median,
        and a column that marks it; with `median` the median; with `default` 0
    valid_measure : the measure on validation data after each round; None: that of the ranker
    warm_start : `fit` continues from the current state, and keeps the description

    Attributes
    ----------
    ranker_ : the fitted ranker
    description_ : the description, as plain values; `features` returns it as :class:`Features`

    Notes
    -----
    Cost: that of the ranker, and a transformed copy of the data.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"brand": ["a", "b", "a", "b"], "price": [1.0, None, 2.0, 3.0]})
    >>> ranker = Described().fit(X, [1, 0, 1, 0], group=[2, 2])
    >>> ranker.features.encoded_names
    ['brand = a', 'brand = b', 'price', 'price is missing']
    >>> scores = ranker.predict(X[["price", "brand"]][:2])
    >>> bool(scores[0] > scores[1])
    True
    """

    _kept: ClassVar[str] = "description_"

    def __init__(
        self,
        ranker: Ranker | None = None,
        missing: Missing = "indicator",
        valid_measure: str | Measure | None = None,
        warm_start: bool = False,
    ) -> None:
        self.ranker = ranker
        self.missing = missing
        self.valid_measure = valid_measure
        self.warm_start = warm_start

    @property
    def scores_rows_alone(self) -> bool:  # type: ignore[override]
        """Whether the ranker does not look at whole queries."""
        return self.ranker is None or self.ranker.scores_rows_alone

    @property
    def takes_raw_features(self) -> bool:  # type: ignore[override]
        """Whether the ranker works well on features of any scale."""
        return self.ranker is not None and self.ranker.takes_raw_features

    def _fresh(self) -> Ranker:
        ranker = super()._fresh()
        features = self.features
        if features is not None:
            ranker = with_categories(ranker, features)
        return ranker

    def _check(self, data: QueryDataset) -> None:
        if self.missing not in RULES:
            raise DataError(f"missing must be one of {', '.join(RULES)}; found {self.missing!r}")
        ranker = super()._fresh()
        if self.is_native:  # the ranker checks columns and grades, not values
            nothing = np.broadcast_to(np.float32(0), data.X.shape)
        else:
            nothing = np.broadcast_to(np.float32(0), (data.n_documents, 1))
            data = replace(data, feature_names=None)
        ranker._check(replace(data, X=nothing, features=None))

    def _fitted(self, data: QueryDataset) -> dict[str, object]:
        return Features.learn(data, self.missing).to_dict()

    def _kept_width(self, kept: dict[str, object], n_features: int) -> int:
        features = Features.from_dict(kept)
        if len(features) != n_features:
            raise ModelError(f"description_ describes {len(features)} features, not {n_features}")
        return n_features if self.is_native else len(features.encoded_names)

    def _transform(self, data: QueryDataset) -> QueryDataset:
        return suited(Features.from_dict(self.description_), data, self.is_native)

    def _transform_rows(self, X: Rows, offsets: Offsets) -> Rows:  # noqa: ARG002
        features = Features.from_dict(self.description_)
        return features.natural(X) if self.is_native else features.encode(X)

    @property
    def is_native(self) -> bool:
        """Whether its ranker itself accepts missing values and categories."""
        return self.ranker is not None and self.ranker.takes_nan

    def _rows(self, X: object) -> Rows:
        return self._described_rows(X)

    def explain(self) -> Parts:
        """Return the parts of the ranker, with the names of the features that it receives."""
        self._check_fitted()
        return self.ranker_.explain()


class OnlineDescribed(_Describes, OnlineRanker):
    """An online ranker for data with missing values, booleans, dates and categories.

    See :class:`Described`. The description is learnt only once, from the first data, so start with
    many queries (`fit`), not with a single one. Numbers are not clipped to the range of that data,
    because a stream may leave it.

    Parameters
    ----------
    ranker : any online ranker; default: second-order XE_NDCG
    missing : as in :class:`Described`
    passes, random_state : see :class:`OnlineRanker`

    Notes
    -----
    Cost: that of the ranker, and a transformed copy of each query.

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"brand": ["a", "b", "a", "b"], "price": [1.0, None, 2.0, 3.0]})
    >>> ranker = OnlineDescribed().fit(X, [1, 0, 1, 0], group=[2, 2])
    >>> ranker.partial_fit(X[:2], [2, 1], group=[2]).ranker_.n_features_in_
    4
    """

    def __init__(
        self,
        ranker: OnlineRanker | None = None,
        missing: Missing = "indicator",
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.ranker = ranker
        self.missing = missing
        self.passes = passes
        self.random_state = random_state

    ranker_: OnlineRanker

    @property
    def scores_rows_alone(self) -> bool:  # type: ignore[override]
        """Whether the ranker does not look at whole queries."""
        return self.ranker is None or self.ranker.scores_rows_alone

    @property
    def takes_raw_features(self) -> bool:  # type: ignore[override]
        """Whether the ranker works well on features of any scale."""
        return self.ranker is not None and self.ranker.takes_raw_features

    def _state_names(self) -> tuple[str, ...]:
        known = super()._state_names()
        return (*known, "ranker_", "description_") if known else ()

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {
            **super()._forms(n_features),
            "ranker_": FittedRanker(OnlineRanker, None),
            "description_": Values(),
        }

    def _check_state(self, state: State) -> None:
        super()._check_state(state)
        features = Features.from_dict(state["description_"])
        if len(features) != state["n_features_in_"]:
            raise ModelError("description_ and n_features_in_ contradict each other")
        width = len(features.encoded_names)
        FittedRanker(OnlineRanker, width).check("ranker_", state["ranker_"])

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.missing not in RULES:
            raise DataError(f"missing must be one of {', '.join(RULES)}; found {self.missing!r}")
        if self.ranker is not None:
            check_rankers("ranker", [self.ranker], OnlineRanker)

    def _check_queries(self, queries: Queries) -> None:
        ranker = self.ranker_ if self.is_fitted else self.ranker
        if ranker is not None:
            ranker._check_all(queries)

    def _reset(self, n_features: int) -> None:
        from rankloop.rankers.online.newton import NewtonXENDCG

        self.n_features_in_ = n_features
        self.n_queries_seen_ = 0
        self.description_ = {}
        self.ranker_ = NewtonXENDCG() if self.ranker is None else copy.deepcopy(self.ranker)

    def partial_fit(
        self,
        X: object,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
    ) -> Self:
        """Continue to learn: one pass over the queries, in the order of their first rows."""
        given = (X, y, qid, group, sample_weight, query_weight)
        return super().partial_fit(as_dataset(*given, allow_nan=True))

    def _learn_data(self, data: QueryDataset, scores: Rows | None = None) -> None:
        if not self.is_fitted:
            self._reset(data.n_features)
        if not self.description_ and data.n_documents:
            self.description_ = Features.learn(data, self.missing, clip=False).to_dict()
        if self.features is not None:
            if data.feature_names is None:
                self._check_width(data.X)
            rows = self.features.take(data)
            data = replace(data, X=rows, features=None, feature_names=self.features.names)
        super()._learn_data(data, scores)

    def _learn_queries(self, queries: Queries, scores: Rows | None) -> None:
        if not self.description_:
            data = QueryDataset(queries.X, queries.y, queries.offsets, np.arange(queries.n))
            self.description_ = Features.learn(data, self.missing, clip=False).to_dict()
        ranker = self.ranker_ = self.ranker_.copy()
        ranker._check_and_learn(queries._replace(X=self._encoded(queries.X)), scores)

    def _discount_past(self, keep: float) -> None:
        self.ranker_ = self.ranker_.copy().discount_past(keep)

    def _encoded(self, X: Rows) -> Rows:
        return Features.from_dict(self.description_).encode(X)

    def _score_rows(self, X: Rows, offsets: Offsets) -> Scores:
        """Score checked rows."""
        return self.ranker_._score_rows(self._encoded(X), offsets)

    def _rows(self, X: object) -> Rows:
        return self._described_rows(X)

    def explain(self) -> Parts:
        """Return the parts of the ranker, with the names of the features that it receives."""
        self._check_fitted()
        return with_feature_names(
            self.ranker_, Features.from_dict(self.description_).encoded_names
        ).explain()
