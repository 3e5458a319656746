"""Boosted trees: one tree a round, grown by LightGBM."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rankloop.exceptions import DataError
from rankloop.learners.batch.base import teaching_rows
from rankloop.learners.boosting import engine
from rankloop.learners.boosting.leaves import refit_leaves
from rankloop.learners.boosting.model import ROWS_A_THREAD, TreeModel
from rankloop.learners.parameters import check_number, check_whole
from rankloop.learners.search import Choice, Range
from rankloop.processors import threads

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Self

    import lightgbm
    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.learners.base import Offsets, Rows
    from rankloop.learners.boosting.objectives import Objective
    from rankloop.learners.search import Search


class BoostedRanker(TreeModel):
    """Trees that are added up, one a round. A subclass says what they are grown on.

    Besides those of :class:`BatchRanker` it has the parameters

    trees : how many `fit` adds; with a validation set and patience, at most so many
    rate : what a tree's values are multiplied by, above 0, at most 1
    leaves : of a tree, at least 2; None: by the number of documents n, sqrt(n) / 6 from 7 to 255
    min_data_in_leaf : documents in a leaf, at least; None: n / 40 from 1 to 50
    feature_fraction : the part of the features, drawn anew, that a tree may look at
    lambda_l2 : ridge on the values of leaves
    increasing, decreasing : features, by name or by column from 0, with which scores may only rise
        or fall
    categorical : features whose values are categories, whole numbers from 0
    params : any other parameter of LightGBM, as a dictionary
    convention : of `metric`
    random_state : the seed of all draws

    NaN is a missing value. The same seed gives the same trees on any number of threads.

    Attributes
    ----------
    booster_ : the model as LightGBM writes it; '' where there was nothing to learn
    """

    trees: int
    rate: float
    leaves: int | None
    min_data_in_leaf: int | None
    feature_fraction: float
    lambda_l2: float
    increasing: Sequence[int | str]
    decreasing: Sequence[int | str]
    categorical: Sequence[int | str]
    params: Mapping[str, Any] | None
    random_state: int

    search_space: ClassVar[Mapping[str, Search]] = {
        "leaves": Choice((7, 15, 31, 63)),
        "min_data_in_leaf": Range(5, 80, points=3, log=True, whole=True),
        "feature_fraction": Choice((0.3, 0.6, 1.0)),
        "rate": Range(0.02, 0.1, points=2, log=True),
    }

    @abstractmethod
    def _objective(self, data: QueryDataset) -> Objective:
        """Return what is made small."""

    def _step(self, data: QueryDataset) -> Objective:
        """Return what new values of leaves are found with: gradients of our own."""
        return self._objective(data)

    def _check(self, data: QueryDataset) -> None:
        check_whole("trees", self.trees)
        check_number("rate", self.rate, 0, 1, above=True)
        check_whole("leaves", 2 if self.leaves is None else self.leaves, 2)
        check_whole("min_data_in_leaf", self.min_data_in_leaf or 1)
        check_number("feature_fraction", self.feature_fraction, 0, 1, above=True)
        check_number("lambda_l2", self.lambda_l2)
        check_whole("random_state", self.random_state, 0)
        engine.check_params(self.params)
        up, down = self._columns("increasing", data), self._columns("decreasing", data)
        if set(up) & set(down):
            raise DataError("a feature cannot be both increasing and decreasing")
        engine.check_categories(data.X, self._columns("categorical", data))

    def _columns(self, parameter: str, data: QueryDataset) -> list[int]:
        return engine.columns(
            getattr(self, parameter), data.feature_names, data.n_features, parameter
        )

    def _settings(self, data: QueryDataset, n: int) -> dict[str, Any]:
        """Return all of LightGBM's parameters, for n documents to learn from."""
        monotone = np.zeros(data.n_features, np.int64)
        monotone[self._columns("increasing", data)] = 1
        monotone[self._columns("decreasing", data)] = -1
        return {
            "learning_rate": self.rate,
            "num_leaves": self.leaves or int(np.clip(n**0.5 / 6, 7, 255)),
            "min_data_in_leaf": self.min_data_in_leaf or int(np.clip(n / 40, 1, 50)),
            "feature_fraction": self.feature_fraction,
            "lambda_l2": self.lambda_l2,
            "seed": self.random_state,
            "objective_seed": (self.random_state + self.rounds_) % 2**31,
            "metric": "none",
            "verbosity": -1,
            "deterministic": True,
            "force_col_wise": "force_row_wise" not in (self.params or {}),  # one thread a sum
            "num_threads": max(1, min(threads(), n * data.n_features // (100 * ROWS_A_THREAD))),
            **({"monotone_constraints": monotone.tolist()} if monotone.any() else {}),
            **(self.params or {}),
        }

    def _taught(self, data: QueryDataset) -> QueryDataset:
        return data  # `_rounds` leaves out rows without a copy of the others

    def _rounds(self, data: QueryDataset) -> Iterator[float]:
        rows = teaching_rows(data)
        lessons = data.without_features().keep(rows)
        if not lessons.n_documents:
            return
        lgb, objective, start = engine.engine(), self._objective(lessons), self.rounds_
        settings = {**self._settings(data, lessons.n_documents), **objective.params}
        native, weights = objective.native is not None, lessons.query_weights
        train = lgb.Dataset(
            engine.pieces(data.X, rows, whole=self.rounds_ > 0),
            label=objective.labels,
            group=lessons.sizes,
            weight=np.repeat(weights, lessons.sizes) if native and weights is not None else None,
            feature_name=engine.names_for(data.feature_names),
            categorical_feature=self._columns("categorical", data) or "auto",
            free_raw_data=True,
        )
        del data  # LightGBM has its own by then
        found: list[float] = []

        def grown_on(scores: Any, _: Any) -> tuple[Any, Any]:
            if not found:  # else it was found with the value
                objective.at(scores, start)
            return objective.gradient, objective.hessian

        def value(scores: Any, _: Any) -> tuple[str, float, bool]:
            found[:] = [objective.at(scores, start + done)]
            return "loss", found[0], False

        settings["objective"] = objective.native or grown_on
        try:
            booster: lightgbm.Booster = lgb.train(
                settings, train, 1, init_model=self._booster, keep_training_booster=True
            )
        except lgb.basic.LightGBMError as error:
            if "num_features" not in str(error):
                raise
            return  # no feature has two values
        try:
            for done in range(1, self.trees + 1):
                self._grown = booster
                booster.eval_train(value)
                yield found[0]
                if done < self.trees and booster.update(fobj=None if native else grown_on):
                    break
        finally:
            if self._grown is booster:
                self.booster_ = engine.text_of(booster, start + done)

    def _end_early(self) -> None:
        if self._grown is not None:
            self.booster_ = engine.text_of(self._grown, self.rounds_)

    def _scorer(self, X: Rows, offsets: Offsets) -> Callable[[], NDArray[Any]]:
        if not self._adds_up():
            return super()._scorer(X, offsets)
        scores: NDArray[Any] = self._score_rows(X, offsets)
        seen = self.rounds_

        def more() -> NDArray[Any]:
            nonlocal scores, seen
            new: dict[str, Any] = {"start_iteration": seen, "num_iteration": self.rounds_ - seen}
            scores, seen = scores + self._predicted(X, raw_score=True, **new), self.rounds_
            return scores

        return more

    def _adds_up(self) -> bool:
        """Whether a tree stays as it was grown: not where DART or a forest weighs them anew."""
        kinds = ((self.params or {}).get(name) for name in ("boosting", "boosting_type", "boost"))
        return not {"dart", "rf", "random_forest"} & {str(kind) for kind in kinds}

    def _snapshot(self) -> dict[str, Any]:
        same = self._adds_up()
        return {"rounds_": self.rounds_} if same else super()._snapshot()

    def _restore(self, snapshot: dict[str, Any]) -> None:
        if "booster_" in snapshot:
            super()._restore(snapshot)
            return
        self.rounds_ = snapshot["rounds_"]
        booster = self._booster if self.rounds_ else None
        self.booster_ = "" if booster is None else engine.text_of(booster, self.rounds_)

    def refit(self, data: QueryDataset, *, decay: float = 0.9) -> Self:
        """Keep the splits of all trees, and move the values of their leaves towards new data.

        A value becomes decay x old + (1 - decay) x the one that the new data asks for, tree after
        tree; a leaf that no document reaches stays.
        """
        self._check_learnt()
        check_number("decay", decay, 0, 1)
        self._check(data)
        self._check_width(data.X)
        with self._writing:
            new = self._twin()
            if new._booster is not None:
                new.booster_ = refit_leaves(new, data, decay)
                new.queries_ = data.n_queries
            self._become(new)
        return self
