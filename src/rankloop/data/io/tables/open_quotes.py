"""Whether a quote of a CSV file is left open, and where."""

from __future__ import annotations

import csv
import io

from rankloop.data.io.files import open_input
from rankloop.exceptions import ParseError

_PIECE = 2**20


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
    with open_input(name) as stream:
        text = io.TextIOWrapper(stream, encoding, "replace", "")
        try:
            rows = csv.reader(text, delimiter=delimiter, strict=True)
            for _ in rows:
                line = rows.line_num + 1
        except csv.Error as error:
            if "unexpected end" in str(error):
                raise ParseError(
                    name, line, 'a cell begins with " here, and has no closing one: add it'
                ) from None
        finally:
            text.detach()  # else it would close the file, which `open_input` does
