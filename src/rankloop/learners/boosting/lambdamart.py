"""LambdaMART: LightGBM's own, for any grades and gains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from rankloop.exceptions import DataError
from rankloop.learners.batch.base import refuse_document_weights, teaching
from rankloop.learners.boosting.base import BoostedRanker
from rankloop.learners.boosting.engine import text_of
from rankloop.learners.boosting.objectives import MeasuredObjective, Shape
from rankloop.learners.parameters import check_number, check_whole

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Self

    from rankloop.data.dataset import QueryDataset
    from rankloop.losses.base import Floats
    from rankloop.metrics.measures import Measure

_LONGEST = 10_000  # documents of a query, LightGBM's limit


class LambdaMART(BoostedRanker):
    """Trees grown on lambdas: pairs, weighed by what their exchange does to nDCG.

    The gradients are LightGBM's own, `lambdarank`. It wants grades that are whole and small: we
    number the grades found from 0, lowest first, and tell it the gain of each, so any grade, also
    above 31 or real-valued, is as good as another. Gains are given as parts of the largest, which
    changes no nDCG and overflows for no grade. Above 1,000 different grades, gains are rounded to
    thousandths of the largest.

    Parameters
    ----------
    gain : `exponential`, 2^r - 1, or `linear`, r
    truncation : pairs count where one of the two stands at least this high
    normalise : LightGBM's `lambdarank_norm`: long lists count no more than short ones
    trees, rate, leaves, min_data_in_leaf, feature_fraction, lambda_l2, increasing, decreasing,
        categorical, params, convention, random_state : see :class:`BoostedRanker`
    metric, patience, warm_start : see :class:`BatchRanker`

    Notes
    -----
    Cost: O(m x truncation) a query and tree, beside O(n d); memory: LightGBM's, and 32 bytes a
    document. Query weights count as copies of the query; there are no document weights, and a query
    has at most 10,000 judged documents.

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

    def __init__(
        self,
        gain: Literal["exponential", "linear"] = "exponential",
        truncation: int = 30,
        normalise: bool = True,
        trees: int = 300,
        rate: float = 0.05,
        leaves: int | None = None,
        min_data_in_leaf: int | None = None,
        feature_fraction: float = 1.0,
        lambda_l2: float = 0.0,
        increasing: Sequence[int | str] = (),
        decreasing: Sequence[int | str] = (),
        categorical: Sequence[int | str] = (),
        params: Mapping[str, Any] | None = None,
        metric: str | Measure = "nDCG@10",
        convention: str = "standard",
        patience: int | None = 50,
        warm_start: bool = False,
        random_state: int = 0,
    ) -> None:
        self.gain = gain
        self.truncation = truncation
        self.normalise = normalise
        self.trees = trees
        self.rate = rate
        self.leaves = leaves
        self.min_data_in_leaf = min_data_in_leaf
        self.feature_fraction = feature_fraction
        self.lambda_l2 = lambda_l2
        self.increasing = increasing
        self.decreasing = decreasing
        self.categorical = categorical
        self.params = params
        self.metric = metric
        self.convention = convention
        self.patience = patience
        self.warm_start = warm_start
        self.random_state = random_state

    def _check(self, data: QueryDataset) -> None:
        super()._check(data)
        refuse_document_weights(self, data)
        check_whole("truncation", self.truncation)
        if self.gain not in _GAINS:
            raise DataError(f"gain must be exponential or linear; found {self.gain!r}")
        if data.sizes.max(initial=0) > _LONGEST:
            raise DataError(
                f"a query has {data.sizes.max():,} documents; LightGBM's lambdarank takes at most "
                f"{_LONGEST:,}: use XENDCGBoost, or fewer documents"
            )

    def _objective(self, data: QueryDataset) -> MeasuredObjective:
        objective = MeasuredObjective("lambdarank", Shape.of(data), _GAINS[self.gain])
        objective.params["lambdarank_truncation_level"] = self.truncation
        objective.params["lambdarank_norm"] = self.normalise
        return objective

    def refit(self, data: QueryDataset, *, decay: float = 0.9) -> Self:
        """Keep the splits of all trees, and move the values of their leaves towards new data.

        LightGBM does it, with its own gradients.
        """
        self._check_learnt()
        check_number("decay", decay, 0, 1)
        self._check(data)
        self._check_width(data.X)
        self.queries_, data = data.n_queries, teaching(data)
        if self._booster is None or not data.n_documents:
            return self
        objective, weights = self._objective(data), data.query_weights
        self.booster_ = text_of(
            self.to_lightgbm().refit(
                data.X,
                objective.labels,
                decay_rate=decay,
                weight=None if weights is None else np.repeat(weights, data.sizes),
                group=data.sizes,
                dataset_params={**self._settings(data, data.n_documents), **objective.params},
            )
        )
        return self


def _exponential(grades: Floats) -> Floats:
    """Return 2^r - 1, as a part of the largest."""
    top = grades.max(initial=0)
    return np.asarray(np.exp2(grades - top) - np.exp2(-top))


_GAINS = {"exponential": _exponential, "linear": lambda grades: grades}
