"""Fields of Metarank's events, for loops that compute features.

Metarank sends names with values. What an item has is stored whole, so that fields that are defined
later find their past; of users, only what is defined is stored.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rankloop.features.definitions import Definitions
    from rankloop.features.fields import Field


class MetarankField(msgspec.Struct):
    """A named value."""

    name: str
    value: Any = None


def field_values(fields: Iterable[MetarankField]) -> dict[str, Any]:
    """Return values by name; of a name that occurs twice, the last one."""
    return {field.name: field.value for field in fields}


def known_values(
    fields: Iterable[MetarankField], definitions: Definitions, side: str
) -> dict[str, Any]:
    """Return the values that are defined, and of the right type; Metarank ignores others, too."""
    known: Any = definitions.fields[side]  # type: ignore[index]
    return known_fields(field_values(fields), known)


def known_fields(fields: Mapping[str, Any], known: Mapping[str, Field]) -> dict[str, Any]:
    """Return the values of fields that are defined, and of the right type."""
    values = {}
    for name, value in fields.items():
        if name not in known:
            continue
        try:
            known[name].check(value)
        except DataError:
            continue
        values[name] = value
    return values


def amount(fields: Iterable[MetarankField]) -> float:
    """Return the value of an interaction, such as the stars of a rating; 1 if it has none."""
    value = field_values(fields).get("value")
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > 1e300:
        return 1.0
    return float(value)
