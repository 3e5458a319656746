"""Subset ranking: the documents of a query by one weight vector."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from rankloop.exceptions import DataError
from rankloop.rankers.parameters import check_number, check_whole
from rankloop.rankers.predtron.problems.ranking import RankingProblem

if TYPE_CHECKING:
    from rankloop.measures.measure import Measure
    from rankloop.rankers.predtron.decreasing import Decreasing


class SubsetRanking(RankingProblem):
    """Rank the rows of a matrix X, learning from one grade per row; scores are X w.

    Parameters
    ----------
    f, measure : see :class:`RankingProblem`
    n_documents, top_grade : the most a query has, for `smallest_loss` alone

    Examples
    --------
    >>> import numpy as np
    >>> problem = SubsetRanking("-i")
    >>> grades, scores = np.array([0.0, 2, 1]), np.array([0.1, 0.3, 0.2])
    >>> problem.loss(problem.decode(scores), grades)
    0.0
    >>> problem.decode_augmented(scores, grades)  # the opposite: its loss outweighs the scores
    array([0, 2, 1])
    >>> problem.decode_augmented(100 * scores, grades)
    array([2, 0, 1])

    References
    ----------
    Predtron: section 4, Lemmas 3 and 4, Corollaries 5 and 6.
    """

    shared: ClassVar[bool] = True
    dimension = 0

    def __init__(
        self,
        f: Decreasing = "-i^1.1",
        measure: str | Measure = "nDCG",
        n_documents: int | None = None,
        top_grade: float | None = None,
    ) -> None:
        super().__init__(f, measure)
        if n_documents is not None:
            check_whole("n_documents", n_documents)
        if top_grade is not None:
            check_number("top_grade", top_grade, above=True)
        self.n_documents, self.top_grade = n_documents, top_grade

    @property
    def smallest_loss(self) -> float:  # type: ignore[override]
        """A lower bound of the smallest loss that is not 0, see :func:`least_ranking_loss`."""
        if self.n_documents is None or self.top_grade is None:
            raise DataError("smallest_loss of rankings needs n_documents and top_grade: give both")
        return least_ranking_loss(self.n_documents, self.top_grade, self.measure.name == "P")


def least_ranking_loss(m: int, top_grade: float, precision: bool = False) -> float:
    """Return a lower bound of 1 - nDCG where it is not 0, for m documents of whole grades.

    The paper's: 1 / (2^(top + 1) m^2 log2(2m)^2). Some neighbours are out of order, which costs at
    least (G - G')(D(p) - D(p + 1)) >= D(m - 1) - D(m) >= 1 / (m log2(2m)^2) of an ideal DCG of at
    most 2^top m. For P@k it is 1 / m.
    """
    if precision:
        return 1 / m
    return 1 / (2 ** (top_grade + 1) * m**2 * math.log2(2 * m) ** 2)
