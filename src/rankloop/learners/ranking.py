"""A ranking as a value: what was shown, in which order, by which version of which model."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop import _core

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Ranking:
    """Documents in rank order, best first.

    Attributes
    ----------
    id : names this ranking; feedback refers to it. Drawn from its content where none is given.
    version : queries the model had learnt from
    order : row numbers, best first
    scores : in the same order, not increasing
    doc_ids : in the same order, or None
    """

    id: str
    version: int
    order: NDArray[np.int64]
    scores: NDArray[np.float64]
    doc_ids: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.order)


def make_ranking(
    scores: NDArray[Any],
    version: int,
    doc_ids: NDArray[Any] | None = None,
    id: str | None = None,  # noqa: A002 - what it is
) -> Ranking:
    """Rank documents by score, higher first, ties in row order; the arrays are read-only."""
    order = _core.rank_rows(scores, np.array([0, len(scores)]), None, 1)
    ranked = scores[order].astype(np.float64)
    ids = None if doc_ids is None else doc_ids[order]
    if id is None:
        digest = blake2b(order.tobytes() + ranked.tobytes(), digest_size=8)
        digest.update(str(version).encode())
        id = digest.hexdigest()  # noqa: A001
    for array in (order, ranked, ids):
        if array is not None:
            array.flags.writeable = False
    return Ranking(id, version, order, ranked, ids)
