"""Reads UBJSON, the binary form in which XGBoost saves a model by default (`model.ubj`).

The format is that of https://ubjson.org, draft 12, with numbers in big-endian order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

_NUMBERS = {"i": ">i1", "U": ">u1", "I": ">i2", "l": ">i4", "L": ">i8", "d": ">f4", "D": ">f8"}
_PLAIN = {"Z": None, "T": True, "F": False}
_DEPTH = 64


def parse_ubjson(content: bytes) -> Any:
    r"""Return the value that some bytes hold; raise ValueError if they do not.

    >>> parse_ubjson(b"{U\x05namesSU\x02hi")
    Traceback (most recent call last):
        ...
    ValueError: it ends in the middle of a value
    >>> parse_ubjson(b"{U\x01ki\x07}")
    {'k': 7}
    """
    reader = _Reader(content)
    return reader.value(reader.mark(), 0)


class _Reader:
    """The bytes, and the place up to which they were read."""

    def __init__(self, content: bytes) -> None:
        self._content, self._place = content, 0

    def mark(self) -> str:
        """Return the mark of the next value; N is for nothing."""
        mark = "N"
        while mark == "N":
            mark = self._take(1).decode("latin-1")
        return mark

    def value(self, mark: str, depth: int) -> Any:
        """Return the value that follows its mark."""
        if depth > _DEPTH:
            raise ValueError("its values are nested too deeply")
        if mark in _NUMBERS:
            return self._numbers(mark, 1)[0]
        if mark in _PLAIN:
            return _PLAIN[mark]
        if mark == "C":
            return self._take(1).decode()
        if mark in ("S", "H"):
            return self._text()
        if mark == "[":
            return self._array(depth)
        if mark == "{":
            return self._object(depth)
        raise ValueError(f"unknown type {mark!r} at byte {self._place}")

    def _array(self, depth: int) -> list[Any]:
        kind, count, mark = self._header()
        if kind in _NUMBERS and count is not None:
            return self._numbers(kind, count)
        values: list[Any] = []
        while (count is None and mark != "]") or (count is not None and len(values) < count):
            values.append(self.value(kind or mark or self.mark(), depth + 1))
            mark = self.mark() if count is None else ""
        return values

    def _object(self, depth: int) -> dict[str, Any]:
        kind, count, mark = self._header()
        values: dict[str, Any] = {}
        done = 0
        while (count is None and mark != "}") or (count is not None and done < count):
            key = self._text(mark)
            values[key] = self.value(kind or self.mark(), depth + 1)
            done += 1
            mark = self.mark() if count is None else ""
        return values

    def _header(self) -> tuple[str, int | None, str]:
        """Return the type and the count of a container, if it says them, or else the next mark."""
        mark, kind = self.mark(), ""
        if mark == "$":
            kind, mark = self._take(1).decode("latin-1"), self.mark()
        if mark == "#":
            return kind, self._size(self.mark()), ""
        return "", None, mark

    def _text(self, mark: str = "") -> str:
        return self._take(self._size(mark or self.mark())).decode()

    def _size(self, mark: str) -> int:
        if mark not in "iUIlL":
            raise ValueError(f"found the type {mark!r} where a length should be")
        size = int(self._numbers(mark, 1)[0])
        if size < 0:
            raise ValueError(f"found the length {size}")
        return size

    def _numbers(self, mark: str, count: int) -> list[Any]:
        kind = np.dtype(_NUMBERS[mark])
        numbers: list[Any] = np.frombuffer(self._take(count * kind.itemsize), kind).tolist()
        return numbers

    def _take(self, size: int) -> bytes:
        part = self._content[self._place : self._place + size]
        if len(part) < size:
            raise ValueError("it ends in the middle of a value")
        self._place += size
        return part
