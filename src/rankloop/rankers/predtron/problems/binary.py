"""Binary classification: 0-1, weighted, or with the option to reject."""

from __future__ import annotations

import numpy as np

from rankloop.rankers.parameters import check_number
from rankloop.rankers.predtron.problem import Listed


class Binary(Listed):
    """Labels 0 and 1; a mistake on label y costs weights[y].

    rep = -1 and 1, so the scores have one entry, whose sign decides. Algorithm 1 is then the
    perceptron: on a mistake W moves by 2 rate along the input. A score of 0 decides for 0.

    Parameters
    ----------
    weights : what a mistake costs on label 0 and on label 1, above 0

    Examples
    --------
    >>> problem = Binary()
    >>> problem.decode(np.array([0.7])), problem.surrogate(np.array([0.2]), 1)
    (1, 0.6)

    References
    ----------
    Predtron: section 3, Corollary 2.
    """

    def __init__(self, weights: tuple[float, float] = (1.0, 1.0)) -> None:
        for weight in weights:
            check_number("a weight", weight, above=True)
        super().__init__([[0, weights[1]], [weights[0], 0]], [[-1.0], [1.0]])


class BinaryReject(Listed):
    """Labels 0 and 1, predictions 0, 1 and 2: reject, which costs costs[y].

    rep is a basis vector of the plane for each label, and their normalised sum for rejection: it
    wins where both scores are above 0 and close.

    A ranker that starts from 0 seldom gets there. A step from one class to the other keeps the
    sum of their scores, which so stays 0, and then one of them is ahead of rejection (in the
    Euclidean, group and Schatten geometries). The bound holds all the same: it counts mistakes.

    Parameters
    ----------
    costs : of rejecting on label 0 and on label 1, above 0, at most 1 (that of a mistake)

    Examples
    --------
    >>> problem = BinaryReject((0.2, 0.2))
    >>> [problem.decode(np.array(t)) for t in ([1.0, 0.1], [1.0, 0.9], [0.1, 1.0])]
    [0, 2, 1]

    References
    ----------
    Predtron: section 3.
    """

    def __init__(self, costs: tuple[float, float] = (0.25, 0.25)) -> None:
        for cost in costs:
            check_number("a cost of rejecting", cost, 0, 1, above=True)
        codes = np.vstack([np.eye(2), np.full(2, np.sqrt(0.5))])
        super().__init__([[0.0, 1.0], [1.0, 0.0], [costs[0], costs[1]]], codes)
