"""The log of Yandex's Relevance Prediction Challenge: a line for each query and each click."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from rankloop._utils.messages import count
from rankloop.clicks.log.bad_lines import BadLines
from rankloop.clicks.log.log import ClickLog
from rankloop.data.io.files import open_input
from rankloop.exceptions import DataError, ParseError

if TYPE_CHECKING:
    from collections.abc import Iterator

    Page = tuple[str, list[str], set[str]]


def read_relpred(*paths: str | os.PathLike[str], skip_bad_rows: bool = False) -> ClickLog:
    """Read lines with tabs: `session time Q query region url url ...` and `session time C url`.

    The lines of a session follow one another. A query with its region (`query_region`) is the query
    of a page. A click belongs to the last page of its session that shows the document; other clicks
    are left out, and counted in the notes.

    Parameters
    ----------
    paths : text files, plain or compressed
    skip_bad_rows : whether lines that cannot be read are left out, and counted in the notes

    References
    ----------
    Yandex, Relevance Prediction Challenge, WSCD 2012.
    """
    bad, astray = BadLines(skip_bad_rows), [0]
    log = ClickLog.from_pages(page for path in paths for page in _pages(path, bad, astray))
    if len(log) == 0:
        raise DataError("the log has no query; expected lines with Q, as session, time, Q, ...")
    log = bad.noted(log)
    if not astray[0]:
        return log
    clicks = count(astray[0], "click", "clicks")
    return replace(log, notes=(*log.notes, f"{clicks} on documents that were not shown left out"))


def _pages(path: str | os.PathLike[str], bad: BadLines, astray: list[int]) -> Iterator[Page]:
    name, session = os.fspath(path), ""
    pages: list[Page] = []  # of one session, of which later lines may hold clicks
    with open_input(name) as file:
        for number, line in enumerate(file, start=1):
            words = line.decode("utf-8", "replace").rstrip("\r\n").split("\t")
            kind = words[2] if len(words) > 3 else ""
            if not line.strip():
                continue
            if not (kind == "C" and len(words) == 4) and not (kind == "Q" and len(words) > 5):
                bad.add(
                    ParseError(
                        name,
                        number,
                        f"found {line.decode('utf-8', 'replace').strip()[:60]!r}, expected "
                        "'session time Q query region url ...' or 'session time C url' with tabs",
                    )
                )
                continue
            if words[0] != session:
                yield from pages
                session, pages = words[0], []
            if kind == "Q":
                pages.append((f"{words[3]}_{words[4]}", words[5:], set()))
                continue
            shown = next((page for page in reversed(pages) if words[3] in page[1]), None)
            if shown is None:
                astray[0] += 1
            else:
                shown[2].add(words[3])
    yield from pages
