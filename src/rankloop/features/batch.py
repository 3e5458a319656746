"""Compute the features of a log as they were at each moment: the live fold, over past events."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rankloop import _core
from rankloop.exceptions import DataError
from rankloop.features.events import ItemEvent, RankingEvent
from rankloop.features.request import Request
from rankloop.features.state import FeatureState

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from rankloop.features.definitions import Definitions
    from rankloop.features.events import Event


_UNORDERED = "the events are not in order of time"


class UnorderedError(DataError):
    """The events of a log are not in order of time, so all of them must be sorted first."""


class Feedback(NamedTuple):
    """What was done with items that were shown, one number an event.

    rows : of the items, among those of all rankings
    types : numbers of `names`
    """

    rows: NDArray[np.int64]
    types: NDArray[np.int32]
    values: NDArray[np.float64]
    names: list[str]


class LoggedFeatures(NamedTuple):
    """The rankings of a log in order of time, with the features of their items.

    ids, items : of each ranking
    feedback : what was done with each, also of what came later
    notes : what counted nothing, and how often
    """

    ids: list[str]
    items: list[tuple[str, ...]]
    matrices: list[NDArray[np.float32]]
    feedback: Feedback
    notes: Counter[str]
    state: FeatureState


def fold_events(
    events: Iterable[Event | _core.FeatureInteractions],
    definitions: Definitions,
    examination: Sequence[float] = (),
) -> LoggedFeatures:
    """Fold a log, and compute the features of each ranking before it is shown.

    Events must be in order of time; those of one time keep their order. An event of a known ranking
    about an item that it did not show counts nothing, and neither does an event id or a ranking
    that was there before. An event before its ranking waits for it, and counts at the time of the
    ranking.
    """
    state = FeatureState(definitions, examination)
    fold, nobody, log = state.fold, state.context(Request()), _core.FeatureLog()
    ids: list[str] = []
    items: list[tuple[str, ...]] = []
    matrices: list[NDArray[np.float32]] = []
    repeated = 0
    names: dict[str, str] = {}  # one object for each item
    last = -(2**53)
    for event in events:
        if isinstance(event, _core.FeatureInteractions):
            end = log.observe_all(fold, event, nobody, last)
            if end is None:
                raise UnorderedError(_UNORDERED)
            last = end
            continue
        if event.at < last:
            raise UnorderedError(_UNORDERED)
        last = event.at
        if isinstance(event, ItemEvent):
            state.change_items(event.kind, [event.change], event.at)
        elif isinstance(event, RankingEvent):
            if not log.is_new(event.id):
                repeated += 1
                continue
            given = given_matrix(event, definitions)
            matrices.append(state.matrix(event.items, event.request, event.at, given))
            ids.append(event.id)
            items.append(tuple(map(names.setdefault, event.items, event.items)))
            context = state.context(event.request)
            log.show(fold, event.id, list(event.items), context, nobody, event.at)
        else:
            context = nobody if event.request is None else state.context(event.request)
            about = (event.ranking_id, event.item, event.type, event.value)
            log.observe(fold, *about, context, event.at, event.id)
    duplicates, strays, waiting = log.left_out()
    notes = {
        "rankings that were there before": repeated,
        "events that were there before": duplicates,
        "events about items that were not shown": strays,
        "events of unknown rankings": waiting,
    }
    feedback = Feedback(*log.feedback())
    return LoggedFeatures(ids, items, matrices, feedback, Counter(notes), state)


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
