"""Thompson sampling: a ranker that explores where it is uncertain."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop import _core
from rankloop.clicks.rankers.from_clicks import ClickTrainedRanker
from rankloop.clicks.rankers.gaussians import is_full_gaussian, parts_of, with_gaussians
from rankloop.data.grouping import one_query
from rankloop.exceptions import DataError
from rankloop.rankers.online.second_order import SecondOrderRanker
from rankloop.rankers.parameters import check_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.rankers.base import Rows
    from rankloop.rankers.online.base import OnlineRanker

_FORGET_DOUBLINGS = 3  # it forgets at least every 2^3 rankings

POSTERIOR = "posterior"
"""The policy that ranks by weights drawn from a posterior, best first."""


class Thompson(ClickTrainedRanker):
    """A second-order ranker that draws its weights from their posterior for each ranking.

    The ranker knows its weights as N(w, L^-1). A ranking is made by the scores of

        v = w + spread L^(-1/2) z,   z ~ N(0, I),

    and drawn from their Plackett-Luce model with a low temperature. So the first rankings are
    nearly random, and the weights vary little in directions that clicks have already decided. The
    temperature always leaves a little exploration: with the best documents first, only documents at
    the top would be compared in the end, and what was learnt about all others would fade. It learns
    from clicks like :class:`ClickTrainedRanker`. After t rankings, L also includes `ridge` t times
    the identity: then w minimises a mean loss with a fixed penalty. Without it, the ranker would
    overfit to a few frequent queries.

    Where we depart: Thompson sampling has a spread of 1, no ridge and no temperature. A smaller
    spread shows better rankings during learning. The defaults were chosen on simulated web search
    and on a small real collection.

    Parameters
    ----------
    ranker : an online ranker of second order with its full covariance, or one that consists of
        such rankers, as `auto` does: then each draws its weights; None: second-order XE_NDCG with a
        prior of 100
    spread : standard deviation of the drawn weights, as a multiple of the posterior's; 0: no draws
    ridge : precision that each ranking adds around 0, from 0; about 0.02 to 0.2 for features from
        0 to 1
    keep : share of what is known that each ranking leaves, above 0 and at most 1. Below 1 it
        forgets, explores again, and follows people whose taste changes; 0.9995 forgets half in
        about 1,400 rankings. Around a ranker that adapts (:class:`Auto`, :class:`Adaptive`) it can
        stay 1: that ranker forgets as much as the rankings ask for
    temperature, seen, largest, passes, random_state : see :class:`ClickTrainedRanker`

    Attributes
    ----------
    ranker_, reading_ : see :class:`ClickTrainedRanker`

    Notes
    -----
    Cost: the ranker's, and O(d^2 + m d) to show a ranking of m candidates, for each Gaussian. The
    ridge is added in steps, 8 to 16 while the number of rankings doubles, each O(d^3); with `keep`
    below 1, there is a step at least every 8 rankings.

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
        keep: float = 1.0,
        temperature: float = 0.35,
        seen: str | Sequence[float] = "learnt",
        largest: float = 10.0,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.ranker = ranker
        self.spread = spread
        self.ridge = ridge
        self.keep = keep
        self.temperature = temperature
        self.seen = seen
        self.largest = largest
        self.passes = passes
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("spread", self.spread)
        check_number("ridge", self.ridge)
        check_number("keep", self.keep, 0, 1, above=True)
        if self.ranker is not None:
            made = self._fresh()
            if not isinstance(made, SecondOrderRanker):
                made._reset(1)  # so that it has its members
            if not all(is_full_gaussian(part) for part in parts_of(made)):
                raise DataError(
                    "ranker must be one of second order with covariance='full', such as "
                    "NewtonXENDCG(), or consist of such rankers, as Auto() does; found "
                    f"{self.ranker!r}"
                )

    def _scores_to_show(self, X: Rows, rng: np.random.Generator) -> NDArray[np.float64]:
        def draw(gaussian: SecondOrderRanker) -> None:
            d = gaussian.n_features_in_
            draws = rng.random(d + d % 2)
            mean, root = gaussian.last_weights_, gaussian.root_
            drawn = _core.draw_posterior(mean, root, draws, self.spread)
            vars(gaussian).update(last_weights_=drawn, sum_=None)  # the drawn weights rank

        drawn = with_gaussians(self.ranker_, draw)
        return np.asarray(drawn._score_rows(X, one_query(len(X))), np.float64)

    def _after_example(self) -> None:
        # Adding the ridge costs O(d^3), so it is added for several rankings at once: the number of
        # rankings between two steps doubles with the number of all rankings.
        done = self.n_queries_seen_
        doublings = max((done - 1).bit_length() - 4, 0)
        since = 1 << (doublings if self.keep == 1 else min(doublings, _FORGET_DOUBLINGS))
        if done % since or (self.ridge == 0 and self.keep == 1):
            return
        ranker = self.ranker_.copy()
        if self.keep < 1:
            ranker._discount_past(_power(self.keep, since))

        def pull(gaussian: SecondOrderRanker) -> None:
            weights, root = gaussian.last_weights_.copy(), gaussian.root_.copy()
            _core.pull_to_zero(weights, root, self.ridge * since)
            vars(gaussian).update(last_weights_=weights, root_=root)

        vars(self)["ranker_"] = with_gaussians(ranker, pull)


def _power(keep: float, n: int) -> float:
    """Return keep^n by products, which have the same bits everywhere; n is a power of 2."""
    while n > 1:
        keep, n = keep * keep, n // 2
    return keep
