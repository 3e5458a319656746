"""Online rankers that learn from clicks: which documents were seen, and what clicks say of them."""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from rankloop import _core
from rankloop.clicks.rankers.base import ClickRanker, features_of
from rankloop.clicks.rankers.plackett_luce import sample_ranking
from rankloop.data.validation import check_length
from rankloop.exceptions import DataError
from rankloop.feedback.examples import inverse_propensities, keep_seen
from rankloop.feedback.ranking import BEST_FIRST, PLACKETT_LUCE, best_first
from rankloop.rankers.ensembles.mix import standardise
from rankloop.rankers.forms import Array, FittedRanker
from rankloop.rankers.online.base import OnlineRanker, Queries
from rankloop.rankers.parameters import check_number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

    from rankloop.feedback.ranking import Ranking
    from rankloop.rankers.base import Offsets, Rows, Scores
    from rankloop.rankers.explaining import Parts
    from rankloop.rankers.forms import Form
    from rankloop.rankers.state import State
    from rankloop.rankers.traits import Traits

RANKS = 20
"""Number of positions with their own parameters, when `seen` is learnt."""

_FEW = 0.01  # documents that were seen with a smaller probability are ignored

_MODES = ("learnt", "last-click", "all")


class ClickTrainedRanker(OnlineRanker, ClickRanker):
    """An online ranker that learns from clicks as from grades; a subclass defines the scores.

    A chosen document has its grade (1 for a click), and a document that was seen but not chosen has
    grade 0. Nobody knows which documents were seen, so `seen` says how to decide:

    - `learnt`: people read from the top, and read on with one probability after a click and with
      another after a document without a click; each position has its own probability of a click.
      These probabilities are learnt from the same clicks. A document below the last click counts
      with the probability that it was read, given the clicks on its page.
    - `last-click`: all documents down to the last click, and the one after it, as in PDGD; for
      rankers that refuse weights of documents, such as `predtron`.
    - `all`: everything that was shown. The same holds if `seen` is a list of probabilities of
      examination by position; then a choice counts 1 / probability, at most `largest` (inverse
      propensities).

    Parameters
    ----------
    ranker : any online ranker; None: second-order XE_NDCG with a prior of 100
    temperature : 0 shows the best documents first; above 0, rankings are drawn from the
        Plackett-Luce model of the scores, which are scaled to mean 0 and standard deviation
        1 / temperature in each query
    seen : `learnt`, `last-click`, `all`, or a list of chances of examination by position
    largest : the largest inverse propensity
    passes, random_state : see :class:`OnlineRanker`; for judged queries, which the ranker learns
        as they are

    Attributes
    ----------
    ranker_ : the fitted ranker
    reading_ : expected clicks and looks by position, then how often people went on and stopped
        after a document without a click, and after a click

    References
    ----------
    Joachims, Swaminathan and Schnabel, Unbiased learning-to-rank with biased feedback (2017), for
    inverse propensities; Guo et al., Click chain model in web search (2009), for the chain.
    """

    ranker: OnlineRanker | None
    temperature: float
    seen: str | Sequence[float]
    largest: float

    _learns: ClassVar[tuple[str, ...]] = ("ranker_", "reading_")
    ranker_: OnlineRanker
    reading_: NDArray[np.float64]

    _reading_forms: ClassVar[Array] = Array((2 * RANKS + 4,), low=0)

    @property
    def traits(self) -> Traits:  # type: ignore[override]
        """Those of an online ranker; it looks at whole queries if its ranker does."""
        alone = self.ranker is None or self.ranker.traits.scores_rows_alone
        return replace(OnlineRanker.traits, scores_rows_alone=alone)

    def _fresh(self) -> OnlineRanker:
        from rankloop.rankers.online.newton import NewtonXENDCG

        return NewtonXENDCG(prior=100.0) if self.ranker is None else copy.deepcopy(self.ranker)

    def _forms(self, n_features: int) -> dict[str, Form]:
        forms = {"ranker_": FittedRanker(OnlineRanker, n_features), "reading_": self._reading_forms}
        return {**super()._forms(n_features), **forms}

    def _check_parameters(self) -> None:
        super()._check_parameters()
        if self.ranker is not None and not isinstance(self.ranker, OnlineRanker):
            raise DataError(f"ranker must be an online ranker or None; found {self.ranker!r}")
        if isinstance(self.seen, str) and self.seen not in _MODES:
            raise DataError(
                f"seen must be {', '.join(_MODES)} or chances of examination; found {self.seen!r}"
            )
        check_number("temperature", self.temperature)
        check_number("largest", self.largest, 1)

    def _start_copy(self, X: Rows) -> Self:
        """Return a copy that knows the features."""
        now = self.copy()
        if not now._is_checked:
            now._check_parameters()
        if not now.is_fitted:
            now._reset(X.shape[1])
        now._check_width(X)
        return now

    @abstractmethod
    def _scores_to_show(self, X: Rows, rng: np.random.Generator) -> NDArray[np.float64]:
        """Return the scores by which a ranking is made, on a copy that knows the features."""

    _policy: ClassVar[str] = BEST_FIRST
    """The policy of rankings that are made without a temperature."""

    def _draw(self, X: NDArray[np.float32], rng: np.random.Generator, k: int) -> dict[str, Any]:
        now = self._start_copy(X)
        scores = now._scores_to_show(X, rng)
        if self.temperature > 0:
            scores = standardise(scores, np.array([0, len(X)])) / self.temperature
            order, policy = sample_ranking(scores, rng, k), PLACKETT_LUCE
        else:
            order, policy = best_first(scores, id="").order[:k], self._policy
        return {"order": order, "scores": scores, "version": now.version_, "policy": policy}

    def _check_queries(self, queries: Queries) -> None:
        (self.ranker_ if self.is_fitted else self._fresh())._check_all(queries)

    def _check_state(self, state: State) -> None:
        super()._check_state(state)
        if not (state["reading_"] > 0).all():
            raise DataError("the counts of how far people read must be above 0")

    def _reset(self, n_features: int) -> None:
        self.n_features_in_ = n_features
        self.n_queries_seen_ = 0
        self.ranker_ = self._fresh()
        self.ranker_._reset(n_features)
        # Start as if every second look at each position led to a click, and most people read on.
        self.reading_ = np.concatenate(
            [np.ones(RANKS), np.full(RANKS, 2.0), [2.0, 0.2], [1.0, 0.5]]
        )

    def _learn_queries(self, queries: Queries, scores: Rows | None) -> None:
        ranker = self.ranker_.copy()
        ranker._check_and_learn(queries, scores)
        vars(self)["ranker_"] = ranker

    def _discount_past(self, keep: float) -> None:
        ranker = self.ranker_.copy()
        ranker._discount_past(keep)
        vars(self)["ranker_"] = ranker

    def _score_rows(self, X: Rows, offsets: Offsets) -> Scores:
        """Score checked rows, by the ranker."""
        return self.ranker_._score_rows(X, offsets)

    def explain(self) -> Parts:
        """Return the parts of the ranker."""
        self._check_fitted()
        seen = self.ranker_.copy()
        seen.feature_names_in_ = self.feature_names_in_
        return seen.explain()

    def learn_ranking(self, ranking: Ranking, grades: ArrayLike) -> Self:
        """Learn from what was chosen; see :meth:`ClickRanker.learn_ranking`."""
        X = features_of(ranking)
        worth = np.asarray(grades, np.float64)
        check_length("grades", worth, len(X), "candidates")
        with self._writing:
            new = self._start_copy(X)
            judged, weights = new._make_example(ranking, worth)
            new._check_and_learn(Queries(X, judged, np.array([0, len(X)]), weights))
            new._after_example()
            self._become(new)
        return self

    def _after_example(self) -> None:
        """Change this copy after it has learnt from a ranking; a subclass may define it."""

    def _make_example(
        self, ranking: Ranking, grades: NDArray[np.float64]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
        """Return grades and weights by candidate."""
        if not isinstance(self.seen, str):
            return grades, inverse_propensities(ranking, self.seen, grades, self.largest)
        if self.seen == "last-click":
            return keep_seen(ranking, grades), None
        if self.seen == "all":
            return grades, None
        counts = self.reading_.copy()
        clicks = (grades[ranking.order] > 0).view(np.uint8)
        looked = _core.read_page(clicks, counts)
        vars(self)["reading_"] = counts
        weights = np.ones(len(grades))
        weights[ranking.order] = np.where(looked < _FEW, 0.0, looked)
        return grades, weights

    @property
    def goes_on_(self) -> dict[str, float]:
        """How likely people are to read on, after a document without a click and after a click."""
        self._check_fitted()
        skip, stop, click, end = self.reading_[2 * RANKS :].tolist()
        return {"after_skip": skip / (skip + stop), "after_click": click / (click + end)}


class FromClicks(ClickTrainedRanker):
    """Any online ranker, which learns from clicks and shows the documents with the highest scores.

    Parameters
    ----------
    ranker, seen, temperature, largest, passes, random_state : see :class:`ClickTrainedRanker`

    Notes
    -----
    Cost: that of the ranker. Without a temperature it does not explore: a ranker that starts in a
    wrong direction may show only documents from which it cannot learn better. A temperature helps,
    but the first clicks still decide too much; :class:`Thompson` explores what is uncertain.

    Examples
    --------
    >>> from rankloop.clicks.rankers.base import click_grades
    >>> ranker = FromClicks()
    >>> shown = ranker.show(np.eye(3), id="r1")
    >>> shown.order.tolist()  # it knows nothing yet
    [0, 1, 2]
    >>> ranker.learn_ranking(shown, click_grades(shown, [False, True, False]))
    FromClicks()
    >>> ranker.show(np.eye(3), id="r2").order.tolist()
    [1, 2, 0]
    """

    def __init__(
        self,
        ranker: OnlineRanker | None = None,
        seen: str | Sequence[float] = "learnt",
        temperature: float = 0.0,
        largest: float = 10.0,
        passes: int = 1,
        random_state: int | None = None,
    ) -> None:
        self.ranker = ranker
        self.seen = seen
        self.temperature = temperature
        self.largest = largest
        self.passes = passes
        self.random_state = random_state

    def _scores_to_show(self, X: Rows, rng: np.random.Generator) -> NDArray[np.float64]:  # noqa: ARG002
        return np.asarray(self._score_rows(X, np.array([0, len(X)])), np.float64)
