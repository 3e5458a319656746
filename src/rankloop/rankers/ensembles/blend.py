"""A blend of linear and tree rankers."""

from __future__ import annotations

import copy
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rankloop._utils.processors import threads, useful_threads
from rankloop.exceptions import DataError, ModelError, NotFittedError
from rankloop.features.columns import Features
from rankloop.rankers.base import Ranker
from rankloop.rankers.batch.base import BatchRanker, fit_again
from rankloop.rankers.batch.xendcg import XENDCG
from rankloop.rankers.boosting import bridge
from rankloop.rankers.boosting.lambdamart import LambdaMART
from rankloop.rankers.boosting.xendcg import XENDCGBoost
from rankloop.rankers.ensembles.auto import Auto
from rankloop.rankers.ensembles.mix import standardise
from rankloop.rankers.ensembles.views import Views, description
from rankloop.rankers.explaining import member_parts
from rankloop.rankers.forms import Array, FittedRanker, ListOf, Values
from rankloop.rankers.parameters import check_rankers, check_whole
from rankloop.rankers.rounds import Round
from rankloop.rankers.side_by_side import end_if_interrupted, train_side_by_side
from rankloop.rankers.wrappers.described import Described
from rankloop.rankers.wrappers.prepared import Prepared

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.losses.base import Floats
    from rankloop.measures.measure import Measure
    from rankloop.rankers.base import Offsets, Rows, Scores
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.forms import Form
    from rankloop.rankers.state import State
    from rankloop.rankers.traits import Traits


class Blend(BatchRanker):
    """The mean of rankers that are trained separately, by default linear and tree rankers.

    Linear rankers are better on small data sets, and trees on large ones. The scores of a member
    are scaled to mean 0 and standard deviation 1 inside a query, and all kinds of members count the
    same: weights found on validation data were no better. A member that uses random numbers (it has
    a `random_state`) is trained with several random seeds, and the scores are averaged.

    Parameters
    ----------
    members : rankers; by default `auto`, XE_NDCG trees that also see the rank of each value inside
        its query, and LambdaMART that starts from linear XE_NDCG, without those that do not support
        the data (LambdaMART: document weights, or more than 10,000 documents in a query). Members
        that do not work well on raw features get features scaled to 0 .. 1 inside the query.
    seeds : number of random seeds for each member that uses random numbers
    valid_measure, convention : the measure used for early stopping of members
    patience, warm_start : passed on to the members; if patience is None, members keep their own
    refit : whether members are trained on training and validation data together in the end; see
        :class:`BatchRanker`. Members that do not stop early are trained on both at once.
    categorical : features whose values are categories, written as whole numbers from 0

    Attributes
    ----------
    members_ : the fitted members, seed after seed
    kinds_ : for each fitted member, the number of the given member that it comes from
    weights_ : one per fitted member; they sum to 1
    description_ : how missing values and categories are encoded for members that need numbers;
        empty if the training data had none

    Notes
    -----
    Cost: the sum of the costs of its members, twice with `refit`. Members that accept missing
    values (NaN) get them as they are; all others get the median of the training data, and a column
    that marks missing values. `predict` needs to know which rows belong to the same query.

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.rankers.batch.ranksvm import RankSVM
    >>> from rankloop.rankers.boosting.lambdamart import LambdaMART
    >>> data = separable(60, np.random.default_rng(0), n_features=3).data
    >>> blend = Blend([RankSVM(), LambdaMART(trees=10)], seeds=2).fit(data)
    >>> blend.weights_.tolist()
    [0.5, 0.25, 0.25]
    """

    traits: ClassVar[Traits] = replace(
        BatchRanker.traits, scores_rows_alone=False, takes_raw_features=True, takes_nan=True
    )
    _learns: ClassVar[tuple[str, ...]] = ("members_", "kinds_", "description_")

    def __init__(
        self,
        members: Sequence[Ranker] | None = None,
        seeds: int = 3,
        valid_measure: str | Measure = "nDCG@10",
        convention: str = "standard",
        patience: int | None = None,
        refit: bool = True,
        categorical: Sequence[int | str] = (),
        warm_start: bool = False,
    ) -> None:
        self.members = members
        self.seeds = seeds
        self.valid_measure = valid_measure
        self.convention = convention
        self.patience = patience
        self.refit = refit
        self.categorical = categorical
        self.warm_start = warm_start

    members_: list[Ranker]
    kinds_: NDArray[np.int64]
    description_: dict[str, object]

    @property
    def weights_(self) -> Floats:
        """The weight of each member: all kinds count the same, and all members of a kind."""
        self._check_fitted()
        copies = np.bincount(self.kinds_)
        return np.asarray(1 / (np.count_nonzero(copies) * copies[self.kinds_]))

    def _fit(
        self,
        data: QueryDataset,
        valid: QueryDataset | None,
        on_round: Callable[[Round], None] | None,
    ) -> Iterator[None]:
        """Fit the members, one per round; small data leaves threads for several at once."""
        self._check_stopping(valid)
        goes_on = bool(self.members_)
        if not goes_on:
            self.description_ = description(data, self._codes(data))
        members = list(zip(self.members_, self.kinds_, strict=True)) or self._start(data)
        self.n_queries_seen_ = data.n_queries
        if self.refit and valid is not None:
            self.n_queries_seen_ += valid.n_queries
        training = self._views(data)
        judged = None if valid is None else self._views(valid)
        jobs = []
        for member, _ in members:
            ranker = self._share_parameters(member, data)
            shown = None if judged is None else judged.data_for(ranker)
            jobs.append(partial(self._train, ranker, training.data_for(ranker), shown, goes_on))
        each = useful_threads(data.X.size)
        at_once = min(threads() // each, len(jobs))
        with closing(train_side_by_side(jobs, at_once, each)) as trained:
            for k, (ranker, (_, kind)) in enumerate(zip(trained, members, strict=True)):
                self.members_ = [*self.members_[:k], ranker, *self.members_[k + 1 :]]
                self.kinds_ = np.concatenate([self.kinds_[:k], [kind], self.kinds_[k + 1 :]])
                self.rounds_ += 1
                yield
                if on_round is not None:
                    on_round(Round(k + 1, float("nan"), None, True))

    def _train(
        self, ranker: Ranker, data: QueryDataset, valid: QueryDataset | None, goes_on: bool
    ) -> Ranker:
        rounds = (
            fit_again(ranker, data, valid, goes_on)
            if self.refit
            else ranker._fit(*ranker._begin(data, valid, goes_on), None)
        )
        for _ in rounds:
            end_if_interrupted()
        return ranker

    def _views(self, data: QueryDataset) -> Views:
        return Views.of(data, self._features)

    @property
    def _features(self) -> Features | None:
        return Features.from_dict(self.description_) if self.description_ else None

    def _codes(self, data: QueryDataset) -> list[int]:
        return bridge.columns(self.categorical, data.feature_names, data.n_features, "categorical")

    def _share_parameters(self, member: Ranker, data: QueryDataset) -> Ranker:
        """Return a copy with the shared parameters, which a ranker inside a wrapper gets too."""
        shared: dict[str, object] = {
            "valid_measure": self.valid_measure,
            "convention": self.convention,
        }
        if self.patience is not None:
            shared["patience"] = self.patience
        names = {name: name.rpartition("__")[2] for name in member.get_params()}
        params = {name: shared[last] for name, last in names.items() if last in shared}
        if self.categorical and member.traits.takes_nan:  # it gets the columns as they are
            name = _category_parameter(member)
            params |= {} if name is None else {name: tuple(self._codes(data))}
        return copy.deepcopy(member).set_params(**params)

    def _check(self, data: QueryDataset) -> None:
        check_whole("seeds", self.seeds)
        bridge.check_categories(data.X, self._codes(data))
        if self.members is not None:
            check_rankers("members", self.members, Ranker)
        goes_on = self.warm_start and self.is_fitted
        views = Views.of(data, self._features if goes_on else None)
        for member in self.members_ if goes_on else self.members or ():
            member._check(views.data_for(member))

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        self.members_, self.kinds_, self.description_ = [], np.empty(0, np.int64), {}

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {
            **super()._forms(n_features),
            "members_": ListOf(FittedRanker(Ranker, None)),
            "kinds_": Array((None,), np.int64, low=0),
            "description_": Values(),
        }

    def _check_state(self, state: State) -> None:
        super()._check_state(state)
        kinds, members, d = state["kinds_"], state["members_"], state["n_features_in_"]
        if len(kinds) != len(members) or (kinds >= len(members)).any():
            raise ModelError("members_ and kinds_ are not consistent with each other")
        features = Features.from_dict(state["description_"]) if state["description_"] else None
        if features is not None and len(features) != d:
            raise ModelError(f"description_ describes {len(features)} features, not {d}")
        encoded = d if features is None else len(features.encoded_names)
        for member in members:
            FittedRanker(Ranker, d if member.traits.takes_nan else encoded).check(
                "members_", member
            )

    def _start(self, data: QueryDataset) -> list[tuple[Ranker, int]]:
        """Return the rankers to fit, seed by seed, each with the number of its kind."""
        rankers: list[tuple[Ranker, int]] = []
        for kind, member in enumerate(self.members or default_members(data, self._features)):
            seeds = _seeds(member)
            for k in range(self.seeds if seeds else 1):
                moved = {name: seed + k for name, seed in seeds.items()}
                rankers.append((copy.deepcopy(member).set_params(**moved), kind))
        return rankers

    def _score_rows(self, X: Rows, offsets: Offsets) -> Scores:
        """Score checked rows."""
        views, parts = Views(X, offsets, self._features), []
        for member in self.members_:
            scores = member._score_rows(views.rows_for(member), offsets)
            if np.isnan(scores).any():
                raise DataError(
                    "features have missing values (NaN), but the training data of this blend had "
                    "none, and not all of its members accept them; fill them in, or train with them"
                )
            parts.append(standardise(scores, offsets))
        if not parts:
            raise NotFittedError(
                "this blend was interrupted before its first member was fitted; call fit again"
            )
        return np.asarray(self.weights_ @ np.stack(parts))

    def explain(self) -> Parts:
        """Return the members by weight, each with its most important features."""
        self._check_fitted()
        return member_parts(self.members_, self.weights_)


def default_members(data: QueryDataset, features: Features | None = None) -> list[Ranker]:
    """Return a linear and two tree rankers, without those that do not support the data.

    features : the description of the data, if it has missing values or categories
    """
    linear: Ranker = Prepared(XENDCG(C=0.03, power=0.5), "log", ["minmax", "rank"])
    if features is not None:
        linear = Described(linear)  # beside trees, which get missing values as they are
    trees: dict[str, Any] = {"feature_fraction": 0.6, "lambda_l2": 0.1}
    members = [
        Auto(adapt=False),
        Prepared(XENDCGBoost(**trees), "none", ["raw", "rank"]),
        LambdaMART(**trees, start=linear if _takes(linear, data) else None),
    ]
    views = Views.of(data, features)
    return [member for member in members if _takes(member, views.data_for(member))]


def _takes(member: Ranker, data: QueryDataset) -> bool:
    try:
        member._check(data)
    except DataError:
        return False
    return True


def _category_parameter(member: Ranker) -> str | None:
    """Return the parameter that tells a member's trees which of their columns are categories."""
    if hasattr(member, "categorical"):
        return "categorical"
    if not isinstance(member, Prepared):
        return None
    keeps_columns = member.scale in (None, "none") and member.maps[0] == "raw"
    return "ranker__categorical" if keeps_columns else None


def _seeds(member: Ranker) -> dict[str, int]:
    """Return the random seeds of a member: its own, or that of the ranker inside it."""
    params = member.get_params()
    return {
        name: value or 0
        for name, value in params.items()
        if name.rpartition("__")[2] == "random_state" and not member.traits.is_online
    }
