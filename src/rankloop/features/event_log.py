"""Read events from JSON objects: those of Metarank's clients, of UBI, and our own.

- Metarank: objects with `event`: `item`, `user`, `ranking` or `interaction`
- UBI: queries, with `query_response_hit_ids`, and events, with `action_name`
- ours: rankings with `ranking_id` and `items`, feedback with `ranking_id` and `item`, and items
  with `id` and `fields`
"""

from __future__ import annotations

import contextlib
from collections import Counter
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from rankloop.exceptions import DataError
from rankloop.features.changes import Change
from rankloop.features.events import Event, Interaction, ItemEvent, RankingEvent
from rankloop.features.request import Request

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rankloop.features.changes import Mode
    from rankloop.features.definitions import Definitions
    from rankloop.features.fields import Field, Side

Unit = Literal["guess", "s", "ms"]
_OBJECT_IDS = ("object_id", "object_id_field", "internal_id", "transaction_id", "to_user_id")
_SECONDS_BELOW = 1e11  # in milliseconds, that is the year 1973


class EventReader:
    """Turns JSON objects into events, with the fields that definitions know.

    Parameters
    ----------
    definitions : whose fields and given features are taken, and others left out; None for all
        fields as they are, to look at a log
    unit : of times that are numbers: `s`, `ms`, or `guess`, by the size of the first one
    whole_items : whether all fields of items are taken, because more may be defined later

    Attributes
    ----------
    notes : what was left out, and how often

    Examples
    --------
    >>> from rankloop.features import Definitions
    >>> fields = {"item": {"year": "number"}}
    >>> reader = EventReader(Definitions.read(fields, {"year": {"number": "item.year"}}))
    >>> event = {"event": "item", "id": "e1", "timestamp": 828124614000, "item": "150"}
    >>> event["fields"] = [{"name": "year", "value": 1995}, {"name": "title", "value": "Apollo 13"}]
    >>> reader.read(event)[0].change
    Change(id='150', fields={'year': 1995}, mode='patch')
    """

    def __init__(
        self, definitions: Definitions | None, unit: Unit = "guess", whole_items: bool = False
    ) -> None:
        self._definitions, self._unit, self._whole_items = definitions, unit, whole_items
        self._hits: dict[str, tuple[int, dict[str, Any], dict[str, float]]] = {}
        self._takes_given = definitions is None or bool(definitions.given)
        self.notes: Counter[str] = Counter()

    @property
    def unit(self) -> Unit:
        """The unit of times, once it is known."""
        return self._unit

    def read(self, record: Mapping[str, Any]) -> Sequence[Event]:
        """Return the events of one object: none if it says nothing that counts."""
        if "event" in record:
            return self._metarank(record)
        if "action_name" in record or "query_response_hit_ids" in record or "user_query" in record:
            return self._ubi(record)
        return self._own(record)

    def finish(self) -> Iterator[Event]:
        """Yield the rankings of UBI whose items are known from later events only."""
        for name, (at, record, seen) in self._hits.items():
            items = tuple(sorted(seen, key=lambda item: (seen[item], item)))
            if items and record:
                yield RankingEvent(name, items, self._ubi_request(record), at)
            else:
                self.notes["queries without shown items"] += 1

    # ---- Metarank

    def _metarank(self, record: Mapping[str, Any]) -> Sequence[Event]:
        kind = record["event"]
        fields = _named(record.get("fields"))
        if kind in ("item", "user"):
            about = record.get(kind) or record.get("id")
            return self._change(kind, about, fields, record, "patch")
        if kind == "ranking":
            items = [item for item in record.get("items") or () if isinstance(item, dict)]
            names = [str(item["id"]) for item in items]
            request = self._request(record, fields)
            if not self._takes_given:
                return self._ranking(record["id"], names, request, record)
            given = {n: self._given(fields, i) for n, i in zip(names, items, strict=True)}
            return self._ranking(record["id"], names, request, record, given)
        if kind != "interaction" or record.get("item") is None:
            self.notes[f"events of the kind {kind}"] += 1
            return ()
        return self._interaction(record, record.get("type", "click"), fields.get("value"), fields)

    def _given(self, shared: Mapping[str, Any], item: Mapping[str, Any]) -> dict[str, float]:
        values = {**shared, "relevancy": item.get("relevancy"), **_named(item.get("fields"))}
        return self._numbers(values)

    # ---- UBI

    def _ubi(self, record: Mapping[str, Any]) -> Sequence[Event]:
        name = record.get("query_id")
        if "action_name" not in record:
            hits = record.get("query_response_hit_ids")
            if not isinstance(name, str):
                self.notes["queries without query_id"] += 1
                return ()
            if hits:
                self._hits.pop(name, None)
                return self._ranking(name, list(map(str, hits)), self._ubi_request(record), record)
            _, _, seen = self._hits.get(name, (0, {}, {}))
            self._hits[name] = (self._at(record), dict(record), seen)
            return ()
        about = record.get("event_attributes") or {}
        target = about.get("object") or {}
        item = target.get("object_id")
        if item is None:
            self.notes["events without object_id"] += 1
            return ()
        changed = self._ubi_object(str(item), target, record)
        if record["action_name"] != "impression":
            known = {**record, "item": item, "ranking": name}
            known["user"], known["query"] = record.get("client_id"), record.get("user_query")
            asked = record.get("query_attributes") or {}
            return (*changed, *self._interaction(known, record["action_name"], None, asked))
        ordinal = (about.get("position") or {}).get("ordinal")
        *_, seen = self._hits.setdefault(str(name), (0, {}, {}))
        seen.setdefault(str(item), float(str(ordinal)) if _is_number(ordinal) else len(seen))
        return changed

    def _ubi_object(
        self, item: str, target: Mapping[str, Any], record: Mapping[str, Any]
    ) -> Sequence[Event]:
        """Return the fields of an event's object as a change of the item."""
        found = self._known("item", object_fields(target))
        values = {name: value for name, value in found.items() if self._fits(name, value)}
        if not values:
            return ()
        return self._change("item", item, values, record, "patch")

    def _fits(self, name: str, value: object) -> bool:
        """Whether a value is of the type of its field, which UBI does not know."""
        try:
            self._fields("item")[name].check(value)
        except DataError:
            self.notes[f"values of object {name}, which are of another type"] += 1
            return False
        except KeyError:  # nothing is defined
            return True
        return True

    def _ubi_request(self, record: Mapping[str, Any]) -> Request:
        about = {**record, "user": record.get("client_id"), "query": record.get("user_query")}
        return self._request(about, record.get("query_attributes") or {})

    # ---- ours

    def _own(self, record: Mapping[str, Any]) -> Sequence[Event]:
        fields = record.get("fields") or {}
        if "items" in record and "ranking_id" in record:
            items = record["items"]
            names = [str(item["id"] if isinstance(item, dict) else item) for item in items]
            request = self._request(record, fields)
            if not self._takes_given:
                return self._ranking(record["ranking_id"], names, request, record)
            context = record.get("context") or {}
            sent = [item.get("features") if isinstance(item, dict) else None for item in items]
            given = {
                name: self._numbers({**context, **(features or {})})
                for name, features in zip(names, sent, strict=True)
            }
            return self._ranking(record["ranking_id"], names, request, record, given)
        if "item" in record:
            known = {**record, "ranking": record.get("ranking_id"), "id": record.get("event_id")}
            kind = record.get("type", "click")
            return self._interaction(known, kind, record.get("value"), fields)
        if "id" in record:
            return self._change("item", record["id"], fields, record)
        shown = ", ".join(list(record)[:8]) or "nothing"
        raise DataError(
            f"found an object with {shown}; expected an event of Metarank or UBI, a ranking "
            "(ranking_id, items), feedback (ranking_id, item) or an item (id, fields)"
        )

    # ---- parts

    def _change(
        self,
        side: Side,
        about: object,
        fields: Mapping[str, Any],
        record: Mapping[str, Any],
        mode: Mode = "put",
    ) -> Sequence[Event]:
        if about is None:
            self.notes[f"events without the id of the {side}"] += 1
            return ()
        whole = side == "item" and self._whole_items
        values = dict(fields) if whole else self._known(side, fields)
        name: str | bytes = str(about)
        change = Change(str(name).encode() if side == "user" else name, values, mode)
        return (ItemEvent("users" if side == "user" else "items", change, self._at(record)),)

    def _ranking(
        self,
        name: object,
        items: list[str],
        request: Request,
        record: Mapping[str, Any],
        given: Mapping[str, Mapping[str, float]] | None = None,
    ) -> Sequence[Event]:
        unique = tuple(dict.fromkeys(items))
        if not unique:
            self.notes["rankings without items"] += 1
            return ()
        return (RankingEvent(str(name), unique, request, self._at(record), given or {}),)

    def _interaction(
        self, record: Mapping[str, Any], kind: object, value: object, fields: Mapping[str, Any]
    ) -> Sequence[Event]:
        ranking = record.get("ranking")
        return (
            Interaction(
                str(record["item"]),
                str(kind),
                float(value) if _is_number(value) else 1.0,  # type: ignore[arg-type]
                self._at(record),
                None if ranking is None else str(ranking),
                self._request(record, fields) if ranking is None else None,
                None if record.get("id") is None else str(record["id"]),
            ),
        )

    def _request(self, record: Mapping[str, Any], fields: Mapping[str, Any]) -> Request:
        """Return who asked; the texts of the request are its `query` and its text fields."""
        asked = {**fields}
        if record.get("query") is not None:
            asked["query"] = record["query"]
        query = asked.get("query")
        asked = self._known("request", asked)
        texts = {
            name: str(asked[name])
            for name, field in self._fields("request").items()
            if field.type == "text" and asked.get(name) is not None
        }
        return Request(
            _bytes(record.get("user")),
            _bytes(record.get("session")),
            _bytes(query),
            {name: value for name, value in asked.items() if name not in texts},
            texts,
        )

    def _fields(self, side: Side) -> Mapping[str, Field]:
        return {} if self._definitions is None else self._definitions.fields[side]

    def _known(self, side: Side, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of fields that are defined."""
        if self._definitions is None:
            return dict(values)
        known = self._definitions.fields[side]
        return {name: value for name, value in values.items() if name in known}

    def _numbers(self, values: Mapping[str, Any]) -> dict[str, float]:
        """Return the numbers that were sent with an item, or what became of them, by column."""
        if self._definitions is None:
            known = {name: v for name, v in values.items() if isinstance(v, bool | int | float)}
            return {name: float(value) for name, value in known.items()}
        numbers: dict[str, float] = {}
        for name, kind in self._definitions.sent.items():
            with contextlib.suppress(DataError):  # of another type: missing
                columns = (column.name for column in kind.columns)
                numbers |= zip(columns, kind.read_value(values.get(name)), strict=True)
        return numbers

    def _at(self, record: Mapping[str, Any]) -> int:
        """Return the time of an object in milliseconds."""
        value = record.get("timestamp")
        if value is None:
            raise DataError(f"it has no timestamp, only {', '.join(record)}")
        if isinstance(value, str) and not value.isdigit():
            try:
                instant = datetime.fromisoformat(value)
            except ValueError:
                raise DataError(
                    f"timestamp: expected a date or a number; found {value!r}"
                ) from None
            aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
            return round(aware.timestamp() * 1000)
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            raise DataError(f"timestamp: expected a date or a number; found {value!r}") from None
        if not abs(number) < (2**42 if self._unit == "s" else 2**52):
            raise DataError(f"timestamp: expected milliseconds since 1970; found {value!r}")
        if self._unit == "guess":
            self._unit = "s" if number < _SECONDS_BELOW else "ms"
        return round(number * 1000) if self._unit == "s" else round(number)


def object_fields(target: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of an object of UBI: its own, and those of its `object_detail`.

    >>> object_fields({"object_id": "a", "name": "Shoe", "object_detail": {"price": 3}})
    {'name': 'Shoe', 'price': 3}
    """
    own = {name: value for name, value in target.items() if name not in _OBJECT_IDS}
    detail = own.pop("object_detail", None)
    return {**own, **(detail if isinstance(detail, dict) else {})}


def _named(fields: object) -> dict[str, Any]:
    """Return Metarank's list of names and values as a dictionary."""
    if isinstance(fields, dict):
        return fields
    return {f["name"]: f.get("value") for f in fields or () if "name" in f}  # type: ignore[attr-defined]


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _bytes(value: object) -> bytes | None:
    return None if value is None else str(value).encode()
