"""Judgements from clicks: a rating for each document that was shown for a query."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.log.pair_table import PairTable
from rankloop.clicks.models.counts import add_up
from rankloop.clicks.models.registry import make_click_model
from rankloop.data.io.files import bare_suffix
from rankloop.data.io.replacing import replace_when_done
from rankloop.exceptions import DataError

if TYPE_CHECKING:
    import os
    from pathlib import Path

    from numpy.typing import NDArray

    from rankloop.clicks.log.log import ClickLog
    from rankloop.data.grouping import Ids

COEC = "coec"
"""Clicks over expected clicks."""


@dataclass(frozen=True, eq=False)
class Judgements:
    """One rating for each query and document.

    queries, documents : ids
    ratings : higher is better
    views : how often each was shown, which says how reliable the rating is
    """

    queries: Ids
    documents: Ids
    ratings: NDArray[np.float64]
    views: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.ratings)

    def to_grades(self, grades: int) -> Judgements:
        """Return whole grades from 0 to grades - 1: equal parts of the range up to the largest.

        A document that was never chosen always has grade 0.
        """
        if grades < 2:
            raise DataError(f"there must be at least 2 grades; found {grades}")
        top = self.ratings.max(initial=0.0)
        share = self.ratings / top if top > 0 else np.zeros(len(self))
        levels = np.minimum(np.ceil(share * (grades - 1)), grades - 1)
        return Judgements(self.queries, self.documents, levels, self.views)


def judge_clicks(log: ClickLog, by: str = COEC, least_views: float = 1.0) -> Judgements:
    """Rate what was shown for each query.

    Parameters
    ----------
    log : pages and clicks
    by : `coec`, the clicks of a document divided by the clicks that its positions get on average;
        or the name of a click model, whose attraction becomes the rating
    least_views : documents shown less often for a query are left out

    Examples
    --------
    >>> from rankloop.clicks.log.log import ClickLog
    >>> log = ClickLog.from_pages([("q", ["a", "b"], ["a"]), ("r", ["b", "a"], [])])
    >>> judge_clicks(log).ratings.tolist()  # half of all first places are clicked
    [2.0, 0.0, 0.0, 0.0]

    References
    ----------
    Zhang and Jones, Comparing click logs and editorial labels for training query rewriting (2007),
    for clicks over expected clicks.
    """
    keys = log.row_queries.astype(np.int64) * len(log.document_ids) + log.documents
    pairs, place = np.unique(keys, return_inverse=True)
    seen = log.row_counts
    views = add_up(place, seen, len(pairs))
    if by == COEC:
        most = int(log.positions.max(initial=0)) + 1
        shown = add_up(log.positions, seen, most)
        rate = add_up(log.positions, seen * log.clicks, most) / np.where(shown > 0, shown, 1)
        expected = add_up(place, seen * rate[log.positions], len(pairs))
        clicks = add_up(place, seen * log.clicks, len(pairs))
        ratings = clicks / np.where(expected > 0, expected, 1)
    else:
        ratings = np.empty(len(pairs))
        ratings[place] = _attraction(by, log).of(log)
    enough = views >= least_views
    query, document = np.divmod(pairs[enough], len(log.document_ids))
    return Judgements(
        log.query_ids[query], log.document_ids[document], ratings[enough], views[enough]
    )


def _attraction(by: str, log: ClickLog) -> PairTable:
    model = make_click_model(by).fit(log)
    table = getattr(model, "attraction", getattr(model, "relevance", None))
    if not isinstance(table, PairTable):
        raise DataError(
            f"the click model {by} does not estimate single documents; use coec, pbm, "
            "dbn or another model"
        )
    return table


def write_judgements(judgements: Judgements, path: str | os.PathLike[str] | Path) -> None:
    """Write `query,docid,rating` as CSV, or the JSON that OpenSearch imports, by the suffix.

    The file is written completely or not at all.
    """
    suffix = bare_suffix(path)
    if suffix not in (".csv", ".json"):
        raise DataError(
            f"judgements can be written as .csv or .json; found {suffix or 'no suffix'!r}"
        )
    with replace_when_done(path) as partial, partial.open("w", encoding="utf-8", newline="") as f:
        if suffix == ".csv":
            table = csv.writer(f, lineterminator="\n")
            table.writerow(["query", "docid", "rating"])
            for row in _rows(judgements):
                table.writerow(row)
            return
        ratings: dict[str, list[dict[str, str]]] = {}
        for query, document, rating in _rows(judgements):
            ratings.setdefault(str(query), []).append(
                {"docId": str(document), "rating": f"{rating:g}"}
            )
        body = {
            "name": "Clicks",
            "description": "Judgements from clicks",
            "type": "IMPORT_JUDGMENT",
            "judgmentRatings": [
                {"query": query, "ratings": documents} for query, documents in ratings.items()
            ],
        }
        json.dump(body, f, indent=1, ensure_ascii=False)


def _rows(judgements: Judgements) -> list[tuple[int | str, int | str, float]]:
    columns = judgements.queries.tolist(), judgements.documents.tolist()
    return list(zip(*columns, judgements.ratings.tolist(), strict=True))
