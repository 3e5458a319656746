"""Linear online rankers with a covariance of their weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, Literal, Self

import numpy as np

from rankloop import _core
from rankloop._utils.arithmetic import row_pairs
from rankloop.exceptions import DataError
from rankloop.rankers.forms import Array
from rankloop.rankers.online.linear import LinearRanker
from rankloop.rankers.online.merging import merge_precision, merge_variances
from rankloop.rankers.parameters import check_whole

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.rankers.forms import Form
    from rankloop.rankers.online.linear import Arrays, Floats

    Covariance = Literal["full", "low-rank", "diagonal"]
    Known = tuple[Floats, Floats, Floats, Floats]

WIDE_SPREAD = 4.0
"""How much more the weights of wide columns vary before any data than those of other columns."""
COVARIANCES = ("full", "low-rank", "diagonal")


class SecondOrderRanker(LinearRanker):
    """A linear ranker with a covariance of its weights, whose inverse is the precision L.

    A subclass defines L before any data (:meth:`_prior`). In addition to the parameters of
    :class:`LinearRanker` it has:

    covariance : `full`; `low-rank`, for many features, where L is a diagonal and some directions;
        or `diagonal`
    directions : number of directions in addition to the diagonal, at least 1

    The largest directions of what queries add to L are kept; of all others, only the diagonal.

    A subclass may have wide columns: the last `_n_wide` features are indicators of categories, of
    which hardly any two are 1 in the same row. Of them, only the diagonal of L is kept. It starts
    at a quarter of the prior: an indicator is 1 in few rows, where a scaled number varies in all.

    Attributes
    ----------
    root_ : (d, d) full: the upper triangular U with which U'U = L, without wide columns
    variances_ : (d,) low-rank and diagonal: the inverse of the diagonal part of L; of wide columns
    directions_ : (directions, d) low-rank: the V with which L = diag(1 / variances_) + V'V
    """

    covariance: Covariance
    directions: int

    _arrays: ClassVar[tuple[str, ...]] = (
        "last_weights_",
        "root_",
        "variances_",
        "directions_",
        "sizes_",
    )
    root_: NDArray[np.float64]
    variances_: NDArray[np.float64]
    directions_: NDArray[np.float64]

    def _prior(self) -> float:
        """Return the precision of each weight before any data."""
        return 1.0

    @property
    def _n_wide(self) -> int:
        """The number of wide columns, the last ones."""
        return 0

    def _diagonal_prior(self) -> float:
        """Return the precision, before any data, of each weight of which only that is known."""
        return self._prior() / (WIDE_SPREAD if self._n_wide else 1)

    def _start(self, n_features: int) -> None:
        super()._start(n_features)
        if self._n_wide > n_features:
            raise DataError(
                f"there are {n_features} features, of which {self._n_wide} cannot be wide"
            )
        prior = self._prior()
        shapes = self._shapes(n_features)
        self.root_ = np.sqrt(prior) * np.eye(shapes["root_"][0])
        self.variances_ = np.full(shapes["variances_"], 1 / self._diagonal_prior())
        self.directions_ = np.zeros(shapes["directions_"])

    def _shapes(self, n_features: int) -> dict[str, tuple[int, ...]]:
        full, low = self.covariance == "full", self.covariance == "low-rank"
        return {
            "root_": (n_features - self._n_wide,) * 2 if full else (0, 0),
            "variances_": (self._n_wide if full else n_features,),
            "directions_": (self.directions if low else 0, n_features),
        }

    @property
    def precision_(self) -> NDArray[np.float64]:
        """The inverse covariance of the weights, (d, d), or (d,) if it is diagonal.

        With wide columns, it is that of all other weights.
        """
        self._check_fitted()
        if self.covariance == "diagonal":
            return 1 / self.variances_
        if self.covariance == "low-rank":
            off = row_pairs(self.directions_.T, self.directions_.T)
            return np.asarray(np.diag(1 / self.variances_) + off)
        return row_pairs(self.root_.T, self.root_.T)

    def _forms(self, n_features: int) -> dict[str, Form]:
        shapes = self._shapes(n_features)
        own: dict[str, Form] = {name: Array(shape) for name, shape in shapes.items()}
        own["variances_"] = Array(shapes["variances_"], low=0)
        return {**super()._forms(n_features), **own}

    def _discount_past(self, keep: float) -> None:
        # L returns to the prior, not to 0: keep L + (1 - keep) prior I. Otherwise the precision
        # of a feature that does not vary for a while would vanish, and its next value move it far.
        if self.covariance == "full":
            self.root_ = _core.discount_root(self.root_, keep, self._prior())
        self.directions_ = self.directions_ * np.sqrt(keep)
        self.variances_ = 1 / (keep / self.variances_ + (1 - keep) * self._diagonal_prior())

    def _merge(self, rankers: Sequence[Self], base: Self) -> None:
        if self.covariance != "full":  # what was left out of each cannot be added up
            super()._merge(rankers, base)
        full = len(base.root_)
        self.root_, first = merge_precision(
            [ranker.root_ for ranker in rankers],
            [ranker.last_weights_[:full] for ranker in rankers],
            base.root_,
            base.last_weights_[:full],
        )
        wide = [(ranker.variances_, ranker.last_weights_[full:]) for ranker in rankers]
        self.variances_, last = merge_variances(wide, (base.variances_, base.last_weights_[full:]))
        self.last_weights_ = np.concatenate([first, last])
        self._merge_counters(rankers, base)

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("directions", self.directions)
        if self.covariance not in COVARIANCES:
            known = ", ".join(COVARIANCES)
            raise DataError(f"covariance must be one of {known}; found {self.covariance!r}")

    def _known(self, arrays: Arrays) -> Known:
        """Return the arrays of the Gaussian for the core; raise if it is of another kind."""
        for name, shape in self._shapes(self.n_features_in_).items():
            if arrays[name].shape != shape:
                raise DataError(
                    "covariance or directions were changed after learning; fit again, or change "
                    "them back"
                )
        return arrays["root_"], arrays["variances_"], arrays["directions_"], arrays["sizes_"]
