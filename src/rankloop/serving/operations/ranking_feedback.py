"""The feedback on each ranking of a journal."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rankloop.feedback.grading import feedback_grades, judgement_grades
from rankloop.serving.engine.joins import Joins
from rankloop.serving.journal.base import JournalError
from rankloop.serving.journal.ranking_entries import Closed, Judged, Observed, Paged, Ranked
from rankloop.serving.operations.settings import settings_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy as np
    from numpy.typing import NDArray

    from rankloop.feedback.ranking import Ranking
    from rankloop.serving.journal.base import Journal


class RankingFeedback(NamedTuple):
    """A ranking with the feedback on it.

    entry : what was shown, as the journal has it
    ranking : the same with all pages that people saw
    grades : by candidate; from its feedback by the rules at the end of the journal, or from its
        judgement; below 0 if the candidate was not shown or not judged
    liked : items with feedback of a grade above 0
    judgement : the id of the judgement; None if the grades come from feedback
    """

    entry: Ranked
    ranking: Ranking
    grades: NDArray[np.float64]
    liked: frozenset[str] = frozenset()
    judgement: str | None = None


def read_feedback(journal: Journal) -> Iterator[RankingFeedback]:
    """Yield each ranking when its window closes, with or without feedback, and when it is judged.

    Compacted entries are in the archive, and are left out.
    """
    settings = settings_of(journal)
    rules, joins = settings.rules, Joins()
    for record in journal.scan(journal.base()):
        entry = record.entry
        if isinstance(entry, Ranked):
            joins.open_ranking(entry.id, record.position, record.at)
        elif isinstance(entry, Observed):
            joins.add_event(
                entry.ranking_id, record.position, settings.max_early, settings.max_events
            )
        elif isinstance(entry, Paged):
            joins.add_page(entry.ranking_id, entry.page)
        elif isinstance(entry, Closed):
            waiting = joins.close(entry.ranking_id, settings.max_closed)
            if waiting is not None:
                ranked = _ranking_at(journal, waiting.position)
                ranking = ranked.ranking(waiting.pages)
                entries = [journal.at(place) for place in waiting.events]
                events = [e.feedback() for e in entries if isinstance(e, Observed)]
                shown = [event for event in events if event.item in ranking.places]
                grades = feedback_grades(ranking, shown, rules)
                worth = ((e.item, rules[e.type].worth(e.value)) for e in shown if e.type in rules)
                liked = frozenset(item for item, gain in worth if gain > 0)
                yield RankingFeedback(ranked, ranking, grades, liked)
        elif isinstance(entry, Judged):
            ranked = _ranking_at(journal, entry.position)
            ranking = ranked.ranking(named=True)
            grades = judgement_grades(ranking, entry.judgement())
            yield RankingFeedback(ranked, ranking, grades, judgement=entry.id)


def _ranking_at(journal: Journal, position: int) -> Ranked:
    entry = journal.at(position)
    if not isinstance(entry, Ranked):
        raise JournalError(f"{journal.where}: entry {position} is not a ranking")
    return entry
