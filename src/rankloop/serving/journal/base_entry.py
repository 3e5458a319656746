"""What all entries of a journal have in common."""

from __future__ import annotations

from typing import Any

import msgspec


class BaseEntry(msgspec.Struct, frozen=True, omit_defaults=True, tag_field="kind"):
    """An entry; it never changes."""

    @property
    def key(self) -> str | None:
        """The key of this entry in the journal; None if equal entries may occur several times."""
        return None

    def identity(self, body: bytes) -> bytes:
        """Return bytes that are equal exactly if the same was sent; by default, the whole body."""
        return body


def canonical(value: Any) -> bytes:
    """Return bytes that are equal exactly if the same was sent, in whatever order of names.

    JSON has no difference between 1 and 1.0, and many libraries write one for the other.

    >>> canonical({"a": 1, "b": [2.0]}) == canonical({"b": [2], "a": 1.0})
    True
    """
    return msgspec.msgpack.encode(_with_whole_numbers(value), order="sorted")


def _with_whole_numbers(value: Any) -> Any:
    if isinstance(value, float):
        return int(value) if value.is_integer() and abs(value) < _WHOLE else value
    if isinstance(value, int) and value.bit_length() > _BITS:  # MessagePack has none of these
        return value.to_bytes(value.bit_length() // 8 + 1, "little", signed=True)
    if isinstance(value, dict):
        return {name: _with_whole_numbers(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_with_whole_numbers(part) for part in value]
    return value


_BITS = 63
_WHOLE = 2**53  # up to here, integers and floats are the same numbers
