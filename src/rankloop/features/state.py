"""The state of live features: a catalogue and counters, which events change one after the other."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop import _core
from rankloop.exceptions import DataError
from rankloop.features.fields import check_fields
from rankloop.features.kinds.base import CoreKind, PythonKind
from rankloop.features.request import Request
from rankloop.features.view import StateView

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rankloop.features.changes import Change, Side
    from rankloop.features.counters import Counter
    from rankloop.features.definitions import Definitions
    from rankloop.features.fields import Field, Value
    from rankloop.features.options import Ref

_NUMBERS = ("number", "boolean", "date")
_STORED = dict.fromkeys(_NUMBERS, "number")
MAX_ITEMS, MAX_KEYS, MAX_RANKINGS = 10_000_000, 1_000_000, 100_000


class FeatureState:
    """What features are computed from: a fold over entries, one after the other.

    The same entries give the same bits on every machine. `cpp/features/fold.hpp` has the fold, and
    the files of `kinds` say what each feature makes of it.

    Parameters
    ----------
    definitions : of fields and features
    examination : how likely each place is to be seen, from the first on; the last one holds for all
        places behind it
    max_items : the most items, and the most users, that the catalogue holds; more are refused
    max_keys : the most keys of a counter; the least recently changed goes
    max_rankings : the most rankings that events are joined with; the oldest goes

    Cost: a key takes about 50 bytes with a half-life and 150 with a window; an item its values, 20
    bytes more for each text or list, and 40 for itself.

    Examples
    --------
    >>> from rankloop.features import Change, Definitions
    >>> definitions = Definitions.read(
    ...     {"item": {"price": "number"}},
    ...     {"price": {"number": "item.price"}, "ctr": {"rate": "click", "prior": 1}},
    ... )
    >>> state = FeatureState(definitions)
    >>> state.change_items("items", [Change("a", {"price": 9.5}), Change("b", {"price": 3})], at=0)
    >>> state.show("r1", ["a", "b"], Request(), at=1000)
    >>> state.observe("a", "click", 1.0, at=2000, ranking_id="r1")
    >>> state.matrix(["a", "b"], Request(), at=3000)
    array([[9.5 , 0.75],
           [3.  , 0.25]], dtype=float32)
    """

    def __init__(
        self,
        definitions: Definitions,
        examination: Sequence[float] = (),
        max_items: int = MAX_ITEMS,
        max_keys: int = MAX_KEYS,
        max_rankings: int = MAX_RANKINGS,
    ) -> None:
        _check_limits(examination, max_items, max_keys, max_rankings)
        self.definitions = definitions
        self.examination = tuple(map(float, examination))
        self.max_items, self.max_keys, self.max_rankings = max_items, max_keys, max_rankings
        self.fold = self._new_fold()
        self.steps = _core.FeatureSteps(
            [
                (step.operation, first, *step[1:])
                for kind, first, _ in definitions.spans
                if isinstance(kind, CoreKind)
                for step in [kind.step(self)]
            ],
            len(definitions.names),
        )
        self.python_kinds = [
            (kind, first, last)
            for kind, first, last in definitions.spans
            if isinstance(kind, PythonKind)
        ]

    def check_items(self, kind: Side, changes: Sequence[Change]) -> None:
        """Raise for a change that cannot be made, by item, field and value; change nothing."""
        self._check(kind, changes)

    def change_items(
        self,
        kind: Side,
        changes: Sequence[Change],
        at: int,  # noqa: ARG002 - entries have a time; fields do not depend on it
    ) -> None:
        """Put, patch or delete items or users: all of them or, with an error, none.

        Cost: about 10 microseconds for an item of 20 fields.
        """
        for id, values in self._check(kind, changes):  # noqa: A001
            if values is None:
                self.fold.remove(kind == "users", id)
            else:
                self.fold.put(kind == "users", id, values)

    def show(
        self,
        ranking_id: str,
        items: Sequence[str],
        request: Request,
        at: int,
        first_place: int = 1,
    ) -> None:
        """Count items that were shown, and remember their ranking for events about it.

        Later pages of a ranking are further calls; the request of the first one holds. An item
        counts once a ranking.
        """
        context = self.context(request)
        self.fold.show(ranking_id, list(items), context, at, first_place)

    def observe(
        self,
        item: str,
        type: str,  # noqa: A002 - it is what everyone calls it
        value: float,
        at: int,
        ranking_id: str | None = None,
        request: Request | None = None,
    ) -> None:
        """Count an event about an item.

        The context is that of its ranking, if that is known, or else the given one. What was shown
        is counted by :meth:`show`: events of the types `impression` and `examination` add nothing.
        """
        if type not in ("impression", "examination"):
            context = self._nobody if request is None else self.context(request)
            self.fold.observe(ranking_id, item, type, value, context, at)

    def matrix(
        self,
        items: Sequence[str],
        request: Request,
        at: int,
        given: NDArray[np.float32] | None = None,
    ) -> NDArray[np.float32]:
        """Return the features of items: a row each, a column each of `definitions.names`.

        given : the values of `definitions.given`, rows x features; NaN is missing
        """
        return self.look(items, request, at, given).out

    def look(
        self,
        items: Sequence[str],
        request: Request,
        at: int,
        given: NDArray[np.float32] | None = None,
    ) -> StateView:
        """Return the features of items, and how many of them have no fields."""
        view = StateView(self, items, request, at, given)
        view.fill()
        return view

    def forget(self, keys: Collection[bytes]) -> None:
        """Remove users and the counters of users, sessions and queries, by their keyed hashes.

        Rankings of theirs are no longer joined with events; sums over many people remain.

        Cost: a pass over the keys of personal counters, about 10 ms for a million.
        """
        self.fold.forget(sorted(keys))

    def knows(self, kind: Side, id: str | bytes) -> bool:  # noqa: A002
        """Return whether the catalogue has an item or a user."""
        return not self.fold.count_new(kind == "users", [_key(id)])

    def describe(self, kind: Side, id: str | bytes, at: int = 0) -> dict[str, Any]:  # noqa: A002
        """Return the fields of an item or a user, None if unknown, and the sums of its counters.

        at : the time to which the sums decay; by default, they are those of their last change
        """
        values = self.fold.get(kind == "users", _key(id))
        names = self._fields(kind)
        fields = None
        if values is not None:
            fields = {
                name: _plain(field, value)
                for (name, field), value in zip(names.items(), values, strict=True)
            }
        request = Request(user=_key(id)) if kind == "users" else Request()
        view = self.fold.view([str(id)] if kind == "items" else [""], self.context(request))
        counters = {}
        for feature in self.definitions.features:
            for counter in feature.counters:
                if counter.per == (kind[:-1],):
                    n, m = view.sums(self.counter(counter), 0, at)
                    counters[feature.name] = {"n": n, "m": m}
        return {"fields": fields, "counters": counters}

    def labels(self) -> dict[str, str]:
        """Return readable names of columns of categories, by the name of the column.

        A column of a list of categories is named after the category that has it.
        """
        return {
            name: text
            for kind in self.definitions.features
            for name, text in kind.labels(self.categories).items()
        }

    def categories(self, ref: str) -> list[str]:
        """Return the categories of a field such as `item.brand`, by code."""
        side, _, name = ref.partition(".")
        if side == "request":
            return self.fold.categories(side, self._request_categories.index(name))
        return self.fold.categories(side, self._field_numbers[ref])

    def field(self, ref: Ref) -> int:
        """Return the number by which the core knows a field."""
        if ref.side != "request":
            return self._field_numbers[str(ref)]
        known = self._request_categories if ref.field.type == "category" else self._request_numbers
        return known.index(ref.field.name)

    def counter(self, counter: Counter) -> int:
        """Return the number by which the core knows a counter."""
        return self._counter_numbers[counter]

    def statistics(self) -> dict[str, Any]:
        """Return numbers of items, users, rankings, keys, evictions and bytes."""
        counters = zip(self.definitions.counters, self.fold.counter_statistics(), strict=True)
        return {
            "items": self.fold.size(False),
            "users": self.fold.size(True),
            "rankings": self.fold.rankings(),
            "bytes": self.fold.memory(False) + self.fold.memory(True),
            "counters": {
                str(counter): {"keys": keys, "evicted": evicted, "bytes": size}
                for counter, (keys, evicted, size) in counters
            },
        }

    def digest(self) -> bytes:
        """Return a digest of all changes and their results so far; it costs nothing."""
        return self.fold.digest()

    def to_parts(self) -> Iterator[tuple[str, bytes]]:
        """Yield the state in named parts, which can be stored one by one."""
        about = {
            **self.definitions.to_dict(),
            "examination": self.examination,
            "limits": [self.max_items, self.max_keys, self.max_rankings],
        }
        yield "definitions", json.dumps(about).encode()
        yield from self.fold.to_parts()

    @classmethod
    def from_parts(
        cls, definitions: Definitions, parts: Iterable[tuple[str, bytes]]
    ) -> FeatureState:
        """Restore a state from the parts of :meth:`to_parts`; raise if they are damaged."""
        known = dict(parts)
        try:
            about = json.loads(known.pop("definitions"))
            saved = {key: about[key] for key in ("fields", "features")}
            examination, limits = about["examination"], about["limits"]
        except (KeyError, ValueError, TypeError) as error:
            raise DataError(f"the saved state of features is damaged: {error!r}") from None
        if saved != definitions.to_dict():
            raise DataError("the state was saved with other definitions of features")
        state = cls(definitions, examination, *limits)
        try:
            for name in ("items", "users", "words", "counters", "rankings", "chain"):
                state.fold.read_part(name, known[name])
        except (KeyError, ValueError) as error:
            raise DataError(f"the saved state of features is damaged: {error!r}") from None
        return state

    def _new_fold(self) -> _core.FeatureFold:
        definitions = self.definitions
        fields = definitions.fields
        self._request_categories = [
            name for name, field in fields["request"].items() if field.type == "category"
        ]
        self._request_numbers = [
            name for name, field in fields["request"].items() if field.type in _NUMBERS
        ]
        self._nobody = self._context(None, None, None, {})
        parts = definitions.parts
        self._field_numbers = {
            f"{side}.{name}": k for side in fields for k, name in enumerate(fields[side])
        }
        self.slots = {part: k for k, part in enumerate(parts)}
        self._counter_numbers = {counter: k for k, counter in enumerate(definitions.counters)}
        recipes = [
            (c.event, c.of, [self.slots[p] for p in c.per], c.weight, c.half_life, c.window)
            for c in definitions.counters
        ]
        return _core.FeatureFold(
            [
                (_STORED.get(field.type, field.type), field.size, name in definitions.texts)
                for name, field in fields["item"].items()
            ],
            [
                (_STORED.get(field.type, field.type), field.size, False)
                for field in fields["user"].values()
            ],
            len(self._request_categories),
            [self._slot(part) for part in parts],
            recipes,
            list(self.examination),
            self.max_keys,
            self.max_rankings,
        )

    def _slot(self, part: str) -> tuple[str, int]:
        side, _, name = part.partition(".")
        if part == "request.query":
            return "query", 0
        if not name:
            return part, 0
        if side == "request":
            return "request_field", self._request_categories.index(name)
        return f"{side}_field", self._field_numbers[part]

    def _fields(self, kind: Side) -> Mapping[str, Field]:
        return self.definitions.fields["item" if kind == "items" else "user"]

    def _check(self, kind: Side, changes: Sequence[Change]) -> list[tuple[bytes, list[Any] | None]]:
        """Return the id of each change with the values of all fields, None to delete it."""
        if kind not in ("items", "users"):
            raise DataError(f"expected items or users; found {kind!r}")
        fields = self._fields(kind)
        checked: list[tuple[bytes, list[Any] | None]] = []
        for change in changes:
            key = _key(change.id)
            if change.mode == "delete":
                checked.append((key, None))
                continue
            values = check_fields(fields, change.fields or {}, f"{kind[:-1]} {change.id!r}")
            absent = ... if change.mode == "patch" else None
            checked.append((key, [values.get(name, absent) for name in fields]))
        size = self.fold.size(kind == "users")
        if size + len(changes) > self.max_items:
            ids = list({key for key, values in checked if values is not None})
            new = self.fold.count_new(kind == "users", ids)
            if size + new > self.max_items:
                raise DataError(
                    f"{new:,} new {kind} beside {size:,} would be more than {self.max_items:,}; "
                    "delete some, or raise max_items"
                )
        return checked

    def context(self, request: Request) -> _core.FeatureContext:
        """Return who asks, and the categories of a request, as the core takes them."""
        values = self.check_request(request) if request.fields else {}
        return self._context(request.user, request.session, request.query, values)

    def _context(
        self,
        user: bytes | None,
        session: bytes | None,
        query: bytes | None,
        values: Mapping[str, Value],
    ) -> _core.FeatureContext:
        words = [values.get(name) for name in self._request_categories]
        numbers = [values.get(name) for name in self._request_numbers]
        known = [np.nan if value is None else value for value in numbers]
        return _core.FeatureContext(user, session, query, words, known)  # type: ignore[arg-type]

    def check_request(self, request: Request) -> dict[str, Value]:
        """Return the checked fields of a request; raise by name."""
        return check_fields(self.definitions.fields["request"], request.fields, "the request")


def _check_limits(
    examination: Sequence[float], max_items: int, max_keys: int, max_rankings: int
) -> None:
    if not all(0 < seen <= 1 for seen in examination):
        raise DataError(
            f"examination must hold probabilities above 0 and up to 1; found {list(examination)!r}"
        )
    for name, limit in (
        ("max_items", max_items),
        ("max_keys", max_keys),
        ("max_rankings", max_rankings),
    ):
        if not 1 <= limit <= 2**31:
            raise DataError(f"{name} must be from 1 to 2,147,483,648; found {limit!r}")


def _key(id: str | bytes) -> bytes:  # noqa: A002
    if not id or len(id) > 1024:
        raise DataError(f"an id must have 1 to 1,024 characters; found {id[:40]!r}")
    try:
        return id.encode() if isinstance(id, str) else id
    except UnicodeEncodeError:
        raise DataError(f"the id {id!r} is no valid text") from None


def _plain(field: Field, value: object) -> object:
    """Return a value as it was sent."""
    if field.type == "boolean" and value is not None:
        return bool(value)
    if isinstance(value, bytes):
        return np.frombuffer(value, "<f4").tolist()
    return list(value) if isinstance(value, tuple) else value
