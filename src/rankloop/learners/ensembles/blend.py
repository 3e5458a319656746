"""Linear and tree rankers together."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rankloop.data.scaling import QueryMinMax
from rankloop.exceptions import DataError, ModelError, NotFittedError, RankloopError
from rankloop.learners.base import training_data
from rankloop.learners.batch.base import BatchRanker, Round, check_measurable
from rankloop.learners.batch.xendcg import XENDCG
from rankloop.learners.boosting.base import BoostedRanker
from rankloop.learners.boosting.lambdamart import LambdaMART
from rankloop.learners.boosting.xendcg import XENDCGBoost
from rankloop.learners.ensembles.mix import standardised
from rankloop.learners.ensembles.weights import equal_weights, shrunk_weights
from rankloop.learners.forms import Array, Learner, ListOf
from rankloop.learners.parameters import check_whole
from rankloop.learners.wrappers.scaled import Scaled
from rankloop.metrics.conventions import as_convention
from rankloop.metrics.evaluation import evaluate
from rankloop.metrics.measures import parse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.learners.base import Offsets, Rows
    from rankloop.learners.forms import Form
    from rankloop.losses.base import Floats
    from rankloop.metrics.measures import Measure

_SEE_RAW = (BoostedRanker, Scaled)


class Blend(BatchRanker):
    """Rankers that learn apart and rank together: small data favours linear ones, large data trees.

    A member's scores are brought to mean 0 and deviation 1 inside a query; a member that draws
    (it has a `random_state`) is the mean of several seeds. Members weigh the same, unless a
    validation set shows, beyond its noise, that other weights w are better:

        equal + max(0, 1 - (error / gain)^2) (w - equal),

    where w is one of the ways from equal weights to some members alone, gain is what it adds to the
    measure on the validation set, and error its standard error over queries: on small sets next to
    nothing, on large ones nearly all of the way.

    Parameters
    ----------
    members : batch rankers; default: linear XE_NDCG, on logarithms scaled to 0 .. 1 inside the
        query and on these with ranks, XENDCGBoost and LambdaMART, less those that refuse the data
        (LambdaMART: weights of documents, queries of more than 10,000; linear ones: grades above
        200). Those that neither are
        trees nor scale features (:class:`Scaled`) see them scaled to 0 .. 1 inside the query.
    seeds : of each member that draws
    metric, convention : what the weights, and members that stop early, are judged by
    patience, warm_start : passed on to the members; None as patience: leave them theirs

    Attributes
    ----------
    members_ : the members, those of one seed after another
    kinds_ : which of the members given each of them is
    weights_ : one for each of them; they sum to 1

    Notes
    -----
    Cost: the sum of its members'; weighing them costs some measures of the validation set, 57 for
    the default. `predict` wants to know which rows belong together.

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
    _arrays: ClassVar[tuple[str, ...]] = ("members_", "kinds_", "weights_")

    def __init__(
        self,
        members: Sequence[BatchRanker] | None = None,
        seeds: int = 3,
        metric: str | Measure = "nDCG@10",
        convention: str = "standard",
        patience: int | None = None,
        warm_start: bool = False,
    ) -> None:
        self.members = members
        self.seeds = seeds
        self.metric = metric
        self.convention = convention
        self.patience = patience
        self.warm_start = warm_start

    members_: list[BatchRanker]
    kinds_: NDArray[np.int64]
    weights_: Floats

    def fit(
        self,
        X: Any,
        y: ArrayLike | None = None,
        *,
        qid: ArrayLike | None = None,
        group: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        query_weight: ArrayLike | None = None,
        valid: QueryDataset | None = None,
        on_round: Callable[[Round], None] | None = None,
    ) -> Self:
        """Learn from a data set: see :meth:`BatchRanker.fit`. A round is a member."""
        check_whole("patience", 1 if self.patience is None else self.patience)
        metric = parse(self.metric)
        as_convention(self.convention)
        data = training_data(X, y, qid, group, sample_weight, query_weight)
        with self._writing:
            new = self._twin()
            new._check(data)
            goes_on = new.warm_start and new.is_learnt
            if goes_on:
                new.members_ = [member._twin() for member in new.members_]
            else:
                new._reset(data.n_features)
            new._check_width(data.X)
            if valid is not None:
                new._check_width(valid.X)
                check_measurable(valid, metric, new.convention)
                valid = valid.shuffled(np.random.default_rng(0))
            new.queries_, new.feature_names_ = data.n_queries, data.feature_names or ()
            members = list(zip(new.members_, new.kinds_, strict=True)) if goes_on else None
            try:
                for _ in new._learn(data, valid, on_round, members or new._start(data)):
                    new.rounds_ += 1
                    if on_round is not None:  # who watches sees what each member adds
                        self._become(new)
            except BaseException as error:  # the members so far count
                if new.members_ and not isinstance(error, RankloopError):
                    self._become(new)
                raise
            if valid is not None:
                new._weigh(valid, metric)
            self._become(new)
        return self

    def _learn(
        self,
        data: QueryDataset,
        valid: QueryDataset | None,
        on_round: Callable[[Round], None] | None,
        members: list[tuple[BatchRanker, int]],
    ) -> Iterator[int]:
        """Let members learn, one after another; what has learnt belongs to the blend."""
        scaled, scaled_valid = data, valid
        if not all(isinstance(member, _SEE_RAW) for member, _ in members):
            scaled = QueryMinMax().transform(data)
            scaled_valid = None if valid is None else QueryMinMax().transform(valid)
        for k, (member, kind) in enumerate(members):
            self._tell(member)
            raw = isinstance(member, _SEE_RAW)
            member.fit(data if raw else scaled, valid=valid if raw else scaled_valid)
            if k == len(self.members_):
                self.members_ = [*self.members_, member]
                self.kinds_ = np.append(self.kinds_, kind)
                self.weights_ = equal_weights(self.kinds_)
            yield k
            if on_round is not None:
                on_round(Round(k + 1, float("nan"), None, True))

    def _tell(self, member: BatchRanker) -> None:
        """Hand on what all members share, also to a ranker behind a transformation."""
        shared: dict[str, Any] = {"metric": self.metric, "convention": self.convention}
        if self.patience is not None:
            shared["patience"] = self.patience
        for ranker in (member, getattr(member, "ranker", None), getattr(member, "ranker_", None)):
            if isinstance(ranker, BatchRanker):
                known = ranker.parameters()
                ranker.set_params(**{name: v for name, v in shared.items() if name in known})
        member.set_params(warm_start=self.warm_start)

    def _rounds(self, data: QueryDataset) -> Iterator[float]:
        return (float("nan") for _ in self._learn(data, None, None, self._start(data)))

    def _check(self, data: QueryDataset) -> None:
        check_whole("seeds", self.seeds)
        if self.members is not None and len(self.members) == 0:
            raise DataError("a blend needs at least one member")
        if np.isnan(data.X).any():
            raise DataError("a blend has members that know no missing values (NaN): fill them in")
        goes_on = self.warm_start and self.is_learnt
        for member in self.members_ if goes_on else self.members or ():
            if not isinstance(member, BatchRanker):
                raise DataError(f"a blend has batch rankers as members; found {member!r}")
            member._check(data)

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        self.members_, self.kinds_, self.weights_ = [], np.empty(0, np.int64), np.empty(0)

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {
            **super()._forms(n_features),
            "members_": ListOf(Learner(BatchRanker, n_features)),
            "kinds_": Array((None,), np.int64, low=0),
            "weights_": Array((None,)),
        }

    def _check_state(self, state: Mapping[str, Any]) -> None:
        super()._check_state(state)
        kinds, n = state["kinds_"], len(state["members_"])
        if not len(kinds) == len(state["weights_"]) == n or (kinds >= n).any():
            raise ModelError("members_, kinds_ and weights_ do not fit each other")

    def _start(self, data: QueryDataset) -> list[tuple[BatchRanker, int]]:
        """Return what is to learn, seed by seed, each with the number of its kind."""
        found: list[tuple[BatchRanker, int]] = []
        for kind, member in enumerate(self.members or default_members(data)):
            copies = self.seeds if hasattr(_drawing(member), "random_state") else 1
            for k in range(copies):
                seeded = copy.deepcopy(member)
                if copies > 1:
                    drawing = _drawing(seeded)
                    drawing.set_params(random_state=(drawing.random_state or 0) + k)
                found.append((seeded, kind))
        return found

    def _score_rows(self, X: Rows, offsets: Offsets) -> NDArray[Any]:
        return np.asarray(self.weights_ @ self._standardised(X, offsets))

    def _standardised(self, X: Rows, offsets: Offsets) -> Floats:
        scaled: Rows | None = None
        found = []
        for member in self.members_:
            if isinstance(member, _SEE_RAW):
                scores = member._score_rows(X, offsets)
            else:
                scaled = QueryMinMax().transform_rows(X, offsets) if scaled is None else scaled
                scores = member._score_rows(scaled, offsets)
            if np.isnan(scores).any():
                raise DataError("features have missing values (NaN), which a blend does not know")
            found.append(standardised(scores, offsets))
        if not found:
            raise NotFittedError("this blend was interrupted before its first member: call fit")
        return np.stack(found)

    def _weigh(self, valid: QueryDataset, metric: Measure) -> None:
        scores = self._standardised(valid.X, valid.offsets)

        def measured(weights: Floats) -> Floats:
            return evaluate(valid, weights @ scores, metric, self.convention).results[0].values

        self.weights_ = shrunk_weights(self.kinds_, measured, valid.query_weights)

    def explain(self) -> list[dict[str, Any]]:
        """Return the members by weight, each with its most important features."""
        self._check_learnt()
        return [
            {
                "member": repr(self.members_[k]),
                "weight": float(self.weights_[k]),
                "features": _features(self.members_[k]),
            }
            for k in np.argsort(-self.weights_, kind="stable")
        ]


def default_members(data: QueryDataset) -> list[BatchRanker]:
    """Return two linear rankers and two of trees, which draw features; those that take the data."""
    linear = XENDCG(C=0.03, power=0.5)
    trees: dict[str, Any] = {"feature_fraction": 0.6, "lambda_l2": 0.1}
    members = [
        Scaled(linear, "log", ["minmax"]),
        Scaled(linear, "log", ["minmax", "rank"]),
        XENDCGBoost(**trees),
        LambdaMART(**trees),
    ]
    return [member for member in members if _takes(member, data)]


def _takes(member: BatchRanker, data: QueryDataset) -> bool:
    try:
        member._check(data)
    except DataError:
        return False
    return True


def _drawing(member: BatchRanker) -> Any:
    """Return what has the seed: the member, or the ranker behind its transformation."""
    return member if hasattr(member, "random_state") else getattr(member, "ranker", None)


def _features(member: BatchRanker) -> list[str]:
    """Return the ten most important features, where a member can tell them."""
    try:
        parts = member.explain()
    except DataError:
        return []
    return [part["feature"] for part in parts[:10] if "feature" in part]
