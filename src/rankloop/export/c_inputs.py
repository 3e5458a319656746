"""The C functions that make features of an application's own values: categories and dates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankloop.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankloop.export.program import Program

_DATE = """\
/* A feature that is a date: give microseconds since 1970 in UTC; NAN stands for a missing date. */
float rankloop_date(long long microseconds)
{
    return (float)((double)microseconds / 86400e6);
}
"""

_CATEGORY = """\
struct category {
    const char *text;
    float code;
};

static int compare_texts(const void *a, const void *b)
{
    return strcmp(((const struct category *)a)->text, ((const struct category *)b)->text);
}
"""

_LOOK_UP = """\
/* A feature that is a category: give its number and the text in UTF-8, or NULL if it is missing. */
float rankloop_category(size_t feature, const char *text)
{
    const struct category *known = NULL;
    size_t count = 0;
    switch (feature) {
%s
    }
    if (text == NULL || known == NULL) return NAN;
    const struct category wanted = {text, 0};
    const struct category *const place =
        bsearch(&wanted, known, count, sizeof *known, compare_texts);
    return place == NULL ? NAN : place->code;
}
"""


def input_functions(program: Program) -> list[str]:
    """Return the functions that a program's features need, and their tables."""
    parts = []
    categories = [j for j in program.places("category") if program.columns[j].categories]
    if program.places("category"):
        parts = ["#include <string.h>\n", _CATEGORY]
        parts += [_table(j, program.columns[j].categories) for j in categories]
        cases = [
            f"    case {j}: known = categories_{j}; "
            f"count = {len(program.columns[j].categories)}; break;"
            for j in categories
        ]
        parts.append(_LOOK_UP % "\n".join([*cases, "    default: break;"]))
    if program.places("date"):
        parts.append(_DATE)
    return parts


def text_literal(text: str) -> str:
    r"""Write a text in UTF-8, so that any compiler reads the same bytes.

    >>> text_literal('1" été?')
    '"1\\" \\303\\251t\\303\\251\\077"'
    """
    if "\0" in text:
        raise DataError(
            f"the category {text!r} holds a NUL, where a text of C ends; export to onnx or json"
        )
    # Octal, which ends after three digits; and ? too, because ??/ is a backslash in C99.
    plain = {*range(32, 127)} - {*b'"\\?'}
    escaped = {*b'"\\'}
    return (
        '"'
        + "".join(
            chr(byte) if byte in plain else f"\\{chr(byte)}" if byte in escaped else f"\\{byte:03o}"
            for byte in text.encode()
        )
        + '"'
    )


def _table(feature: int, categories: Sequence[str]) -> str:
    # In the order of their bytes, as strcmp compares them, for a binary search.
    order = sorted(range(len(categories)), key=lambda k: categories[k].encode())
    rows = ",\n".join(f"    {{{text_literal(categories[k])}, {k}}}" for k in order)
    return f"static const struct category categories_{feature}[] = {{\n{rows}}};\n"
