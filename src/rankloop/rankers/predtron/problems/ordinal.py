"""Ordinal regression: classes in an order, where a near miss costs less."""

from __future__ import annotations

import numpy as np

from rankloop.rankers.parameters import check_whole
from rankloop.rankers.predtron.problem import Listed


class Ordinal(Listed):
    """Grades 0 to m - 1 with loss |prediction - label|, reduced to multiclass classification.

    Unlike PRank, which has one weight vector and thresholds, each grade has its own weights, so
    grades need not be in order along one direction.

    Parameters
    ----------
    n_grades : m, at least 2

    Examples
    --------
    >>> problem = Ordinal(4)
    >>> problem.largest_loss, problem.decode_augmented(np.zeros(4), 1)
    (3.0, 3)

    References
    ----------
    Predtron: section 3. Crammer and Singer, Pranking with ranking (2001).
    """

    def __init__(self, n_grades: int) -> None:
        check_whole("n_grades", n_grades, 2)
        grades = np.arange(n_grades)
        super().__init__(np.abs(grades[:, None] - grades), np.eye(n_grades))
