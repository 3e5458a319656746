"""One ranking in detail: what was shown and why, what people did, and what others would show.

The text of the query and the session are left out: they may be personal, and people who may see
the dashboard need not be allowed to read them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import msgspec
import numpy as np

from rankloop.serving.engine.columns import arrange, columns_of
from rankloop.serving.journal.ranking_entries import Observed, Ranked
from rankloop.serving.policy import best_order, score

if TYPE_CHECKING:
    from rankloop.features.column import Feature
    from rankloop.serving.engine.joins import Joins
    from rankloop.serving.journal.base import Record
    from rankloop.serving.loop import Loop
    from rankloop.serving.settings.loop import LoopSettings

RankingState = Literal["open", "closed", "old"]

_MAX_PARTS = 6


class Contribution(msgspec.Struct):
    """What a feature adds to a score, and its value: a number, a category, or None if missing."""

    feature: str
    value: float | str | None
    adds: float


class ItemAction(msgspec.Struct):
    """An action of a person on an item."""

    type: str
    value: float
    at: float


class ShownItem(msgspec.Struct):
    """An item as it was shown; `parts` are the features that contribute most to its score."""

    place: int
    item: str
    score: float
    team: int | None
    propensity: float | None
    parts: list[Contribution]
    events: list[ItemAction]


class RankingDetails(msgspec.Struct):
    """A ranking in detail.

    same_model : whether the model has not changed since; otherwise `parts` are by its present state
    state : open, closed, or old (its feedback is no longer in memory, only in the journal)
    others : for each model in its present state, the items that it would show, from the top
    """

    id: str
    at: float
    position: int
    model: str
    version: int
    policy: str
    experiment: str | None
    state: RankingState
    same_model: bool
    items: list[ShownItem]
    others: dict[str, list[str]]


def inspect(loop: Loop, record: Record, entry: Ranked) -> RankingDetails:
    """Return all that is known about a ranking. Not for the event loop."""
    now = loop.published
    names = now.settings.names
    X = arrange(entry.matrix(), columns_of(entry, now.columns, names), names)
    state, places = loop.inspect(lambda engine: _feedback(engine.joins, entry.id))
    events: dict[str, list[ItemAction]] = {}
    with loop.reader() as journal:
        for place in places:
            event_record = loop.recent(place) or journal.read(place - 1, place, 1)[0]
            event = event_record.entry
            if isinstance(event, Observed):
                item_event = ItemAction(event.type, event.value, event_record.at / 1000)
                events.setdefault(event.item, []).append(item_event)
    model = now.models.get(entry.model)
    own = names if model is None else model.feature_names_in_ or names
    seen = arrange(X, names, own)  # a model may have learnt other features than the present ones
    added = None if model is None else model.contributions(seen)[:, :-1]
    labels = loop.live.labels()
    scores = np.frombuffer(entry.scores, np.float64)
    chances = None if entry.propensities is None else np.frombuffer(entry.propensities, np.float64)
    items = [
        ShownItem(
            place + 1,
            entry.items[row],
            float(scores[row]),
            None if entry.teams is None else entry.teams[place],
            None if chances is None else float(chances[place]),
            []
            if added is None
            else _parts(now.settings, own, seen[row].tolist(), added[row], labels),
            events.get(entry.items[row], []),
        )
        for place, row in enumerate(entry.order)
    ]
    k = len(entry.order)
    return RankingDetails(
        entry.id,
        record.at / 1000,
        record.position,
        entry.model,
        entry.version,
        entry.policy,
        entry.experiment,
        state,
        now.versions.get(entry.model) == entry.version,
        items,
        {
            name: [entry.items[row] for row in best_order(score(other, X, names))[:k].tolist()]
            for name, other in now.models.items()
        },
    )


def _feedback(joins: Joins, ranking_id: str) -> tuple[RankingState, list[int]]:
    """Return whether a ranking waits for feedback, and the positions of the events on it."""
    known = joins.open.get(ranking_id)
    if known is not None:
        return "open", list(known.events)
    known = joins.closed.get(ranking_id)
    return ("old", []) if known is None else ("closed", list(known.events))


def _parts(
    settings: LoopSettings,
    names: tuple[str, ...],
    values: list[float],
    added: np.ndarray,
    labels: dict[str, str],
) -> list[Contribution]:
    """Return the features that add most, the largest first."""
    known = {} if settings.columns is None else {c.name: c for c in settings.columns}
    return [
        Contribution(names[j], _value(known.get(names[j]), values[j], labels), float(added[j]))
        for j in np.argsort(-np.abs(added), kind="stable")[:_MAX_PARTS].tolist()
    ]


def _value(column: Feature | None, value: float, labels: dict[str, str]) -> float | str | None:
    """Return a value as people know it: a category by its name, and not by its code."""
    if np.isnan(value):
        return None
    if column is None or column.kind != "category":
        return value
    name = column.code_names[int(value)] if value < column.codes else str(value)
    return labels.get(name, name)
