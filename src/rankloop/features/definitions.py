"""Definitions: the fields of items, users and requests, and the features made of them."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import blake2b
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from rankloop._utils.arguments import check_type
from rankloop._utils.messages import show_names
from rankloop._utils.names import unknown_name_error
from rankloop.exceptions import DataError
from rankloop.features.columns import Features
from rankloop.features.fields import SIDES, Field
from rankloop.features.kinds.given import Given
from rankloop.features.kinds.registry import KINDS
from rankloop.features.options import Fields, Options

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rankloop.features.counters import Counter
    from rankloop.features.kinds.base import Kind

_NAME = re.compile(r"[^\x00-\x1f\x7f]{1,200}")
_MAX_FEATURES = 10_000


@dataclass(frozen=True)
class Definitions:
    """What people wrote: fields and features. A value; two of them that say the same are equal.

    >>> definitions = Definitions.read(
    ...     {"item": {"price": "number"}},
    ...     {
    ...         "price": {"number": "item.price"},
    ...         "ctr": {"rate": "click", "of": "impression", "half_life": "7d"},
    ...     },
    ... )
    >>> definitions.names
    ('price', 'ctr')
    """

    fields: Fields
    features: tuple[Kind, ...]
    source: Mapping[str, Mapping[str, Any]] = field(repr=False)
    """The options of each feature, as they were written."""

    @classmethod
    def read(
        cls, fields: Mapping[str, Mapping[str, str]], features: Mapping[str, Mapping[str, Any]]
    ) -> Definitions:
        """Read definitions; raise for what is not valid, by the name of the field or feature.

        Parameters
        ----------
        fields : types of fields by name, for `item`, `user` and `request`
        features : options by the name of the feature; one of them is the kind, such as `rate`
        """
        known = _read_fields(fields)
        if not isinstance(features, dict) or not 1 <= len(features) <= _MAX_FEATURES:
            raise DataError(f"expected 1 to {_MAX_FEATURES:,} features, each with its options")
        made: dict[str, Kind] = {}
        for name, options in features.items():
            made[name] = _read_feature(name, options, known, made)
        source = json.loads(json.dumps(features))
        definitions = cls(known, tuple(made.values()), source)
        names = definitions.names
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise DataError(f"two columns of the features are named {twice!r}; rename a feature")
        return definitions

    @classmethod
    def of_given(cls, names: Sequence[str], defaults: Mapping[str, float] = {}) -> Definitions:
        """Return definitions of numbers that the caller sends.

        >>> Definitions.of_given(["bm25", "age"], {"age": 0.0}).given
        ('bm25', 'age')
        """
        features: dict[str, dict[str, object]] = {name: {"given": "number"} for name in names}
        for name, default in defaults.items():
            if name not in features:
                raise DataError(unknown_name_error("feature", name, names))
            features[name]["default"] = default
        return cls.read({}, features)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, from which :meth:`read` makes equal definitions."""
        fields = {
            side: {name: field.text for name, field in known.items()}
            for side, known in self.fields.items()
            if known
        }
        return {"fields": fields, "features": json.loads(json.dumps(self.source))}

    @cached_property
    def columns(self) -> Features:
        """The kind of each column of the matrix; categories have a fixed number of codes."""
        return Features(tuple(column for kind in self.features for column in kind.columns))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns of the matrix, in order; a feature may have several."""
        return self.columns.names

    @cached_property
    def spans(self) -> tuple[tuple[Kind, int, int], ...]:
        """Each feature with its first column and the one behind its last."""
        ends = list(accumulate(len(kind.columns) for kind in self.features))
        return tuple(zip(self.features, [0, *ends], ends, strict=False))

    @cached_property
    def sent(self) -> Mapping[str, Given]:
        """The features that the caller sends with each item, by name."""
        return {kind.name: kind for kind in self.features if isinstance(kind, Given)}

    @cached_property
    def given(self) -> tuple[str, ...]:
        """The columns of these features; a list of categories has several."""
        return tuple(column.name for kind in self.sent.values() for column in kind.columns)

    @property
    def are_given(self) -> bool:
        """Whether the caller sends all features, so that there is nothing to compute."""
        return len(self.sent) == len(self.features)

    @cached_property
    def counters(self) -> tuple[Counter, ...]:
        """The counters that the features read; features that read the same one share it."""
        return tuple(dict.fromkeys(c for kind in self.features for c in kind.counters))

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of all keys: `item`, `user`, `item.brand` and so on."""
        kinds = [part for kind in self.features for part in kind.parts]
        return tuple(dict.fromkeys([p for c in self.counters for p in c.per] + kinds))

    @property
    def texts(self) -> frozenset[str]:
        """The text fields of items whose words are needed."""
        return frozenset(ref.field.name for kind in self.features for ref in kind.texts)

    def union(self, other: Definitions) -> Definitions:
        """Return definitions with the columns of both.

        A feature that both define in the same way occurs once; one that they define differently
        occurs twice, the second time as `name@digest`. See :meth:`places`.
        """
        fields = self.to_dict()["fields"]
        for side, known in other.to_dict()["fields"].items():
            ours = fields.setdefault(side, {})
            for name, kind in known.items():
                if ours.setdefault(name, kind) != kind:
                    raise DataError(
                        f"the field {side}.{name} is of the type {ours[name]} in one set of "
                        f"features and {kind} in the other; name one of them differently"
                    )
        features = dict(self.source)
        features |= {name: options for _, name, options in _rename(other, features)}
        return Definitions.read(fields, features)

    def places(self, other: Definitions) -> list[int]:
        """Return which columns of this union are those of `other`, in its order.

        >>> week = Definitions.read({}, {"ctr": {"rate": "click", "half_life": "7d"}})
        >>> month = Definitions.read({}, {"ctr": {"rate": "click", "half_life": "30d"}})
        >>> both = week.union(month)
        >>> both.places(week), both.places(month)
        ([0], [1])
        """
        spans = {kind.name: range(first, last) for kind, first, last in self.spans}
        places: list[int] = []
        for kind, name, _ in _rename(other, self.source):
            if name not in spans:
                raise DataError(f"feature {kind.name!r} is not one of {show_names(list(spans))}")
            places += spans[name]
        return places


def _rename(
    other: Definitions, features: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[Kind, str, Mapping[str, Any]]]:
    """Yield each feature of `other` with its name and options beside other features."""
    renamed: dict[str, str] = {}
    for kind in other.features:
        options = other.source[kind.name]
        if options.get("relative") in renamed:  # it is made of a feature that was renamed
            options = {**options, "relative": renamed[options["relative"]]}
        if features.get(kind.name, options) != options:
            renamed[kind.name] = f"{kind.name}@{_digest(options)}"
        yield kind, renamed.get(kind.name, kind.name), options


def _read_fields(fields: Mapping[str, Mapping[str, str]]) -> Fields:
    check_type("fields", fields, Mapping, "a mapping of owners to their fields")
    known: Fields = {side: {} for side in SIDES}
    for side, types in fields.items():
        if side not in known:
            raise DataError(unknown_name_error("owner of fields", side, SIDES))
        if not isinstance(types, dict):
            raise DataError(f"fields of the {side}: expected a type by name; found {types!r}")
        for name, text in types.items():
            if not isinstance(name, str) or not _NAME.fullmatch(name):
                raise DataError(f"a {side} has a field {name!r}; expected 1 to 200 characters")
            known[side][name] = Field.read(name, text)
    return known


def _read_feature(name: object, values: object, fields: Fields, above: dict[str, Kind]) -> Kind:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise DataError(f"a feature has the name {name!r}; expected 1 to 200 characters")
    if not isinstance(values, dict):
        raise DataError(
            f'feature {name!r}: expected options such as {{ number = "item.price" }}; found '
            f"{values!r}"
        )
    keywords = [key for key in values if key in KINDS]
    if len(keywords) != 1:
        shown = " and ".join(keywords) if keywords else ", ".join(map(str, values)) or "nothing"
        raise DataError(f"feature {name!r}: found {shown}; expected one kind of {', '.join(KINDS)}")
    widths = {kind.name: len(kind.columns) for kind in above.values()}
    options = Options(name, values, fields, widths)
    feature = KINDS[keywords[0]].read(name, options)
    options.finish()
    return feature


def _digest(options: Mapping[str, Any]) -> str:
    text = json.dumps(options, sort_keys=True, ensure_ascii=True)
    return blake2b(text.encode(), digest_size=4).hexdigest()
