"""The state of a loop as values: what is saved, what is counted, and what ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from rankloop.serving.engine.joins import Joins
from rankloop.serving.experiments.champion import Experiments
from rankloop.serving.experiments.intervals import Outcomes
from rankloop.serving.learning.changes import Changes
from rankloop.serving.learning.failures import Failure
from rankloop.serving.learning.models import ModelState, Quality
from rankloop.serving.settings.loop import LoopSettings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.rankers.base import Ranker
    from rankloop.serving.experiments.experiment import ExperimentModels

ENGINE = 5
"""The version of the arithmetic. Digests are compared only if it is the same."""


class Totals(msgspec.Struct):
    """Numbers of each kind so far."""

    rankings: int = 0
    events: int = 0
    pending: int = 0
    late: int = 0
    rejected: int = 0
    strays: int = 0
    judgements: int = 0
    closed: int = 0
    examples: int = 0
    agreed: int = 0
    refused: int = 0
    failed: int = 0


class Published(NamedTuple):
    """All that ranking needs, and the quality of the loop, after one entry; it never changes.

    models, versions, curves : by name: the model, the position of its last change, its quality
    refused : by name: the number of examples from which the model could not learn
    changes : by name: the changes of people or items that the model noticed
    experiment, alpha, outcomes : the running experiment, its share of the error budget, and the
        outcomes of each challenger
    experiments : the number of experiments so far, and the error budget that they used
    shown : the quality of the rankings that were shown
    columns : names of computed columns, by the position of the settings that defined them
    failures : the latest entries, examples and models that failed, and were left out
    """

    position: int
    settings: LoopSettings
    champion: str
    models: Mapping[str, Ranker]
    versions: Mapping[str, int]
    curves: Mapping[str, Quality]
    refused: Mapping[str, int]
    changes: Mapping[str, Changes]
    totals: Totals
    shown: Quality
    experiment: ExperimentModels | None
    alpha: float
    outcomes: tuple[Outcomes, ...]
    experiments: Experiments
    columns: Mapping[int, tuple[str, ...]]
    failures: tuple[Failure, ...] = ()


class State(msgspec.Struct):
    """The engine's state as plain values."""

    engine: int
    position: int
    chain: bytes
    settings: LoopSettings | None
    models: list[ModelState]
    joins: Joins
    totals: Totals
    shown: Quality
    experiments: Experiments
    digests: dict[int, str]
    failures: list[Failure] = []
    base: int = 0
    columns: dict[int, tuple[str, ...]] = {}
