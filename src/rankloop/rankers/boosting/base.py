"""Boosted trees: LightGBM grows one tree per round."""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rankloop._utils.processors import useful_threads
from rankloop.exceptions import DataError
from rankloop.rankers.base import Ranker
from rankloop.rankers.batch.base import fit_again, usable_rows
from rankloop.rankers.boosting import bridge
from rankloop.rankers.boosting.leaves import move_leaves
from rankloop.rankers.boosting.model import TreeModel
from rankloop.rankers.forms import FittedRanker, Nothing
from rankloop.rankers.parameters import check_number, check_rankers, check_whole
from rankloop.rankers.search import OneOf, Range

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Self

    from rankloop.data.dataset import QueryDataset
    from rankloop.losses.base import Floats
    from rankloop.measures.measure import Measure
    from rankloop.rankers.base import Offsets, Rows, Scores
    from rankloop.rankers.boosting.objectives import Objective, Singles
    from rankloop.rankers.forms import Form
    from rankloop.rankers.rounds import Round
    from rankloop.rankers.search import Search
    from rankloop.rankers.traits import Traits


@dataclass(eq=False, repr=False, kw_only=True)
class BoostedRanker(TreeModel):
    """A sum of trees; each round adds one. A subclass defines the loss that the trees minimise.

    In addition to the parameters of :class:`BatchRanker` it has:

    trees : number of trees that `fit` adds; with a validation set and patience, the maximum number
    rate : learning rate, by which the values of a tree are multiplied; above 0, at most 1
    leaves : number of leaves of a tree, at least 2; None chooses it by the number of documents n,
        as sqrt(n) / 6, limited to 7 to 255
    min_data_in_leaf : minimum number of documents in a leaf; None means n / 40, limited to 1 to 50
    feature_fraction : share of the features that a tree may use; each tree draws them at random
    lambda_l2 : L2 penalty on the values of leaves
    increasing, decreasing : features, by name or by column number from 0; when the value of such a
        feature rises, the score may only rise, or only fall
    categorical : features whose values are categories, written as whole numbers from 0
    params : any other parameter of LightGBM, as a dictionary
    convention : the convention of `valid_measure`
    random_state : random seed
    start : a ranker that is trained first; the trees then add to its scores. With a validation set,
        also no tree at all may be best. None: the trees start from 0

    NaN is a missing value. The same random seed gives the same trees with any number of threads.

    Attributes
    ----------
    booster_ : the model as LightGBM writes it; '' if there was nothing to learn
    start_ : the fitted ranker to whose scores the trees add, or None
    """

    _learns: ClassVar[tuple[str, ...]] = ("booster_", "start_")

    allow_native = True
    """Whether LightGBM may compute gradients itself; machines must agree (`distributed`)."""

    trees: int = 300
    rate: float = 0.05
    leaves: int | None = None
    min_data_in_leaf: int | None = None
    feature_fraction: float = 1.0
    lambda_l2: float = 0.0
    increasing: Sequence[int | str] = ()
    decreasing: Sequence[int | str] = ()
    categorical: Sequence[int | str] = ()
    params: Mapping[str, object] | None = None
    valid_measure: str | Measure = "nDCG@10"
    convention: str = "standard"
    patience: int | None = 50
    warm_start: bool = False
    refit: bool = False
    random_state: int = 0
    start: Ranker | None = None

    search_space: ClassVar[Mapping[str, Search]] = {
        "leaves": OneOf((7, 15, 31, 63)),
        "min_data_in_leaf": Range(5, 80, points=3, log=True, whole=True),
        "feature_fraction": OneOf((0.3, 0.6, 1.0)),
        "rate": Range(0.02, 0.1, points=2, log=True),
    }

    @abstractmethod
    def _objective(self, data: QueryDataset) -> Objective:
        """Return the objective to minimise."""

    def _step(self, data: QueryDataset) -> Objective:
        """Return the objective for new values of leaves, with gradients from our compiled core."""
        return self._objective(data)

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        """Those of trees, as far as what it starts from has them, too."""
        # Anything that is not a ranker is refused by `_check`, which comes later.
        known = self.start.traits if isinstance(self.start, Ranker) else TreeModel.traits
        return replace(
            TreeModel.traits,
            takes_raw_features=self.start is None or known.takes_raw_features,
            takes_nan=self.start is None or known.takes_nan,
            scores_rows_alone=self.start is None or known.scores_rows_alone,
        )

    @property
    def _starts_ready(self) -> bool:
        return self.start_ is not None

    def _check(self, data: QueryDataset) -> None:
        if self.start is not None:
            check_rankers("start", [self.start], Ranker)
            self.start._check(data)
        check_whole("trees", self.trees)
        check_number("rate", self.rate, 0, 1, above=True)
        check_whole("leaves", 2 if self.leaves is None else self.leaves, 2)
        check_whole("min_data_in_leaf", self.min_data_in_leaf or 1)
        check_number("feature_fraction", self.feature_fraction, 0, 1, above=True)
        check_number("lambda_l2", self.lambda_l2)
        check_whole("random_state", self.random_state, 0)
        bridge.check_params(self.params)
        up, down = self._columns("increasing", data), self._columns("decreasing", data)
        if set(up) & set(down):
            raise DataError("a feature cannot be both increasing and decreasing")
        bridge.check_categories(data.X, self._columns("categorical", data))

    def _columns(self, parameter: str, data: QueryDataset) -> list[int]:
        return bridge.columns(
            getattr(self, parameter), data.feature_names, data.n_features, parameter
        )

    def sizes_for(self, n: int) -> dict[str, int]:
        """Return `leaves` and `min_data_in_leaf` for n documents to learn from."""
        return {
            "leaves": self.leaves or int(np.clip(n**0.5 / 6, 7, 255)),
            "min_data_in_leaf": self.min_data_in_leaf or int(np.clip(n / 40, 1, 50)),
        }

    def is_native(self, data: QueryDataset) -> bool:
        """Whether LightGBM computes the gradients for such data itself."""
        return self._objective(data).native is not None

    def _settings(self, data: QueryDataset, n: int) -> dict[str, object]:
        """Return all of LightGBM's parameters, for n documents to learn from."""
        sizes = self.sizes_for(n)
        monotone = np.zeros(data.n_features, np.int64)
        monotone[self._columns("increasing", data)] = 1
        monotone[self._columns("decreasing", data)] = -1
        return {
            "learning_rate": self.rate,
            "num_leaves": sizes["leaves"],
            "min_data_in_leaf": sizes["min_data_in_leaf"],
            "feature_fraction": self.feature_fraction,
            "lambda_l2": self.lambda_l2,
            "seed": self.random_state,
            "objective_seed": (self.random_state + self.rounds_) % 2**31,
            "metric": "none",
            "verbosity": -1,
            "deterministic": True,
            "force_col_wise": "force_row_wise" not in (self.params or {}),  # one thread per sum
            "num_threads": useful_threads(n * data.n_features),
            **({"monotone_constraints": monotone.tolist()} if monotone.any() else {}),
            **(self.params or {}),
        }

    def _fit_once(
        self,
        data: QueryDataset,
        valid: QueryDataset | None,
        on_round: Callable[[Round], None] | None,
        at_most: int | None = None,
    ) -> Iterator[None]:
        if self.start is not None and self.start_ is None:
            self.start_ = copy.deepcopy(self.start).fit(data, valid=valid)
        yield from super()._fit_once(data, valid, on_round, at_most)

    def _run_again(self, data: QueryDataset, valid: QueryDataset, rounds: int) -> None:
        if self.start is not None and not self.rounds_:  # no tree was grown on its scores
            self.start_ = copy.deepcopy(self.start)
            for _ in fit_again(self.start_, data, valid):
                pass
        super()._run_again(data, valid, rounds)

    def _reset(self, n_features: int) -> None:
        super()._reset(n_features)
        self.start_ = None

    def _forms(self, n_features: int) -> dict[str, Form]:
        start = Nothing() if self.start is None else FittedRanker(Ranker, n_features)
        return {**super()._forms(n_features), "start_": start}

    def _usable_data(self, data: QueryDataset) -> QueryDataset:
        return data  # `_rounds` leaves out rows without copying the others

    def _rounds(self, data: QueryDataset) -> Iterator[float]:
        rows = usable_rows(data)
        usable = data.without_features().keep(rows)
        if not usable.n_documents:
            return
        lgb, objective, start = bridge.engine(), self._objective(usable), self.rounds_
        settings = {**self._settings(data, usable.n_documents), **objective.params}
        native, weights = objective.native is not None, usable.query_weight
        train = lgb.Dataset(
            bridge.pieces(data.X, rows, whole=self.rounds_ > 0),
            label=objective.labels,
            group=usable.sizes,
            weight=np.repeat(weights, usable.sizes) if native and weights is not None else None,
            feature_name=bridge.names_for(data.feature_names),
            categorical_feature=self._columns("categorical", data) or "auto",
            init_score=None if self.start_ is None else self._start_scores(data)[rows],
            free_raw_data=True,
        )
        del data  # LightGBM has its own copy now
        values: list[float] = []

        def grown_on(scores: Floats, _: object) -> tuple[Singles, Singles]:
            if not values:  # otherwise it was computed with the value
                objective.at(scores, start)
            return objective.gradient, objective.hessian

        def value(scores: Floats, _: object) -> tuple[str, float, bool]:
            values[:] = [objective.at(scores, start + done)]
            return "loss", values[0], False

        settings["objective"] = objective.native or grown_on
        try:
            booster = bridge.first_tree(settings, train, self._booster)
        except lgb.basic.LightGBMError as error:
            if "num_features" not in str(error):
                raise
            return  # every feature is constant
        try:
            for done in range(1, self.trees + 1):
                self._grown = booster
                booster.eval_train(value)
                yield values[0]
                if done < self.trees and booster.update(fobj=None if native else grown_on):
                    break
        finally:
            if self._grown is booster:
                self.booster_ = bridge.text_of(booster, start + done)

    def _end_early(self) -> None:
        """Keep the trees of the last complete round."""
        if self._grown is not None:
            self.booster_ = bridge.text_of(self._grown, self.rounds_)

    def _start_scores(self, data: QueryDataset) -> Scores:
        """Return the scores that new trees add to."""
        return np.asarray(self._score_rows(data.X, data.offsets), np.float64)

    def _scorer(self, X: Rows, offsets: Offsets) -> Callable[[], Scores]:
        if not self._adds_up():
            return super()._scorer(X, offsets)
        scores: Scores = self._score_rows(X, offsets)
        seen = self.rounds_

        def more() -> Scores:
            nonlocal scores, seen
            if self.rounds_ == seen:
                return scores
            new: dict[str, object] = {"start_iteration": seen, "num_iteration": self.rounds_ - seen}
            scores, seen = scores + self._predict_trees(X, raw_score=True, **new), self.rounds_
            return scores

        return more

    def _adds_up(self) -> bool:
        """Whether trees keep their values; DART and random forests change their weights later."""
        kinds = ((self.params or {}).get(name) for name in ("boosting", "boosting_type", "boost"))
        return not {"dart", "rf", "random_forest"} & {str(kind) for kind in kinds}

    def _mark(self) -> dict[str, Any]:
        same = self._adds_up()
        return {"rounds_": self.rounds_} if same else super()._mark()

    def _go_back(self, mark: dict[str, Any]) -> None:
        if "booster_" in mark:
            super()._go_back(mark)
            return
        self.rounds_ = mark["rounds_"]
        booster = self._booster if self.rounds_ else None
        self.booster_ = "" if booster is None else bridge.text_of(booster, self.rounds_)

    def move_leaves(self, data: QueryDataset, *, decay: float = 0.9) -> Self:
        """Keep the splits of all trees, and move the values of their leaves towards new data.

        A value becomes decay x old + (1 - decay) x new, where new is the best value for the new
        data, tree after tree; a leaf that no document reaches keeps its value.
        """
        self._check_fitted()
        check_number("decay", decay, 0, 1)
        self._check(data)
        self._check_width(data.X)
        with self._writing:
            new = self.copy()
            if new._booster is not None:
                new.booster_ = move_leaves(new, data, decay, new._step)
                new.n_queries_seen_ = data.n_queries
            self._become(new)
        return self
