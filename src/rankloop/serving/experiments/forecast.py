"""How long an experiment will take, from the recent rankings and clicks of its loop."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from rankloop.serving.journal.ranking_entries import JUDGED, LOGGED, Observed, Ranked
from rankloop.serving.settings.loop import rules_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankloop.serving.journal.base import Journal
    from rankloop.serving.settings.loop import RuleSettings

PREFERENCES = (0.02, 0.05, 0.1)
DECIDED = 0.5
_WEEK = 7 * 86_400_000  # milliseconds
_DAY = _WEEK / 7
_PARTS, _PART = 20, 100  # entries that are read
_FEWEST = 50  # rankings from which a rate is estimated


class Traffic(NamedTuple):
    """Rankings a day, those of them that people click, and the days in which they were counted."""

    rankings: float
    clicked: float
    days: float


class DurationInfo(msgspec.Struct):
    """What an experiment needs to find a difference, in four of five cases and in half of them.

    preference : among outcomes that prefer one of two models, the share of the better one less that
        of the other: 0.05 is 52.5% against 47.5%
    outcomes, half : rankings with a click, or sessions with one
    rankings, days : until so many outcomes, at the present rate; null if it is not known
    """

    preference: float
    outcomes: int
    half: int
    rankings: int | None = None
    days: float | None = None


class Forecast(msgspec.Struct):
    """How long an experiment takes.

    alpha : its share of the error budget for each challenger
    decided : the share of outcomes that prefer one of the models; this is an assumption
    rankings_per_day, clicked_per_day : of the last days; null if there were too few to say
    counted_days : the days in which they were counted, at most 7
    """

    alpha: float
    decided: float
    durations: list[DurationInfo]
    rankings_per_day: float | None = None
    clicked_per_day: float | None = None
    counted_days: float | None = None


def forecast(traffic: Traffic | None, alpha: float, share: float = 1.0) -> Forecast:
    """Return how long an experiment takes, if people search and click as they did.

    Every ranking with a click counts as an outcome, so it takes longer if one session has several.

    Parameters
    ----------
    traffic : None: not known
    alpha : its error budget for each challenger
    share : of the rankings that are interleaved
    """
    durations = []
    for preference in PREFERENCES:
        duration = DurationInfo(preference, *outcomes_needed(preference, alpha))
        if traffic is not None and traffic.clicked > 0:
            duration.days = duration.outcomes / (traffic.clicked * share)
            duration.rankings = round(duration.days * traffic.rankings)
        durations.append(duration)
    if traffic is None:
        return Forecast(alpha, DECIDED, durations)
    return Forecast(alpha, DECIDED, durations, *traffic)


@lru_cache(maxsize=64)
def outcomes_needed(preference: float, alpha: float) -> tuple[int, int]:
    """Return after how many outcomes four of five experiments have ended, and half of them."""
    from rankloop.clicks.interleaving.power import Effect, impressions_of_sequence

    effect = Effect(preference, DECIDED)
    return (
        impressions_of_sequence(effect, alpha),
        impressions_of_sequence(effect, alpha, power=0.5),
    )


def estimate_traffic(
    journal: Journal, feedback: Mapping[str, RuleSettings | float]
) -> Traffic | None:
    """Estimate the rates of rankings and clicks in the last week of a journal; None if unknown.

    Imported logs and judgements do not count. Some 2,000 entries are read, spread over the week.

    Parameters
    ----------
    feedback : the grades of feedback; a click is feedback with a grade above 0
    """
    head, base = journal.head(), journal.base()
    if head == base:
        return None
    newest = journal.record(head).at
    first = _first_since(journal, base + 1, head, newest - _WEEK)
    days = (newest - journal.record(first).at) / _DAY
    starts = np.linspace(first - 1, max(head - _PART, first - 1), _PARTS).astype(int)
    rules, read, ranked, clicked, after = rules_of(feedback), 0, 0, 0, first - 1
    for start in starts.tolist():
        records = journal.read(max(start, after), head, _PART)
        entries = [record.entry for record in records]
        after = records[-1].position if records else after
        read += len(entries)
        ranked += sum(isinstance(e, Ranked) and e.policy not in (LOGGED, JUDGED) for e in entries)
        liked = {
            e.ranking_id
            for e in entries
            if isinstance(e, Observed) and e.type in rules and rules[e.type].worth(e.value) > 0
        }
        clicked += len(liked)
    if ranked < _FEWEST or days <= 0:
        return None
    scale = (head - first + 1) / read / days
    return Traffic(ranked * scale, min(clicked, ranked) * scale, days)


def _first_since(journal: Journal, low: int, high: int, at: int) -> int:
    """Return the first position from `low` to `high` whose entry came at a time or later."""
    while low < high:
        middle = (low + high) // 2
        if journal.record(middle).at < at:
            low = middle + 1
        else:
            high = middle
    return low
