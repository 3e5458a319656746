"""Read the options of one feature, such as `{ rate = "click", per = "item", prior = 10 }`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankloop._utils.names import unknown_name_error
from rankloop.exceptions import DataError
from rankloop.features.durations import read_duration
from rankloop.features.fields import SIDES, Field, Side

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Fields = dict[Side, dict[str, Field]]


@dataclass(frozen=True)
class Ref:
    """A field that a definition refers to, as in `item.price`."""

    side: Side
    field: Field

    def __str__(self) -> str:
        return f"{self.side}.{self.field.name}"


class Options:
    """What people wrote about one feature; each value is checked when it is taken."""

    def __init__(
        self,
        feature: str,
        values: Mapping[str, Any],
        fields: Fields,
        widths: Mapping[str, int],
    ) -> None:
        self._feature, self._values, self._fields = feature, dict(values), fields
        self._widths = widths

    def error(self, message: str) -> DataError:
        """Return an error that names the feature."""
        return DataError(f"feature {self._feature!r}: {message}")

    def take(self, option: str, default: Any = None) -> Any:
        """Return an option's value, which is not looked at again."""
        return self._values.pop(option, default)

    def finish(self) -> None:
        """Raise if an option is left that the kind does not have."""
        if self._values:
            raise self.error(f"unknown option {next(iter(self._values))!r}; leave it out")

    def field(
        self, text: object, types: Sequence[str], sides: Sequence[Side] = ("item", "user")
    ) -> Ref:
        """Return the field that a text such as `item.price` names."""
        side, _, name = text.partition(".") if isinstance(text, str) else ("", "", "")
        if side not in SIDES or not name:
            raise self.error(
                f"expected a field such as {sides[0]}.{types[0] if types else 'name'}; found "
                f"{text!r}"
            )
        if name not in self._fields[side]:
            raise self.error(f"{unknown_name_error(f'{side} field', name, self._fields[side])}")
        field = self._fields[side][name]
        if side not in sides:
            raise self.error(f"{text} is a field of the {side}; expected one of {_either(sides)}")
        if field.type not in types:
            raise self.error(f"{text} is of the type {field.text}; expected {_either(types)}")
        return Ref(side, field)

    def event(self, text: object) -> str:
        """Return a type of events, such as `click`."""
        if not isinstance(text, str) or not text or len(text) > 200:
            raise self.error(f"expected a type of events such as 'click'; found {text!r}")
        return text

    def number(self, option: str, default: float, low: float, high: float = 1e9) -> float:
        """Return a number within limits."""
        value = self.take(option, default)
        known = isinstance(value, int | float) and not isinstance(value, bool)
        if not known or not low <= value <= high:
            raise self.error(f"{option} must be a number from {low:g} to {high:g}; found {value!r}")
        return float(value)

    def whole(self, option: str, default: int, low: int, high: int) -> int:
        """Return a whole number within limits."""
        value = self.number(option, default, low, high)
        if value != int(value):
            raise self.error(f"{option} must be a whole number; found {value!r}")
        return int(value)

    def choice(self, option: str, known: Sequence[str]) -> str:
        """Return one of some words; the first is the default."""
        value = self.take(option, known[0])
        if value not in known:
            raise self.error(f"{option} must be {_either(known)}; found {value!r}")
        return str(value)

    def memory(self) -> tuple[int, int]:
        """Return half_life and window in milliseconds, at most one of which may be given."""
        given = {
            option: read_duration(value, f"feature {self._feature!r}: {option}")
            for option in ("half_life", "window")
            if (value := self.take(option)) is not None
        }
        if len(given) == 2:
            raise self.error("give half_life or window, not both")
        return given.get("half_life", 0), given.get("window", 0)

    def key(self, default: Sequence[str] = ("item",)) -> tuple[str, ...]:
        """Return the parts of a counter's key from the option `per`."""
        value = self.take("per", list(default))
        parts = [value] if isinstance(value, str) else value
        if not isinstance(parts, list | tuple) or not parts or len(parts) > 4:
            raise self.error(f"per must be a name or a list of 1 to 4 names; found {value!r}")
        for part in parts:
            self.part(part)
        if len(set(parts)) < len(parts):
            raise self.error(f"per names {parts!r}: give each part once")
        if sum(self.is_list(part) for part in parts) > 1:
            raise self.error("per has two lists of categories; only one part may be a list")
        return tuple(parts)

    def part(self, part: object) -> str:
        """Return a part of a key: `item`, `user`, `session`, the query or a category."""
        if part in ("item", "user", "session"):
            return str(part)
        text = self._fields["request"].get("query")
        if part == "request.query" and text is not None and text.type == "text":
            return "request.query"
        return str(self.field(part, ("category", "categories"), SIDES))

    def is_list(self, part: str) -> bool:
        """Whether a part of a key is a field with several categories."""
        side, _, name = part.partition(".")
        return bool(name) and self._fields[side][name].type == "categories"  # type: ignore[index]

    def feature(self, text: object) -> str:
        """Return the name of a feature of one column that is defined above this one."""
        if not isinstance(text, str) or self._widths.get(text) != 1:
            above = [name for name, width in self._widths.items() if width == 1]
            raise self.error(
                f"expected a feature of one column that is defined above it; found {text!r}; "
                f"there are {', '.join(above) or 'none'}"
            )
        return text


def _either(words: Sequence[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} or {last}" if most else last
