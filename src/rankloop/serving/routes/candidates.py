"""Candidates as they are sent, and as one matrix of checked features."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

import msgspec
import numpy as np
from msgspec import Meta

from rankloop import _core
from rankloop.serving.problems import HTTPProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankloop.serving.settings.loop import LoopSettings

MAX_ID = 1000
"""The most bytes of an id, in UTF-8."""

Id = Annotated[str, Meta(min_length=1, max_length=1000)]
_VALUE = {"type": ["number", "boolean", "string", "array", "null"]}
_BY_NAME = {"type": "object", "additionalProperties": _VALUE}
_FEATURES = {
    "anyOf": [
        {"type": "array", "items": _VALUE},
        {"type": "object", "additionalProperties": _VALUE},
    ]
}
_features = msgspec.json.Decoder(list[float] | dict[str, float])


class Item(msgspec.Struct, forbid_unknown_fields=True):
    """A candidate: its id, and its features in the loop's order or by name.

    A loop that computes features needs only ids, and those features that callers send. Features are
    numbers, unless the loop defines texts, dates or lists of categories.
    """

    id: Id
    features: Annotated[msgspec.Raw, Meta(extra_json_schema=_FEATURES)] = msgspec.field(
        default_factory=msgspec.Raw
    )


class Candidates(NamedTuple):
    """Ids, with one row of features each."""

    ids: list[str]
    X: NDArray[np.float32]


def from_items(sent: Sequence[Item | str], settings: LoopSettings, max_items: int) -> Candidates:
    """Return candidates, checked against the loop's features; a problem names what is wrong."""
    items = [item for item in sent if not isinstance(item, str) and item.features]
    if len(items) < len(sent):
        place = next(n for n, item in enumerate(sent) if isinstance(item, str) or not item.features)
        raise HTTPProblem(
            422,
            f"items[{place}]: object missing required field `features`; this loop computes no "
            "features, so send those of each item",
        )
    ids = [item.id for item in items]
    check_ids(ids, max_items)
    names = settings.names
    text = b"".join([item.features for item in items])
    X = _core.json_rows(text, len(ids), len(names)) if len(text) > len(names) > 0 else None
    if X is None:  # not all are arrays of that many numbers
        X = _one_by_one(items, settings)
    return Candidates(ids, check_finite(X, ids, names))


def _one_by_one(items: Sequence[Item], settings: LoopSettings) -> NDArray[np.float32]:
    names = settings.names
    rows = []
    for place, item in enumerate(items):
        try:
            row = _features.decode(item.features)
        except msgspec.ValidationError:
            raise HTTPProblem(422, f"items[{place}]: {_mistake(item, settings)}") from None
        except msgspec.DecodeError as error:
            raise HTTPProblem(400, f"items[{place}].features: {error}") from None
        if isinstance(row, dict):
            row = _by_name(item.id, row, names, settings.defaults)
        elif len(row) != len(names):
            raise HTTPProblem(
                422,
                f"item {item.id!r} has {len(row)} features; this loop has {len(names)}: "
                f"{', '.join(names[:5])}{', ...' if len(names) > 5 else ''}",
            )
        rows.append(row)
    with np.errstate(over="ignore"):
        return np.array(rows, np.float32)


def _mistake(item: Item, settings: LoopSettings) -> str:
    """Say which feature of an item is no number, and what to do."""
    names = settings.names
    try:
        given = msgspec.json.decode(item.features)
    except msgspec.MsgspecError as error:
        return f"the features of item {item.id!r} cannot be read: {error}"
    if isinstance(given, list):
        values = list(zip(names, given, strict=False))
    elif isinstance(given, dict):
        values = list(given.items())
    else:
        values = []
    for name, value in values:
        if isinstance(value, int | float) and not isinstance(value, bool):
            continue
        if name not in names:
            return _unknown(item.id, name, names)
        text = msgspec.json.encode(value).decode()
        fault = f"feature {name!r} of item {item.id!r} is {text:.80}, expected a number; "
        if value is not None:
            return fault + "send one"
        by_name = " (then send features by name)" * isinstance(given, list)
        if name in settings.defaults:
            return f"{fault}leave it out to use its default{by_name}"
        return f"{fault}send one, or leave it out{by_name} and set a default in the settings"
    return (
        f"the features of item {item.id!r} are neither {len(names)} numbers nor numbers by name; "
        "send one of these two forms"
    )


def _unknown(item: str, name: str, names: Sequence[str]) -> str:
    known = f"{', '.join(names[:10])}{', ...' if len(names) > 10 else ''}"
    return (
        f"item {item!r} has an unknown feature {name!r:.80}; leave it out: "
        f"the features of the loop are {known}"
    )


def from_blob(ids: list[str], blob: bytes, settings: LoopSettings, max_items: int) -> Candidates:
    """Return candidates whose features are one block of float32, row by row."""
    check_ids(ids, max_items)
    names = settings.names
    if len(blob) != 4 * len(ids) * len(names):
        raise HTTPProblem(
            422,
            f"features has {len(blob):,} bytes; {len(ids)} items of {len(names)} float32 features "
            f"have {4 * len(ids) * len(names):,}",
        )
    X = np.frombuffer(blob, "<f4").reshape(len(ids), len(names))
    return Candidates(ids, check_finite(X, ids, names))


def check_ids(ids: Sequence[str], max_items: int) -> None:
    """Raise if there are no items, too many, or two with the same id."""
    if not ids:
        raise HTTPProblem(422, "items: found none; send at least one")
    if len(ids) > max_items:
        raise HTTPProblem(
            422, f"items: found {len(ids):,}; this service accepts at most {max_items:,}"
        )
    if len(set(ids)) < len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        raise HTTPProblem(422, f"item {twice!r} occurs twice; send each item once")
    check_printable(ids)


def check_printable(texts: Sequence[str]) -> None:
    """Raise if an id is too long, or has characters that cannot be stored or shown."""
    if not "".join(texts).isprintable():
        bad = next(text for text in texts if not text.isprintable())
        raise HTTPProblem(
            422, f"the id {bad!r:.80} is not printable text; use printable characters"
        )
    if 4 * max(map(len, texts), default=0) <= MAX_ID:  # a character has at most four bytes
        return
    for text in texts:
        if len(text.encode()) > MAX_ID:
            raise HTTPProblem(
                422,
                f"the id {text!r:.80} has {len(text.encode()):,} bytes; ids have at most "
                f"{MAX_ID:,} bytes in UTF-8",
            )


def check_finite(
    X: NDArray[np.float32], ids: Sequence[str], names: Sequence[str]
) -> NDArray[np.float32]:
    """Return the features; raise if one is not a finite float32."""
    place = _core.first_not_finite(X)
    if place >= 0:
        row, column = divmod(place, X.shape[1])
        raise HTTPProblem(
            422,
            f"feature {names[column]!r} of item {ids[row]!r} is {X[row, column]}; features must be "
            "finite numbers that float32 can hold",
        )
    return X


def _by_name(
    item: str, given: dict[str, float], names: Sequence[str], defaults: dict[str, float]
) -> list[float]:
    try:
        row = [given[name] if name in given else defaults[name] for name in names]
    except KeyError as missing:
        raise HTTPProblem(
            422,
            f"item {item!r} has no value for the feature {missing.args[0]!r}; send one, or set a "
            "default in the loop's settings",
        ) from None
    if len(given) > sum(name in given for name in names):
        unknown = next(name for name in given if name not in names)
        raise HTTPProblem(422, _unknown(item, unknown, names))
    return row
