"""Labels of rows: their names, and their numbers."""

from __future__ import annotations

import sys
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from typing import TypeVar

    from numpy.typing import NDArray

    S = TypeVar("S", bound=np.generic)


def classes_of(y: object) -> NDArray[Any]:
    """Return the labels there are, sorted; at least two."""
    array = np.unique(_one_each(y))
    if len(array) < 2:
        raise DataError(f"y has {len(array)} class: at least two are needed")
    return array


def encode_labels(y: object, classes: NDArray[Any]) -> list[int]:
    """Return the number of each label among the classes; a column of labels is a row of them."""
    if np.asarray(y).ndim == 2:
        known = sys.modules.get("sklearn.exceptions")
        warnings.warn(
            "A column-vector y was passed when a 1d array was expected: give y.ravel()",
            getattr(known, "DataConversionWarning", UserWarning),
            stacklevel=4,
        )
    labels = _one_each(y)
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        raise DataError(f"label {labels[unknown][0]!r} is not one of the classes {classes}")
    numbers: list[int] = np.searchsorted(classes, labels).tolist()
    return numbers


def _one_each(y: object) -> NDArray[Any]:
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise DataError(
            f"y must have one label per row; found an array with {labels.ndim} dimensions"
        )
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise DataError("y contains NaN or infinity")
    return labels


def label_matrix(y: object) -> NDArray[np.bool_]:
    """Return sets of labels as rows of a boolean matrix."""
    array = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
    if array.ndim != 2 or not np.isin(array, (0, 1)).all():
        raise DataError(
            "y must be a matrix of 0 and 1, with one row per row of X; found an "
            f"array with {array.ndim} dimensions"
        )
    return array.astype(bool)


def label_rows(matrix: NDArray[S], width: int) -> list[NDArray[S]]:
    """Return the rows of a matrix of labels; raise if it has another number of labels."""
    if matrix.shape[1] != width:
        raise DataError(f"y has {matrix.shape[1]} labels, but earlier data had {width}")
    return list(matrix)
