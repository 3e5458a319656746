"""Pairwise differentiable gradient descent: learning from clicks on rankings drawn at random."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from rankloop import _core
from rankloop.clicks.models.behaviour import Chain
from rankloop.clicks.rankers.plackett_luce import PlackettLuceRanker
from rankloop.clicks.rankers.session import Session, check_queries
from rankloop.data.validation import check_counts, check_rng
from rankloop.rankers.online.linear import CLIP, LinearRanker
from rankloop.rankers.parameters import check_number
from rankloop.rankers.search import Range, Search

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.clicks.users import SimulatedUser
    from rankloop.data.dataset import QueryDataset
    from rankloop.rankers.online.linear import Arrays, Call


class PDGD(LinearRanker, PlackettLuceRanker):
    """A linear ranker that draws its rankings, and learns which of two documents people prefer.

    Rankings R are drawn from the Plackett-Luce model of the scores. If document i was clicked, and
    j was seen but not clicked, the probability to draw i before j is raised:

        w += rate decay^t sum_ij rho(i, j) e_i e_j / (e_i + e_j)^2 (x_i - x_j),  e = exp(score),

        rho(i, j) = P(R with i and j exchanged) / (P(R) + P(R with i and j exchanged)).

    The weights rho compensate for the better position of one of the two. The documents above the
    last click, and the one after it, count as seen. In a judged query no position was better, so
    all pairs of different grades are learnt with rho = 1/2.

    Where we depart: rho is computed from the scores that the ranking was drawn with, and the rest
    from the current scores. They are the same if every ranking is learnt before the next is drawn.

    Parameters
    ----------
    rate : step size, above 0
    decay : by which the step size shrinks with each ranking, above 0 and at most 1
    keep : share of the weights that each ranking from which it learns leaves, above 0 and at most
        1. Below 1 it forgets, and follows people whose taste changes; 0.9995 forgets half in about
        1,400 rankings. :class:`Thompson` around a ranker that adapts finds the share by itself
    clip : see :class:`LinearRanker`
    average, passes, random_state : see :class:`LinearRanker`

    Notes
    -----
    Cost: O(m d) per ranking of m candidates, and O(k^3) for the probabilities of a list of k.
    Features are best scaled to about 0 to 1 query by query. Rankings of other policies raise an
    error, because their probabilities are not known.

    Examples
    --------
    >>> from rankloop.clicks.rankers.base import click_grades
    >>> ranker = PDGD()
    >>> shown = ranker.show(np.eye(3), id="r1")
    >>> shown.order.tolist()
    [0, 1, 2]
    >>> ranker.learn_ranking(shown, click_grades(shown, [False, False, True])).weights_.round(4)
    array([-0.0125, -0.0125,  0.025 ])

    References
    ----------
    Oosterhuis and de Rijke, Differentiable unbiased online learning to rank (2018): algorithm 1.
    """

    search_space: ClassVar[Mapping[str, Search]] = {"rate": Range(0.001, 10, 5, log=True)}

    def __init__(
        self,
        rate: float = 0.1,
        decay: float = 0.9999977,
        keep: float = 1.0,
        clip: float = CLIP,
        average: bool = False,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.rate = rate
        self.decay = decay
        self.keep = keep
        self.clip = clip
        self.average = average
        self.passes = passes
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_number("rate", self.rate, above=True)
        check_number("decay", self.decay, 0, 1, above=True)
        check_number("keep", self.keep, 0, 1, above=True)

    def _learn(self, call: Call, arrays: Arrays) -> int:
        return _core.learn_pdgd(
            *call, arrays["sizes_"], self.clip, self.rate, self.decay, self.keep, *self._shown
        )

    def play(
        self,
        data: QueryDataset,
        user: SimulatedUser,
        rng: np.random.Generator,
        impressions: int,
        k: int = 10,
    ) -> Session:
        """Learn from simulated clicks; in the compiled core if users read from the top."""
        users = user.behaviour(data.y, data.offsets)
        if not isinstance(users, Chain):
            return super().play(data, user, rng, impressions, k)
        check_rng(rng)
        check_counts(impressions=impressions, k=k)
        check_queries(data)
        # All draws are made here, so that the core is a function of its arguments: one for each
        # candidate (Gumbel noise), and for each shown document one for the click and, if users may
        # stop at random, one for reading on.
        queries = rng.integers(len(data), size=impressions)
        sizes = np.diff(data.offsets)[queries]
        stops = not users.is_certain
        draws = rng.random(int((sizes + (1 + stops) * np.minimum(sizes, k)).sum()))
        shown = np.empty((impressions, k), np.int64)
        clicks = np.empty((impressions, k), np.uint8)
        with self._writing:
            new = self.copy()
            new._check_parameters()
            if not new.is_fitted:
                new._reset(data.n_features)
            new._check_width(data.X)
            new._refuse_missing(data)
            weights, sums = new.last_weights_.copy(), new.sizes_.copy()
            total = None if new.sum_ is None else new.sum_.copy()
            updates = _core.play_pdgd(
                data.X,
                data.offsets,
                users.attraction,
                users.after_skip,
                users.after_click,
                queries,
                draws,
                stops=stops,
                w=weights,
                total=total,
                queries=new.n_queries_seen_,
                sizes=sums,
                clip=self.clip,
                rate=self.rate,
                decay=self.decay,
                keep=self.keep,
                shown=shown,
                clicks=clicks,
            )
            vars(new).update(
                last_weights_=weights,
                sizes_=sums,
                sum_=total,
                n_queries_seen_=new.n_queries_seen_ + impressions,
                updates_=new.updates_ + updates,
            )
            self._become(new)
        return Session(queries, shown, clicks.view(bool))
