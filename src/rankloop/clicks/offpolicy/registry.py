"""Off-policy evaluation by names, as on the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.clicks.bias.registry import make_bias_estimator
from rankloop.clicks.models.pbm import PBM
from rankloop.clicks.offpolicy.estimators import IPS, Direct, DoublyRobust, SelfNormalised
from rankloop.clicks.offpolicy.evaluate import evaluate_policy
from rankloop.clicks.offpolicy.examination import Examination
from rankloop.clicks.offpolicy.target import TargetPages
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.offpolicy.evaluate import PolicyValue
    from rankloop.clicks.offpolicy.shares import PolicyEstimator

ESTIMATORS = ("ips", "snips", "dr", "direct")
"""Inverse propensities, self-normalised ones, doubly robust, and estimated relevance alone."""


def examination_of(text: str, log: ClickLog, ranks: int) -> Examination:
    """Read examination by position: numbers such as `1,0.6,0.4`, or the name of an estimator.

    >>> from rankloop.clicks.log.log import ClickLog
    >>> log = ClickLog.from_pages([("q", ["a", "b"], ["b"])])
    >>> examination_of("1,0.6", log, 10).slopes.tolist()
    [1.0, 0.6]
    """
    try:
        return Examination.of([float(part) for part in text.split(",")])
    except ValueError:
        return Examination.of(make_bias_estimator(text, ranks).estimate(log))


def compare_policies(
    log: ClickLog,
    scores: ArrayLike,
    examination: Examination,
    estimators: Sequence[str] = ("ips",),
    measure: str = "DCG@10",
    clip: float = 0.0,
    **options: Any,
) -> list[dict[str, object]]:
    """Evaluate a ranker, the logged order, and their difference, with each estimator.

    Parameters
    ----------
    scores : scores of the log's rows by the ranker that is evaluated
    estimators : names in `ESTIMATORS`
    measure, options : as in :func:`rankloop.clicks.offpolicy.evaluate.evaluate_policy`
    clip : smaller exposures are replaced by this number
    """
    new = TargetPages.by_scores(log, scores)
    old = TargetPages.by_scores(log, -log.positions.astype(np.float64))
    rows = []
    for name in estimators:
        estimator = _estimator(name, log, examination, clip)
        values = [
            evaluate_policy(log, pages, estimator, measure, **options) for pages in (new, old)
        ]
        for what, value in zip(("ranker", "logged"), values, strict=True):
            rows.append({"of": what, "estimator": name, **value.to_dict()})
        rows.append({"of": "difference", "estimator": name, **_difference(*values).to_dict()})
    return rows


def _difference(new: PolicyValue, old: PolicyValue) -> PolicyValue:
    return new.minus(old)


def _estimator(name: str, log: ClickLog, examination: Examination, clip: float) -> PolicyEstimator:
    if name not in ESTIMATORS:
        raise DataError(f"unknown estimator {name!r}; known: {', '.join(ESTIMATORS)}")
    if name == "ips":
        return IPS(examination, clip)
    if name == "snips":
        return SelfNormalised(examination, clip)
    model = PBM().fit(log)
    assert model.attraction is not None
    relevance = model.attraction.of(log)
    if name == "dr":
        return DoublyRobust(examination, relevance, clip)
    return Direct(examination, relevance)
