"""LambdaMART with LightGBM's gradients, for any grades and gains."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankloop.exceptions import DataError
from rankloop.rankers.batch.base import keep_usable, refuse_document_weights
from rankloop.rankers.boosting.base import BoostedRanker
from rankloop.rankers.boosting.bridge import text_of
from rankloop.rankers.boosting.objectives import MeasuredObjective, Shape
from rankloop.rankers.parameters import check_number, check_whole

if TYPE_CHECKING:
    from typing import Self

    from rankloop.data.dataset import QueryDataset
    from rankloop.losses.base import Floats

_LONGEST = 10_000  # LightGBM's limit on the documents of a query


@dataclass(eq=False, repr=False)
class LambdaMART(BoostedRanker):
    """Trees grown on lambdas: pairs weighted by how much swapping the two changes nDCG.

    The gradients are those of LightGBM's `lambdarank`. LightGBM needs small whole grades, so we
    number the grades that occur from 0, lowest first, and pass it the gain of each. Therefore any
    grade is allowed, also above 31 or real-valued. Gains are divided by the largest gain, which
    does not change nDCG and cannot overflow. With more than 1,000 different grades, gains are
    rounded to thousandths of the largest.

    Parameters
    ----------
    gain : `exponential`, 2^r - 1, or `linear`, r
    truncation : only pairs with at least one document among this number of top ranks are used
    normalise : LightGBM's `lambdarank_norm`, which gives long lists no more weight than short ones
    trees, rate, leaves, min_data_in_leaf, feature_fraction, lambda_l2, increasing, decreasing,
        categorical, params, convention, random_state, start : see :class:`BoostedRanker`
    valid_measure, patience, warm_start, refit : see :class:`BatchRanker`

    Notes
    -----
    Cost: O(m x truncation) per query and tree, in addition to O(n d); memory: that of LightGBM, and
    32 bytes per document. A query weight has the same effect as copies of the query. Document
    weights are not supported, and a query may have at most 10,000 judged documents.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> data = separable(60, np.random.default_rng(0), n_features=3).data
    >>> LambdaMART(trees=20).fit(data).explain()[0]["feature"]
    '3'

    References
    ----------
    Wu et al., Adapting boosting for information retrieval measures (2010); Burges, From RankNet to
    LambdaRank to LambdaMART (2010).
    """

    gain: Literal["exponential", "linear"] = "exponential"
    truncation: int = 30
    normalise: bool = True

    def _check(self, data: QueryDataset) -> None:
        super()._check(data)
        refuse_document_weights(self, data)
        check_whole("truncation", self.truncation)
        if self.gain not in _GAINS:
            raise DataError(f"gain must be exponential or linear; found {self.gain!r}")
        if data.sizes.max(initial=0) > _LONGEST:
            raise DataError(
                f"a query has {data.sizes.max():,} documents; LightGBM's lambdarank takes at most "
                f"{_LONGEST:,}; use XENDCGBoost, or fewer documents"
            )

    def _objective(self, data: QueryDataset) -> MeasuredObjective:
        objective = MeasuredObjective("lambdarank", Shape.of(data), _GAINS[self.gain])
        objective.params["lambdarank_truncation_level"] = self.truncation
        objective.params["lambdarank_norm"] = self.normalise
        return objective

    def move_leaves(self, data: QueryDataset, *, decay: float = 0.9) -> Self:
        """Keep the splits of all trees, and move the values of their leaves towards new data.

        LightGBM does this, with its own gradients.
        """
        self._check_fitted()
        check_number("decay", decay, 0, 1)
        self._check(data)
        self._check_width(data.X)
        with self._writing:
            new, usable = self.copy(), keep_usable(data)
            new.n_queries_seen_ = data.n_queries
            if new._booster is not None and usable.n_documents:
                new.booster_ = new._refit_leaves(usable, decay)
            self._become(new)
        return self

    def _refit_leaves(self, data: QueryDataset, decay: float) -> str:
        objective, weights, start = self._objective(data), data.query_weight, self.start_
        booster = self.to_lightgbm().refit(
            data.X,
            objective.labels,
            decay_rate=decay,
            weight=None if weights is None else np.repeat(weights, data.sizes),
            group=data.sizes,
            init_score=None if start is None else start._score_rows(data.X, data.offsets),
            dataset_params={**self._settings(data, data.n_documents), **objective.params},
        )
        return text_of(booster)


def exponential_gains(grades: Floats) -> Floats:
    """Return 2^r - 1, divided by the largest."""
    top = grades.max(initial=0)
    return np.asarray(np.exp2(grades - top) - np.exp2(-top))


_GAINS = {"exponential": exponential_gains, "linear": lambda grades: grades}
