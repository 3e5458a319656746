"""An experiment on live traffic: interleaved models, and which of them clicks prove to be best."""

from __future__ import annotations

from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
import numpy as np

from rankloop.rankers.model_files.saving import loads
from rankloop.serving.experiments.intervals import Outcomes, compare_clicks, intervals
from rankloop.serving.settings.loop import RuleSettings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.confidence_sequences import Interval
    from rankloop.rankers.base import Ranker
    from rankloop.serving.journal.ranking_entries import Ranked

Promotion = Literal["no", "auto", "snapshot"]
"""What happens to a winner: nothing, promotion with what it has learnt since, or as it won."""


class ExperimentModels(NamedTuple):
    """The models of a running experiment, ready to rank; the champion comes first.

    models : as they were at its start; None is the champion as it is now
    share : the share of rankings that are interleaved
    """

    id: str
    names: tuple[str, ...]
    versions: tuple[int, ...]
    models: tuple[Ranker | None, ...]
    share: float


class LiveExperiment(msgspec.Struct, dict=True):
    """An experiment, with all that decides it; it cannot be changed.

    names, versions, models : of the champion and then of its challengers, as they were at its
        start; a champion without bytes continues to learn, in a holdback
    alpha : the probability that it ever finds a wrong winner
    feedback : the grades of feedback in the loop's settings at the start
    promote, holdback : what happens to a winner, and on which share of rankings it is then still
        compared with the old champion
    outcomes : those of each challenger against the champion
    sessions : the sessions whose outcome is already counted
    """

    id: str
    names: list[str]
    versions: list[int]
    models: list[bytes]
    alpha: float
    feedback: dict[str, RuleSettings | float]
    promote: Promotion = "no"
    share: float = 1.0
    holdback: float = 0.0
    outcomes: list[Outcomes] = msgspec.field(default_factory=list)
    sessions: dict[str, None] = msgspec.field(default_factory=dict)

    @property
    def is_holdback(self) -> bool:
        """Whether it compares a promoted model with the previous one, which returns if it wins."""
        return not self.models[0]

    def load(self) -> ExperimentModels:
        """Return its models, ready to rank."""
        models = tuple(loads(body) if body else None for body in self.models)
        return ExperimentModels(
            self.id, tuple(self.names), tuple(self.versions), models, self.share
        )

    def judge(self, ranked: Ranked, grades: NDArray[np.float64], max_sessions: int) -> None:
        """Record who won a ranking with clicks.

        Of the rankings of a session, only the first with a click counts: one outcome per person.
        """
        if ranked.teams is None or ranked.session in self.sessions:
            return
        first = len(ranked.order)
        liked = grades[np.array(ranked.order, np.int64)] > 0
        teams = np.array(ranked.teams[:first], np.int64)
        if not liked.any():
            return
        for challenger, outcomes in enumerate(self.outcomes, start=1):
            outcomes.add(compare_clicks(teams, liked, challenger))
        if ranked.session is not None:
            self._first_sessions.append(ranked.session)
            self.sessions[ranked.session] = None
            if len(self.sessions) > max_sessions:
                del self.sessions[self._first_sessions.popleft()]

    @cached_property
    def _first_sessions(self) -> deque[str]:
        """The sessions, oldest first, for the same reason as the closed ids of `Joins`."""
        return deque(self.sessions)

    def intervals(self) -> list[Interval]:
        """Return an interval for each challenger's mean outcome; all hold with 1 - alpha."""
        return intervals(self.outcomes, self.alpha)

    def winner(self) -> str | None:
        """Return who is proven best: a challenger, or the champion; None if it is still open.

        A challenger wins once its lower bound is above 0; of several, the highest bound wins.
        """
        if all(outcomes.wins == outcomes.losses for outcomes in self.outcomes):
            return None
        bounds = self.intervals()
        best = max(range(len(bounds)), key=lambda n: bounds[n].low)
        if bounds[best].low > 0:
            return self.names[best + 1]
        return self.names[0] if all(bound.high < 0 for bound in bounds) else None
