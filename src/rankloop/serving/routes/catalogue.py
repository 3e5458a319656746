"""`PUT`, `PATCH` and `DELETE /v1/{loop}/items` and `/users`, many at once; `GET` of one.

PUT replaces all fields of an item, PATCH only those that are sent, DELETE removes them all; an
item's counters stay. Everything is checked first: if one field does not fit, nothing is changed.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from rankloop.exceptions import DataError
from rankloop.features.changes import Change
from rankloop.feedback.ids import new_id
from rankloop.serving.journal.entries import Entry
from rankloop.serving.journal.feature_entries import ItemsChanged, UsersChanged
from rankloop.serving.problems import HTTPProblem
from rankloop.serving.routes.base import Endpoint, answer
from rankloop.serving.routes.candidates import Id, check_printable
from rankloop.serving.routes.lines import read_objects

if TYPE_CHECKING:
    from collections.abc import Sequence

    from starlette.responses import Response

    from rankloop.serving.journal.feature_entries import Mode
    from rankloop.serving.loop import Loop
    from rankloop.serving.routes.base import Call

AT_ONCE = 500
"""Items in one entry: while an entry is applied, no ranking can be computed."""

Fields = dict[str, Any]
Kind = Literal["items", "users"]


class ItemFields(msgspec.Struct, forbid_unknown_fields=True):
    """An item or a user with its fields; null is a missing value."""

    id: Id
    fields: Fields = {}


class Named(msgspec.Struct):
    """An item or a user to delete."""

    id: Id


class ChangeAnswer(msgspec.Struct):
    """How many items or users were changed, and the position of the last entry about them."""

    id: str
    status: str
    changed: int
    position: int | None


class CatalogueAnswer(msgspec.Struct):
    """An item or a user as features see it: its fields, and its counters."""

    id: str
    fields: Fields | None
    counters: Any


def change_route(kind: Kind, mode: Mode) -> Any:
    """Return a function that changes items or users in this way."""

    async def change(call: Call) -> Response:
        changes = _read_deleted(call.body) if mode == "delete" else _read_changed(call.body)
        call.service.guard.charge(call.client, len(changes))
        change_id = _change_id(call)
        entries = await asyncio.to_thread(make_changes, call.loop, kind, mode, changes, change_id)
        outcomes = await call.loop.submit_from(asyncio.get_running_loop(), entries)
        if any(outcome.status == "conflict" for outcome in outcomes):
            raise HTTPProblem(
                409, f"the change {change_id!r} already exists with other contents; use a new id"
            )
        last = outcomes[-1]
        return answer(ChangeAnswer(change_id, last.status, len(changes), last.position))

    return change


def _read_changed(content: bytes) -> list[tuple[str, Fields | None]]:
    try:
        return [(item.id, item.fields) for item in read_objects(content, ItemFields)]
    except HTTPProblem as problem:
        if "unknown field" not in str(problem):
            raise
        raise HTTPProblem(
            422,
            f'{problem}; put all fields under `fields`: {{"id": "a", "fields": {{"price": 9.5}}}}',
        ) from None


def _read_deleted(content: bytes) -> list[tuple[str, Fields | None]]:
    names = read_objects(content, Named | Id)  # type: ignore[arg-type]
    return [(name if isinstance(name, str) else name.id, None) for name in names]


def make_changes(
    loop: Loop,
    kind: Kind,
    mode: Mode,
    changes: Sequence[tuple[str, Fields | None]],
    change_id: str,
) -> list[Entry]:
    """Return changes as entries; raise if one does not fit the definitions of fields."""
    if loop.live.features is None:
        raise HTTPProblem(
            422,
            f"loop {loop.name} computes no features, so it has no {kind}; define fields and "
            "features in its settings",
        )
    if not changes:
        raise HTTPProblem(422, f"{kind}: found none; send at least one")
    check_printable([change_id, *(name for name, _ in changes)])
    entries: list[Entry] = []
    for number, first in enumerate(range(0, len(changes), AT_ONCE)):
        part = changes[first : first + AT_ONCE]
        part_id = change_id if len(changes) <= AT_ONCE else f"{change_id} {number}"
        entries.append(_make_entry(loop, kind, mode, part, part_id))
    return entries


def _make_entry(
    loop: Loop, kind: Kind, mode: Mode, changes: Sequence[tuple[str, Fields | None]], part_id: str
) -> Entry:
    hashes = loop.hashes
    assert hashes is not None
    fields = [None if mode == "delete" else fields or {} for _, fields in changes]
    names = [name for name, _ in changes]
    try:
        loop.live.check(kind, list(map(Change, names, fields, [mode] * len(names))))
    except DataError as error:
        raise HTTPProblem(422, str(error)) from None
    if kind == "items":
        return ItemsChanged(part_id, mode, list(zip(names, fields, strict=True)))
    users = [hashes.user(name) or b"" for name in names]
    return UsersChanged(part_id, mode, list(zip(users, fields, strict=True)))


def _change_id(call: Call) -> str:
    """Return the id of a change, from the header `Idempotency-Key`, or a new one."""
    headers: dict[bytes, bytes] = dict(call.scope["headers"])
    sent = headers.get(b"idempotency-key", b"").decode("latin-1")
    if len(sent) > 1000:
        raise HTTPProblem(422, "Idempotency-Key: found more than 1,000 characters; send fewer")
    return sent or new_id()


def describe_route(kind: Kind) -> Any:
    """Return a function that describes one item or user."""

    async def describe(call: Call) -> Response:
        loop, name = call.loop, call.path["id"]
        if loop.live.features is None or loop.hashes is None:
            raise HTTPProblem(404, f"loop {loop.name} computes no features, so it has no {kind}")
        key = name if kind == "items" else loop.hashes.user(name)
        found = loop.live.describe(kind, key or b"", loop.now())
        if found["fields"] is None and not any(
            sums["n"] or sums["m"] for sums in found["counters"].values()
        ):
            raise HTTPProblem(404, f"nothing is known about {name!r:.80} in {kind}")
        return answer(CatalogueAnswer(name, found["fields"], found["counters"]))

    return describe


_MODES: dict[str, Mode] = {"PUT": "put", "PATCH": "patch", "DELETE": "delete"}
_SUMMARIES = {
    "PUT": "Replace all fields of {}.",
    "PATCH": "Change some fields of {}.",
    "DELETE": "Remove the fields of {}.",
}
_KINDS: tuple[Kind, ...] = ("items", "users")

ENDPOINTS = (
    *(
        Endpoint(
            method,
            f"/v1/{{loop}}/{kind}",
            change_route(kind, mode),
            _SUMMARIES[method].format(kind),
            "feedback",
            list[Id | Named] if mode == "delete" else list[ItemFields],
            answer=ChangeAnswer,
            raw=True,
        )
        for kind in _KINDS
        for method, mode in _MODES.items()
    ),
    *(
        Endpoint(
            "GET",
            f"/v1/{{loop}}/{kind}/{{id}}",
            describe_route(kind),
            f"The fields and counters of one of the {kind}.",
            "feedback" if kind == "items" else "admin",
            answer=CatalogueAnswer,
        )
        for kind in _KINDS
    ),
)
