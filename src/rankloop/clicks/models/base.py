"""The base class of click models, and helpers for their parameters."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Self, TypeVar

import numpy as np

from rankloop.data.validation import check_counts
from rankloop.exceptions import DataError, NotFittedError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from rankloop.clicks.log.log import ClickLog
    from rankloop.clicks.models.behaviour import Behaviour

T = TypeVar("T")


class ClickModel(ABC):
    """A click model is a value: `fit` returns a fitted one and leaves the old one as it was.

    Every parameter is a probability with a Beta prior: `prior` is the number of clicks and of
    skips that it starts with. A query and a document that were never seen together have the mean
    of the prior.
    """

    @abstractmethod
    def fit(self, log: ClickLog) -> Self:
        """Return the model with its parameters learnt from a log."""

    @abstractmethod
    def behaviour(self, log: ClickLog) -> Behaviour:
        """Return what users do with the pages of a log; the clicks of the log have no effect."""

    def probabilities(self, log: ClickLog) -> NDArray[np.float64]:
        """Return the probability of a click on each shown document, one per row of the log."""
        return self.behaviour(log).probabilities()

    def conditional(self, log: ClickLog) -> NDArray[np.float64]:
        """Return the same, given the clicks that the log has above the document on its page."""
        return self.behaviour(log).conditional(log.clicks)

    def sample(self, rng: np.random.Generator, log: ClickLog) -> ClickLog:
        """Return the pages of a log with newly drawn clicks, of one user per page."""
        return log.with_clicks(self.behaviour(log).sample(rng))


def require_fitted(value: T | None, model: ClickModel) -> T:
    """Return a learnt parameter, or raise if the model has learnt nothing."""
    if value is None:
        name = type(model).__name__
        raise NotFittedError(f"this {name} has no parameters yet; use {name}(...).fit(log)")
    return value


def check_prior(prior: tuple[float, float]) -> None:
    """Raise unless these are two numbers above 0."""
    if len(prior) != 2 or not all(np.isfinite(part) and part > 0 for part in prior):
        raise DataError(
            "prior must be two numbers above 0, the clicks and the skips that each parameter "
            f"starts with; found {prior!r}"
        )


def check_iterations(iterations: int, least: int = 0) -> None:
    """Raise unless this is a whole number of at least `least`."""
    if not isinstance(iterations, int | np.integer) or iterations < least:
        raise DataError(
            f"iterations must be a whole number of at least {least}; found {iterations!r}"
        )


def count_ranks(ranks: int | None, log: ClickLog) -> int:
    """Return how many positions have their own parameters."""
    if ranks is None:
        return int(log.positions.max(initial=1))
    check_counts(ranks=ranks)
    return int(ranks)


def by_position(values: NDArray[np.float64], log: ClickLog) -> NDArray[np.float64]:
    """Return the value of each row's position; positions beyond the last one share its value."""
    return np.take(values, np.minimum(log.positions, len(values)) - 1)


def as_chances(values: ArrayLike, name: str, ndim: int = 1) -> NDArray[np.float64]:
    """Return probabilities as an array; raise if a value is not a probability."""
    chances = np.asarray(values, np.float64)
    if chances.ndim != ndim or chances.size == 0 or not ((chances >= 0) & (chances <= 1)).all():
        raise DataError(f"{name} must be numbers from 0 to 1; found {values!r}")
    return chances
