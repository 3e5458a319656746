"""Columns are matched by name: their order in later data does not matter."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.sparse_rows import SparseRows, as_dense_type
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset


def columns_by_name(
    known: Sequence[str], given: Sequence[str] | None, wider: bool = False
) -> NDArray[np.int64] | None:
    """Return, for each known feature, its column in the given names; None if the order is the same.

    Columns without names are taken in the given order. Unknown names are an error, unless the given
    columns may be those of a wider table, as when a model only scores its rows.

    >>> columns_by_name(["age", "price"], ["price", "age"])
    array([1, 0])
    >>> columns_by_name(["price"], ["id", "price"], wider=True)
    array([1])
    """
    if not known or not given or tuple(known) == tuple(given):
        return None
    if sorted(known) == sorted(given) and len(set(known)) == len(known):
        return np.array([given.index(name) for name in known])
    if wider and set(known) <= set(given):
        twice = [name for name in known if list(given).count(name) > 1]
        if not twice:
            return np.array([list(given).index(name) for name in known])
    missing = [name for name in known if name not in given]
    strange = [name for name in given if name not in known]
    if not missing and not strange:
        raise DataError(
            "several columns have the same name, and the order of columns differs from that of the "
            "training data; give each column a different name"
        )
    differences = []
    if missing:
        differences.append(f"missing: {_few(missing)}")
    if strange:
        differences.append(f"not known: {_few(strange)}")
    raise DataError(
        f"these are not the {len(known)} features of the training data ({'; '.join(differences)}); "
        "rename, add or drop columns. Their order does not matter"
    )


def choose_columns(X: Any, names: Sequence[str], known: Sequence[str]) -> Any:
    """Return the known columns of a frame or an Arrow table that has others too, or X as it is."""
    order = columns_by_name(known, names, wider=True)
    if order is None or len(order) == len(names):
        return X
    return X.iloc[:, order] if hasattr(X, "iloc") else X.select([names[j] for j in order])


def with_columns(data: QueryDataset, known: Sequence[str], wider: bool = False) -> QueryDataset:
    """Return the data set with its columns in the known order and with the known names."""
    if known and data.feature_names is None and data.n_features == len(known):
        return replace(data, feature_names=tuple(known))
    order = columns_by_name(known, data.feature_names, wider)
    if order is None:
        return data
    features = None if data.features is None else data.features.select(order.tolist())
    X = in_order(data.X, order)
    return replace(data, X=X, feature_names=tuple(known), features=features)


def in_order(X: NDArray[np.float32], order: NDArray[np.int64]) -> NDArray[np.float32]:
    """Return rows, dense or sparse, with their columns in this order."""
    if isinstance(X, SparseRows):
        return as_dense_type(X.with_columns(order))
    return np.ascontiguousarray(X[:, order])


def _few(names: Sequence[str]) -> str:
    shown = ", ".join(repr(name) for name in names[:5])
    return f"{shown} and {len(names) - 5} more" if len(names) > 5 else shown
