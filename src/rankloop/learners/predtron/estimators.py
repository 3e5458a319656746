"""Predtron as scikit-learn estimators: classes, sets of labels, ordered grades.

They are not rankers: rows stand alone, and there are no queries. The ranker is in `ranker.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from rankloop.data.validation import as_matrix
from rankloop.exceptions import DataError, NotFittedError
from rankloop.learners.estimator import Estimator
from rankloop.learners.parameters import check_whole
from rankloop.learners.predtron.learner import Predtron
from rankloop.learners.predtron.problems.binary import Binary, BinaryReject
from rankloop.learners.predtron.problems.multiclass import Multiclass
from rankloop.learners.predtron.problems.multilabel import ErrorSetSize, Hamming, SubsetZeroOne
from rankloop.learners.predtron.problems.ordinal import Ordinal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from rankloop.learners.predtron.problem import Floats, Problem
    from rankloop.learners.predtron.problems.multilabel import Multilabel
    from rankloop.learners.predtron.weights import Kernel


class _PredtronEstimator(Estimator, ABC):
    """Fit, go on, score and predict rows, one after the other.

    A subclass makes the problem from the labels, and turns labels into numbers and back. It has
    the parameters

    geometry, rule, rate, kernel, average : see :class:`Predtron`
    intercept : whether to add a constant feature
    passes : how often `fit` goes through the data, at least 1
    random_state : seed of the order of rows in `fit`, another one each pass; None: as given

    Attributes
    ----------
    learner_ : the :class:`Predtron`
    n_features_in_ : number of features
    """

    geometry: str
    rule: str
    rate: float
    kernel: Kernel | None
    average: bool
    intercept: bool
    passes: int
    random_state: int | None
    learner_: Predtron
    n_features_in_: int

    @abstractmethod
    def _problem(self, y: Any, classes: Any) -> Problem:
        """Return the problem that labels belong to; remember what they are called."""

    @abstractmethod
    def _encode(self, y: Any) -> list[Any]:
        """Return labels as the problem takes them."""

    @abstractmethod
    def _decode(self, predictions: list[Any]) -> NDArray[Any]:
        """Return predictions as labels."""

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Learn from nothing: `passes` times through the rows."""
        check_whole("passes", self.passes)
        rows, labels = self._begin(X, y, None)
        order = np.arange(len(rows))
        rng = None if self.random_state is None else np.random.default_rng(self.random_state)
        for _ in range(self.passes):
            self._go_on(rows, labels, order if rng is None else rng.permutation(order))
        return self

    def partial_fit(self, X: Any, y: ArrayLike, classes: ArrayLike | None = None) -> Self:
        """Go on learning, once through the rows; the first call says which classes there are.

        Parameters
        ----------
        X, y : rows and their labels
        classes : all classes that will ever come; default: those of the first y
        """
        if not hasattr(self, "learner_"):
            rows, labels = self._begin(X, y, classes)
        else:
            rows, labels = self._rows(X), self._encode(y)
            self._check_rows(rows, labels)
        self._go_on(rows, labels, np.arange(len(rows)))
        return self

    def scores(self, X: Any) -> Floats:
        """Return the score vectors t of rows, one a row."""
        rows = self._rows(X)
        weights = self.learner_.weights
        if weights is None:
            return np.zeros((len(rows), self.learner_.problem.dimension))
        return weights.scores(rows, mean=True)

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the predicted label of each row."""
        decode = self.learner_.problem.decode if hasattr(self, "learner_") else None
        scores = self.scores(X)
        return self._decode([decode(t) for t in scores] if decode else [])

    def margins(self, X: Any, y: ArrayLike) -> Floats:
        """Return by how much each row's label is ahead of the best wrong prediction."""
        scores, labels = self.scores(X), self._encode(y)
        problem = self.learner_.problem
        return np.array([problem.margin(t, label) for t, label in zip(scores, labels, strict=True)])

    def score(self, X: Any, y: ArrayLike) -> float:
        """Return the share of rows that are predicted right."""
        right = self.predict(X) == np.asarray(y)
        return float(right.reshape(len(right), -1).all(axis=1).mean())

    def _begin(self, X: Any, y: ArrayLike, classes: ArrayLike | None) -> tuple[Floats, list[Any]]:
        matrix = as_matrix(X)
        if len(matrix) == 0:
            raise DataError(f"X has 0 rows: {type(self).__name__} has nothing to learn from")
        if y is None:
            raise DataError("y is needed: one label a row")
        problem = self._problem(y, classes)
        learner = Predtron(
            problem,
            geometry=self.geometry,
            rule=self.rule,
            rate=self.rate,
            kernel=self.kernel,
            average=self.average,
        )
        width = matrix.shape[1] + bool(self.intercept)
        learner.geometry.check((problem.dimension, width))
        labels = self._encode(y)
        self._check_rows(matrix, labels)
        self.learner_, self.n_features_in_ = learner, matrix.shape[1]
        return self._rows(matrix), labels

    def _go_on(self, rows: Floats, labels: list[Any], order: NDArray[np.int64]) -> None:
        for i in order:
            self.learner_.learn(rows[i], labels[i])

    def _rows(self, X: Any) -> Floats:
        if not hasattr(self, "learner_"):
            raise NotFittedError(f"{type(self).__name__} has learnt nothing yet; call fit")
        rows = as_matrix(X).astype(np.float64)
        if rows.shape[1] != self.n_features_in_:
            raise DataError(
                f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return np.hstack([rows, np.ones((len(rows), 1))]) if self.intercept else rows

    @staticmethod
    def _check_rows(rows: NDArray[Any], labels: list[Any]) -> None:
        if len(rows) != len(labels):
            raise DataError(f"y has {len(labels):,} values for {len(rows):,} rows")

    def get_metadata_routing(self) -> Any:
        """Tell scikit-learn that there is nothing to route."""
        from sklearn.utils.metadata_routing import MetadataRequest

        return MetadataRequest(owner=self)


class PredtronClassifier(_PredtronEstimator):
    """Classes by perceptron, with costs and the option to reject.

    Parameters
    ----------
    class_weight : what a mistake costs on each label, by label; others cost 1
    reject : what it costs to say nothing, above 0, at most 1; None: always a class
    reject_label : what `predict` says then
    geometry, rule, rate, kernel, average, intercept, passes, random_state : see above

    Attributes
    ----------
    classes_ : sorted

    Notes
    -----
    Cost: O(k d) a row for k classes; two classes without rejection share one weight vector.

    Examples
    --------
    >>> X, y = [[0.0, 1], [0, 2], [3, 0], [2, 0]], ["left", "left", "right", "right"]
    >>> model = PredtronClassifier().fit(X, y)
    >>> model.predict([[0, 3], [4, 0]]).tolist()
    ['left', 'right']
    >>> bool((model.margins(X, y) > 0).all())
    True

    References
    ----------
    Predtron (see :class:`Predtron`): section 3.
    """

    classes_: NDArray[Any]

    def __init__(
        self,
        class_weight: Mapping[Any, float] | None = None,
        reject: float | None = None,
        reject_label: Any = -1,
        geometry: str = "euclidean",
        rule: str = "predtron",
        rate: float = 1.0,
        kernel: Kernel | None = None,
        average: bool = True,
        intercept: bool = True,
        passes: int = 10,
        random_state: int | None = 0,
    ) -> None:
        self.class_weight = class_weight
        self.reject = reject
        self.reject_label = reject_label
        self.geometry = geometry
        self.rule = rule
        self.rate = rate
        self.kernel = kernel
        self.average = average
        self.intercept = intercept
        self.passes = passes
        self.random_state = random_state

    def _problem(self, y: Any, classes: Any) -> Problem:
        found = _classes(y if classes is None else classes)
        weights = [float((self.class_weight or {}).get(name, 1.0)) for name in found.tolist()]
        if len(found) == 2 and self.reject is None:
            problem: Problem = Binary((weights[0], weights[1]))
        elif len(found) == 2 and self.class_weight is None:
            problem = BinaryReject((self.reject, self.reject))  # type: ignore[arg-type]
        else:
            problem = Multiclass(len(found), weights, self.reject)
        self.classes_ = found
        return problem

    def _encode(self, y: Any) -> list[int]:
        return _encoded(y, self.classes_)

    def _decode(self, predictions: list[int]) -> NDArray[Any]:
        found = np.array(predictions, np.int64)
        rejected = found == len(self.classes_)
        if not rejected.any():
            return self.classes_[found]
        names = self.classes_[np.where(rejected, 0, found)].astype(object)
        names[rejected] = self.reject_label
        return np.array(names.tolist())

    def decision_function(self, X: Any) -> Floats:
        """Return the scores: (n, k), or (n,) for two classes, above 0 for the second."""
        scores = self.scores(X)
        if len(self.classes_) > 2:
            return scores
        return scores[:, 0] if scores.shape[1] == 1 else scores[:, 1] - scores[:, 0]

    def __sklearn_tags__(self) -> Any:
        """Tell scikit-learn that this is a classifier."""
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags


class PredtronOrdinal(_PredtronEstimator):
    """Ordered grades by perceptron, where being far off costs more.

    Parameters
    ----------
    geometry, rule, rate, kernel, average, intercept, passes, random_state : see above

    Attributes
    ----------
    classes_ : the grades in order

    Notes
    -----
    Cost: O(k d) a row for k grades.

    Examples
    --------
    >>> X, y = [[0.0], [1], [2], [10], [11], [20], [21]], [1, 1, 1, 3, 3, 5, 5]
    >>> PredtronOrdinal(passes=200).fit(X, y).predict([[0.5], [10.5], [20.5]])
    array([1, 3, 5])

    References
    ----------
    Predtron (see :class:`Predtron`): section 3.
    """

    classes_: NDArray[Any]

    def __init__(
        self,
        geometry: str = "euclidean",
        rule: str = "predtron",
        rate: float = 1.0,
        kernel: Kernel | None = None,
        average: bool = True,
        intercept: bool = True,
        passes: int = 10,
        random_state: int | None = 0,
    ) -> None:
        self.geometry = geometry
        self.rule = rule
        self.rate = rate
        self.kernel = kernel
        self.average = average
        self.intercept = intercept
        self.passes = passes
        self.random_state = random_state

    def _problem(self, y: Any, classes: Any) -> Problem:
        self.classes_ = _classes(y if classes is None else classes)
        return Ordinal(len(self.classes_))

    def _encode(self, y: Any) -> list[int]:
        return _encoded(y, self.classes_)

    def _decode(self, predictions: list[int]) -> NDArray[Any]:
        return self.classes_[np.array(predictions, np.int64)]

    def decision_function(self, X: Any) -> Floats:
        """Return the score of each grade, (n, k)."""
        return self.scores(X)


class PredtronMultilabel(_PredtronEstimator):
    """Sets of labels by perceptron; y has a row of 0 and 1 for each row of X.

    Parameters
    ----------
    loss : `hamming` (labels that are wrong), `subset` (1 unless all are right) or `error-set`
        (pairs of a missed label and a wrong one)
    geometry, rule, rate, kernel, average, intercept, passes, random_state : see above

    Notes
    -----
    Cost: O(k d) a row for k labels, with `error-set` O(k d + k^2).

    Examples
    --------
    >>> X = np.array([[1.0, 0], [0, 1], [1, 1], [0, 0]])
    >>> model = PredtronMultilabel(passes=50).fit(X, X.astype(int))
    >>> model.predict(X).tolist()
    [[1, 0], [0, 1], [1, 1], [0, 0]]

    References
    ----------
    Predtron (see :class:`Predtron`): section 3.
    """

    def __init__(
        self,
        loss: str = "hamming",
        geometry: str = "euclidean",
        rule: str = "predtron",
        rate: float = 1.0,
        kernel: Kernel | None = None,
        average: bool = True,
        intercept: bool = True,
        passes: int = 10,
        random_state: int | None = 0,
    ) -> None:
        self.loss = loss
        self.geometry = geometry
        self.rule = rule
        self.rate = rate
        self.kernel = kernel
        self.average = average
        self.intercept = intercept
        self.passes = passes
        self.random_state = random_state

    def _problem(self, y: Any, classes: Any) -> Problem:  # noqa: ARG002
        losses: dict[str, type[Multilabel]] = {
            "hamming": Hamming,
            "subset": SubsetZeroOne,
            "error-set": ErrorSetSize,
        }
        if self.loss not in losses:
            raise DataError(f"loss must be one of {', '.join(losses)}; found {self.loss!r}")
        self._width = _label_matrix(y).shape[1]
        return losses[self.loss](self._width)

    def _encode(self, y: Any) -> list[NDArray[np.bool_]]:
        found = _label_matrix(y)
        if found.shape[1] != self._width:
            raise DataError(f"y has {found.shape[1]} labels, not {self._width} as before")
        return list(found)

    def _decode(self, predictions: list[Any]) -> NDArray[Any]:
        return np.array(predictions, np.int64).reshape(len(predictions), self._width)

    def decision_function(self, X: Any) -> Floats:
        """Return the score of each label, (n, k), above 0 where it is predicted."""
        return self.scores(X)


def _classes(y: Any) -> NDArray[Any]:
    found = np.unique(_one_each(y))
    if len(found) < 2:
        raise DataError(f"y has {len(found)} class: at least two are needed to tell apart")
    return found


def _encoded(y: Any, classes: NDArray[Any]) -> list[int]:
    labels = _one_each(y)
    unknown = ~np.isin(labels, classes)
    if unknown.any():
        raise DataError(f"label {labels[unknown][0]!r} is not one of the classes {classes}")
    numbers: list[int] = np.searchsorted(classes, labels).tolist()
    return numbers


def _one_each(y: Any) -> NDArray[Any]:
    labels = np.asarray(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        labels = labels[:, 0]
    if labels.ndim != 1:
        raise DataError(f"y must have one label a row; found {labels.ndim} axes")
    if labels.dtype.kind == "f" and not np.isfinite(labels).all():
        raise DataError("y contains NaN or infinity")
    return labels


def _label_matrix(y: Any) -> NDArray[np.bool_]:
    found = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
    if found.ndim != 2 or not np.isin(found, (0, 1)).all():
        raise DataError(f"y must be a matrix of 0 and 1, one row a row; found {found.ndim} axes")
    return found.astype(bool)
