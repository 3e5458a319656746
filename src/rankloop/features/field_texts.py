"""Texts of tables as values of fields, and the types of fields that values look like."""

from __future__ import annotations

import json
import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloop.features.fields import Field

_TRUTH = {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}
_SEPARATORS = ("|", ";", ",")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_DAY = re.compile(r"\d{4}-\d\d-\d\d.*")
_ID = re.compile(r"(.*[_\s.-])?(id|code|sku|zip|postcode|ean|isbn)s?", re.IGNORECASE)
_OTHER_DAY = re.compile(r"\d{1,2}[./-]\d{1,2}[./-]\d{2,4}|\d{4}[./]\d{1,2}[./]\d{1,2}")
_MOSTLY = 0.9  # from this share on, a column looks like one of numbers, or of dates
_WORDS, _LENGTH = 2.5, 60  # on average; from here on, a value is a text and no category
_OWN_WORDS = 1.5  # the same, if nearly every value is another one, as titles are
MANY = 100
"""So many different values are never ids, whatever the number of rows."""
_LARGEST_VECTOR = 4096


def read_text(field: Field, text: str) -> Any:
    """Return a text as a value of a field; as it is, if it is no such value.

    >>> from rankloop.features.fields import Field
    >>> read_text(Field("genres", "categories"), "Drama; War")
    ['Drama', 'War']
    """
    text = text.strip()
    if not text:
        return None
    if field.type == "number":
        return float(text) if _NUMBER.fullmatch(text) else text
    if field.type == "boolean":
        return _TRUTH.get(text.lower(), text)
    if field.type in ("categories", "vector"):
        words = read_list(text)
        if field.type == "categories":
            return words
        numbers = [w for w in words if not isinstance(w, str) or _NUMBER.fullmatch(w)]
        return list(map(float, numbers)) if len(numbers) == len(words) else text
    return text


def read_list(text: str) -> list[Any]:
    """Return the parts of a list in JSON, or of a text with a separator."""
    if text.startswith("["):
        try:
            found = json.loads(text)
        except ValueError:
            found = None
        if isinstance(found, list):
            return found
    mark = next((mark for mark in _SEPARATORS if mark in text), None)
    words = text.split(mark) if mark else [text]
    return [word.strip() for word in words if word.strip()]


def guess_type(name: str, values: Sequence[Any]) -> str | None:
    """Return the type of a field that these values look like; None if there is none.

    Parameters
    ----------
    values : known ones, some thousands are enough; texts may be numbers, dates and so on

    >>> guess_type("price", ["3", "4.5"]), guess_type("shop_id", [3, 4])
    ('number', 'category')
    >>> guess_type("genres", ["Drama|War", "War"]), guess_type("title", ["A red shoe for winter"])
    ('categories', 'text')
    """
    if not values:
        return None
    if all(isinstance(value, bool) for value in values):
        return "boolean"
    if all(isinstance(value, list | tuple) for value in values):
        return _type_of_lists(values)
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) == len(values):
        return _type_of_texts(name, texts)
    if all(isinstance(value, int | float) for value in values):
        return "category" if _ID.fullmatch(name) and _are_whole(values) else "number"
    return None


def _are_whole(values: Sequence[float]) -> bool:
    return all(value == int(value) for value in values if abs(value) < 2**53)


def _type_of_lists(values: Sequence[Any]) -> str | None:
    words = [word for value in values for word in value]
    if all(isinstance(word, str) for word in words):
        return "categories"
    sizes = {len(value) for value in values}
    numbers = all(isinstance(word, int | float) and not isinstance(word, bool) for word in words)
    size = next(iter(sizes))
    return f"vector({size})" if numbers and len(sizes) == 1 and size <= _LARGEST_VECTOR else None


def _type_of_texts(name: str, texts: Sequence[str]) -> str | None:
    if all(text.lower() in _TRUTH for text in texts):
        return "boolean"
    if all(_NUMBER.fullmatch(text) for text in texts):
        whole = all(text.lstrip("+-").isdigit() for text in texts)
        return "category" if whole and _ID.fullmatch(name) else "number"
    if all(_DAY.fullmatch(text) and _is_date(text) for text in texts):
        return "date"
    if all(text.startswith("[") for text in texts):
        return _type_of_lists([read_list(text) for text in texts])
    # "Drama|War" is a list wherever such a mark occurs; commas are as usual in sentences.
    if any("|" in text for text in texts):
        return "categories"
    words = sum(len(text.split()) for text in texts) / len(texts)
    length = sum(map(len, texts)) / len(texts)
    own = are_ids(len(set(texts)), len(texts))
    most = _OWN_WORDS if own else _WORDS
    return "text" if words > most or length > _LENGTH else "category"


def are_ids(different: int, n: int) -> bool:
    """Return whether nearly every one of `n` rows has a value of its own."""
    return different > max(MANY, n // 2)


def find_fault(values: Sequence[Any]) -> str | None:
    """Return why categories are probably numbers or dates with mistakes; None if they are not.

    >>> find_fault(["3.5", "4", *"56789012", "about 20"])
    "91% of the values are numbers, and 'about 20' is none"
    >>> find_fault(["31.12.2025", "1.1.2026"])
    "the values look like dates, such as '31.12.2025', which have to be written as 2024-05-31"
    """
    texts = [value.strip() for value in values if isinstance(value, str)]
    others = [text for text in texts if not _NUMBER.fullmatch(text)]
    if others and len(others) <= (1 - _MOSTLY) * len(texts):
        share = min(1 - len(others) / len(texts), 0.99)
        return f"{share:.0%} of the values are numbers, and {others[0]!r} is none"
    strange = [text for text in texts if not (_DAY.fullmatch(text) and _is_date(text))]
    if strange and all(_OTHER_DAY.fullmatch(text) for text in strange[:1]):
        dates = sum(_OTHER_DAY.fullmatch(text) is not None for text in strange)
        if len(texts) - len(strange) + dates >= _MOSTLY * len(texts):
            return (
                f"the values look like dates, such as {strange[0]!r}, which have to be written "
                "as 2024-05-31"
            )
    return None


def _is_date(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
