"""Linear online rankers that bound what one query can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop.learners.forms import Array
from rankloop.learners.online.linear import LinearRanker
from rankloop.learners.parameters import check_number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.learners.forms import Form

CLIP = 10.0
"""How far a query may move the weights, in means of the moves before it."""


class ClippedRanker(LinearRanker):
    """A linear ranker in which an outlier does not undo what all other queries taught.

    Besides those of :class:`LinearRanker` it has the parameter

    clip : no query counts for more than so many times the mean of those before it, as its update
        is measured (how far the weights move; for second-order learners how far its documents lie
        apart beside what is known, and how much it weighs); 0: no bound. The first query has
        nothing to be compared with. On features of one scale, 10 is hardly ever reached.
    """

    clip: float

    _arrays: ClassVar[tuple[str, ...]] = ("last_weights_", "sizes_")
    _sizes: ClassVar[int] = 1
    """How many sizes of an update there are."""

    sizes_: NDArray[np.float64]  # their sums, each with how many there were

    def _start(self, n_features: int) -> None:
        super()._start(n_features)
        self.sizes_ = np.zeros(2 * self._sizes)

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {**super()._forms(n_features), "sizes_": Array((2 * self._sizes,), low=0)}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("clip", self.clip)


def share(sizes: NDArray[np.float64], size: float, clip: float) -> float:
    """Return how much of an update of this size may be made, and count it: as the core does."""
    allowed = 1.0
    if clip == 0 or not size > 0:
        return allowed
    if sizes[1] > 0 and size * sizes[1] > clip * sizes[0]:
        allowed = clip * sizes[0] / sizes[1] / size
    sizes += allowed * size, 1
    return float(allowed)
