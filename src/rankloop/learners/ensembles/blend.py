"""A blend of linear and tree rankers."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rankloop.data.scaling import QueryMinMax
from rankloop.exceptions import DataError, ModelError, NotFittedError
from rankloop.learners.base import Ranker
from rankloop.learners.batch.base import BatchRanker
from rankloop.learners.batch.xendcg import XENDCG
from rankloop.learners.boosting.lambdamart import LambdaMART
from rankloop.learners.boosting.xendcg import XENDCGBoost
from rankloop.learners.ensembles.mix import standardised
from rankloop.learners.ensembles.weights import equal_weights, shrunk_weights
from rankloop.learners.explaining import member_parts
from rankloop.learners.forms import Array, Learner, ListOf
from rankloop.learners.parameters import check_learners, check_whole
from rankloop.learners.rounds import Round
from rankloop.learners.wrappers.scaled import Scaled
from rankloop.metrics.evaluation import evaluate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.learners.base import Offsets, Rows, Scores
    from rankloop.learners.explaining import Parts
    from rankloop.learners.forms import Form
    from rankloop.learners.kept import State
    from rankloop.losses.base import Floats
    from rankloop.metrics.measures import Measure


class Blend(BatchRanker):
    """A weighted sum of rankers that are trained separately, by default linear and tree rankers.

    Linear rankers are better on small data sets, and trees on large ones. The scores of a member
    are scaled to mean 0 and standard deviation 1 inside a query. A member that uses random numbers
    (it has a `random_state`) is trained with several random seeds, and the scores are averaged.
    Members have equal weights, unless a validation set shows, beyond its noise, that other weights
    w are better:

        equal + max(0, 1 - (error / gain)^2) (w - equal),

    where w lies between equal weights and the weights of some members alone, gain is how much w
    raises the measure on the validation set, and error is the standard error of this gain over
    queries. So the weights stay nearly equal on small validation sets, and move nearly to w on
    large ones.

    Parameters
    ----------
    members : rankers; by default linear XE_NDCG on logarithms scaled to 0 .. 1 inside the query,
        linear XE_NDCG on the same features and their ranks, XENDCGBoost and LambdaMART, without
        those that do not support the data (LambdaMART: document weights, or more than 10,000
        documents in a query; linear rankers: grades above 200). Members that are neither trees nor
        scale features themselves (:class:`Scaled`) get features scaled to 0 .. 1 inside the query.
    seeds : number of random seeds for each member that uses random numbers
    valid_measure, convention : the measure used for the weights and for early stopping of members
    patience, warm_start : passed on to the members; if patience is None, members keep their own

    Attributes
    ----------
    members_ : the fitted members, seed after seed
    kinds_ : for each fitted member, the number of the given member that it comes from
    weights_ : one per fitted member; they sum to 1

    Notes
    -----
    Cost: the sum of the costs of its members; to find the weights, the validation set is measured
    several times, 57 times for the default members. `predict` needs to know which rows belong to
    the same query.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.learners.batch.ranksvm import RankSVM
    >>> from rankloop.learners.boosting.lambdamart import LambdaMART
    >>> data = separable(60, np.random.default_rng(0), n_features=3).data
    >>> blend = Blend([RankSVM(), LambdaMART(trees=10)], seeds=2).fit(data)
    >>> blend.weights_.tolist()
    [0.5, 0.25, 0.25]

    References
    ----------
    James and Stein, Estimation with quadratic loss (1961): the shrinkage, its positive part.
    """

    scores_rows_alone: ClassVar[bool] = False
    _learns: ClassVar[tuple[str, ...]] = ("members_", "kinds_", "weights_")

    def __init__(
        self,
        members: Sequence[Ranker] | None = None,
        seeds: int = 3,
        valid_measure: str | Measure = "nDCG@10",
        convention: str = "standard",
        patience: int | None = None,
        warm_start: bool = False,
    ) -> None:
        self.members = members
        self.seeds = seeds
        self.valid_measure = valid_measure
        self.convention = convention
        self.patience = patience
        self.warm_start = warm_start

    members_: list[Ranker]
    kinds_: NDArray[np.int64]
    weights_: Floats

    def _fit(
        self,
        data: QueryDataset,
        valid: QueryDataset | None,
        on_round: Callable[[Round], None] | None,
    ) -> Iterator[None]:
        """Fit the members one after another, one per round; then find their weights."""
        measure = self._check_stopping(valid)
        goes_on = bool(self.members_)
        members = list(zip(self.members_, self.kinds_, strict=True)) or self._start(data)
        if valid is not None:
            valid = valid.shuffled(np.random.default_rng(0))
        self.n_queries_seen_ = data.n_queries
        scaled, scaled_valid = data, valid
        if not all(member.takes_raw_features for member, _ in members):
            scaled = QueryMinMax().transform(data)
            scaled_valid = None if valid is None else QueryMinMax().transform(valid)
        for k, (member, kind) in enumerate(members):
            raw = member.takes_raw_features
            learner = self._told(member.fork())
            lessons = data if raw else scaled
            for _ in learner.fit_rounds(lessons, valid if raw else scaled_valid, None, goes_on):
                pass
            if k == len(self.members_):
                self.members_ = [*self.members_, learner]
                self.kinds_ = np.append(self.kinds_, kind)
                self.weights_ = equal_weights(self.kinds_)
            else:
                self.members_ = [*self.members_[:k], learner, *self.members_[k + 1 :]]
            self.rounds_ += 1
            yield
            if on_round is not None:
                on_round(Round(k + 1, float("nan"), None, True))
        if valid is not None:
            self._weigh(valid, measure)

    def _told(self, member: Ranker) -> Ranker:
        """Pass on the shared parameters, also to a ranker inside a wrapper."""
        shared: dict[str, object] = {
            "valid_measure": self.valid_measure,
            "convention": self.convention,
        }
        if self.patience is not None:
            shared["patience"] = self.patience
        found = ((name, name.rpartition("__")[2]) for name in member.get_params())
        return member.set_params(**{name: shared[own] for name, own in found if own in shared})

    def _check(self, data: QueryDataset) -> None:
        check_whole("seeds", self.seeds)
        if self.members is not None:
            check_learners("members", self.members, Ranker)
        goes_on = self.warm_start and self.is_fitted
        for member in self.members_ if goes_on else self.members or ():
            member.check_data(data)

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        self.members_, self.kinds_, self.weights_ = [], np.empty(0, np.int64), np.empty(0)

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {
            **super()._forms(n_features),
            "members_": ListOf(Learner(Ranker, n_features)),
            "kinds_": Array((None,), np.int64, low=0),
            "weights_": Array((None,)),
        }

    def _check_state(self, state: State) -> None:
        super()._check_state(state)
        kinds, n = state["kinds_"], len(state["members_"])
        if not len(kinds) == len(state["weights_"]) == n or (kinds >= n).any():
            raise ModelError("members_, kinds_ and weights_ are not consistent with each other")

    def _start(self, data: QueryDataset) -> list[tuple[Ranker, int]]:
        """Return the rankers to fit, seed by seed, each with the number of its kind."""
        found: list[tuple[Ranker, int]] = []
        for kind, member in enumerate(self.members or default_members(data)):
            seeds = _seeds(member)
            for k in range(self.seeds if seeds else 1):
                moved = {name: seed + k for name, seed in seeds.items()}
                found.append((copy.deepcopy(member).set_params(**moved), kind))
        return found

    def score_rows(self, X: Rows, offsets: Offsets) -> Scores:
        """Score checked rows."""
        return np.asarray(self.weights_ @ self._standardised(X, offsets))

    def _standardised(self, X: Rows, offsets: Offsets) -> Floats:
        scaled: Rows | None = None
        found = []
        for member in self.members_:
            if member.takes_raw_features:
                scores = member.score_rows(X, offsets)
            else:
                scaled = QueryMinMax().transform_rows(X, offsets) if scaled is None else scaled
                scores = member.score_rows(scaled, offsets)
            if np.isnan(scores).any():
                raise DataError(
                    "features have missing values (NaN), which this blend does not support"
                )
            found.append(standardised(scores, offsets))
        if not found:
            raise NotFittedError(
                "this blend was interrupted before its first member was fitted; call fit again"
            )
        return np.stack(found)

    def _weigh(self, valid: QueryDataset, measure: Measure) -> None:
        scores = self._standardised(valid.X, valid.offsets)

        def measured(weights: Floats) -> Floats:
            return evaluate(valid, weights @ scores, measure, self.convention).results[0].values

        self.weights_ = shrunk_weights(self.kinds_, measured, valid.query_weight)

    def explain(self) -> Parts:
        """Return the members by weight, each with its most important features."""
        self._check_fitted()
        return member_parts(self.members_, self.weights_)


def default_members(data: QueryDataset) -> list[Ranker]:
    """Return two linear and two tree rankers, without those that do not support the data."""
    linear = XENDCG(C=0.03, power=0.5)
    trees: dict[str, Any] = {"feature_fraction": 0.6, "lambda_l2": 0.1}
    members = [
        Scaled(linear, "log", ["minmax"]),
        Scaled(linear, "log", ["minmax", "rank"]),
        XENDCGBoost(**trees),
        LambdaMART(**trees),
    ]
    return [member for member in members if _takes(member, data)]


def _takes(member: Ranker, data: QueryDataset) -> bool:
    try:
        member.check_data(data)
    except DataError:
        return False
    return True


def _seeds(member: Ranker) -> dict[str, int]:
    """Return the random seeds of a member: its own, or that of the ranker inside it."""
    params = member.get_params()
    return {
        name: value or 0
        for name, value in params.items()
        if name.rpartition("__")[2] == "random_state" and not member.is_online
    }
