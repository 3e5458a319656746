"""What a catalogue and a log contain: fields and their types, types of events, who asks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rankloop.features.events import Interaction, ItemEvent
from rankloop.features.field_texts import are_ids, guess_type, read_list

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rankloop.features.events import Event

COUNTED = 5_000
"""Values of a field that are looked at, and different ones that are counted."""
_AMOUNTS = 1_000


@dataclass
class FieldSurvey:
    """The values of one field."""

    values: list[Any] = field(default_factory=list)
    different: set[str] = field(default_factory=set)
    n: int = 0

    def add(self, value: Any) -> None:
        """Note a value; None is a missing one."""
        if value is None:
            return
        self.n += 1
        if len(self.values) < COUNTED:
            self.values.append(value)
        if len(self.different) < COUNTED:
            words = value if isinstance(value, list | tuple) else [value]
            if isinstance(value, str) and ("|" in value or value.startswith("[")):
                words = read_list(value)
            self.different.update(str(word) for word in words[:50])

    @property
    def are_ids(self) -> bool:
        """Whether nearly every value is another one, from which nothing can be learnt."""
        return are_ids(len(self.different), min(self.n, COUNTED))


@dataclass
class Survey:
    """What there is.

    fields : by side (`item`, `user`, `request`) and name
    rows : how many items, users and requests were looked at
    events : how often each type of interaction occurs
    amounts : the different values of each type
    given : features that came with the items of rankings
    """

    fields: dict[str, dict[str, FieldSurvey]] = field(
        default_factory=lambda: {"item": {}, "user": {}, "request": {}}
    )
    rows: Counter[str] = field(default_factory=Counter)
    events: Counter[str] = field(default_factory=Counter)
    amounts: dict[str, set[float]] = field(default_factory=dict)
    given: dict[str, None] = field(default_factory=dict)
    users: int = 0
    sessions: int = 0
    queries: int = 0

    def add_row(self, side: str, values: Mapping[str, Any]) -> None:
        """Note the fields of an item, a user or a request."""
        self.rows[side] += 1
        known = self.fields[side]
        for name, value in values.items():
            known.setdefault(str(name), FieldSurvey()).add(value)

    def add_events(self, events: Iterable[Event]) -> None:
        """Note all events of a log."""
        for event in events:
            if isinstance(event, ItemEvent):
                side = "user" if event.kind == "users" else "item"
                self.add_row(side, event.change.fields or {})
            elif isinstance(event, Interaction):
                self.events[event.type] += 1
                amounts = self.amounts.setdefault(event.type, set())
                if len(amounts) < _AMOUNTS:
                    amounts.add(event.value)
            else:
                request = event.request
                self.add_row("request", request.fields)
                self.users += request.user is not None
                self.sessions += request.session is not None
                self.queries += request.query is not None
                self.given.update(dict.fromkeys(n for row in event.given.values() for n in row))

    def types(self, side: str) -> dict[str, str]:
        """Return the type of each field that has one."""
        found = {}
        for name, survey in self.fields[side].items():
            kind = guess_type(name, survey.values)
            if kind is not None:
                found[name] = kind
        return found

    def missing(self, side: str, name: str) -> float:
        """Return the share of rows without a field."""
        return 1 - self.fields[side][name].n / max(self.rows[side], 1)
