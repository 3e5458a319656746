"""Columns of text that hold numbers: which texts are missing values, and which are mistakes.

A file may have one `?` among 4,000 prices. Its column is then text, but not a category: it is a
number with a missing value. A text that is neither a number nor a usual mark of a missing value is
an error, because nobody but the user knows what it means.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from rankloop._utils.argument_names import argument
from rankloop._utils.messages import count, show_names
from rankloop.data.io.tables.sources import arrow
from rankloop.data.io.tables.values import kind_of, plain_words
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow

    from rankloop.data.io.tables.roles import TableOptions

MISSING = (
    *("", "-", "--", "---", "\u2013", "\u2014", "?", ".", "*"),
    *("None", "none", "NONE", "Null", "null", "NULL", "nil", "undefined"),
    *("NaN", "nan", "NAN", "NA", "na", "N/A", "n/a", "n.a.", "N.A.", "<NA>", "NaT"),
    *("\\N", "#N/A", "#NA", "#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!"),
    *("missing", "Missing", "unknown", "Unknown"),
)
"""Texts that stand for a missing value in a column of numbers."""
_NUMBER = r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?"
_COMMA = r"[+-]?(\d{1,3}(\.\d{3})+|\d+)(,\d*)?"
_POINT = r"[+-]?(\d{1,3}(,\d{3})+|\d+)(\.\d*)?"
_SAMPLE = 10_000
_MOSTLY = 0.9
"""A column of text is one of numbers from this share on; then its other texts are mistakes."""


def read_numbers(
    table: pyarrow.Table, options: TableOptions, typed: bool = False
) -> tuple[pyarrow.Table, tuple[str, ...]]:
    """Return a table with numbers in the columns of text that hold them; also what was missing.

    typed : whether the source has types, such as a frame. Then text that is numbers throughout was
        meant as text, such as the numbers of products.

    Raises
    ------
    DataError
        if a column is almost all numbers, and the rest is no usual mark of a missing value; the
        message names the first such row, and the options that decide.
    """
    pa = arrow()
    notes = []
    for name in _candidates(table.schema, options):
        column = table.column(name)
        if pa.types.is_dictionary(column.type):
            column = pa.chunked_array([plain_words(chunk) for chunk in column.chunks], pa.string())
        texts = column.cast(pa.string()) if column.type == pa.string_view() else column
        values, note = _numbers(texts, name, options, typed)
        if values is not None:
            table = table.set_column(table.column_names.index(name), name, values)
        notes += [note] if note else []
    return table, tuple(notes)


def _candidates(schema: pyarrow.Schema, options: TableOptions) -> list[str]:
    """Return the columns of text that may hold numbers: all that are not named otherwise."""
    known = options.description
    aside = {*options.drop, *options.category, *options.id_columns(schema.names)}
    if known is not None:
        aside |= {c.name for c in known if c.kind in ("category", "date")}
    chosen = options.chosen
    return [
        field.name
        for field in schema
        if kind_of(field.type) == "category"
        and field.name not in aside
        and (chosen is None or field.name in chosen or field.name in options.roles.values())
    ]


def _numbers(
    texts: pyarrow.ChunkedArray, name: str, options: TableOptions, typed: bool
) -> tuple[pyarrow.ChunkedArray | None, str]:
    """Return a column as numbers, or None if it is not one of numbers; also a note."""
    marks = {*MISSING, *options.missing}
    if _is_words(texts, marks):
        return None, ""
    counts = _count(texts)
    missing = {text: times for text, times in counts.items() if text in marks}
    rest = {text: times for text, times in counts.items() if text not in marks}
    plain = {text: plain_number(text, options) for text in rest}
    others = [text for text, number in plain.items() if number is None]
    total, numbers = sum(rest.values()), sum(n for t, n in rest.items() if plain[t] is not None)
    wanted = options.description is not None and options.chosen is not None
    wanted = wanted and name in (options.chosen or ())
    if wanted and not others:
        pass  # the model knows that it is a number
    elif not numbers or (typed and not missing and not others):
        _refuse_other_numerals(texts, name, rest, options)
        return None, ""
    elif others:
        if numbers < _MOSTLY * total and not wanted:
            _refuse_other_numerals(texts, name, rest, options)
            return None, ""
        error = DataError(_mistake(texts, name, others, numbers / total))
        raise error.at_row(_row(texts, others[0]))
    table = {**dict.fromkeys(missing, None), **plain}
    encoded = texts.combine_chunks().dictionary_encode()
    words = [table[_trim(word)] for word in encoded.dictionary.to_pylist()]
    double = arrow().array([None if w is None else float(w) for w in words], arrow().float64())
    values = double.take(encoded.indices)
    return arrow().chunked_array([values]), _note(name, missing)


def _is_words(texts: pyarrow.ChunkedArray, marks: set[str]) -> bool:
    """Whether the first rows have so few digits that the column cannot be one of numbers."""
    known = [text for text in _count(texts.slice(0, _SAMPLE)) if text not in marks]
    return bool(known) and sum(any(c.isdigit() for c in text) for text in known) < len(known) / 2


def _count(texts: pyarrow.ChunkedArray) -> dict[str, int]:
    """Count the texts of a column, without spaces around them."""
    counts: dict[str, int] = {}
    for entry in texts.drop_null().value_counts().to_pylist():
        text = _trim(entry["values"])
        counts[text] = counts.get(text, 0) + entry["counts"]
    return counts


def _trim(text: str) -> str:
    return text.strip(" \t\u00a0\u202f")


def plain_number(text: str, options: TableOptions) -> str | None:
    """Return a number as Python reads it; None if the text is not a number."""
    if options.thousands:
        whole, point, part = text.partition(options.decimal)
        groups = whole.lstrip("+-").split(options.thousands)
        if len(groups) > 1 and not (
            1 <= len(groups[0]) <= 3 and all(len(group) == 3 for group in groups[1:])
        ):
            return None
        text = whole.replace(options.thousands, "") + point + part
    if options.decimal != ".":
        if "." in text:
            return None
        text = text.replace(options.decimal, ".")
    return text if re.fullmatch(_NUMBER, text) and text.isascii() else None


def _refuse_other_numerals(
    texts: pyarrow.ChunkedArray, name: str, counts: dict[str, int], options: TableOptions
) -> None:
    """Raise if a column has numbers with a decimal comma, or with separators of thousands."""
    if options.decimal != "." or options.thousands:
        return
    total = sum(counts.values())
    comma = argument("decimal", ",")
    for pattern, way in (
        (_POINT, f"{argument('thousands', ',')} if it separates thousands, else {comma}"),
        (_COMMA, comma),
    ):
        fit = [text for text in counts if re.fullmatch(pattern, text)]
        fit = fit if any("," in text for text in fit) else []
        if not fit or sum(counts[text] for text in fit) < _MOSTLY * total:
            continue
        if way == comma and any("." in text for text in fit):
            way = f"{comma} and {argument('thousands', '.')}"
        text = next(text for text in fit if "," in text)
        raise DataError(
            f"column {name!r} has numbers with commas, such as {text!r} in row "
            f"{_row(texts, text)}: pass {way}; or, if they are categories, "
            f"{argument('category', [name])}"
        )


def _mistake(texts: pyarrow.ChunkedArray, name: str, others: Sequence[str], share: float) -> str:
    more = show_names(others[1:5]) + (", ..." if len(others) > 5 else "")
    rest = f" (others: {more})" if len(others) > 1 else ""
    return (
        f"column {name!r} is text, but {min(share, 0.9999):.2%} of its values are numbers; row "
        f"{_row(texts, others[0])} has {others[0]!r}, which is neither a number nor a usual mark "
        f"of a missing value{rest}; correct the file, pass "
        f"{argument('missing', list(others[:5]))} if these stand for missing values, or "
        f"{argument('category', [name])} if it holds categories"
    )


def _row(texts: pyarrow.ChunkedArray, wanted: str) -> int:
    words: Iterable[Any] = texts.to_pylist()
    return next(k for k, word in enumerate(words) if word is not None and _trim(word) == wanted)


def _note(name: str, missing: dict[str, int]) -> str:
    if not missing:
        return ""
    marks = ", ".join(map(repr, list(missing)[:4])) + (", ..." if len(missing) > 4 else "")
    values = count(sum(missing.values()), "value is", "values are")
    return f"column {name!r} holds numbers, of which {values} missing ({marks})"
