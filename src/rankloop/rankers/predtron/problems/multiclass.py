"""Multiclass classification: 0-1, or with the option to reject."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.exceptions import DataError
from rankloop.rankers.parameters import check_number, check_whole
from rankloop.rankers.predtron.problem import Listed

if TYPE_CHECKING:
    from collections.abc import Sequence


class Multiclass(Listed):
    """One of m classes, from 0; rep = basis vectors, so that the highest score decides.

    With the 0-1 loss the surrogate is the hinge of Crammer and Singer,
    max(0, 1 + max_{j != y} t_j - t_y).

    Parameters
    ----------
    n_classes : m, at least 2
    weights : what a mistake costs on each label, above 0; default: 1
    reject : what it costs to reject, above 0, at most 1; None: no such prediction. Else prediction
        m rejects, and is represented by the normalised sum of all classes.

    Examples
    --------
    >>> Multiclass(3).surrogate(np.array([0.5, 0.25, 0.0]), 0)
    0.75
    >>> Multiclass(3, reject=0.1).decode(np.array([0.5, 0.45, 0.4]))
    3

    References
    ----------
    Predtron: section 3. Crammer and Singer, On the algorithmic implementation of multiclass
    kernel-based vector machines (2001).
    """

    def __init__(
        self, n_classes: int, weights: Sequence[float] | None = None, reject: float | None = None
    ) -> None:
        check_whole("n_classes", n_classes, 2)
        each = [1.0] * n_classes if weights is None else list(weights)
        if len(each) != n_classes:
            raise DataError(f"one weight per class is needed: {n_classes}; found {len(each)}")
        for weight in each:
            check_number("a weight", weight, above=True)
        losses, codes = (1 - np.eye(n_classes)) * each, np.eye(n_classes)
        if reject is not None:
            check_number("reject", reject, 0, 1, above=True)
            losses = np.vstack([losses, np.full(n_classes, reject)])
            codes = np.vstack([codes, np.full(n_classes, 1 / np.sqrt(n_classes))])
        super().__init__(losses, codes)
