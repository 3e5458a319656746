"""SLAM: the listwise large-margin perceptron."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar, Literal

from rankloop import _core
from rankloop.exceptions import DataError, MeasureError
from rankloop.measures.measure import AP, Measure, parse
from rankloop.rankers.online.linear import CLIP, LinearRanker
from rankloop.rankers.parameters import check_number, check_rate
from rankloop.rankers.search import Range, Search

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.rankers.online.linear import Arrays, Call
    from rankloop.rankers.traits import Traits

StepsOn = Literal["mistakes", "loss"]
WithinGrade = Literal["score", "mean"]


class Slam(LinearRanker):
    """Perceptron for ranking on the SLAM surrogate of nDCG, nDCG@k or AP.

    On a query whose ranking is not perfect, it takes one subgradient step on

        sum_i v_i max(0, margin + max_{j: R_j < R_i} s_j - s_i),

    where i numbers documents by grade, best first, and within a grade by score. The weights v make
    the surrogate an upper bound of 1 - measure: v_i = G(R_i) D(i) / Z for nDCG (only i <= k for
    nDCG@k), 1/r on the r relevant documents for AP (grades above 0 count as 1).

    Where we depart: a round is a mistake if some document scores *no more* than one of a lower
    grade, so that ties (and weights of 0) count as mistakes; among equal documents the lowest row
    is taken. For nDCG@k such a mistake may be below rank k, where the paper takes no step: see
    `steps_on`. The mean of the weights ranks: see `average`.

    Parameters
    ----------
    measure : `nDCG`, `nDCG@k` or `AP`
    rate : step size, above 0
    decay : round t uses rate / (1 + t)^decay; 0 keeps it constant, 0.5 is usual
    margin : above 0
    steps_on : `mistakes`, at any rank; or `loss`, as in Algorithm 2, which takes a step only if the
        measure is below 1, with tied documents in the worse order. They differ only for nDCG@k.
    within_grade : how weights are assigned within a grade: by `score`, highest first, as in the
        paper, or the `mean` for all documents of the grade, which makes the surrogate convex (and
        never smaller than the paper's)
    clip : see :class:`LinearRanker`
    average : whether to rank by the mean of the weights after each query; False ranks by the last
        ones, as in the paper, whose bounds are about them. They follow the last few mistakes, which
        costs .02 to .11 of nDCG@10 on five of six collections (docs/which-ranker.md).
    passes, random_state : see :class:`LinearRanker`

    Notes
    -----
    Cost: O(m d + m log m) per query and O(d) memory; about one pass over the features. The weight
    of a document multiplies its term of the sum, and the weight of a query multiplies its step.
    With `average`, every past query counts the same, so it hardly follows a change of taste;
    without, it follows, because its steps stay as large as they were (see :class:`Adaptive`).

    Examples
    --------
    >>> import numpy as np
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.measures.evaluation import evaluate
    >>> data = separable(200, np.random.default_rng(0)).data
    >>> ranker = Slam(measure="nDCG@10").fit(data)
    >>> evaluate(data, ranker.predict(data), "nDCG@10")["nDCG@10"] > 0.99
    True

    References
    ----------
    Chaudhuri and Tewari, Perceptron-like algorithms for online learning to rank: Algorithm 2,
    eq. 9-11, 16, 24.
    """

    traits: ClassVar[Traits] = replace(LinearRanker.traits, takes_sparse=True)
    search_space: ClassVar[Mapping[str, Search]] = {"rate": Range(1e-3, 10, 5, log=True)}

    def __init__(
        self,
        measure: str | Measure = "nDCG",
        rate: float = 0.01,
        decay: float = 0.0,
        margin: float = 1.0,
        steps_on: StepsOn = "mistakes",
        within_grade: WithinGrade = "score",
        clip: float = CLIP,
        average: bool = True,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.measure = measure
        self.rate = rate
        self.decay = decay
        self.margin = margin
        self.steps_on = steps_on
        self.within_grade = within_grade
        self.clip = clip
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_slam(self.measure, self.margin, self.steps_on, self.within_grade)
        check_rate(self.rate, self.decay)

    def _learn(self, call: Call, arrays: Arrays) -> int:
        measure = parse(self.measure)
        return _core.learn_slam(
            *call,
            arrays["sizes_"],
            self.clip,
            ap=measure.name == "AP",
            cutoff=measure.cutoff or 0,
            margin=self.margin,
            rate=self.rate,
            decay=self.decay,
            only_loss=self.steps_on == "loss",
            averaged=self.within_grade == "mean",
        )


def check_slam(measure: str | Measure, margin: float, steps_on: str, within_grade: str) -> None:
    """Raise if a parameter of SLAM's surrogate cannot be used."""
    wanted = parse(measure)
    if wanted != AP and (wanted.name != "nDCG" or wanted.parameters):
        raise MeasureError(f"Slam learns nDCG, nDCG@k or AP; found {wanted}")
    check_number("margin", margin, above=True)
    if steps_on not in ("mistakes", "loss"):
        raise DataError(f"steps_on must be mistakes or loss; found {steps_on!r}")
    if within_grade not in ("score", "mean"):
        raise DataError(f"within_grade must be score or mean; found {within_grade!r}")
