"""Multilabel ranking by Predtron as a scikit-learn estimator."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.rankers.predtron.labels import label_rows
from rankloop.rankers.predtron.problems.multilabel_ranking import MultilabelRanking
from rankloop.rankers.predtron.rows import RowEstimator

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray
    from sklearn.utils import Tags

    from rankloop.measures.measure import Measure
    from rankloop.rankers.predtron.decreasing import Decreasing
    from rankloop.rankers.predtron.problem import Floats
    from rankloop.rankers.predtron.weights import Kernel


class PredtronLabelRanker(RowEstimator):
    """Ranks the labels of each row by relevance; y has a grade for each row and label.

    :class:`PredtronMultilabel` predicts which labels a row has; this one predicts their order.

    Parameters
    ----------
    f : how a position is represented, see :class:`MultilabelRanking`
    measure : `nDCG`, `nDCG@k` or `P@k`
    the others : see :class:`RowEstimator`

    Notes
    -----
    Cost: O(k d) per row for k labels, and for each step an assignment of at most O(k^3).

    Examples
    --------
    >>> X = np.array([[1.0, 0], [0, 1], [1, 1], [0.2, 1]])
    >>> y = [[2, 1, 0], [0, 1, 2], [1, 2, 1], [0, 1, 2]]
    >>> model = PredtronLabelRanker(passes=50).fit(X, y)
    >>> model.predict([[1, 0], [0, 2]]).tolist()
    [[0, 1, 2], [2, 1, 0]]
    >>> model.score(X, y)
    1.0

    References
    ----------
    Predtron (see :class:`Predtron`): section 5, Corollaries 7 and 8.
    """

    def __init__(
        self,
        f: Decreasing = "-i^1.1",
        measure: str | Measure = "nDCG",
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
        self.f = f
        self.measure = measure
        self.geometry = geometry
        self.rule = rule
        self.rate = rate
        self.kernel = kernel
        self.budget = budget
        self.average = average
        self.intercept = intercept
        self.passes = passes
        self.random_state = random_state

    def _problem(self, y: object, classes: object) -> MultilabelRanking:  # noqa: ARG002
        grades = _grade_matrix(y)
        self._width = grades.shape[1]
        top = max(float(grades.max(initial=0)), 1.0)
        return MultilabelRanking(self._width, self.f, self.measure, top)

    def _encode(self, y: object) -> list[Floats]:
        return label_rows(_grade_matrix(y), self._width)

    def _decode(self, predictions: list[object]) -> NDArray[np.int64]:
        """Return the labels of each row, best first, counted from 0."""
        ranks = np.array(predictions, np.int64).reshape(len(predictions), self._width)
        return np.argsort(ranks, axis=1)

    def score(self, X: object, y: ArrayLike) -> float:
        """Return the mean of the measure; rows without a relevant label count as 1."""
        scores, labels = self.scores(X), self._encode(y)
        problem = self.ranker_.problem
        lost = [problem.loss(problem.decode(t), r) for t, r in zip(scores, labels, strict=True)]
        return 1.0 - float(np.mean(lost))

    def __sklearn_tags__(self) -> Tags:
        """Tell scikit-learn that this predicts several numbers at a time."""
        tags = super().__sklearn_tags__()
        tags.target_tags.single_output, tags.target_tags.multi_output = False, True
        return tags


def _grade_matrix(y: object) -> Floats:
    """Return grades as a matrix with one column per label."""
    array = np.asarray(y.toarray() if hasattr(y, "toarray") else y)
    fits = array.ndim == 2 and array.shape[1] >= 2 and array.dtype.kind in "buif"
    grades = array.astype(np.float64) if fits else np.full((1, 1), np.nan)
    if not (np.isfinite(grades) & (grades >= 0)).all():
        raise DataError(
            "y must be a matrix of grades of at least 0, with one row per row of X "
            f"and at least two columns; found {array.dtype} of shape {array.shape}"
        )
    return grades
