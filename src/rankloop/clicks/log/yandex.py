"""The text format in which Yandex published result pages with clicks."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from rankloop.clicks.log.bad_lines import BadLines
from rankloop.clicks.log.log import ClickLog
from rankloop.data.io.files import open_input
from rankloop.exceptions import ParseError

if TYPE_CHECKING:
    from collections.abc import Iterator


def read_yandex_clicks(*paths: str | os.PathLike[str], skip_bad_rows: bool = False) -> ClickLog:
    """Read pages written as `query TAB document,document,... : clicked , clicked;`.

    Pages are separated by semicolons, on one line or on several. A document that is clicked
    several times counts once; clicks on documents that the page does not show are left out, and
    counted in the notes of the log.

    Parameters
    ----------
    paths : text files, plain or compressed; `-` is the standard input
    skip_bad_rows : whether pages that cannot be read are left out, and counted in the notes

    Raises
    ------
    ParseError
        which names the line where a page does not have this form.
    """
    bad = BadLines(skip_bad_rows)
    pages = (page for path in paths for page in _read(os.fspath(path), bad))
    return bad.noted(ClickLog.from_pages(pages))


def _read(name: str, bad: BadLines) -> Iterator[tuple[str, list[str], list[str]]]:
    with open_input(name) as file:
        for number, line in enumerate(file, start=1):
            yield from _pages(line, name, number, bad)


def _pages(
    line: bytes, name: str, number: int, bad: BadLines
) -> Iterator[tuple[str, list[str], list[str]]]:
    try:
        text = line.decode()
    except UnicodeDecodeError as error:
        bad.add(ParseError(name, number, f"it is not UTF-8: {error}"))
        return
    for page in text.split(";"):
        if not page.strip():
            continue
        head, colon, clicked = page.partition(":")
        query, tab, shown = head.strip().partition("\t")
        documents = [document.strip() for document in shown.split(",")]
        if not (colon and tab and query and all(documents)):
            bad.add(
                ParseError(
                    name,
                    number,
                    f"found {page.strip()[:60]!r}, expected 'query TAB document,document,... : "
                    "clicked , clicked'",
                )
            )
            continue
        yield (
            query,
            documents,
            [document.strip() for document in clicked.split(",") if document.strip()],
        )
