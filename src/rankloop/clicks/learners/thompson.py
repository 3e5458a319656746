"""Thompson sampling: a ranker that explores where it is uncertain, and nowhere else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankloop import _core
from rankloop.arithmetic import row_scores
from rankloop.clicks.learners.taught import TaughtByClicks
from rankloop.exceptions import DataError
from rankloop.feedback.ranking import best_first
from rankloop.learners.parameters import check_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rankloop.learners.online.base import OnlineRanker
    from rankloop.learners.online.second_order import SecondOrderRanker

POSTERIOR = "posterior"
"""The policy that ranks by weights drawn from a posterior, best first."""


class Thompson(TaughtByClicks):
    """A second-order ranker that draws its weights from their posterior for each ranking.

    The ranker knows its weights as N(w, L^-1). A ranking shows, best first, the order by

        v = w + spread L^(-1/2) z,   z ~ N(0, I).

    So the first rankings are nearly random, directions that clicks have settled stay as they are,
    and exploring ends by itself. It learns from clicks as :class:`TaughtByClicks` says. After t
    rankings L also holds `ridge` t times the identity: w minimises a mean loss with a fixed
    penalty. Without it, a few queries that are asked again and again would be learnt by heart.

    Where we depart: Thompson sampling has a spread of 1 and no ridge. Half the spread shows better
    rankings on the way. Both defaults were chosen on simulated web search, from few runs.

    Parameters
    ----------
    ranker : an online ranker of second order with its full covariance; None: second-order XE_NDCG
        with a prior of 100
    spread : standard deviations that the drawn weights are away, from 0, which explores nothing
    ridge : precision that each ranking adds around 0, from 0; about 0.1 to 0.3 for features from
        0 to 1
    seen, largest, passes, random_state : see :class:`TaughtByClicks`

    Attributes
    ----------
    ranker_, reading_ : see :class:`TaughtByClicks`

    Notes
    -----
    Cost: the ranker's, and O(d^2 + m d) to show a ranking of m candidates. The ridge is added in
    steps, 8 to 16 while the number of rankings doubles, each O(d^3).

    Examples
    --------
    >>> import numpy as np
    >>> from rankloop.clicks.learners.base import click_grades
    >>> learner = Thompson()
    >>> shown = learner.show(np.eye(3), id="r1")
    >>> shown.policy, shown == learner.show(np.eye(3), id="r1")
    ('posterior', True)
    >>> learner.learn_ranking(shown, click_grades(shown, [False, True, False])).n_queries_seen_
    1

    References
    ----------
    Thompson, On the likelihood that one unknown probability exceeds another (1933); Chapelle and
    Li, An empirical evaluation of Thompson sampling (2011), for spreads below 1.
    """

    def __init__(
        self,
        ranker: OnlineRanker | None = None,
        spread: float = 0.5,
        ridge: float = 0.2,
        seen: str | Sequence[float] = "learnt",
        largest: float = 10.0,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.ranker = ranker
        self.spread = spread
        self.ridge = ridge
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

    def _draw(self, X: NDArray[np.float32], rng: np.random.Generator, k: int) -> dict[str, Any]:
        now = self.fork()
        if not now.is_fitted:
            now._check_parameters()
            now._reset(X.shape[1])
        now._check_width(X)
        ranker, d = now.ranker_, X.shape[1]
        drawn = _core.draw_posterior(
            ranker.last_weights_, ranker.root_, rng.random(d + d % 2), self.spread
        )
        scores = row_scores(X, drawn).astype("float64")
        order = best_first(scores, id="").order[:k]
        return {"order": order, "scores": scores, "version": now.version_, "policy": POSTERIOR}

    def _after_lesson(self) -> None:
        done = self.n_queries_seen_
        since = 1 << max((done - 1).bit_length() - 4, 0)  # rankings from one step to the next
        if done % since or self.ridge == 0:
            return
        ranker = self.ranker_.fork()
        weights, root = ranker.last_weights_.copy(), ranker.root_.copy()
        _core.pull_to_zero(weights, root, self.ridge * since)
        vars(ranker).update(last_weights_=weights, root_=root)
        vars(self)["ranker_"] = ranker
