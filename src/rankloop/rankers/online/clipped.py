"""Linear online rankers that limit the effect of one query."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop.rankers.forms import Array
from rankloop.rankers.online.linear import LinearRanker
from rankloop.rankers.parameters import check_number, check_rate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.rankers.forms import Form

CLIP = 10.0
"""How far a query may move the weights, in means of the moves before it."""


class ClippedRanker(LinearRanker):
    """A linear ranker in which an outlier does not undo what all other queries taught.

    In addition to the parameters of :class:`LinearRanker` it has:

    clip : the largest update of a query, as a multiple of the mean update before it; 0 means no
        limit. The size of an update is how far the weights move; for second-order rankers it is
        how far the documents of the query are apart relative to what is known, times its weight.
        The first query is not limited. On features with one scale, 10 is hardly ever reached.
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


class SteppingRanker(ClippedRanker):
    """A clipped ranker with a step size: round t uses rate / (1 + t)^decay."""

    def __init__(
        self,
        rate: float = 1.0,
        decay: float = 0.0,
        clip: float = CLIP,
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.rate = rate
        self.decay = decay
        self.clip = clip
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_rate(self.rate, self.decay)


def share(sizes: NDArray[np.float64], size: float, clip: float) -> float:
    """Return the share of an update of this size that is allowed, and count it."""
    allowed = 1.0
    if clip == 0 or not size > 0:
        return allowed
    if sizes[1] > 0 and size * sizes[1] > clip * sizes[0]:
        allowed = clip * sizes[0] / sizes[1] / size
    sizes += allowed * size, 1
    return float(allowed)
