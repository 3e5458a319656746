"""The state of a loop as values: what is saved, what is counted, and what ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import msgspec

from rankloop.serving.config import LoopSettings
from rankloop.serving.contest import Contest
from rankloop.serving.experiments import Tally
from rankloop.serving.joins import Joins
from rankloop.serving.models import Curve, ModelState

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.rankers.base import Ranker
    from rankloop.serving.trials import Duel

ENGINE = 2
"""The version of the arithmetic. Digests are compared only if it is the same."""


class Counters(msgspec.Struct):
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


class Published(NamedTuple):
    """All that ranking needs, and the quality of the loop, after one entry; it never changes.

    models, versions, curves : by name: the model, the position of its last change, its quality
    duel, alpha, tallies : the running experiment, its share of the error budget, and its results
        for each challenger
    contest : the number of experiments so far, and the error budget that they used
    shown : the quality of the rankings that were shown
    """

    position: int
    settings: LoopSettings
    champion: str
    models: Mapping[str, Ranker]
    versions: Mapping[str, int]
    curves: Mapping[str, Curve]
    counters: Counters
    shown: Curve
    duel: Duel | None
    alpha: float
    tallies: tuple[Tally, ...]
    contest: Contest


class State(msgspec.Struct):
    """The engine's state as plain values."""

    engine: int
    position: int
    chain: bytes
    settings: LoopSettings | None
    models: list[ModelState]
    joins: Joins
    counters: Counters
    shown: Curve
    contest: Contest
    digests: dict[int, str]
