"""The definition of a prediction problem: losses, and predictions as unit vectors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from rankloop._utils.arithmetic import dot, row_pairs
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    Floats = NDArray[np.float64]

TINY = 1e-12
"""A loss this small is rounding."""


class Problem(ABC):
    """A prediction problem. Predictions and labels may be of different kinds.

    A subclass defines the loss of a prediction for a label and the unit vector that represents it,
    and finds the prediction with the largest similarity <rep, t>, alone (eq. 1) or plus its loss
    (eq. 2).

    Attributes
    ----------
    dimension : d, the length of a score vector; 0 means the number of rows of the input
    smallest_loss : c_L, the smallest loss that is not 0
    largest_loss : C_L
    """

    shared: ClassVar[bool] = False
    """Whether one weight vector scores each row of the input; otherwise each entry of the score
    vector has its own row of weights."""

    dimension: int
    smallest_loss: float
    largest_loss: float

    @abstractmethod
    def loss(self, prediction: Any, label: Any) -> float:
        """Return L(prediction, label), at least 0."""

    @abstractmethod
    def represent(self, prediction: Any) -> Floats:
        """Return rep(prediction), of norm 1."""

    @abstractmethod
    def decode(self, scores: Floats) -> Any:
        """Return the prediction with the largest <rep, scores> (eq. 1)."""

    @abstractmethod
    def decode_augmented(self, scores: Floats, label: Any) -> Any:
        """Return the prediction with the largest loss + <rep, scores> (the maximum in eq. 2)."""

    def correct(self, label: Any, scores: Floats) -> Any:  # noqa: ARG002
        """Return a prediction without loss; if there are several, preferably a likely one."""
        return label

    def decode_against(self, scores: Floats, label: Any) -> Any:  # noqa: ARG002
        """Return the prediction of eq. 1, ties broken towards the largest loss.

        The ranker uses this to find mistakes, so that scores of 0 count as mistakes.
        """
        return self.decode(scores)

    def share_ties(self, gradient: Floats, scores: Floats, label: Any) -> Floats:  # noqa: ARG002
        """Return the mean of a gradient over predictions that scores and label do not tell apart.

        It is a gradient too, as all of them are; the order of rows then makes no difference.
        """
        return gradient

    def check(self, label: Any) -> Any:
        """Return the label in the form for the other methods, or raise DataError."""
        return label

    def margin(self, scores: Floats, label: Any) -> float:  # noqa: ARG002
        """Return the least <rep(correct) - rep(wrong), scores> over all correct and all wrong."""
        raise DataError(f"the margins of {type(self).__name__} are not known")

    def surrogate(self, scores: Floats, label: object) -> float:
        """Return the convex upper bound of the loss that Predtron descends on (eq. 2)."""
        worst = self.decode_augmented(scores, label)
        away = self.represent(self.correct(label, scores)) - self.represent(worst)
        return self.loss(worst, label) - dot(away, scores)


class Listed(Problem):
    """A problem with few predictions: a table of losses, and a unit vector for each prediction.

    Predictions and labels are the numbers of rows and columns. Ties go to the first row.

    Parameters
    ----------
    losses : (k, l) of prediction and label; every column has a 0
    codes : (k, d) unit vectors

    Notes
    -----
    Cost: O(k d) per prediction.

    Examples
    --------
    A traffic light: red and green for labels, and amber as a cautious prediction.

    >>> r = 0.5**0.5
    >>> light = Listed([[0, 1], [5, 0], [0.5, 0.5]], [[1, 0], [0, 1], [r, r]])
    >>> light.decode(np.array([0.3, 0.2])), light.decode(np.array([0.3, -0.2]))
    (2, 0)
    >>> light.smallest_loss, light.largest_loss, light.surrogate(np.zeros(2), 0)
    (0.5, 5.0, 5.0)
    """

    def __init__(self, losses: ArrayLike, codes: ArrayLike) -> None:
        self.losses = np.array(losses, np.float64)
        self.codes = np.array(codes, np.float64)
        if self.losses.ndim != 2 or self.codes.ndim != 2 or len(self.losses) != len(self.codes):
            raise DataError(
                "losses must be a table with one row per prediction, and codes must have "
                f"as many rows; found shapes {self.losses.shape} and {self.codes.shape}"
            )
        if not (np.isfinite(self.losses).all() and (self.losses.min(axis=0) == 0).all()):
            raise DataError("losses must be at least 0, with a prediction of loss 0 for each label")
        if not np.allclose(np.linalg.norm(self.codes, axis=1), 1):
            raise DataError("codes must be rows of norm 1")
        if not self.losses.any():
            raise DataError("every prediction has loss 0: there is nothing to learn")
        self.dimension = self.codes.shape[1]
        self.smallest_loss = float(self.losses[self.losses > 0].min())
        self.largest_loss = float(self.losses.max())
        self._correct = self.losses.argmin(axis=0)

    @property
    def n_labels(self) -> int:
        """The number of labels."""
        return int(self.losses.shape[1])

    def loss(self, prediction: int, label: int) -> float:
        """Look it up."""
        return float(self.losses[prediction, label])

    def represent(self, prediction: int) -> Floats:
        """Look it up."""
        code: Floats = self.codes[prediction]
        return code

    def _alike(self, scores: Floats) -> Floats:
        """Return the similarity of every prediction."""
        return row_pairs(self.codes, scores[None])[:, 0]

    def decode(self, scores: Floats) -> int:
        """Try all predictions."""
        return int(self._alike(scores).argmax())

    def decode_augmented(self, scores: Floats, label: int) -> int:
        """Try all predictions."""
        return int((self.losses[:, label] + self._alike(scores)).argmax())

    def decode_against(self, scores: Floats, label: int) -> int:
        """Among the predictions that tie, take the one of the largest loss."""
        alike = self._alike(scores)
        return int(np.where(alike == alike.max(), self.losses[:, label], -1.0).argmax())

    def correct(self, label: int, scores: Floats) -> int:  # noqa: ARG002
        """Return the first prediction without loss."""
        return int(self._correct[label])

    def check(self, label: object) -> int:
        """Labels are whole numbers from 0."""
        if not isinstance(label, int | np.integer) or not 0 <= label < self.n_labels:
            raise DataError(f"labels must be from 0 to {self.n_labels - 1}; found {label!r}")
        return int(label)

    def margin(self, scores: Floats, label: int) -> float:
        """Compare all correct with all wrong predictions."""
        alike, right = self.codes @ scores, self.losses[:, label] == 0
        return float(alike[right].min() - alike[~right].max(initial=-np.inf))
