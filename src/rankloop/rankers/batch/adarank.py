"""AdaRank: boosting that optimises a measure and adds one feature per round."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop.exceptions import MeasureError, ModelError
from rankloop.measures.measure import parse
from rankloop.rankers.batch.base import BatchRanker, refuse_document_weights
from rankloop.rankers.batch.measured import MeasureObjective, linear_scores, nonzero_parts
from rankloop.rankers.batch.near_equal import NOISE, best_first
from rankloop.rankers.forms import Array
from rankloop.rankers.parameters import check_number, check_whole
from rankloop.rankers.search import OneOf

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.measures.measure import Measure
    from rankloop.rankers.base import Offsets, Rows
    from rankloop.rankers.batch.measured import Floats
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.forms import Form
    from rankloop.rankers.search import Search
    from rankloop.rankers.state import State

_SURE = 1 - 1e-6


class AdaRank(BatchRanker):
    """Boosting of a measure E: each round adds the feature that ranks hard queries best.

    Queries have weights P, which are equal at first. A weak ranker is one feature, or its negative.
    The weak ranker with the largest e = sum_q P_q E_q is added with

        alpha = 1/2 ln(sum_q P_q (1 + E_q) / sum_q P_q (1 - E_q)) = 1/2 ln((1 + e) / (1 - e)),

    and then P_q becomes proportional to exp(-E_q), with E_q measured for the sum of the weak
    rankers so far.

    Where we depart: in the published algorithm, a feature that changes no ranking is chosen again
    in every later round, because P does not change; RankLib excludes a feature that was chosen five
    times in a row. Here a weak ranker is added only if the mean of E over the training queries
    rises by more than `tolerance`; otherwise the next best one is tried, and training stops when
    none helps. So the training measure rises in every round. e is limited to 1 - 1e-6, so that
    alpha stays finite. Tied documents share their ranks in E if the measure allows it; otherwise
    they are shuffled.

    Parameters
    ----------
    measure : E, any measure between 0 and 1: `nDCG@10`, `AP`, ...
    rounds : maximum number of weak rankers
    both_directions : whether to use the negatives of features as well; the paper does not
    tolerance : smallest rise of the measure per round, at least 0
    valid_measure, patience, warm_start, refit : see :class:`BatchRanker`

    Attributes
    ----------
    features_, alphas_ : the weak rankers, one per round; alpha is below 0 for the negative of a
        feature
    weights_ : (d,) the weights of their sum, which is a linear ranker

    Notes
    -----
    Features are added without scaling, so bring them to a common scale first (for example with
    :class:`QueryMinMax`). Cost: 2 d evaluations at the start; then O(d q) and an evaluation of O(n
    log m) for every weak ranker that is tried, with d features, q queries and n documents; memory
    O(d q) and a copy of the data.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> data = separable(60, np.random.default_rng(0), n_features=5).data
    >>> ranker = AdaRank("AP").fit(data, valid=data)
    >>> [row["feature"] for row in ranker.explain()][:2]
    ['3', '5']

    References
    ----------
    Xu and Li, AdaRank: a boosting algorithm for information retrieval (2007): figure 1.
    """

    search_space: ClassVar[Mapping[str, Search]] = {
        "measure": OneOf(("nDCG@5", "nDCG@10", "nDCG", "AP"))
    }
    _learns: ClassVar[tuple[str, ...]] = ("features_", "alphas_")
    features_: NDArray[np.int64]
    alphas_: Floats

    def __init__(
        self,
        measure: str | Measure = "nDCG@10",
        rounds: int = 500,
        both_directions: bool = True,
        tolerance: float = 0.0,
        valid_measure: str | Measure = "nDCG@10",
        patience: int | None = 50,
        warm_start: bool = False,
        refit: bool = False,
    ) -> None:
        self.measure = measure
        self.rounds = rounds
        self.both_directions = both_directions
        self.tolerance = tolerance
        self.valid_measure = valid_measure
        self.patience = patience
        self.warm_start = warm_start
        self.refit = refit

    @property
    def weights_(self) -> Floats:
        """The linear ranker that the weak rankers add up to."""
        self._check_fitted()
        return np.asarray(
            np.bincount(self.features_, self.alphas_, self.n_features_in_), np.float64
        )

    def explain(self) -> Parts:
        """Return features with their weights, largest first."""
        return nonzero_parts(self, self.weights_)

    def _check(self, data: QueryDataset) -> None:
        check_whole("rounds", self.rounds)
        check_number("tolerance", self.tolerance)
        refuse_document_weights(self, data)
        if parse(self.measure).name == "DCG":
            raise MeasureError(f"AdaRank needs a measure between 0 and 1; found {self.measure}")
        MeasureObjective.check(self.measure, data)

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        self.features_ = np.zeros(0, np.int64)
        self.alphas_ = np.zeros(0)

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {
            **super()._forms(n_features),
            "features_": Array((None,), np.int64, low=0, high=n_features - 1),
            "alphas_": Array((None,)),
        }

    def _check_state(self, state: State) -> None:
        super()._check_state(state)
        if len(state["features_"]) != len(state["alphas_"]):
            raise ModelError("features_ and alphas_ differ in length")

    def _rounds(self, data: QueryDataset) -> Iterator[float]:
        E = MeasureObjective(self.measure, data)
        if len(E.data) == 0:
            return
        table = E.of_features(self.both_directions)
        scores = np.zeros(E.data.n_documents)
        for feature, alpha in zip(self.features_, self.alphas_, strict=True):
            scores += alpha * E.columns[feature]
        P, reached = E.weights, -np.inf
        if self.rounds_:
            P, reached = _hard_queries(E, E.values(scores))
        while self.rounds_ < self.rounds:
            worth = table @ (P / P.sum())
            for chosen in best_first(worth):
                sign, feature = -1 if chosen >= data.n_features else 1, chosen % data.n_features
                alpha = sign * np.arctanh(min(worth[chosen], _SURE))
                added = scores + alpha * E.columns[feature]
                P, mean = _hard_queries(E, E.values(added))
                if mean > reached + max(self.tolerance, NOISE):
                    break
            else:
                return
            scores, reached = added, mean
            self.features_ = np.append(self.features_, feature)
            self.alphas_ = np.append(self.alphas_, alpha)
            yield 1 - reached

    def _score_rows(self, X: Rows, offsets: Offsets) -> Floats:  # noqa: ARG002
        """Score checked rows."""
        return linear_scores(X, self.weights_)


def _hard_queries(E: MeasureObjective, values: Floats) -> tuple[Floats, float]:
    """Return query weights, larger where the measure is lower, and the mean of the measure."""
    return E.weights * np.exp(-values), float(np.average(values, weights=E.weights))
