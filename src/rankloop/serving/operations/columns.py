"""The columns of a table in the order of a loop's features."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.features.columns import Features

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.serving.settings.loop import LoopSettings


def columns_for(settings: LoopSettings, data: QueryDataset) -> NDArray[np.float32]:
    """Return the rows of a data set as a loop's features, by name if both have names.

    Other columns are left out. A missing value gets the loop's default, as in a request; without a
    default, and for categories, this raises an error.
    """
    known = Features.of(data)
    names = settings.names
    if isinstance(settings.features, int) or data.feature_names is None:
        if data.n_features != len(names):
            raise DataError(
                f"the data has {data.n_features} features, but the loop has {len(names)}"
            )
        places = list(range(len(names)))
    else:
        absent = [name for name in names if name not in known.names]
        if absent:
            columns = ", ".join(known.names[:10])
            raise DataError(
                f"the data has no column for the feature {absent[0]!r}; its columns are {columns}"
            )
        places = [known.names.index(name) for name in names]
    X = np.ascontiguousarray(data.X[:, places])
    for k, (name, place) in enumerate(zip(names, places, strict=True)):
        if known.columns[place].kind == "category":
            raise DataError(f"{name!r} is text, but a loop's features are numbers; encode it first")
        missing = np.isnan(X[:, k])
        if missing.any():
            if name not in settings.defaults:
                raise DataError(
                    f"{name!r} is missing in {missing.sum():,} rows; fill it in, or set a default "
                    f"in the loop's settings: defaults = {{ {name} = 0 }}"
                )
            X[missing, k] = settings.defaults[name]
    return X
