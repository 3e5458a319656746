"""A journal as data: judged queries for batch rankers, or a click log."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.log.log import ClickLog
from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.serving.operations.settings import settings_of
from rankloop.serving.operations.verdicts import verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rankloop.rankers.base import Ranker
    from rankloop.serving.journal.base import Journal
    from rankloop.serving.journal.entries import Ranked
    from rankloop.serving.operations.verdicts import Verdict
    from rankloop.serving.privacy import Vault


def exported(journal: Journal) -> QueryDataset:
    """Return rankings with their feedback as one data set, for batch rankers.

    A query is a ranking that was closed with positive feedback, or judged; a document's grade
    follows from its feedback by the rules at the end of the journal, and is below 0 if it was not
    shown.
    """
    X, y, names = [], [], []
    for verdict in verdicts(journal):
        if (verdict.grades > 0).any():
            X.append(verdict.entry.matrix())
            y.append(verdict.grades)
            again = "" if verdict.judgement is None else f" {verdict.judgement}"
            names.append(verdict.entry.id + again)
    if not names:
        raise DataError(f"{journal.where}: no ranking has feedback or grades yet")
    return QueryDataset(
        np.concatenate(X),
        np.concatenate(y),
        np.cumsum([0, *map(len, y)]),
        np.array(names),
        feature_names=settings_of(journal).names,
    )


def exported_clicks(journal: Journal, vault: Vault | None = None) -> ClickLog:
    """Return what was shown and clicked as a log: a page for each ranking whose window closed.

    A document counts as clicked if any feedback on it has a grade above 0.

    Parameters
    ----------
    vault : decrypts the text of queries. Without it, or if a person was forgotten, each ranking
        counts as a separate query, and `notes` say how many there are.
    """
    pages, queries, items, clicked = [], [], [], []
    places: list[int] = []
    unknown = 0
    for entry, ranking, _, liked, _ in _closed(journal):
        text = _query(entry, vault, journal)
        unknown += text is None
        shown = [entry.items[row] for row in ranking.order.tolist()]
        pages += [entry.id] * len(shown)
        queries += [entry.id if text is None else text] * len(shown)
        items += shown
        clicked += [item in liked for item in shown]
        places += range(1, len(shown) + 1)
    if not pages:
        raise DataError(f"{journal.where}: no ranking has closed yet")
    log = ClickLog.from_rows(
        np.array(queries),
        np.array(items),
        np.array(clicked, bool),
        position=np.array(places),
        page=np.array(pages),
    )
    note = (
        f"the query of {unknown:,} of {len(log):,} pages is not known, so each of these pages "
        "counts as a separate query; queries are stored only with a master key, and only until the "
        "person is forgotten"
    )
    return replace(log, notes=(note,) if unknown else ())


def scored_as_shown(journal: Journal, model: Ranker) -> NDArray[np.float64]:
    """Return the scores of a model for the rows of :func:`exported_clicks`."""
    names = settings_of(journal).names
    scores = []
    for entry, ranking, *_ in _closed(journal):
        X = entry.matrix()
        query = QueryDataset(
            X, np.zeros(len(X)), np.array([0, len(X)]), np.array([entry.id]), feature_names=names
        )
        scores.append(np.asarray(model.predict(query), np.float64)[ranking.order])
    return np.concatenate(scores)


def _closed(journal: Journal) -> Iterator[Verdict]:
    """Give rankings that showed anything, when their windows close."""
    return (one for one in verdicts(journal) if one.judgement is None and len(one.ranking))


def _query(entry: Ranked, vault: Vault | None, journal: Journal) -> str | None:
    if vault is None or entry.sealed is None:
        return None
    found = vault.opened(entry.id, entry.sealed, journal)
    return None if found is None else found.query
