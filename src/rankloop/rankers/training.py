"""Make a ranker for a training task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankloop.data.dataset import QueryDataset
from rankloop.data.validation import column_names
from rankloop.exceptions import DataTypeError
from rankloop.features.columns import needs_description
from rankloop.rankers.wrappers.described import Described
from rankloop.rankers.wrappers.prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.rankers.base import Ranker


def new_ranker(
    cls: type[Ranker], params: Mapping[str, object], valid_measure: str, scale: str | None = None
) -> Ranker:
    """Make a ranker, with a scaler if one is requested.

    If the ranker can stop early and `params` has no `valid_measure`, this one is used for early
    stopping.
    """
    chosen = dict(params)
    if "valid_measure" in cls._parameters():
        chosen.setdefault("valid_measure", valid_measure)
    ranker = cls(**chosen)
    return ranker if scale is None else Prepared(ranker, scale)


def describe_if_needed(ranker: Ranker, data: QueryDataset, **limits: int) -> Ranker:
    """Return a ranker for this data; add a description of the features if the data needs one.

    limits : `category_limit` and `category_buckets` of :class:`Described`
    """
    return Described(ranker).set_params(**limits) if needs_description(data) else ranker


def as_data_of(model: Ranker, X: object) -> QueryDataset:
    """Return a data set, or a frame or table, as a data set for a model; grades are not needed."""
    if isinstance(X, QueryDataset):
        return X
    if column_names(X) is None:
        raise DataTypeError(
            "data must be a QueryDataset, or a frame with the features and a column of query ids; "
            f"found {type(X).__name__}: QueryDataset.from_arrays(X, y, qid=...) makes one of arrays"
        )
    from rankloop.data.io.tables.reading import from_table

    like = read_like(model)
    columns = {"features": like["like"], "usual_query": like["usual_query"]}
    return from_table(X, allow_nan=True, labelled=False, **columns)


def read_like(model: Ranker) -> dict[str, Any]:
    """Return the options of :func:`rankloop.read` for reading data for a model."""
    like = getattr(model, "features", None) or model.feature_names_in_ or None
    return {"like": like, "width": model.n_features_in_, "usual_query": model.query_name_}
