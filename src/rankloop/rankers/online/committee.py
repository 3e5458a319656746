"""The committee perceptron."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop import _core
from rankloop.rankers.forms import MAX, Array
from rankloop.rankers.online.linear import CLIP, LinearRanker
from rankloop.rankers.online.pairwise import PairOrder, check_pair_order
from rankloop.rankers.parameters import check_whole
from rankloop.rankers.search import OneOf, Search

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from rankloop.rankers.forms import Form
    from rankloop.rankers.online.linear import Arrays, Call
    from rankloop.rankers.traits import Traits


class CommitteePerceptron(LinearRanker):
    """A pairwise perceptron whose most successful hypotheses rank together.

    A hypothesis is the weight vector between two mistakes; its votes are the number of pairs that
    it ranks correctly. The `size` hypotheses with the most votes form the committee, and documents
    are ranked by the mean of their weights, weighted by votes.

    A hypothesis with more votes replaces the first of the weakest members.

    Where we depart: the current hypothesis takes part, too, with its votes so far, and ranks alone
    while no hypothesis has votes.

    Parameters
    ----------
    size : number of hypotheses in the committee, at least 1
    pair_order : see :class:`PairwisePerceptron`
    clip : see :class:`LinearRanker`
    average, passes, random_state : see :class:`LinearRanker`

    Notes
    -----
    Cost: O(d) per pair and O(size d) per query; O(size d) memory. Hypotheses that did well long ago
    keep their seats, so it hardly follows a change of taste (see :class:`Adaptive`).

    References
    ----------
    Elsas, Carvalho and Carbonell, Fast learning of document ranking functions with the committee
    perceptron (2008).
    """

    traits: ClassVar[Traits] = replace(
        LinearRanker.traits, is_robust=False
    )  # an outlier can make a member long, and so its vote large
    search_space: ClassVar[Mapping[str, Search]] = {"size": OneOf((5, 20, 100))}

    _arrays: ClassVar[tuple[str, ...]] = (
        "last_weights_",
        "current_",
        "members_",
        "lasted_",
        "streak_",
        "sizes_",
    )
    current_: NDArray[np.float64]
    members_: NDArray[np.float64]
    lasted_: NDArray[np.float64]
    streak_: NDArray[np.int64]

    def __init__(
        self,
        size: int = 20,
        pair_order: PairOrder = "grades",
        clip: float = CLIP,
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.size = size
        self.pair_order = pair_order
        self.clip = clip
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _start(self, n_features: int) -> None:
        super()._start(n_features)
        self.current_ = np.zeros(n_features)
        self.members_ = np.zeros((self.size, n_features))
        self.lasted_ = np.zeros(self.size)
        self.streak_ = np.zeros(1, np.int64)

    def _forms(self, n_features: int) -> dict[str, Form]:
        return {
            **super()._forms(n_features),
            "current_": Array((n_features,)),
            "members_": Array((self.size, n_features)),
            "lasted_": Array((self.size,), low=0),
            "streak_": Array((1,), np.int64, low=0, high=MAX),
        }

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_whole("size", self.size)
        check_pair_order(self.pair_order)

    def _discount_past(self, keep: float) -> None:
        super()._discount_past(keep)
        self.current_ = self.current_ * keep
        self.members_ = self.members_ * keep
        self.lasted_ = self.lasted_ * keep

    def _learn(self, call: Call, arrays: Arrays) -> int:
        return _core.learn_committee(
            *call,
            arrays["sizes_"],
            self.clip,
            by_row=self.pair_order == "rows",
            current=arrays["current_"],
            members=arrays["members_"],
            lasted=arrays["lasted_"],
            streak=arrays["streak_"],
        )
