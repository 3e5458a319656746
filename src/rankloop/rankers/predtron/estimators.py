"""Predtron as scikit-learn estimators: classes, sets of labels, ordered grades.

They are not rankers: rows are independent, and there are no queries. The ranker is in `ranker.py`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.exceptions import DataError
from rankloop.rankers.predtron.labels import classes_of, encode_labels, label_matrix, label_rows
from rankloop.rankers.predtron.problems.binary import Binary
from rankloop.rankers.predtron.problems.multiclass import Multiclass
from rankloop.rankers.predtron.problems.multilabel import ErrorSetSize, Hamming, SubsetZeroOne
from rankloop.rankers.predtron.problems.ordinal import Ordinal
from rankloop.rankers.predtron.rows import RowEstimator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray
    from sklearn.utils import Tags

    from rankloop.rankers.predtron.problem import Floats, Problem
    from rankloop.rankers.predtron.problems.multilabel import Multilabel
    from rankloop.rankers.predtron.weights import Kernel


class PredtronClassifier(RowEstimator):
    """A perceptron for classification, with costs.

    It has no option to reject, because :class:`BinaryReject` hardly ever uses it;
    `decision_function` shows how certain a prediction is.

    Parameters
    ----------
    class_weight : the cost of a mistake, by label; other labels cost 1
    the others : see :class:`RowEstimator`

    Attributes
    ----------
    classes_ : the classes, sorted

    Notes
    -----
    Cost: O(k d) per row for k classes; two classes share one weight vector.

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
        class_weight: Mapping[object, float] | None = None,
        geometry: str = "euclidean",
        rule: str = "predtron",
        rate: float = 1.0,
        kernel: str | Kernel | None = None,
        budget: int | None = None,
        average: bool = True,
        intercept: bool = True,
        passes: int = 10,
        random_state: int | None = 0,
    ) -> None:
        self.class_weight = class_weight
        self.geometry = geometry
        self.rule = rule
        self.rate = rate
        self.kernel = kernel
        self.budget = budget
        self.average = average
        self.intercept = intercept
        self.passes = passes
        self.random_state = random_state

    def _problem(self, y: object, classes: object) -> Problem:
        known = classes_of(y if classes is None else classes)
        if known.dtype.kind == "f" and (known % 1 != 0).any():
            raise DataError("Unknown label type: y has fractions; give whole numbers or names")
        weights = [float((self.class_weight or {}).get(name, 1.0)) for name in known.tolist()]
        two = len(known) == 2
        problem = Binary((weights[0], weights[1])) if two else Multiclass(len(known), weights)
        self.classes_ = known
        return problem

    def _encode(self, y: object) -> list[int]:
        return encode_labels(y, self.classes_)

    def _decode(self, predictions: list[int]) -> NDArray[Any]:
        return self.classes_[np.array(predictions, np.int64)]

    def decision_function(self, X: object) -> Floats:
        """Return the scores: (n, k), or (n,) for two classes, above 0 for the second."""
        scores = self.scores(X)
        return scores if len(self.classes_) > 2 else scores[:, 0]

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that this is a classifier."""
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags


class PredtronOrdinal(RowEstimator):
    """A perceptron for ordered grades; the cost of a mistake grows with its distance.

    Its parameters are those of :class:`RowEstimator`.

    Attributes
    ----------
    classes_ : the grades in order

    Notes
    -----
    Cost: O(k d) per row for k grades.

    Examples
    --------
    >>> X, y = [[-2.1], [-2], [-1.9], [0], [0.1], [2], [2.1]], [1, 1, 1, 3, 3, 5, 5]
    >>> PredtronOrdinal(passes=50).fit(X, y).predict([[-1.8], [0.05], [2.2]])
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
        kernel: str | Kernel | None = None,
        budget: int | None = None,
        average: bool = True,
        intercept: bool = True,
        passes: int = 10,
        random_state: int | None = 0,
    ) -> None:
        self.geometry = geometry
        self.rule = rule
        self.rate = rate
        self.kernel = kernel
        self.budget = budget
        self.average = average
        self.intercept = intercept
        self.passes = passes
        self.random_state = random_state

    def _problem(self, y: object, classes: object) -> Problem:
        self.classes_ = classes_of(y if classes is None else classes)
        return Ordinal(len(self.classes_))

    def _encode(self, y: object) -> list[int]:
        return encode_labels(y, self.classes_)

    def _decode(self, predictions: list[int]) -> NDArray[Any]:
        return self.classes_[np.array(predictions, np.int64)]


class PredtronMultilabel(RowEstimator):
    """A perceptron for sets of labels; y has a row of 0 and 1 for each row of X.

    Parameters
    ----------
    loss : `hamming` (labels that are wrong), `subset` (1 unless all are right) or `error-set`
        (pairs of a missed label and a wrong one)
    the others : see :class:`RowEstimator`

    Notes
    -----
    Cost: O(k d) per row for k labels, with `error-set` O(k d + k^2).

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
        kernel: str | Kernel | None = None,
        budget: int | None = None,
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
        self.budget = budget
        self.average = average
        self.intercept = intercept
        self.passes = passes
        self.random_state = random_state

    def _problem(self, y: object, classes: object) -> Problem:  # noqa: ARG002
        losses: dict[str, type[Multilabel]] = {
            "hamming": Hamming,
            "subset": SubsetZeroOne,
            "error-set": ErrorSetSize,
        }
        if self.loss not in losses:
            raise DataError(f"loss must be one of {', '.join(losses)}; found {self.loss!r}")
        self._width = label_matrix(y).shape[1]
        return losses[self.loss](self._width)

    def _encode(self, y: object) -> list[NDArray[np.bool_]]:
        return label_rows(label_matrix(y), self._width)

    def _decode(self, predictions: list[Any]) -> NDArray[np.int64]:
        return np.array(predictions, np.int64).reshape(len(predictions), self._width)

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that this predicts several labels at a time."""
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type = "classifier"
        tags.classifier_tags = ClassifierTags(multi_class=False, multi_label=True)
        tags.target_tags.single_output, tags.target_tags.multi_output = False, True
        return tags
