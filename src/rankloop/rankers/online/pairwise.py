"""The pairwise perceptron."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from rankloop import _core
from rankloop.exceptions import DataError
from rankloop.rankers.online.linear import CLIP, LinearRanker

if TYPE_CHECKING:
    from rankloop.rankers.online.linear import Arrays, Call

PairOrder = Literal["grades", "rows"]


def check_pair_order(value: object) -> None:
    """Raise unless this is a known order of pairs."""
    if value not in ("grades", "rows"):
        raise DataError(f"pair_order must be grades or rows; found {value!r}")


class PairwisePerceptron(LinearRanker):
    """Perceptron on pair differences: w += x_i - x_j where R_i > R_j and w.(x_i - x_j) <= 0.

    It takes one pair at a time, and the order of the pairs within a query has a large effect,
    because later pairs undo earlier ones. The SOLAR paper calls it PRank (pairwise) and does not
    give its order; `rows` reproduces its numbers if rows are in file order.

    Parameters
    ----------
    pair_order : `grades` takes better grades first, then row order, for both documents; `rows`
        takes the worse documents in row order, and for each the better ones in row order
    clip : see :class:`LinearRanker`
    average, passes, random_state : see :class:`LinearRanker`

    Notes
    -----
    Cost: O(d) per pair; by grades, for lists of 32 to 4 d documents, O(m^2 d) per query and O(m) a
    mistake. Memory O(d + m^2). It does not notice changes of taste, but follows them, because its
    steps stay as large as they were (see :class:`Adaptive`).

    References
    ----------
    Wang et al., SOLAR: scalable online learning algorithms for ranking (2015), table 2.
    """

    def __init__(
        self,
        pair_order: PairOrder = "grades",
        clip: float = CLIP,
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.pair_order = pair_order
        self.clip = clip
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_pair_order(self.pair_order)

    def _learn(self, call: Call, arrays: Arrays) -> int:
        return _core.learn_pairs_perceptron(
            *call, arrays["sizes_"], self.clip, by_row=self.pair_order == "rows"
        )
