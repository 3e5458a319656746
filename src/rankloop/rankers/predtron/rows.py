"""The base class of the estimators that predict labels of rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rankloop._utils.estimator import Estimator
from rankloop.data.validation import as_matrix, check_not_empty
from rankloop.exceptions import DataError, NotFittedError
from rankloop.rankers.parameters import check_whole
from rankloop.rankers.predtron.predtron import Predtron

if TYPE_CHECKING:
    from collections.abc import Sized

    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils.metadata_routing import MetadataRequest

    from rankloop.rankers.predtron.problem import Floats, Problem
    from rankloop.rankers.predtron.weights import Kernel


class RowEstimator(Estimator, ABC):
    """An estimator that learns from rows one after the other, and predicts their labels.

    A subclass makes the problem from the labels, and turns labels into numbers and back. It has
    these parameters:

    geometry, rule, rate, kernel, budget, average : see :class:`Predtron`
    intercept : whether to add a constant feature
    passes : number of passes of `fit` over the data, at least 1
    random_state : random seed of the order of rows in `fit`, which is different in each pass; None
        keeps the given order

    Attributes
    ----------
    ranker_ : the :class:`Predtron`
    n_features_in_ : number of features
    """

    geometry: str
    rule: str
    rate: float
    kernel: str | Kernel | None
    budget: int | None
    average: bool
    intercept: bool
    passes: int
    random_state: int | None
    ranker_: Predtron
    n_features_in_: int

    @abstractmethod
    def _problem(self, y: object, classes: object) -> Problem:
        """Return the problem for these labels, and store their names."""

    @abstractmethod
    def _encode(self, y: object) -> list[Any]:
        """Return labels in the form for the problem."""

    @abstractmethod
    def _decode(self, predictions: list[Any]) -> NDArray[Any]:
        """Return predictions as labels."""

    def fit(self, X: object, y: ArrayLike) -> Self:
        """Fit from scratch, in several passes over the rows."""
        check_whole("passes", self.passes)
        rows, labels = self._begin(X, y, None)
        order = np.arange(len(rows))
        rng = None if self.random_state is None else np.random.default_rng(self.random_state)
        for _ in range(self.passes):
            self._go_on(rows, labels, order if rng is None else rng.permutation(order))
        return self

    def partial_fit(self, X: object, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Continue to learn, in one pass over the rows; the first call determines the classes.

        Parameters
        ----------
        X, y : rows and their labels
        classes : all classes that can occur; by default, those of the first y
        """
        if not hasattr(self, "ranker_"):
            rows, labels = self._begin(X, y, classes)
        else:
            rows, labels = self._rows(X), self._encode(y)
            self._check_rows(rows, labels)
        self._go_on(rows, labels, np.arange(len(rows)))
        return self

    def scores(self, X: object) -> Floats:
        """Return the score vectors t of rows, one per row."""
        rows = self._rows(X)
        weights = self.ranker_.weights
        if weights is None:
            return np.zeros((len(rows), self.ranker_.problem.dimension))
        return weights.scores(rows, mean=True)

    def decision_function(self, X: object) -> Floats:
        """Return the scores: of each class, grade or label."""
        return self.scores(X)

    def predict(self, X: object) -> NDArray[Any]:
        """Return the predicted label of each row."""
        decode = self.ranker_.problem.decode if hasattr(self, "ranker_") else None
        scores = self.scores(X)
        return self._decode([decode(t) for t in scores] if decode else [])

    def margins(self, X: object, y: ArrayLike) -> Floats:
        """Return by how much each row's label is ahead of the best wrong prediction."""
        scores, labels = self.scores(X), self._encode(y)
        problem = self.ranker_.problem
        return np.array([problem.margin(t, label) for t, label in zip(scores, labels, strict=True)])

    def score(self, X: object, y: ArrayLike) -> float:
        """Return the share of rows that are predicted correctly."""
        right = self.predict(X) == np.asarray(y)
        return float(right.reshape(len(right), -1).all(axis=1).mean())

    def _begin(
        self, X: object, y: ArrayLike, classes: ArrayLike | None
    ) -> tuple[Floats, list[Any]]:
        matrix = as_matrix(X)
        check_not_empty(matrix)
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None: give "
                "one label per row"
            )
        problem = self._problem(y, classes)
        ranker = Predtron(
            problem,
            geometry=self.geometry,
            rule=self.rule,
            rate=self.rate,
            kernel=self.kernel,
            budget=self.budget,
            average=self.average,
        )
        width = matrix.shape[1] + bool(self.intercept)
        ranker.geometry.check((problem.dimension, width))
        labels = self._encode(y)
        self._check_rows(matrix, labels)
        self.ranker_, self.n_features_in_ = ranker, matrix.shape[1]
        return self._rows(matrix), labels

    def _go_on(self, rows: Floats, labels: list[object], order: NDArray[np.int64]) -> None:
        for i in order:
            self.ranker_.learn(rows[i], labels[i])

    def _rows(self, X: object) -> Floats:
        if not hasattr(self, "ranker_"):
            raise NotFittedError(f"{type(self).__name__} has learnt nothing yet; call fit")
        rows = as_matrix(X).astype(np.float64)
        if rows.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return np.hstack([rows, np.ones((len(rows), 1))]) if self.intercept else rows

    @staticmethod
    def _check_rows(rows: Sized, labels: Sized) -> None:
        if len(rows) != len(labels):
            raise DataError(f"y has {len(labels):,} values for {len(rows):,} rows")

    def get_metadata_routing(self) -> MetadataRequest:
        """Tell scikit-learn that there is nothing to route."""
        from sklearn.utils.metadata_routing import MetadataRequest

        return MetadataRequest(owner=self)
