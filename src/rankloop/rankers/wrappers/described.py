"""A ranker with a description of its features: missing values, dates and categories."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop.data.columns import choose_columns
from rankloop.data.dataset import Query, QueryDataset
from rankloop.data.frames import frame_rows, has_other_kinds
from rankloop.data.sparse_rows import SparseRows, as_dense_type
from rankloop.data.validation import as_matrix, column_names
from rankloop.exceptions import DataError, ModelError
from rankloop.features.column import BUCKETS, LIMIT, MOST_CODES, RULES
from rankloop.features.columns import Features
from rankloop.rankers.explaining import with_feature_names
from rankloop.rankers.parameters import check_whole
from rankloop.rankers.wrappers.base import OnlineWrapped, Wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self, TypeVar

    from rankloop.features.column import Missing
    from rankloop.rankers.base import Offsets, Ranker, Rows
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.online.base import Queries
    from rankloop.rankers.state import State
    from rankloop.rankers.traits import Traits

    R = TypeVar("R", bound=Ranker)


def rows_for(ranker: Ranker, features: Features, X: Rows) -> Rows:
    """Return rows of a description in the form that a ranker takes: native, dense or sparse."""
    if ranker.traits.takes_nan:
        return features.natural(X)
    if features.encoding.wide and ranker._is_sparse_taken():
        starts, columns, values = features.encoding.sparse(X)
        return as_dense_type(SparseRows(values, columns, starts, features.encoding.width))
    return features.encode(X)


def data_for(ranker: Ranker, features: Features, data: QueryDataset) -> QueryDataset:
    """Return a data set in the form that a ranker takes; see :func:`rows_for`."""
    X = rows_for(ranker, features, features.take(data))
    names = features.native_names if ranker.traits.takes_nan else tuple(features.encoded_names)
    return replace(data, X=X, feature_names=names, features=None)


def fit_to(ranker: R, features: Features) -> R:
    """Return the ranker with parameters for these columns: which are categories or indicators."""
    if not ranker.traits.takes_nan:
        encoding = features.encoding
        return ranker.with_indicators(encoding.indicators, encoding.wide)
    if not features.native_categories or not hasattr(ranker, "categorical"):
        return ranker
    columns = tuple({*ranker.categorical, *features.native_categories})
    return copy.deepcopy(ranker).set_params(categorical=columns)


class Described(Wrapped):
    """A ranker for data with missing values, booleans, dates and categories.

    A description of the features (:class:`Features`) is learnt from the training data, stored in
    the model and applied whenever it predicts; columns are found by name. Rankers that accept
    missing values, which are those with trees, receive NaN, dates as ages, and categories
    unchanged, except that a list of categories becomes a column for each. All others receive
    missing values filled in and marked, numbers clipped to the range of the training data, and a
    column of 0 and 1 for each category (:class:`rankloop.features.encoding.Encoding`). A missing
    category is none of them, and so is one that the training data did not have, unless there were
    more than `category_limit` of them.

    It is online if its ranker is. Then the description is learnt only once, from the first data, so
    start with many queries (`fit`), not with a single one. Numbers are not clipped to the range of
    that data, because a stream may leave it. A description that is given is used as it
    is, and nothing is learnt from data: then a stream may start with a single query.

    Parameters
    ----------
    ranker : any ranker; default: second-order XE_NDCG. Rounds, passes, early stopping and
        `warm_start` are set on the ranker.
    missing : what rankers without trees receive for a missing value: with `indicator` the median,
        and a column that marks it; with `median` the median; with `default` 0
    category_limit : the number of categories of a feature, at least 1, that have a column of their
        own; the most frequent ones do
    category_buckets : if a feature has more categories than that, the number of columns that all
        others share by a hash of their names; with 0, they count as missing
    description : the :class:`Features` of the columns, or its plain values (`to_dict`), of which
        nothing is learnt from data; None to learn a description from the first data

    Attributes
    ----------
    ranker_ : the fitted ranker
    description_ : the description, as plain values; `features` returns it as :class:`Features`

    Notes
    -----
    Cost: that of the ranker, and a transformed copy of the data. If a feature has more than 16
    categories, rankers that take sparse rows get them without the zeros: 8 bytes for each category
    of a row instead of 4 for each column. `newton` and `auto` keep the variance of such a column
    and not its correlations, so that a column costs 8 bytes, and time only where it is 1. Rankers
    that need dense rows take time and memory for all columns (`category_limit` bounds them).

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"brand": ["a", "b", "a", "b"], "price": [1.0, None, 2.0, 3.0]})
    >>> ranker = Described().fit(X, [1, 0, 1, 0], group=[2, 2])
    >>> ranker.features.encoded_names
    ['price', 'price is missing', 'brand = a', 'brand = b']
    >>> scores = ranker.predict(X[["price", "brand"]][:2])
    >>> bool(scores[0] > scores[1])
    True
    >>> ranker.partial_fit(X[:2], [2, 1], group=[2]).n_queries_seen_  # the default is online
    3

    With a description of their own, rankers start with any data:

    >>> from rankloop.features import Feature, Features
    >>> price = Feature("price", missing="indicator", default=10.0)
    >>> brand = Feature("brand", "category", limit=100, buckets=8)  # codes 0 to 99, and 8 others
    >>> live = Described(description=Features((price, brand)))
    >>> live.learn([[5.0, 0.0], [np.nan, 1.0]], [1, 0]).predict([[7.0, 0.0]]).shape
    (1,)
    """

    _learns: ClassVar[tuple[str, ...]] = ("description_",)
    _clips: ClassVar[bool] = True
    """Whether numbers are clipped to the range of the training data."""

    description_: dict[str, object]

    def __init__(
        self,
        ranker: Ranker | None = None,
        missing: Missing = "indicator",
        category_limit: int = LIMIT,
        category_buckets: int = BUCKETS,
        description: Features | Mapping[str, object] | None = None,
    ) -> None:
        self.ranker = ranker
        self.missing = missing
        self.category_limit = category_limit
        self.category_buckets = category_buckets
        self.description = description

    @property
    def features(self) -> Features | None:
        """The description; None before `fit`."""
        if not getattr(self, "description_", {}):
            return None
        known = getattr(self, "_known", None)
        if known is None or known[0] is not self.description_:  # reading it takes a while
            known = self.description_, Features.from_dict(self.description_)
            self.__dict__["_known"] = known
        return known[1]

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        """Those of its ranker; it also accepts missing values, dates and categories."""
        return replace(self._inner_traits, takes_nan=True, takes_kinds=True, takes_sparse=False)

    @property
    def is_native(self) -> bool:
        """Whether its ranker itself accepts missing values and categories."""
        return self._inner_traits.takes_nan

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        given = self._given
        if given is not None:
            if len(given) != n_features:
                raise DataError(
                    f"the description has {len(given)} columns, but the data has {n_features}; "
                    "describe every column, in the order of the data"
                )
            self.description_ = given.to_dict()
            self.ranker_ = self._fresh()

    @property
    def _given(self) -> Features | None:
        """The description that nothing is learnt for; None if it is to be learnt."""
        given = self.description
        if given is None or isinstance(given, Features):
            return given
        if not isinstance(given, Mapping):
            raise DataError(f"description must be Features or their values; found {given!r:.200}")
        return Features.from_dict(given)

    def _fresh(self) -> Ranker:
        ranker, features = super()._fresh(), self.features
        return ranker if features is None else fit_to(ranker, features)

    def _check(self, data: QueryDataset) -> None:
        self._check_encoding()
        ranker = super()._fresh()
        if self.is_native:  # the ranker checks columns and grades, not values
            nothing = np.broadcast_to(np.float32(0), data.X.shape)
        else:
            nothing = np.broadcast_to(np.float32(0), (data.n_documents, 1))
            data = replace(data, feature_names=None)
        ranker._check(replace(data, X=nothing, features=None))

    def _check_encoding(self) -> None:
        if self.missing not in RULES:
            raise DataError(f"missing must be one of {', '.join(RULES)}; found {self.missing!r}")
        for name, least in (("category_limit", 1), ("category_buckets", 0)):
            check_whole(name, getattr(self, name), least)
            if getattr(self, name) > MOST_CODES:
                raise DataError(
                    f"{name} must be at most {MOST_CODES:,}; found {getattr(self, name)}"
                )
        _ = self._given  # raises if it is none

    def _fit_transformation(self, data: QueryDataset) -> None:
        if self.description is not None:
            return  # it is known since `_reset`
        self.description_ = Features.learn(
            data,
            self.missing,
            clip=self._clips,
            limit=self.category_limit,
            buckets=self.category_buckets,
        ).to_dict()

    def _start_with(self, data: QueryDataset) -> None:
        """Learn the description, and make a ranker with parameters for its columns."""
        self._fit_transformation(data)
        self.ranker_ = self._fresh()

    def _transformed_width(self, state: State) -> int:
        features, n_features = Features.from_dict(state["description_"]), state["n_features_in_"]
        if len(features) != n_features:
            raise ModelError(f"description_ describes {len(features)} features, not {n_features}")
        return len(features.native_names if self.is_native else features.encoding.names)

    def _transform(self, data: QueryDataset) -> QueryDataset:
        assert self.features is not None
        return data_for(self.ranker_, self.features, data)

    def _transform_rows(self, X: Rows, offsets: Offsets) -> Rows:  # noqa: ARG002
        assert self.features is not None
        return rows_for(self.ranker_, self.features, X)

    def _rows(self, X: object) -> Rows:
        """Return rows with the columns and codes of the description."""
        features = self.features
        assert features is not None
        if isinstance(X, QueryDataset):
            if X.feature_names is None:
                self._check_width(X.X)
            return features.take(X)
        if isinstance(X, Query):
            return features.read_rows(X.X)
        if column_names(X) is not None and (has_other_kinds(X) or not features.are_numbers):
            return frame_rows(X, features)[0]
        names = column_names(X)
        if names is not None:
            X = choose_columns(X, names, features.names)
            names = column_names(X)
        rows = as_matrix(X, allow_nan=True)
        self._check_width(rows)
        if names is not None and names != features.names:
            rows = np.ascontiguousarray(rows[:, features.places(names)])
        return features.read_rows(rows)

    def _usual_value(self, rows: Rows, feature: int) -> float:
        """Return the mean of what is known; the mean of codes says nothing, so no category."""
        assert self.features is not None
        known = rows[~np.isnan(rows[:, feature]), feature]
        if self.features.columns[feature].kind == "category" or not len(known):
            return float("nan")
        return float(known.mean(dtype=np.float64))

    def with_names(self, names: Sequence[str]) -> Self:
        """Return a copy that calls its columns by other names, in the same order."""
        self._check_fitted()
        assert self.features is not None
        columns = [replace(c, name=name) for c, name in zip(self.features, names, strict=True)]
        new = self.copy()
        new.description_ = Features(tuple(columns)).to_dict()
        new.feature_names_in_ = tuple(names)
        return new

    def with_codes_of(self, loop: Features, categories: Mapping[str, Sequence[str]]) -> Self:
        """Return a copy that takes rows of a loop, which numbers categories as they appear.

        Parameters
        ----------
        loop : the columns of the loop
        categories : the names of its first codes, by the name of the column
        """
        self._check_fitted()
        assert self.features is not None
        theirs = {column.name: column for column in loop}
        columns = []
        for column in self.features:
            other = theirs.get(column.name)
            if column.kind == "category" and other is not None and column.categories:
                codes = [column.code_of(name) for name in categories.get(column.name, ())]
                read = [-1 if np.isnan(code) else int(code) for code in codes]
                unnamed = [-1] * (other.codes - len(read))
                column = replace(column, recode=(*read, *unnamed))
            columns.append(column)
        new = self.copy()
        new.description_ = Features(tuple(columns)).to_dict()
        return new

    def explain(self) -> Parts:
        """Return the parts of the ranker, with the names of the features that it receives."""
        self._check_fitted()
        return self.ranker_.explain()


class OnlineDescribed(OnlineWrapped, Described, special_case_of=Described):
    """A :class:`Described` whose ranker is online."""

    _clips: ClassVar[bool] = False

    @property
    def is_native(self) -> bool:
        """Whether its ranker accepts missing values and categories; no online ranker does."""
        return False

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._check_encoding()

    def _queries(self, data: QueryDataset) -> Queries:
        """Return queries with the columns and codes of the description, learnt if there is none."""
        if not self.is_fitted:
            self._reset(data.n_features)
        if not self.description_ and data.n_documents:
            self._start_with(data)
        if self.features is not None:
            if data.feature_names is None:
                self._check_width(data.X)
            rows = self.features.take(data)
            data = replace(data, X=rows, features=None, feature_names=self.features.names)
        return super()._queries(data)

    def _order_columns(self, X: object) -> Rows:
        if self.features is None and self.description is not None:
            new = self.copy()
            new._reset(len(as_matrix(X, allow_nan=True).T))
            return new._order_columns(X)
        return super()._order_columns(X) if self.features is None else self._rows(X)

    def _learn_queries(self, queries: Queries, scores: Rows | None) -> None:
        X, offsets = queries.X, queries.offsets
        if not self.description_:
            self._start_with(QueryDataset(X, queries.y, offsets, np.arange(queries.n)))
        ranker = self.ranker_ = self.ranker_.copy()
        ranker._check_and_learn(queries._replace(X=self._transform_rows(X, offsets)), scores)

    def _merge(self, rankers: Sequence[Self], base: Self) -> None:
        if any(ranker.description_ != self.description_ for ranker in rankers):
            raise DataError(
                "cannot merge rankers whose descriptions of features were learnt from different "
                "data; fit them on common data first, and continue from there, or give them a "
                "description"
            )
        self.ranker_ = self.ranker_.copy()
        self.ranker_._merge_copies([ranker.ranker_ for ranker in rankers], base.ranker_)

    def explain(self) -> Parts:
        """Return the parts of the ranker, with the names of the features that it receives."""
        self._check_fitted()
        names = [] if self.features is None else self.features.encoded_names
        return with_feature_names(self.ranker_, names).explain()
