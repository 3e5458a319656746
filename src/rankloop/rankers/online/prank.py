"""PRank: ordinal regression by one weight vector and ordered thresholds."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop import _core
from rankloop.exceptions import DataError
from rankloop.rankers.forms import Array
from rankloop.rankers.online.linear import CLIP, LinearRanker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.rankers.forms import Form
    from rankloop.rankers.online.base import Queries
    from rankloop.rankers.online.linear import Arrays, Call
    from rankloop.rankers.traits import Traits

_MAX_GRADES = 64


class PRank(LinearRanker):
    """Pointwise perceptron that predicts the grade of each document from its score.

    The predicted grade of x is the number of thresholds b_1 <= ... <= b_n that w.x reaches. If it
    is wrong, every threshold on the wrong side moves by 1, and w by the sum of those moves times x.
    Documents are taken one by one, in row order; a ranking sorts by w.x.

    A threshold that equals the score moves, too.

    Where we depart: the number of grades is not a parameter, but grows when a higher grade occurs;
    a new threshold starts at the value of the last one.

    Parameters
    ----------
    clip : see :class:`LinearRanker`
    average, passes, random_state : see :class:`LinearRanker`

    Attributes
    ----------
    thresholds_ : (n,) ordered, between grades 0, 1, ..., n

    Notes
    -----
    Cost: O(m d) per query and O(d) memory. Grades must be whole numbers from 0 to 64. It does not
    notice changes of taste, but follows them, because its steps stay as large as they were (see
    :class:`Adaptive`).

    References
    ----------
    Crammer and Singer, Pranking with ranking (2001).
    """

    traits: ClassVar[Traits] = replace(
        LinearRanker.traits, takes_sparse=True, takes_equal_grades=True
    )
    _arrays: ClassVar[tuple[str, ...]] = ("last_weights_", "room_", "count_", "sizes_")
    room_: NDArray[np.float64]
    count_: NDArray[np.int64]

    def __init__(
        self,
        clip: float = CLIP,
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.clip = clip
        self.average = average
        self.passes = passes
        self.random_state = random_state

    @property
    def thresholds_(self) -> NDArray[np.float64]:
        """The thresholds between the grades that occurred so far."""
        return self.room_[: int(self.count_[0])]

    def _start(self, n_features: int) -> None:
        super()._start(n_features)
        self.room_ = np.zeros(_MAX_GRADES)
        self.count_ = np.zeros(1, np.int64)

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {
            **super()._forms(n_features),
            "room_": Array((_MAX_GRADES,)),
            "count_": Array((1,), np.int64, low=0, high=_MAX_GRADES),
        }

    def _discount_past(self, keep: float) -> None:
        super()._discount_past(keep)
        self.room_ = self.room_ * keep

    def _check_queries(self, queries: Queries) -> None:
        y = queries.y
        wrong = y[(y > _MAX_GRADES) | ((y > 0) & (y != np.floor(y)))]
        if len(wrong):
            raise DataError(
                f"PRank needs whole grades from 0 to {_MAX_GRADES}; found {wrong[0]:g}: round "
                "them, or choose another ranker"
            )

    def _learn(self, call: Call, arrays: Arrays) -> int:
        return _core.learn_prank(
            *call, arrays["sizes_"], self.clip, arrays["room_"], arrays["count_"]
        )
