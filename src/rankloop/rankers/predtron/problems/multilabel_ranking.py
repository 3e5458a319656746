"""Multilabel ranking: the labels of an input in order of relevance, by a weight matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop.exceptions import DataError
from rankloop.rankers.parameters import check_number, check_whole
from rankloop.rankers.predtron.problems.ranking import RankingProblem
from rankloop.rankers.predtron.problems.subset_ranking import least_ranking_loss

if TYPE_CHECKING:
    from rankloop.measures.measure import Measure
    from rankloop.rankers.predtron.decreasing import Decreasing
    from rankloop.rankers.predtron.problem import Floats


class MultilabelRanking(RankingProblem):
    """Rank m labels for an input vector x by the scores W x; a label is a grade for each.

    Parameters
    ----------
    n_labels : m, at least 2
    f, measure : see :class:`RankingProblem`
    top_grade : the highest grade, for `smallest_loss`; 1 where labels are in or out

    Examples
    --------
    >>> import numpy as np
    >>> problem = MultilabelRanking(4, measure="P@2")
    >>> problem.loss(problem.decode(np.array([0.4, 0.3, 0.2, 0.1])), np.array([1.0, 0, 1, 0]))
    0.5

    References
    ----------
    Predtron: section 5, Corollaries 7 and 8.
    """

    def __init__(
        self,
        n_labels: int,
        f: Decreasing = "-i^1.1",
        measure: str | Measure = "nDCG",
        top_grade: float = 1.0,
    ) -> None:
        super().__init__(f, measure)
        check_whole("n_labels", n_labels, 2)
        check_number("top_grade", top_grade, above=True)
        self.dimension = n_labels
        self.top_grade = top_grade
        self.smallest_loss = least_ranking_loss(n_labels, top_grade, self.measure.name == "P")

    def check(self, label: object) -> Floats:
        """Labels are a grade for each of m labels."""
        grades = super().check(label)
        if len(grades) != self.dimension:
            raise DataError(f"a label must be {self.dimension} grades; found {len(grades)}")
        return grades
