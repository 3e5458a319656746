"""SLAM: large-margin listwise surrogates of nDCG and AP."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from rankloop.exceptions import DataError, MeasureError
from rankloop.losses.base import QueryLoss, rivals
from rankloop.measures.measure import AP, Measure, parse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.losses.base import Floats


@dataclass(frozen=True)
class SlamLoss(QueryLoss):
    """An upper bound on 1 - nDCG, 1 - nDCG@k or 1 - AP.

    sum_i v_i max(0, margin + max_{j: R_j < R_i} s_j - s_i),

    where i numbers the documents by grade, best first, and within a grade by score, highest first;
    v_i = G(R_i) D(i) / Z for nDCG (only i <= k for nDCG@k), and 1/r for each of the r relevant
    documents for AP.

    Where we depart: the scores decide which document of a grade gets which weight, so the loss for
    nDCG is the smallest over the orders within grades, and it is not convex, contrary to the
    paper's Lemma 3. With `mean`, all documents of a grade get the mean of their weights. Then the
    loss is convex, and still an upper bound: it is the mean over those orders. Grades above 0 count
    as 1 in AP.

    Parameters
    ----------
    measure : `nDCG`, `nDCG@k` or `AP`
    margin : at least 0; the bound holds for margins of at least 1
    within_grade : weights by `score`, as in the paper, or their `mean`

    Notes
    -----
    Cost: O(m log m).

    Examples
    --------
    >>> SlamLoss("nDCG@1").value(np.array([0.0, 0.25]), np.array([1.0, 0.0]))
    1.25

    References
    ----------
    Chaudhuri and Tewari, Perceptron-like algorithms for online learning to rank: eq. 9-11, 13, 24.
    """

    measure: str | Measure = "nDCG"
    margin: float = 1.0
    within_grade: Literal["score", "mean"] = "score"

    def __post_init__(self) -> None:
        measure = parse(self.measure)
        if measure != AP and (measure.name != "nDCG" or measure.parameters):
            raise MeasureError(f"the measure of SLAM must be nDCG, nDCG@k or AP; found {measure}")
        if not 0 <= self.margin < float("inf"):
            raise DataError(f"margin must be a number of at least 0; found {self.margin}")
        if self.within_grade not in ("score", "mean"):
            raise DataError(f"within_grade must be score or mean; found {self.within_grade!r}")

    @property
    def smooth(self) -> bool:
        """Return False: where a hinge bends, the gradient is only a subgradient."""
        return False

    @property
    def convex(self) -> bool:
        """Return whether all documents of a grade have the same weight; only then it is convex."""
        return parse(self.measure) == AP or self.within_grade == "mean"

    def weights(self, s: Floats, R: Floats) -> Floats:
        """Return v for the judged documents, in their order; all 0 if no document is relevant."""
        measure = parse(self.measure)
        if measure == AP:
            relevant = R > 0
            return np.asarray(relevant / max(relevant.sum(), 1))
        order = np.lexsort((-s, -R))
        i = np.arange(1, len(s) + 1)
        D = np.where(i <= (measure.cutoff or len(s)), 1 / np.log2(1 + i), 0)
        G = np.exp2(R) - 1
        Z = G[order] @ D
        v = np.zeros(len(s))
        if Z > 0:
            v[order] = G[order] * D / Z
        if self.within_grade == "mean":
            grades, grade = np.unique(R, return_inverse=True)
            v = (np.bincount(grade, v) / np.bincount(grade))[grade] if len(grades) else v
        return v

    def _value(self, s: Floats, R: Floats) -> float:
        v, c, _ = self._terms(s, R)
        return float(v @ c)

    def _gradient(self, s: Floats, R: Floats) -> Floats:
        v, c, k = self._terms(s, R)
        v = np.where(c > 0, v, 0)
        return np.bincount(k, v, len(s)) - v

    def _terms(self, s: Floats, R: Floats) -> tuple[Floats, Floats, NDArray[np.int64]]:
        """Return the weights v, the hinges c and the document k that each one is compared with."""
        if parse(self.measure) == AP:
            R = (R > 0).astype(np.float64)
        k = rivals(s, R)
        c = np.where(k >= 0, np.maximum(0, self.margin + s[k] - s), 0)
        return self.weights(s, R), c, np.maximum(k, 0)
