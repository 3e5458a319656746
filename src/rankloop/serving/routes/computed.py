"""Requests of loops that compute features: ids, own features, and fields of the request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import numpy as np

from rankloop.exceptions import DataError
from rankloop.features.request import Request
from rankloop.serving.journal.base_entry import canonical
from rankloop.serving.journal.entries import digest_of
from rankloop.serving.journal.feature_entries import Asker, Computed
from rankloop.serving.problems import HTTPProblem
from rankloop.serving.routes.candidates import Item, check_ids, check_printable

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from rankloop.features.definitions import Definitions
    from rankloop.features.kinds.given import Given
    from rankloop.serving.loop import Loop
    from rankloop.serving.security.hashes import Hashes

_given = msgspec.json.Decoder(dict[str, Any] | list[Any])


class Person(NamedTuple):
    """The personal part of a request."""

    query: str | None = None
    user: str | None = None
    session: str | None = None


class ComputedItems(NamedTuple):
    """Items with the features that were computed for them.

    X : one row per item, one column per name
    computed : how they were computed, for the journal
    unknown : the items that have no fields
    """

    ids: list[str]
    X: NDArray[np.float32]
    names: tuple[str, ...]
    computed: Computed
    unknown: tuple[str, ...] = ()


def compute_items(
    loop: Loop,
    items: Sequence[Item | str],
    person: Person,
    fields: Mapping[str, Any],
    context: Mapping[str, Any],
    max_items: int,
    block: bytes = b"",
) -> ComputedItems:
    """Return items with their features; raise if something does not fit the definitions.

    Parameters
    ----------
    fields : fields of the request
    context : given features that all items share
    block : given features as float32, row by row, instead of those in the items
    """
    features = loop.live.features
    assert features is not None
    definitions = features.definitions
    ids = [item if isinstance(item, str) else item.id for item in items]
    check_ids(ids, max_items)
    given = _read_given(items, definitions, context, block)
    asker, text = read_asker(loop.hashes, definitions, person, fields)
    if loop.live.settings is not None and loop.live.settings.unknown_items == "refuse":
        _refuse_unknown(loop, ids)
    sent = digest_of(b"" if given is None else given.tobytes(), canonical(asker.fields))
    at = loop.now()
    request = Request(asker.user, asker.session, asker.query, asker.fields, text)
    try:
        matrix = loop.live.compute(ids, request, at, given)
    except DataError as error:
        raise HTTPProblem(422, str(error)) from None
    computed = Computed(at, matrix.after, matrix.columns, sent, asker)
    return ComputedItems(ids, matrix.X, matrix.names, computed, matrix.unknown)


def read_asker(
    hashes: Hashes | None, definitions: Definitions, person: Person, fields: Mapping[str, Any]
) -> tuple[Asker, dict[str, str]]:
    """Return who asked, as hashes, and the texts of the request by field, which are not stored."""
    assert hashes is not None
    check_printable([person.user or "", person.session or ""])
    known = definitions.fields["request"]
    plain: dict[str, Any] = {}
    text: dict[str, str] = {}
    query = person.query
    if query is not None and "query" in known and known["query"].type == "text":
        text["query"] = query
    for name, value in fields.items():
        if name not in known:
            declared = ", ".join(known) or "none"
            raise HTTPProblem(
                422,
                f"fields: the request has an unknown field {name!r:.80}; leave it out, or define "
                f"it in the settings: the fields of requests are {declared}",
            )
        try:
            known[name].check(value)
        except DataError as error:
            raise HTTPProblem(422, f"fields: {error}") from None
        if value is None:
            continue
        if known[name].type == "text":
            text[name] = value
            query = value if name == "query" else query
        else:
            plain[name] = value
    asker = Asker(
        hashes.user(person.user), hashes.session(person.session), hashes.query(query), plain
    )
    return asker, text


def _read_given(
    items: Sequence[Item | str],
    definitions: Definitions,
    context: Mapping[str, Any],
    block: bytes,
) -> NDArray[np.float32] | None:
    """Return the features that the caller sends, one column each; None if there are none."""
    names, sent = definitions.given, definitions.sent
    _check_names(context, sent, "context")
    if block:
        others = [name for name, kind in sent.items() if kind.type != "number"]
        if others:
            raise HTTPProblem(
                422,
                f"features: a block of float32 has numbers only, but {others[0]!r} is a "
                f"{sent[others[0]].type}; send JSON",
            )
        if len(block) != 4 * len(items) * len(names):
            raise HTTPProblem(
                422,
                f"features has {len(block):,} bytes; {len(items)} items of {len(names)} given "
                f"features as float32 have {4 * len(items) * len(names):,}",
            )
        return _check_finite(np.frombuffer(block, "<f4").reshape(len(items), -1), items, names)
    own = [item for item in items if not isinstance(item, str) and item.features]
    if not names:
        for own_item in own:
            _check_names(_decode(own_item, sent), sent, f"item {own_item.id!r}")
        return None
    places = {
        name: [names.index(column.name) for column in kind.columns] for name, kind in sent.items()
    }
    rows = np.full((len(items), len(names)), np.nan, np.float32)
    with np.errstate(over="ignore"):
        for name, value in context.items():
            rows[:, places[name]] = _values(sent[name], value, f"context: {name!r}")
        for row, item in enumerate(items):
            if isinstance(item, str) or not item.features:
                continue
            where = f"item {item.id!r}"
            values = _decode(item, sent)
            _check_names(values, sent, where)
            for name, value in values.items():
                rows[row, places[name]] = _values(sent[name], value, f"{where}: feature {name!r}")
    return _check_finite(rows, items, names)


def _decode(item: Item, names: Collection[str]) -> dict[str, Any]:
    try:
        values = _given.decode(item.features)
    except msgspec.MsgspecError as error:
        raise HTTPProblem(422, f"the features of item {item.id!r}: {error}") from None
    if isinstance(values, dict):
        return values
    if len(values) != len(names):
        raise HTTPProblem(
            422,
            f"item {item.id!r} has {len(values)} features; callers send {len(names)} to this "
            f"loop: {', '.join(names) or 'none'}",
        )
    return dict(zip(names, values, strict=True))


def _check_names(values: Iterable[str], names: Collection[str], where: str) -> None:
    for name in values:
        if name not in names:
            raise HTTPProblem(
                422,
                f"{where} has a feature {name!r:.80} that callers do not send; leave it out: they "
                f"send {', '.join(names) or 'none'}, and the others are computed from fields (see "
                "PUT items)",
            )


def _values(kind: Given, value: object, where: str) -> Sequence[float]:
    try:
        return kind.read_value(value)
    except DataError as error:
        shown = msgspec.json.encode(value).decode()
        raise HTTPProblem(422, f"{where} is {shown:.80}; {error}") from None


def _check_finite(
    rows: NDArray[np.float32], items: Sequence[Item | str], names: Sequence[str]
) -> NDArray[np.float32]:
    infinite = np.argwhere(np.isinf(rows))
    if len(infinite):
        row, column = infinite[0].tolist()
        item = items[row]
        raise HTTPProblem(
            422,
            f"feature {names[column]!r} of item {item if isinstance(item, str) else item.id!r} is "
            f"{rows[row, column]}; features must be finite numbers that float32 can hold",
        )
    return rows


def _refuse_unknown(loop: Loop, ids: Sequence[str]) -> None:
    unknown = loop.live.unknown_items(ids)
    if unknown:
        shown = ", ".join(map(repr, unknown[:5])) + (", ..." if len(unknown) > 5 else "")
        raise HTTPProblem(
            422,
            f"{len(unknown)} of {len(ids)} items are unknown: {shown}; send their fields first "
            f'(PUT /v1/{loop.name}/items), or set unknown_items = "allow"',
        )
