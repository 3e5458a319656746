"""The result of one round of training."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Round:
    """The result of one round of training.

    number : the number of the round, from 1
    objective : the value of the objective on the training data; lower is better
    valid : the measure on the validation set, or None
    best : whether no earlier round was better on the validation set
    """

    number: int
    objective: float
    valid: float | None
    best: bool
