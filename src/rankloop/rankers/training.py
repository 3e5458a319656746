"""Make a ranker for a training task."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankloop.features.columns import needs_description
from rankloop.rankers.wrappers.described import Described
from rankloop.rankers.wrappers.prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.data.dataset import QueryDataset
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


def read_like(model: Ranker) -> dict[str, Any]:
    """Return the options of :func:`rankloop.read` for reading data for a model."""
    like = getattr(model, "features", None) or model.feature_names_in_ or None
    return {"like": like, "width": model.n_features_in_, "usual_query": model.query_name_}
