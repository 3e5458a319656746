"""The text format in which Yandex published result pages with clicks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rankloop.clicks.log.log import ClickLog
from rankloop.data.io.files import open_input
from rankloop.exceptions import ParseError

if TYPE_CHECKING:
    from collections.abc import Iterator


def read_yandex_clicks(path: str | os.PathLike[str]) -> ClickLog:
    """Read pages written as `query TAB document,document,... : clicked , clicked;`.

    Pages are separated by semicolons, on one line or on several. A document that is clicked
    several times counts once; clicks on documents that the page does not show are left out, and
    counted in the notes of the log.

    Parameters
    ----------
    path : a text file, plain or compressed; `-` is the standard input

    Raises
    ------
    ParseError
        which names the line where a page does not have this form.
    """
    name = os.fspath(path)
    with open_input(path) as file:
        return ClickLog.from_pages(
            page for number, line in enumerate(file, start=1) for page in _pages(line, name, number)
        )


def _pages(line: bytes, name: str, number: int) -> Iterator[tuple[str, list[str], list[str]]]:
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        raise ParseError(name, number, f"it is not UTF-8: {error}") from None
    for page in text.split(";"):
        if not page.strip():
            continue
        head, colon, clicked = page.partition(":")
        query, tab, shown = head.strip().partition("\t")
        documents = [document.strip() for document in shown.split(",")]
        if not (colon and tab and query and all(documents)):
            raise ParseError(
                name,
                number,
                f"found {page.strip()[:60]!r}, expected 'query TAB document,document,... : "
                "clicked , clicked'",
            )
        yield (
            query,
            documents,
            [document.strip() for document in clicked.split(",") if document.strip()],
        )
