"""A journal as a data set for batch learners."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.feedback.grading import feedback_grades, judged_grades
from rankloop.serving.joins import Joins
from rankloop.serving.journal.base import JournalError
from rankloop.serving.journal.entries import Closed, Judged, Observed, Paged, Ranked
from rankloop.serving.operations.settings import settings_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.serving.journal.base import Journal


def exported(journal: Journal) -> QueryDataset:
    """Return what people said of rankings as one data set, for batch learners.

    A query is a ranking that was closed with feedback, or judged; a document's grade is what its
    feedback is worth by the rules at the end of the journal, below 0 where it was not shown.
    """
    settings = settings_of(journal)
    rules = settings.rules
    joins = Joins()
    X, y, names, sizes = [], [], [], []

    def add(name: str, entry: Ranked, grades: NDArray[np.float64]) -> None:
        if (grades > 0).any():
            X.append(entry.matrix())
            y.append(grades)
            names.append(name)
            sizes.append(len(grades))

    for record in journal.scan():
        entry = record.entry
        if isinstance(entry, Ranked):
            joins.ranked(entry.id, record.position, record.at)
        elif isinstance(entry, Observed):
            joins.observed(
                entry.ranking_id, record.position, settings.most_early, settings.most_events
            )
        elif isinstance(entry, Paged):
            joins.paged(entry.ranking_id, entry.page)
        elif isinstance(entry, Closed):
            waiting = joins.close(entry.ranking_id, settings.most_closed)
            if waiting is not None and waiting.events:
                ranked = _ranked(journal, waiting.position)
                ranking = ranked.ranking(waiting.pages)
                found = [journal.at(place) for place in waiting.events]
                events = [e.feedback() for e in found if isinstance(e, Observed)]
                shown = [event for event in events if event.item in ranking.places]
                add(ranked.id, ranked, feedback_grades(ranking, shown, rules))
        elif isinstance(entry, Judged):
            ranked = _ranked(journal, entry.position)
            grades = judged_grades(ranked.ranking(named=True), entry.judgement())
            add(f"{ranked.id} {entry.id}", ranked, grades)
    if not names:
        raise DataError(f"{journal.where}: no ranking has feedback or grades yet")
    return QueryDataset(
        np.concatenate(X),
        np.concatenate(y),
        np.concatenate([[0], np.cumsum(sizes)]),
        np.array(names),
        feature_names=settings.names,
    )


def _ranked(journal: Journal, position: int) -> Ranked:
    entry = journal.at(position)
    if not isinstance(entry, Ranked):
        raise JournalError(f"{journal.where}: entry {position} is no ranking")
    return entry
