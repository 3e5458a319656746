"""Compute the features of a log as they were at each moment: the live fold, over past events."""

from __future__ import annotations

from collections import Counter
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


class UnorderedError(DataError):
    """The events of a log are not in order of time, so all of them must be sorted first."""


class LoggedFeatures(NamedTuple):
    """The rankings of a log in order of time, with the features of their items.

    ids, items : of each ranking
    feedback : the item, the type and the value of what was done with each, also of what came later
    notes : what counted nothing, and how often
    """

    ids: list[str]
    items: list[tuple[str, ...]]
    matrices: list[NDArray[np.float32]]
    feedback: list[list[tuple[str, str, float]]]
    notes: Counter[str]
    state: FeatureState


def fold_events(
    events: Iterable[Event], definitions: Definitions, examination: Sequence[float] = ()
) -> LoggedFeatures:
    """Fold a log, and compute the features of each ranking before it is shown.

    Events must be in order of time; those of one time keep their order. An event of a known ranking
    about an item that it did not show counts nothing, and neither does an event id or a ranking
    that was there before. An event before its ranking waits for it, and counts at the time of the
    ranking.
    """
    state = FeatureState(definitions, examination)
    log = LoggedFeatures([], [], [], [], Counter(), state)
    place: dict[str, int] = {}
    waiting: dict[str, list[Interaction]] = {}
    seen: set[str] = set()
    names: dict[str, str] = {}  # one object for each item
    last = None
    for event in events:
        if last is not None and event.at < last:
            raise UnorderedError("the events are not in order of time")
        last = event.at
        if isinstance(event, ItemEvent):
            state.change_items(event.kind, [event.change], event.at)
        elif isinstance(event, RankingEvent):
            if event.id in place:
                log.notes["rankings that were there before"] += 1
                continue
            place[event.id] = len(place)
            given = given_matrix(event, definitions)
            log.matrices.append(state.matrix(event.items, event.request, event.at, given))
            log.ids.append(event.id)
            log.items.append(tuple(names.setdefault(item, item) for item in event.items))
            log.feedback.append([])
            state.show(event.id, event.items, event.request, event.at)
            for early in waiting.pop(event.id, ()):
                _observe(early._replace(at=event.at), log, place)
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
        if event.item not in log.items[k]:
            log.notes["events about items that were not shown"] += 1
            return False
        log.feedback[k].append((event.item, event.type, event.value))
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
