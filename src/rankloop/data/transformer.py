"""Transformers of features in scikit-learn's way, without importing scikit-learn."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from dataclasses import replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar, Self, overload

import numpy as np

from rankloop._utils.estimator import Estimator
from rankloop.data.columns import columns_by_name, with_columns
from rankloop.data.dataset import QueryDataset
from rankloop.data.grouping import group_by_id
from rankloop.data.validation import as_matrix, check_length, check_not_empty, column_names
from rankloop.exceptions import DataError, NotFittedError

if TYPE_CHECKING:
    from typing import TypeAlias

    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils import Tags

    Rows: TypeAlias = NDArray[np.float32]
    Offsets: TypeAlias = NDArray[np.int64] | None

CONTAINERS = ("default", "pandas", "polars")


class Transformer(Estimator, ABC):
    """A transformer of features: of a whole data set, or of rows as in scikit-learn.

    A subclass defines what it learns (:meth:`_learn`), for how many features it has learnt it
    (:meth:`_width`) and how it transforms (:meth:`_transform`).

    Attributes
    ----------
    n_features_in_ : number of features; not there before `fit`
    feature_names_in_ : their names; empty if the training data has no names
    """

    needs_queries: ClassVar[bool] = False
    """Whether a row's result depends on the other rows of its query."""

    needs_fit: ClassVar[bool] = True
    """Whether it must be fitted before it can transform."""

    takes_nan: ClassVar[bool] = False
    """Whether it accepts NaN features, which then stay NaN."""

    feature_names_in_: tuple[str, ...] = ()

    def _is_nan_taken(self) -> bool:
        return self.takes_nan

    @abstractmethod
    def _learn(self, X: Rows) -> None:
        """Learn from checked rows; an error must leave everything as it was."""

    @abstractmethod
    def _width(self) -> int:
        """Return the number of features learnt from; raise AttributeError before `fit`."""

    @abstractmethod
    def _transform(self, X: Rows, offsets: Offsets) -> Rows:
        """Transform checked rows; `offsets` is None if their queries are not known."""

    def _names_out(self, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        """Return the names of the results, for these names of the features."""
        return names

    @property
    def n_features_in_(self) -> int:
        """Number of features that it was fitted on."""
        return self._width()

    def fit(self, X: object, y: ArrayLike | None = None, *, qid: ArrayLike | None = None) -> Self:
        """Learn from a QueryDataset or from rows; grades and query ids have no effect.

        They are accepted because a pipeline passes them to each of its steps.
        """
        if isinstance(X, QueryDataset):
            _refuse_extras(y, qid)
            rows, names = X.X, X.feature_names
        else:
            rows, names = as_matrix(X, allow_nan=self.takes_nan), column_names(X)
            check_not_empty(rows)
        self._learn(rows)
        self.feature_names_in_ = names or ()
        return self

    @overload
    def transform(self, X: QueryDataset) -> QueryDataset: ...

    @overload
    def transform(self, X: object, *, qid: ArrayLike | None = None) -> Any: ...

    def transform(self, X: object, *, qid: ArrayLike | None = None) -> Any:
        """Transform a QueryDataset, or rows with one query id each, and return the same kind.

        Rows may be an array, a frame or a sparse matrix, and come back in the same order as a
        float32 array, or as the frame that :meth:`set_output` selects. Columns are found by name.
        """
        if isinstance(X, QueryDataset):
            _refuse_extras(None, qid)
            data = with_columns(X, self.feature_names_in_)
            out = self._check_and_transform(data.X, data.offsets)
            features = data.features if out.shape[1] == data.n_features else None
            names = self._names_out(data.feature_names)
            return replace(data, X=out, feature_names=names, features=features)
        rows = as_matrix(X, allow_nan=self.takes_nan)
        order = columns_by_name(self.feature_names_in_, column_names(X))
        if order is not None:
            rows = np.ascontiguousarray(rows[:, order])
        return self._in_container(self._by_query(rows, qid), X)

    def fit_transform(
        self, X: object, y: ArrayLike | None = None, *, qid: ArrayLike | None = None
    ) -> Any:
        """Fit to the data, then transform it."""
        return self.fit(X, y, qid=qid).transform(X, qid=qid)

    def transform_rows(self, X: object, offsets: ArrayLike | None = None) -> Rows:
        """Return transformed rows; those of query q are `offsets[q]:offsets[q + 1]`.

        Only a transformer that works within queries, such as ``query-minmax``, needs `offsets`.
        """
        matrix = as_matrix(X, allow_nan=self.takes_nan)
        bounds = None if offsets is None else np.asarray(offsets)
        if bounds is not None and not _are_offsets(bounds, len(matrix)):
            raise DataError(
                f"offsets must be whole numbers that rise from 0 to {len(matrix)}, the number of "
                f"rows; found {bounds.tolist()[:10]}"
            )
        return self._check_and_transform(matrix, bounds)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """Return the names of the results; unnamed features are called x0, x1 and so on."""
        self._check_fitted()
        known = self.feature_names_in_
        if input_features is None:
            names = known or tuple(f"x{j}" for j in range(self.n_features_in_))
        else:
            names = tuple(str(name) for name in np.asarray(input_features, object))
            if known and names != known:
                raise DataError(
                    "input_features is not equal to feature_names_in_, the names that "
                    f"{type(self).__name__} was fitted with; leave input_features out"
                )
            if len(names) != self.n_features_in_:
                raise DataError(
                    "input_features should have length equal to number of features "
                    f"({self.n_features_in_}), got {len(names)}"
                )
        return np.array(self._names_out(names), object)

    def set_output(self, *, transform: str | None = None) -> Self:
        """Choose what `transform` makes of rows: `default` (an array), `pandas` or `polars`.

        Without this call it is what `sklearn.set_config(transform_output=...)` says. A QueryDataset
        always becomes a QueryDataset.
        """
        if transform is not None:
            if transform not in CONTAINERS:
                raise DataError(f"transform must be {', '.join(CONTAINERS)}; found {transform!r}")
            self._sklearn_output_config = {"transform": transform}  # clone() copies this name
        return self

    def set_transform_request(self, **wanted: object) -> Self:
        """Choose what scikit-learn routes to `transform`, for example `qid=True`."""
        return self._set_request("transform", wanted)

    def _by_query(self, rows: Rows, qid: ArrayLike | None) -> Rows:
        """Transform rows in any order, and return them in that order."""
        if qid is not None:
            qid = np.asarray(qid)
            check_length("qid", qid, len(rows))
        if qid is None or not self.needs_queries:
            return self._check_and_transform(rows, None)
        grouping = group_by_id(qid)
        if grouping.rows is None:
            return self._check_and_transform(rows, grouping.offsets)
        gathered = self._check_and_transform(rows[grouping.rows], grouping.offsets)
        out = np.empty_like(gathered)
        out[grouping.rows] = gathered
        return out

    def _check_and_transform(self, rows: Rows, offsets: Offsets) -> Rows:
        if self.needs_fit:
            self._check_fitted()
        self._check_width(rows)
        return self._transform(rows, offsets)

    def _check_width(self, rows: Rows) -> None:
        width = getattr(self, "n_features_in_", rows.shape[1])
        if rows.shape[1] != width:
            raise DataError(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting {width} "
                "features as input; give the features that it was fitted on, in the same order"
            )

    def _check_fitted(self) -> None:
        if not hasattr(self, "n_features_in_"):
            raise NotFittedError(
                f"{type(self).__name__} is not fitted: call fit with training data"
            )

    def _in_container(self, rows: Rows, X: object) -> Any:
        """Return rows as the frame that the caller wants, with the index of X in pandas."""
        sklearn = sys.modules.get("sklearn")
        default = "default" if sklearn is None else sklearn.get_config()["transform_output"]
        kind = getattr(self, "_sklearn_output_config", {}).get("transform", default)
        if kind == "default":
            return rows
        try:
            package = import_module(kind)
        except ImportError:
            raise DataError(
                f"set_output(transform={kind!r}) needs {kind}, which is not installed: "
                f"pip install {kind}"
            ) from None
        names = self.get_feature_names_out().tolist()
        if kind == "polars":
            return package.DataFrame(rows, schema=names, orient="row")
        index = X.index if isinstance(X, package.DataFrame) else None
        return package.DataFrame(rows, columns=names, index=index, copy=False)

    def __sklearn_is_fitted__(self) -> bool:
        """Tell scikit-learn whether `fit` was called."""
        return hasattr(self, "n_features_in_")

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that this transforms features to float32."""
        from sklearn.utils import TransformerTags

        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        tags.transformer_tags = TransformerTags(preserves_dtype=["float32"])
        tags.requires_fit = self.needs_fit
        return tags


def _refuse_extras(y: ArrayLike | None, qid: ArrayLike | None) -> None:
    if y is not None or qid is not None:
        raise DataError(
            "a QueryDataset contains its own grades and queries; pass it without y and qid"
        )


def _are_offsets(offsets: NDArray[np.integer], n: int) -> bool:
    return (
        offsets.ndim == 1
        and offsets.dtype.kind in "iu"
        and len(offsets) > 0
        and offsets[0] == 0
        and offsets[-1] == n
        and bool((offsets[1:] >= offsets[:-1]).all())
    )
