"""How well click models explain clicks that they were not fitted to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.clicks.models.registry import make_click_model
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.models.base import ClickModel

FLOOR = 1e-6
"""Probabilities stay this far from 0 and 1, for models that say that a click is impossible."""

_BY_POSITION = ("examination", "relevant", "irrelevant", "rates", "go_on")


@dataclass(frozen=True, eq=False)
class ClickScores:
    """How well a model explains a log.

    log_likelihood : the mean over pages of log P(clicks on the page), natural logarithm; 0 is
        perfect
    ranks : the positions that the log has
    perplexity_at : by position, 2 to the power of minus the mean log2 P(click or skip); 1 is
        perfect, 2 is as good as a coin
    conditional_perplexity_at : the same, each given the clicks above it
    perplexity, conditional_perplexity : their means over positions
    """

    log_likelihood: float
    ranks: NDArray[np.int64]
    perplexity_at: NDArray[np.float64]
    conditional_perplexity_at: NDArray[np.float64]

    @property
    def perplexity(self) -> float:
        """The mean over positions."""
        return float(self.perplexity_at.mean())

    @property
    def conditional_perplexity(self) -> float:
        """The mean over positions, each click given those above it."""
        return float(self.conditional_perplexity_at.mean())


def evaluate_clicks(model: ClickModel, log: ClickLog) -> ClickScores:
    """Measure how well a fitted model explains the clicks of a log.

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> from rankloop.clicks.models.ctr import GlobalCTR
    >>> log = ClickLog.from_pages([("q", ["a", "b"], ["a"]), ("q", ["a", "b"], [])])
    >>> scores = evaluate_clicks(GlobalCTR(rate=0.5), log)
    >>> scores.perplexity, round(scores.log_likelihood, 4)  # a coin for each of two documents
    (2.0, -1.3863)
    """
    seen, positions = log.row_counts, log.positions
    behaviour = model.behaviour(log)
    given_above = _log_chances(behaviour.conditional(log.clicks), log.clicks)
    alone = _log_chances(behaviour.probabilities(), log.clicks)
    pages = len(log) if log.counts is None else float(log.counts.sum())
    views = np.bincount(positions, seen)
    ranks = np.flatnonzero(views)
    if len(ranks) == 0:
        raise DataError("the log shows no document; there is nothing to measure")

    def perplexity(logs: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.exp(-np.bincount(positions, seen * logs)[ranks] / views[ranks])

    return ClickScores(
        float((seen * given_above).sum() / pages), ranks, perplexity(alone), perplexity(given_above)
    )


@dataclass(frozen=True, eq=False)
class FittedModel:
    """How well a click model explains pages that it was not fitted to.

    parameters : those that do not depend on a document
    """

    name: str
    scores: ClickScores
    parameters: dict[str, float | list[float]]

    def to_dict(self) -> dict[str, Any]:
        """Return what the command line prints as JSON."""
        return {
            "model": self.name,
            "log_likelihood": self.scores.log_likelihood,
            "perplexity": self.scores.perplexity,
            "conditional_perplexity": self.scores.conditional_perplexity,
            "perplexity_at": self.scores.perplexity_at.tolist(),
            "parameters": self.parameters,
        }


def fit_models(
    names: Sequence[str], log: ClickLog, test: ClickLog | None = None, *, seed: int = 0
) -> list[FittedModel]:
    """Fit models by name; without a test log, a quarter of the pages is held out for it.

    Test pages of queries that were not fitted are left out: no model knows their documents.
    """
    train = log
    if test is None:
        held_out = np.random.default_rng(seed).random(len(log)) < 0.25
        train, test = log.select(~held_out), log.select(held_out)
    test = test.of_queries(train.query_ids[np.unique(train.queries)])
    if len(test) == 0:
        raise DataError(
            "no page of the test log has a query of the training log, so nothing can "
            "be evaluated; give a test log of the same queries"
        )
    fitted = []
    for name in names:
        model = make_click_model(name).fit(train)
        parameters = {
            key: value.tolist() if isinstance(value, np.ndarray) else float(value)
            for key in _BY_POSITION
            if isinstance(value := getattr(model, key, None), np.ndarray | float)
        }
        fitted.append(FittedModel(name, evaluate_clicks(model, test), parameters))
    return fitted


def _log_chances(chances: NDArray[np.float64], clicks: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return log P(click) of clicked documents, and log P(no click) of others."""
    happened = np.where(clicks, chances, 1 - chances)
    return np.asarray(np.log(np.clip(happened, FLOOR, 1 - FLOOR)))
