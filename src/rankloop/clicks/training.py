"""From a click log to a ranker: the correction of clicks is chosen by what the log can support."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.bias.registry import BIAS_ESTIMATORS, make_bias_estimator
from rankloop.clicks.corrections import InversePropensity, Naive, training_data
from rankloop.clicks.log.summary import check_separable
from rankloop.clicks.offpolicy.estimators import SelfNormalised
from rankloop.clicks.offpolicy.evaluate import evaluate_policy
from rankloop.clicks.offpolicy.examination import Examination
from rankloop.clicks.offpolicy.target import TargetPages
from rankloop.data.dataset import QueryDataset
from rankloop.data.validation import check_length, check_rng
from rankloop.exceptions import DataError
from rankloop.rankers.training import describe_if_needed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.corrections import Correction
    from rankloop.clicks.log.log import ClickLog
    from rankloop.features.columns import Features
    from rankloop.rankers.base import Ranker

CORRECTIONS = ("auto", "naive", *BIAS_ESTIMATORS)
"""How clicks are corrected: not at all, by an estimator of position bias, or as the log decides."""
_RANKS = 10
_CLIP = 0.1


@dataclass(frozen=True, eq=False)
class ShownFeatures:
    """The features of what a log shows.

    X : one row per row of the log
    names : of the features
    description : what they are, if some are categories, dates or have missing values
    """

    X: NDArray[np.float32]
    names: tuple[str, ...] | None = None
    description: Features | None = None

    def of_pages(self, log: ClickLog, pages: NDArray[np.int64]) -> ShownFeatures:
        """Return the rows of some pages."""
        sizes = log.sizes[pages]
        ends = np.cumsum(sizes)
        within = np.arange(int(sizes.sum())) - np.repeat(ends - sizes, sizes)
        return replace(self, X=self.X[np.repeat(log.offsets[pages], sizes) + within])

    def as_queries(self, log: ClickLog) -> QueryDataset:
        """Return the pages as queries without judgements."""
        n = len(log.documents)
        data = QueryDataset.from_arrays(
            self.X, np.zeros(n), group=log.sizes, feature_names=self.names, allow_nan=True
        )
        return replace(data, features=self.description)


@dataclass(frozen=True, eq=False)
class TrainedOnClicks:
    """A ranker that learnt from clicks.

    ranker : the ranker, trained on the whole log
    correction : `naive`, or the estimator of position bias whose propensities correct the clicks
    reason : why this correction, in words
    gain : by how much the corrected ranker is better than the naive one on queries that were held
        out, in DCG@10 with its 95% interval; None where nothing was compared
    """

    ranker: Ranker
    correction: str
    reason: str
    gain: tuple[float, float, float] | None = None


def train_on_clicks(
    ranker: Ranker,
    log: ClickLog,
    shown: ShownFeatures,
    correction: str = "auto",
    *,
    rng: np.random.Generator,
) -> TrainedOnClicks:
    """Train a ranker on a click log.

    With `auto`, clicks stay as they are if the log shows too few documents at several positions to
    separate position bias from relevance. Otherwise two rankers learn from three quarters of the
    queries, one with inverse propensities from `all-pairs` and one without. Both are compared on
    the other queries, by self-normalised off-policy evaluation. The better way is taken, and the
    ranker learns from all queries.

    Parameters
    ----------
    ranker : any ranker that accepts weights of documents; it is not changed
    log : the pages
    shown : the features of the log's rows, in the log's order
    correction : one of `CORRECTIONS`

    Raises
    ------
    DataError
        if the log has no click, or if an estimator that is named cannot be used.

    Examples
    --------
    >>> from rankloop.clicks.log.simulate import simulate_log
    >>> from rankloop.clicks.users import ultra_user
    >>> from rankloop.data.simulate import mslr_like
    >>> from rankloop.rankers.registry import make_ranker
    >>> rng = np.random.default_rng(0)
    >>> data = mslr_like(60, rng, n_features=5, mean_length=12.0).data
    >>> log = simulate_log(data, data.X[:, 1], ultra_user(), rng, noise=0.5)
    >>> shown = ShownFeatures(data.X[log.document_ids[log.documents]])
    >>> trained = train_on_clicks(make_ranker("xendcg"), log, shown, rng=rng)
    >>> trained.correction in ("naive", "all-pairs"), trained.ranker.n_features_in_
    (True, 5)
    """
    check_rng(rng)
    check_length("shown", shown.X, len(log.documents))
    if correction not in CORRECTIONS:
        raise DataError(f"unknown correction {correction!r}; choose from {', '.join(CORRECTIONS)}")
    choice = _choose(ranker, log, shown, rng) if correction == "auto" else None
    name = correction if choice is None else choice.correction
    how, reason = _correction(name, log), "" if choice is None else choice.reason
    trained = _fit(ranker, log, shown, how)
    return TrainedOnClicks(
        trained, name, reason or "as requested", None if choice is None else choice.gain
    )


@dataclass(frozen=True)
class _Choice:
    correction: str
    reason: str
    gain: tuple[float, float, float] | None = None


def _choose(
    ranker: Ranker, log: ClickLog, shown: ShownFeatures, rng: np.random.Generator
) -> _Choice:
    try:
        check_separable(log)
        examination = _examination("all-pairs", log)
    except DataError as error:
        return _Choice("naive", str(error))
    order = rng.permutation(len(log.query_ids))
    later = np.zeros(len(order), bool)
    later[order[: len(order) // 4]] = True
    held_out = later[log.queries]
    train, test = np.flatnonzero(~held_out), np.flatnonzero(held_out)
    try:
        part, seen = log.select(train), shown.of_pages(log, train)
        corrected = InversePropensity(examination, _CLIP)
        rankers = [_fit(ranker, part, seen, how) for how in (corrected, Naive())]
        rest = log.select(test)
        pages = shown.of_pages(log, test).as_queries(rest)
        estimator = SelfNormalised(examination, _CLIP)
        values = [
            evaluate_policy(rest, TargetPages.by_scores(rest, one.predict(pages)), estimator)
            for one in rankers
        ]
    except DataError as error:
        return _Choice("naive", f"the corrections could not be compared: {error}")
    gain = values[0].minus(values[1])
    better = "all-pairs" if gain.value > 0 else "naive"
    decided = gain.low > 0 or gain.high < 0
    other = "clicks as they are" if better == "all-pairs" else "inverse propensities"
    reason = (
        f"better than {other} on {int(later.sum()):,} queries that were held out"
        if decided
        else f"{int(later.sum()):,} held-out queries tell no difference to {other}"
    )
    return _Choice(better, reason, (gain.value, gain.low, gain.high))


def _correction(name: str, log: ClickLog) -> Correction:
    if name == "naive":
        return Naive()
    if name != "random":
        check_separable(log)
    return InversePropensity(_examination(name, log), _CLIP)


def _examination(name: str, log: ClickLog) -> Examination:
    ranks = min(_RANKS, int(log.positions.max(initial=1)))
    return Examination.of(make_bias_estimator(name, ranks).estimate(log))


def _fit(ranker: Ranker, log: ClickLog, shown: ShownFeatures, how: Correction) -> Ranker:
    data = training_data(log, shown.X, how, feature_names=shown.names)
    data = replace(data, features=shown.description)
    return describe_if_needed(ranker.copy(), data).fit(data)
