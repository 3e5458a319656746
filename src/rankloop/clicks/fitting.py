"""Fit click models to one part of a log, and evaluate them on another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.clicks.models.evaluation import evaluate_clicks
from rankloop.clicks.models.registry import make_click_model
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.models.evaluation import ClickScores

_BY_POSITION = ("examination", "relevant", "irrelevant", "rates", "go_on")


@dataclass(frozen=True, eq=False)
class FittedModel:
    """A click model with how well it explains pages that it was not fitted to.

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
    found = []
    for name in names:
        model = make_click_model(name).fit(train)
        parameters = {
            key: value.tolist() if isinstance(value, np.ndarray) else float(value)
            for key in _BY_POSITION
            if isinstance(value := getattr(model, key, None), np.ndarray | float)
        }
        found.append(FittedModel(name, evaluate_clicks(model, test), parameters))
    return found
