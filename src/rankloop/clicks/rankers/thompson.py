"""Thompson sampling: a ranker that explores where it is uncertain."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop import _core
from rankloop._utils.arithmetic import row_scores
from rankloop.clicks.rankers.click_trained import ClickTrainedRanker
from rankloop.exceptions import DataError
from rankloop.rankers.parameters import check_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.rankers.base import Rows
    from rankloop.rankers.online.base import OnlineRanker
    from rankloop.rankers.online.second_order import SecondOrderRanker

POSTERIOR = "posterior"
"""The policy that ranks by weights drawn from a posterior, best first."""


class Thompson(ClickTrainedRanker):
    """A second-order ranker that draws its weights from their posterior for each ranking.

    The ranker knows its weights as N(w, L^-1). A ranking is made by the scores of

        v = w + spread L^(-1/2) z,   z ~ N(0, I),

    and drawn from their Plackett-Luce model with a low temperature. So the first rankings are
    nearly random, and directions that clicks have settled stay as they are. The temperature keeps
    a little exploration for ever: with the best documents first, only documents at the top would
    be compared in the end, and what was learnt about all others would fade. It learns from clicks
    like :class:`ClickTrainedRanker`. After t rankings, L also includes `ridge` t times the
    identity: then w minimises a mean loss with a fixed penalty. Without it, the ranker would
    overfit to a few frequent queries.

    Where we depart: Thompson sampling has a spread of 1, no ridge and no temperature. A smaller
    spread shows better rankings during learning. The defaults were chosen on simulated web search
    and on a small real collection.

    Parameters
    ----------
    ranker : an online ranker of second order with its full covariance; None: second-order XE_NDCG
        with a prior of 100
    spread : standard deviation of the drawn weights, as a multiple of the posterior's; 0: no draws
    ridge : precision that each ranking adds around 0, from 0; about 0.02 to 0.2 for features from
        0 to 1
    temperature, seen, largest, passes, random_state : see :class:`ClickTrainedRanker`

    Attributes
    ----------
    ranker_, reading_ : see :class:`ClickTrainedRanker`

    Notes
    -----
    Cost: the ranker's, and O(d^2 + m d) to show a ranking of m candidates. The ridge is added in
    steps, 8 to 16 while the number of rankings doubles, each O(d^3).

    Examples
    --------
    >>> from rankloop.clicks.rankers.base import click_grades
    >>> ranker = Thompson()
    >>> shown = ranker.show(np.eye(3), id="r1")
    >>> shown.policy, shown == ranker.show(np.eye(3), id="r1")
    ('plackett-luce', True)
    >>> ranker.learn_ranking(shown, click_grades(shown, [False, True, False])).n_queries_seen_
    1

    References
    ----------
    Thompson, On the likelihood that one unknown probability exceeds another (1933); Chapelle and
    Li, An empirical evaluation of Thompson sampling (2011), for spreads below 1.
    """

    _policy: ClassVar[str] = POSTERIOR

    def __init__(
        self,
        ranker: OnlineRanker | None = None,
        spread: float = 0.35,
        ridge: float = 0.05,
        temperature: float = 0.35,
        seen: str | Sequence[float] = "learnt",
        largest: float = 10.0,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.ranker = ranker
        self.spread = spread
        self.ridge = ridge
        self.temperature = temperature
        self.seen = seen
        self.largest = largest
        self.passes = passes
        self.random_state = random_state

    ranker_: SecondOrderRanker

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("spread", self.spread)
        check_number("ridge", self.ridge)
        if self.ranker is not None and getattr(self.ranker, "covariance", None) != "full":
            raise DataError(
                "ranker must be one of second order with covariance='full', such as "
                f"NewtonXENDCG(); found {self.ranker!r}"
            )

    def _scores_to_show(self, X: Rows, rng: np.random.Generator) -> NDArray[np.float64]:
        ranker, d = self.ranker_, X.shape[1]
        drawn = _core.draw_posterior(
            ranker.last_weights_, ranker.root_, rng.random(d + d % 2), self.spread
        )
        return row_scores(X, drawn).astype(np.float64)

    def _after_example(self) -> None:
        done = self.n_queries_seen_
        since = 1 << max((done - 1).bit_length() - 4, 0)  # rankings from one step to the next
        if done % since or self.ridge == 0:
            return
        ranker = self.ranker_.copy()
        weights, root = ranker.last_weights_.copy(), ranker.root_.copy()
        _core.pull_to_zero(weights, root, self.ridge * since)
        vars(ranker).update(last_weights_=weights, root_=root)
        vars(self)["ranker_"] = ranker
