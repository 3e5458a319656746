"""User Behavior Insights: the queries and events that OpenSearch and Elasticsearch store."""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.clicks.log.bad_lines import BadLines
from rankloop.clicks.log.log import ClickLog
from rankloop.data.io.files import open_input
from rankloop.exceptions import DataError, ParseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_BULK = {"index", "create"}


@dataclass
class _Search:
    """What the files say about one query_id."""

    text: str | None = None
    hits: list[str] = field(default_factory=list)
    impressions: dict[str, float | None] = field(default_factory=dict)  # document, ordinal
    clicked: set[str] = field(default_factory=set)
    application: str | None = None


def read_ubi(
    *paths: str | os.PathLike[str],
    clicks: Iterable[str] = ("click",),
    impressions: Iterable[str] = ("impression",),
    skip_bad_rows: bool = False,
) -> ClickLog:
    """Read UBI 1.3 queries and events, in any order and any number of files.

    Each `query_id` is a page, and its query is `user_query`. A page shows the objects of its
    impression events, or all hits if it has no such events. Their positions are the ranks in
    `query_response_hit_ids` if the query has them, otherwise the ordinals of the events. Ordinals
    count from 0 in applications where one of them is 0, otherwise from 1. An object that is seen or
    clicked twice counts once. Events that cannot be joined are left out, and counted in the notes
    of the log.

    Parameters
    ----------
    paths : JSON arrays, one JSON object per line, or OpenSearch's bulk format; may be compressed
    clicks : the values of `action_name` that are clicks
    impressions : the values of `action_name` that mean that an object was seen
    skip_bad_rows : whether lines that are not JSON objects are left out, and counted in the notes

    Raises
    ------
    ParseError
        which names the line that is not a JSON object.

    References
    ----------
    https://github.com/o19s/ubi, version 1.3.
    """
    if not paths:
        raise DataError("give at least one file of UBI queries or events")
    clicking, seeing = frozenset(clicks), frozenset(impressions)
    searches: dict[str, _Search] = {}
    left: Counter[str] = Counter()
    bad = BadLines(skip_bad_rows)
    for path in paths:
        for entry in _entries(os.fspath(path), bad):
            if "action_name" not in entry:
                _take_query(entry, searches, left)
            elif entry["action_name"] in clicking:
                _take_event(entry, searches, left, clicked=True)
            elif entry["action_name"] in seeing:
                _take_event(entry, searches, left, clicked=False)
            else:
                left["events of other kinds"] += 1
    from_zero = {
        search.application
        for search in searches.values()
        if any(ordinal == 0 for ordinal in search.impressions.values())
    }
    pages = _PageRows()
    for name, search in searches.items():
        pages.add(name, search, left, first=0 if search.application in from_zero else 1)
    notes = tuple(f"{n:,} {words} left out" for words, n in left.items() if n)
    return bad.noted(replace(pages.log(), notes=notes))


class _PageRows:
    """The columns of a click table, to which pages are added one by one."""

    def __init__(self) -> None:
        self.pages: list[str] = []
        self.queries: list[str] = []
        self.documents: list[str] = []
        self.positions: list[int] = []
        self.clicks: list[bool] = []

    def add(self, name: str, search: _Search, left: Counter[str], first: int) -> None:
        shown = _find_positions(search, first)
        if search.text is None or not shown:
            left["queries without text or shown documents"] += 1
            return
        places: dict[int, str] = {}
        for document, place in shown.items():
            places.setdefault(place, document)
        left["documents at a position of another one"] += len(shown) - len(places)
        for place, document in sorted(places.items()):
            self.pages.append(name)
            self.queries.append(search.text)
            self.documents.append(document)
            self.positions.append(place)
            self.clicks.append(document in search.clicked)
        astray = search.clicked.difference(places.values())
        left["clicks on objects that were not shown"] += len(astray)

    def log(self) -> ClickLog:
        if not self.pages:
            raise DataError(
                "no query could be joined with the documents that it showed; expected "
                "queries with query_response_hit_ids, or impression events that name a "
                "query_id"
            )
        return ClickLog.from_rows(
            np.array(self.queries, object),
            np.array(self.documents, object),
            self.clicks,
            position=self.positions,
            page=np.array(self.pages, object),
        )


def _find_positions(search: _Search, first: int) -> dict[str, int]:
    """Return the position from 1 of each document that the page shows."""
    ranks = {document: rank for rank, document in reversed(list(enumerate(search.hits, start=1)))}
    if not search.impressions:
        return ranks
    shown = {}
    for document, ordinal in search.impressions.items():
        place = ranks.get(document)
        if place is None and ordinal is not None:
            place = int(ordinal) + 1 - first
        if place is not None and place >= 1:
            shown[document] = place
    return shown


def _take_query(entry: dict[str, Any], searches: dict[str, _Search], left: Counter[str]) -> None:
    name, text = entry.get("query_id"), entry.get("user_query")
    if not isinstance(name, str) or not isinstance(text, str):
        left["queries without query_id or user_query"] += 1
        return
    search = searches.setdefault(name, _Search())
    search.text = text
    search.application = search.application or entry.get("application")
    hits = entry.get("query_response_hit_ids")
    if isinstance(hits, list) and not search.hits:
        search.hits = [str(hit) for hit in hits]


def _take_event(
    entry: dict[str, Any],
    searches: dict[str, _Search],
    left: Counter[str],
    *,
    clicked: bool,
) -> None:
    attributes = _mapping(entry.get("event_attributes"))
    document = _mapping(attributes.get("object")).get("object_id")
    name = entry.get("query_id")
    if not isinstance(name, str) or document is None:
        left["events without query_id or object_id"] += 1
        return
    search = searches.setdefault(name, _Search())
    search.application = search.application or entry.get("application")
    if search.text is None and isinstance(entry.get("user_query"), str):
        search.text = entry["user_query"]
    if clicked:
        search.clicked.add(str(document))
    else:
        ordinal = _mapping(attributes.get("position")).get("ordinal")
        number = isinstance(ordinal, int | float) and not isinstance(ordinal, bool)
        search.impressions.setdefault(str(document), ordinal if number else None)


def _mapping(value: object) -> dict[str, Any]:
    """Return a JSON object, or an empty one if the value is something else."""
    return value if isinstance(value, dict) else {}


def _entries(name: str, bad: BadLines) -> Iterator[dict[str, Any]]:
    """Yield the JSON objects of a file; action lines of the bulk format are passed over."""
    with open_input(name) as file:
        head = file.peek(64)[:64] if hasattr(file, "peek") else b""
        if head.lstrip()[:1] == b"[":
            yield from _array(file.read(), name)
            return
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                entry = _parse(line, name, number)
            except ParseError as error:
                bad.add(error)
                continue
            if not (len(entry) == 1 and _BULK.intersection(entry)):
                yield entry


def _array(text: bytes, name: str) -> Sequence[dict[str, Any]]:
    entries = _load(text, name, None)
    for entry in entries:
        if not isinstance(entry, dict):
            raise ParseError(name, None, f"found {str(entry)[:60]!r}, expected JSON objects")
    return list(entries)


def _parse(line: bytes, name: str, number: int) -> dict[str, Any]:
    entry = _load(line, name, number)
    if not isinstance(entry, dict):
        raise ParseError(name, number, f"found {str(entry)[:60]!r}, expected a JSON object")
    return entry


def _load(text: bytes, name: str, number: int | None) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ParseError(name, number, f"it is not JSON: {error}") from None
