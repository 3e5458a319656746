"""Compute the features of a log as they were at each moment: the live fold, over past events."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankloop.exceptions import DataError
from rankloop.features.events import Interaction, ItemEvent, RankingEvent
from rankloop.features.state import FeatureState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from rankloop.features.definitions import Definitions
    from rankloop.features.events import Event


class LoggedFeatures(NamedTuple):
    """The rankings of a log in order of time, with the features of their items.

    feedback : the interactions with the items of each ranking, also those that came later
    notes : what counted nothing, and how often
    """

    rankings: list[RankingEvent]
    matrices: list[NDArray[np.float32]]
    feedback: list[list[Interaction]]
    notes: Counter[str]
    state: FeatureState


def fold_events(
    events: Iterable[Event], definitions: Definitions, examination: Sequence[float] = ()
) -> LoggedFeatures:
    """Fold a log in order of time, and compute the features of each ranking before it is shown.

    Events of one time keep their order. An event of a known ranking about an item that it did not
    show counts nothing, and neither does an event id or a ranking that was there before. An event
    before its ranking waits for it, and counts at the time of the ranking.
    """
    state = FeatureState(definitions, examination)
    log = LoggedFeatures([], [], [], Counter(), state)
    place: dict[str, int] = {}
    waiting: dict[str, list[Interaction]] = {}
    seen: set[str] = set()
    for event in sorted(events, key=lambda event: event.at):
        if isinstance(event, ItemEvent):
            state.change_items(event.kind, [event.change], event.at)
        elif isinstance(event, RankingEvent):
            if event.id in place:
                log.notes["rankings that were there before"] += 1
                continue
            place[event.id] = len(place)
            given = given_matrix(event, definitions)
            log.matrices.append(state.matrix(event.items, event.request, event.at, given))
            log.rankings.append(event)
            log.feedback.append([])
            state.show(event.id, event.items, event.request, event.at)
            for early in waiting.pop(event.id, ()):
                _observe(replace(early, at=event.at), log, place)
        elif event.id is not None and event.id in seen:
            log.notes["events that were there before"] += 1
        elif event.ranking_id is not None and event.ranking_id not in place:
            waiting.setdefault(event.ranking_id, []).append(event)
            seen.add(event.id or "")
        elif _observe(event, log, place):
            seen.add(event.id or "")
    log.notes["events of unknown rankings"] += sum(map(len, waiting.values()))
    return log


def _observe(event: Interaction, log: LoggedFeatures, place: dict[str, int]) -> bool:
    """Count an event; return False for an item that its ranking did not show."""
    if event.ranking_id is not None:
        k = place[event.ranking_id]
        if event.item not in log.rankings[k].items:
            log.notes["events about items that were not shown"] += 1
            return False
        log.feedback[k].append(event)
    log.state.observe(
        event.item, event.type, event.value, event.at, event.ranking_id, event.request
    )
    return True


def given_matrix(event: RankingEvent, definitions: Definitions) -> NDArray[np.float32] | None:
    """Return the features that came with a ranking: rows x `definitions.given`; NaN is missing."""
    names = definitions.given
    if not names:
        return None
    rows = [event.given.get(item, {}) for item in event.items]
    values = np.array([[row.get(name, np.nan) for name in names] for row in rows], np.float64)
    if np.isinf(values).any():
        raise DataError(f"ranking {event.id!r} has a feature that is infinite; leave it out")
    return values.astype(np.float32)
