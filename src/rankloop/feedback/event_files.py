"""Read files of events: JSON lines or arrays, compressed or not."""

from __future__ import annotations

import json
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Any

from rankloop import _core
from rankloop.data.io.files import open_input
from rankloop.exceptions import DataError, ParseError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankloop.features.event_log import EventReader
    from rankloop.features.events import Event

_BULK = {"index", "create"}
_AT_ONCE = 500  # lines


def read_events(name: str, reader: EventReader) -> Iterator[Event]:
    """Yield the events of a file; an error names the line."""
    for first, lines in _blocks(name):
        for number, record in _decode(name, list(enumerate(lines, first))):
            yield from _events(name, number, record, reader)


def read_columns(name: str, reader: EventReader) -> Iterator[Event | _core.FeatureInteractions]:
    """Yield the events of a file; interactions in their usual form come many at once.

    That form is one object a line, with the item, the ranking and the time in seconds or
    milliseconds, without escapes and letters beyond ASCII. Others are read one by one.
    """
    for first, lines in _blocks(name):
        if reader.unit == "guess":  # the first event decides
            for number, record in _decode(name, list(enumerate(lines, first))):
                yield from _events(name, number, record, reader)
            continue
        place, runs = first, []
        slow: list[int] = []
        for n, interactions in _core.read_interactions(lines, reader.unit == "s"):
            slow += range(place, place + n)
            runs.append((place + n, interactions))
            place += n + len(interactions)
        records = deque(_decode(name, [(number, lines[number - first]) for number in slow]))
        for end, interactions in runs:
            while records and records[0][0] < end:
                yield from _events(name, *records.popleft(), reader)
            if len(interactions):
                yield interactions


def _blocks(name: str) -> Iterator[tuple[int, list[bytes]]]:
    """Yield lines of a file, with the number of the first."""
    with open_input(name) as file:
        first = 1
        while lines := list(islice(file, _AT_ONCE)):
            yield first, lines
            first += len(lines)


def _events(name: str, number: int, record: object, reader: EventReader) -> Iterator[Event]:
    try:
        for entry in record if isinstance(record, list) else (record,):
            if not isinstance(entry, dict):
                raise DataError(f"found {str(entry)[:60]!r}, expected JSON objects")  # noqa: TRY301
            if len(entry) != 1 or not _BULK.intersection(entry):
                yield from reader.read(entry)
    except DataError as error:
        raise ParseError(name, number, str(error)) from None
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise ParseError(
            name, number, f"an event has another form than expected: {error!r}"
        ) from None


def _decode(name: str, lines: list[tuple[int, bytes]]) -> list[tuple[int, Any]]:
    """Return the JSON value of each line that has one, with its number."""
    filled = [(number, line) for number, line in lines if line.strip()]
    try:  # together, which takes half the time
        records = json.loads(b"[%b]" % b",".join(line for _, line in filled))
    except (ValueError, RecursionError):
        records = []
    if len(records) == len(filled):
        return [(number, record) for (number, _), record in zip(filled, records, strict=True)]
    known = []
    for number, line in filled:
        try:
            known.append((number, json.loads(line)))
        except (ValueError, RecursionError) as error:
            raise ParseError(name, number, f"it is not JSON: {error}") from None
    return known
