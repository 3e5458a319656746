"""The lines of CSV: where a row is that cannot be read, and whether a quote is left open."""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING

from rankloop.data.io.files import open_input
from rankloop.exceptions import ParseError

if TYPE_CHECKING:
    from collections.abc import Iterator

_PIECE = 2**20


def csv_lines(
    name: str, delimiter: str, encoding: str, strict: bool = False
) -> Iterator[tuple[int, list[str]]]:
    """Give the rows, with the header but without empty lines, each with the line where it ends."""
    with open_input(name) as stream:
        text = io.TextIOWrapper(stream, encoding, "replace", "")
        try:
            reader = csv.reader(text, delimiter=delimiter, strict=strict)
            yield from ((reader.line_num, row) for row in reader if row)
        finally:
            text.detach()  # else it would close the file, which `open_input` does


def lines_of_other_width(
    name: str, delimiter: str, encoding: str
) -> Iterator[tuple[int, int, int]]:
    """Give the line of each row of other width than the header, its cells and the header's."""
    rows = csv_lines(name, delimiter, encoding)
    width = len(next(rows, (0, []))[1])
    yield from ((line, len(row), width) for line, row in rows if len(row) != width)


def check_quotes(name: str, delimiter: str, encoding: str) -> None:
    """Raise if the file ends inside a quoted cell, which would hold all rows from there on."""
    if name == "-" or "16" in encoding or "32" in encoding:
        return
    quotes = 0
    with open_input(name) as stream:
        while piece := stream.read(_PIECE):
            quotes += piece.count(b'"')
    if quotes % 2 == 0:  # also quotes that are doubled
        return
    line = 1
    try:
        for number, _ in csv_lines(name, delimiter, encoding, strict=True):
            line = number + 1
    except csv.Error as error:
        if "unexpected end" in str(error):
            raise ParseError(
                name, line, 'a cell begins with " here, and has no closing one: add it'
            ) from None
