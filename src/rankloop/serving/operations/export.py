"""A journal as data: judged queries for batch rankers, or a click log."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rankloop.clicks.log.log import ClickLog
from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.feedback.compute_features import named_columns
from rankloop.serving.engine.columns import arrange, columns_of
from rankloop.serving.engine.snapshots import load_engine
from rankloop.serving.operations.ranking_feedback import read_feedback
from rankloop.serving.operations.settings import settings_of
from rankloop.serving.threads.loading import load_features

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from rankloop.features.columns import Features
    from rankloop.rankers.base import Ranker
    from rankloop.serving.journal.base import Journal
    from rankloop.serving.journal.ranking_entries import Ranked
    from rankloop.serving.operations.ranking_feedback import RankingFeedback
    from rankloop.serving.security.vault import Vault
    from rankloop.serving.settings.loop import LoopSettings


def export_queries(journal: Journal) -> QueryDataset:
    """Return rankings with their feedback as one data set, for batch rankers.

    A query is a ranking that was closed with positive feedback, or judged; a document's grade
    follows from its feedback by the rules at the end of the journal, and is below 0 if it was not
    shown. Columns are the present ones; a ranking from before a feature was defined lacks it.
    """
    settings, known = settings_of(journal), _columns_by_position(journal)
    X, y, names = [], [], []
    for verdict in read_feedback(journal):
        if (verdict.grades > 0).any():
            have = columns_of(verdict.entry, known, settings.names)
            X.append(arrange(verdict.entry.matrix(), have, settings.names))
            y.append(verdict.grades)
            again = "" if verdict.judgement is None else f" {verdict.judgement}"
            names.append(verdict.entry.id + again)
    if not names:
        raise DataError(f"{journal.where}: no ranking has feedback or grades yet")
    columns = _named_columns(journal, settings)
    return QueryDataset(
        np.concatenate(X),
        np.concatenate(y),
        np.cumsum([0, *map(len, y)]),
        np.array(names),
        feature_names=settings.names if columns is None else columns.names,
        features=columns,
    )


def _columns_by_position(journal: Journal) -> dict[int, tuple[str, ...]]:
    """Return the names of columns by the position of the settings that defined them."""
    return load_engine(journal).columns if settings_of(journal).computes else {}


def _named_columns(journal: Journal, settings: LoopSettings) -> Features | None:
    """Return the columns of a loop that computes features, with the names of its categories."""
    if not settings.computes:
        return None
    live = load_features(journal, settings, max(_columns_by_position(journal)), 0)
    assert live.features is not None
    return named_columns(settings.definitions, live.features.state)


def export_clicks(journal: Journal, vault: Vault | None = None) -> ClickLog:
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
    for entry, ranking, _, liked, _ in _read_closed(journal):
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


def score_as_shown(journal: Journal, model: Ranker) -> NDArray[np.float64]:
    """Return the scores of a model for the rows of :func:`export_clicks`."""
    names = settings_of(journal).names
    scores = []
    for entry, ranking, *_ in _read_closed(journal):
        X = entry.matrix()
        query = QueryDataset(
            X, np.zeros(len(X)), np.array([0, len(X)]), np.array([entry.id]), feature_names=names
        )
        scores.append(np.asarray(model.predict(query), np.float64)[ranking.order])
    return np.concatenate(scores)


def _read_closed(journal: Journal) -> Iterator[RankingFeedback]:
    """Yield rankings that showed at least one item, when their windows close."""
    return (
        feedback
        for feedback in read_feedback(journal)
        if feedback.judgement is None and len(feedback.ranking)
    )


def _query(entry: Ranked, vault: Vault | None, journal: Journal) -> str | None:
    if vault is None or entry.encrypted is None:
        return None
    personal = vault.decrypt(entry.id, entry.encrypted, journal)
    return None if personal is None else personal.query
