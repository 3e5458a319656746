"""The sessions of TianGong-ST, in XML: queries, their results by rank, and the clicked ranks."""

from __future__ import annotations

import os
from array import array
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np

from rankloop.clicks.log.bad_lines import BadLines
from rankloop.clicks.log.log import ClickLog
from rankloop.data.io.files import open_input
from rankloop.exceptions import DataError, ParseError

if TYPE_CHECKING:
    from collections.abc import Iterator

_DOCUMENT = ("docid", "id", "url")
_QUERY = ("query_id", "query")


def read_tiangong(*paths: str | os.PathLike[str], skip_bad_rows: bool = False) -> ClickLog:
    """Read `interaction` elements: a `query_id`, `result` elements with a rank, `click` elements.

    Each interaction is a page, whose documents have a `docid` (or, as in TREC's session tracks, a
    `url`). A click names the rank of a result. Interactions without results have nothing to learn
    from, and are left out.

    Parameters
    ----------
    paths : XML files, plain or compressed
    skip_bad_rows : whether interactions that cannot be used are left out, and counted in the notes

    References
    ----------
    Chen, Mao, Liu, Zhang and Ma, TianGong-ST: a new dataset with large-scale refined real-world web
    search sessions, CIKM 2019.
    """
    bad = BadLines(skip_bad_rows)
    known: dict[str, str] = {}  # each id once in memory
    queries: list[str] = []
    documents: list[str] = []
    clicks, positions, names = bytearray(), array("i"), array("i")
    pages = (page for path in paths for page in _pages(os.fspath(path), bad))
    for name, page in enumerate(pages):
        for query, document, clicked, rank in page:
            queries.append(known.setdefault(query, query))
            documents.append(known.setdefault(document, document))
            clicks.append(clicked)
            positions.append(rank)
            names.append(name)
    if not queries:
        raise DataError("the log has no interaction with results")
    return bad.noted(
        ClickLog.from_rows(
            queries,
            documents,
            np.frombuffer(clicks, bool),
            position=np.asarray(positions),
            page=np.asarray(names),
        )
    )


def _pages(name: str, bad: BadLines) -> Iterator[list[tuple[str, str, bool, int]]]:
    with open_input(name) as file:
        try:
            for _, element in ElementTree.iterparse(file):
                if element.tag == "interaction":
                    page = _page(element, name, bad)
                    if page:
                        yield page
                if element.tag in ("interaction", "session"):
                    element.clear()
        except ElementTree.ParseError as error:
            raise ParseError(name, error.position[0], f"it is not XML: {error}") from None


def _page(
    element: ElementTree.Element, name: str, bad: BadLines
) -> list[tuple[str, str, bool, int]]:
    number = element.get("num", "?")
    try:
        query = _text(element, _QUERY)
        clicked = {int(click.findtext("rank", "")) for click in element.iter("click")}
        rows: dict[int, tuple[str, str, bool, int]] = {}
        for result in element.iter("result"):
            rank = int(result.get("rank", ""))
            if rank < 1 or rank in rows:
                raise ValueError(f"a result has the rank {rank}, which is taken or below 1")  # noqa: TRY301
            rows[rank] = (query, _text(result, _DOCUMENT), rank in clicked, rank)
    except ValueError as error:
        bad.add(ParseError(name, None, f"interaction {number} cannot be used: {error}"))
        return []
    return list(rows.values())


def _text(element: ElementTree.Element, tags: tuple[str, ...]) -> str:
    for tag in tags:
        text = (element.findtext(tag) or "").strip()
        if text:
            return text
    raise ValueError(f"there is no {' or '.join(tags)}")
