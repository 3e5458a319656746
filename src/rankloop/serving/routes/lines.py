"""Many objects in one body: a JSON array, one JSON object, or lines of JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rankloop.serving.journal.base_entry import canonical
from rankloop.serving.problems import HTTPProblem

if TYPE_CHECKING:
    from typing import TypeVar

    T = TypeVar("T")

MAX_OBJECTS = 10_000
"""The most objects in one request."""


def read_objects(content: bytes, kind: type[T]) -> list[T]:
    """Return the objects of a JSON array, of one JSON object, or of lines."""
    if content.lstrip().startswith(b"["):
        try:  # together, which takes half the time
            objects = msgspec.json.decode(content, type=list[kind])  # type: ignore[valid-type]
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            pass  # one by one, so that the error names the object
        else:
            _check_number(len(objects))
            return objects
    decoder = msgspec.json.Decoder(kind)
    return [_decode(text, decoder, n) for n, text in enumerate(_texts(content), start=1)]


def read_with_texts(content: bytes, kind: type[T]) -> list[tuple[T, bytes]]:
    """Return the same, each with bytes that are equal exactly if the same object was sent."""
    texts, decoder = _texts(content), msgspec.json.Decoder(kind)
    return [
        (_decode(text, decoder, n), _canonical(text, n)) for n, text in enumerate(texts, start=1)
    ]


def _texts(content: bytes) -> list[bytes]:
    """Return the bytes of each object."""
    stripped = content.strip()
    try:
        if stripped.startswith(b"["):
            texts = [bytes(raw) for raw in msgspec.json.decode(stripped, type=list[msgspec.Raw])]
        else:
            texts = [line for line in stripped.splitlines() if line.strip()]
            if len(texts) > 1 and not _is_json(texts[0]):  # one object over several lines
                texts = [stripped]
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(error, stripped) from None
    _check_number(len(texts))
    return texts


def _check_number(n: int) -> None:
    if n > MAX_OBJECTS:
        raise HTTPProblem(422, f"found {n:,} objects; send at most {MAX_OBJECTS:,} in one request")


def _is_json(text: bytes) -> bool:
    try:
        msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return True


def _decode(text: bytes, decoder: msgspec.json.Decoder[T], number: int) -> T:
    try:
        return decoder.decode(text)
    except msgspec.ValidationError as error:
        raise HTTPProblem(422, f"object {number}: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise _unreadable(error, text) from None


def _canonical(text: bytes, number: int) -> bytes:
    try:
        return canonical(msgspec.json.decode(text))
    except RecursionError:
        raise HTTPProblem(400, f"object {number}: it is nested too deeply") from None


def _unreadable(error: Exception, text: bytes) -> HTTPProblem:
    has_nan = "; it has no NaN: send null for a missing value" * (b"NaN" in text)
    return HTTPProblem(400, f"the body is neither JSON nor lines of JSON: {error}{has_nan}")
