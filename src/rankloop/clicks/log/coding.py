"""Ids as small whole numbers, which need less memory in arrays than text."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.grouping import TEXT, as_ids
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.grouping import Ids

_MAX = 2**31 - 1


def code_ids(values: ArrayLike, name: str) -> tuple[NDArray[np.int32], Ids]:
    """Return a code for each value, in order of first appearance, and the ids by code.

    >>> codes, ids = code_ids(["b", "a", "b"], "query")
    >>> codes.tolist(), ids.tolist()
    ([0, 1, 0], ['b', 'a'])
    """
    ids = as_ids(values, name)
    if ids.dtype == TEXT:
        places: dict[str, int] = {}
        codes = np.fromiter(
            (places.setdefault(text, len(places)) for text in ids.tolist()), np.int64, len(ids)
        )
        known: Ids = np.array(list(places), dtype=TEXT)
    else:
        known, first, codes = np.unique(ids, return_index=True, return_inverse=True)
        order = np.argsort(first)
        place = np.empty(len(first), np.int64)
        place[order] = np.arange(len(first))
        known, codes = known[order], place[codes]
    if len(known) > _MAX:
        raise DataError(f"{name} has {len(known):,} different ids; at most {_MAX:,} can be held")
    return codes.astype(np.int32), known


def match_ids(ids: Ids, known: Ids) -> NDArray[np.int64]:
    """Return the code of each id in `known`, or -1; numbers never match text.

    >>> match_ids(np.array([7, 8]), np.array([9, 8])).tolist()
    [-1, 1]
    """
    if ids is known:
        return np.arange(len(known))
    if (ids.dtype == TEXT) != (known.dtype == TEXT):
        return np.full(len(ids), -1, np.int64)
    places = {name: code for code, name in enumerate(known.tolist())}
    return np.fromiter((places.get(name, -1) for name in ids.tolist()), np.int64, len(ids))
