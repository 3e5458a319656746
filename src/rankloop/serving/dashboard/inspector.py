"""One ranking, looked at closely: what was shown and why, what people did, what others would show.

The text of the query and the session are left out: they may be personal, and whoever may look at
figures need not be allowed to read them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from rankloop.serving.entries import Observed, Ranked
from rankloop.serving.policy import best_order, score

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankloop.serving.journal.base import Journal, Record
    from rankloop.serving.service import Loop

_MOST_ROWS = 5_000
_MOST_PARTS = 6


class Part(msgspec.Struct):
    """What a feature adds to a score, and its value."""

    feature: str
    value: float
    adds: float


class Happened(msgspec.Struct):
    """Something that somebody did with an item."""

    type: str
    value: float
    at: float


class Shown(msgspec.Struct):
    """An item as it was shown; `parts` are those that add most, up or down."""

    place: int
    item: str
    score: float
    team: int | None
    propensity: float | None
    parts: list[Part]
    events: list[Happened]


class Inspected(msgspec.Struct):
    """A ranking, closely.

    same_model : whether the parts are of the model as it ranked; else of that model as it is now
    state : open, or closed
    searched : entries after the ranking that were searched for feedback; None: all of it was found
    others : by model, as it is now: the items it would show, from the top
    """

    id: str
    at: float
    position: int
    model: str
    version: int
    policy: str
    experiment: str | None
    state: str
    same_model: bool
    searched: int | None
    items: list[Shown]
    others: dict[str, list[str]]


def inspected(loop: Loop, found: Record, entry: Ranked) -> Inspected:
    """Return all that is known of a ranking. Not for the event loop."""
    now = loop.published
    X = entry.matrix()
    waiting = loop.inspect(lambda engine: _positions(engine.joins.open.get(entry.id)))
    with loop.reader() as journal:
        if waiting is not None:
            records: list[Record] = [
                loop.recent(place) or journal.read(place - 1, place, 1)[0] for place in waiting
            ]
            state, searched = "open", None
        else:
            records, searched = _after(journal, found.position, entry.id)
            state = "closed"
    events: dict[str, list[Happened]] = {}
    for record in records:
        one = record.entry
        if isinstance(one, Observed):
            events.setdefault(one.item, []).append(Happened(one.type, one.value, record.at / 1000))
    model = now.models.get(entry.model)
    added = None if model is None else model.contributions(X)[:, :-1]
    scores = np.frombuffer(entry.scores, np.float64)
    chances = None if entry.propensities is None else np.frombuffer(entry.propensities, np.float64)
    items = [
        Shown(
            place + 1,
            entry.items[row],
            float(scores[row]),
            None if entry.teams is None else entry.teams[place],
            None if chances is None else float(chances[place]),
            [] if added is None else _parts(now.settings.names, X[row], added[row]),
            events.get(entry.items[row], []),
        )
        for place, row in enumerate(entry.order)
    ]
    k = len(entry.order)
    return Inspected(
        entry.id,
        found.at / 1000,
        found.position,
        entry.model,
        entry.version,
        entry.policy,
        entry.experiment,
        state,
        now.versions.get(entry.model) == entry.version,
        searched,
        items,
        {
            name: [entry.items[row] for row in best_order(score(other, X))[:k].tolist()]
            for name, other in now.models.items()
        },
    )


def _positions(waiting: object) -> list[int] | None:
    return None if waiting is None else list(waiting.events)  # type: ignore[attr-defined]


def _after(journal: Journal, position: int, ranking_id: str) -> tuple[list[Record], int | None]:
    """Return the events of a closed ranking, and how many entries were searched if not all."""
    closed = journal.find(f"closed:{ranking_id}")
    end = journal.head() if closed is None else closed.position
    until = min(end, position + _MOST_ROWS)
    records = [
        record for record in journal.scan(position, until, 500) if _is_of(record, ranking_id)
    ]
    return records, None if until == end else until - position


def _is_of(record: Record, ranking_id: str) -> bool:
    return isinstance(record.entry, Observed) and record.entry.ranking_id == ranking_id


def _parts(names: tuple[str, ...], values: np.ndarray, added: np.ndarray) -> list[Part]:
    def parts() -> Iterator[Part]:
        for feature in np.argsort(-np.abs(added), kind="stable")[:_MOST_PARTS].tolist():
            yield Part(names[feature], float(values[feature]), float(added[feature]))

    return list(parts())
