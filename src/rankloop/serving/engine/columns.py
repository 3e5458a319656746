"""Columns of matrices whose features have changed since: found by name, missing where unknown."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rankloop.serving.journal.ranking_entries import Ranked

    Names = tuple[str, ...]


def arrange(X: NDArray[np.float32], have: Names, want: Names) -> NDArray[np.float32]:
    """Return the columns `want` of a matrix with the columns `have`; NaN where it lacks one.

    >>> X = np.array([[1.0, 2.0]], np.float32)
    >>> arrange(X, ("a", "b"), ("b", "c")).tolist()
    [[2.0, nan]]
    """
    if have == want:
        return X
    places, absent = _places(have, want)
    found = np.ascontiguousarray(X[:, places])
    found[:, absent] = np.nan
    return found


@lru_cache(maxsize=64)
def _places(have: Names, want: Names) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the place of each wanted column, and whether there is none."""
    known = {name: place for place, name in enumerate(have)}
    places = np.array([known.get(name, -1) for name in want], np.int64)
    return np.maximum(places, 0), places < 0


def columns_of(ranked: Ranked, known: Mapping[int, Names], now: Names) -> Names:
    """Return the names of a ranking's columns.

    Parameters
    ----------
    known : names of columns by the position of the settings that defined them
    now : the present names, for rankings whose features were not computed
    """
    return now if ranked.computed is None else known.get(ranked.computed.columns, now)
