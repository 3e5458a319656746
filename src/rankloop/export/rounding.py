"""What rounding features to float32 does to trees."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.export.describe import program_of
from rankloop.export.program import Trees

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from rankloop.rankers.base import Ranker


def rounding_moves(ranker: Ranker, X: ArrayLike) -> int:
    """Count the rows that reach another leaf once their features are rounded to float32.

    Rankloop, Elasticsearch's and OpenSearch's plugins, Solr and Vespa see float32 features. A model
    of Rankloop was trained on them, so nothing moves; one that was imported may have been trained
    on float64. If rows move, train it on features that are rounded: `X.astype(np.float32)`.

    Parameters
    ----------
    ranker : trees on features as they are
    X : float64 rows

    >>> from rankloop.rankers.batch.rankboost import RankBoost
    >>> ranker = RankBoost().fit([[0.1], [0.3]], [0, 1], group=[2])
    >>> threshold = float(ranker.thresholds_[0])
    >>> rounding_moves(ranker, [[threshold + 1e-12], [0.5]])
    1
    """
    output = program_of(ranker).output
    if not isinstance(output, Trees):
        raise DataError(f"a {type(ranker).__name__} is not a sum of trees on unscaled features")
    wide = np.asarray(X, np.float64)
    narrow = wide.astype(np.float32).astype(np.float64)
    moved = np.zeros(len(wide), bool)
    for tree in output.trees:
        moved |= tree.leaves(wide) != tree.leaves(narrow)
    return int(np.count_nonzero(moved))
