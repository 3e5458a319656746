"""A running experiment: models interleaved on people, all but a watched champion frozen."""

from __future__ import annotations

from collections import deque
from functools import cached_property
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec
import numpy as np

from rankloop.learners.model_files.saving import loads
from rankloop.serving.config import RuleSettings
from rankloop.serving.experiments import Tally, intervals, outcome

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankloop.clicks.sequences import Interval
    from rankloop.learners.snapshot import Snapshot
    from rankloop.serving.journal.entries import Ranked

Promotion = Literal["no", "auto", "snapshot"]
"""What becomes of a winner: nothing, its learner as it has gone on, or the state that won."""


class Duel(NamedTuple):
    """What readers need of a running experiment; the champion comes first.

    models : as they were at its start; None is the champion as it is now
    share : of all rankings, how many are interleaved
    """

    id: str
    names: tuple[str, ...]
    versions: tuple[int, ...]
    models: tuple[Snapshot | None, ...]
    share: float


class Trial(msgspec.Struct, dict=True):
    """An experiment, with all that decides it; none of it can be edited.

    names, versions, models : of the champion and then of its challengers, as they were at its
        start; a champion without bytes is watched as it goes on learning
    alpha : the chance that it ever names a wrong winner
    feedback : what feedback is worth, as the loop's settings had it at the start
    promote, watch : what becomes of a winner, and on which share of rankings it is then watched
    tallies : one a challenger, against the champion
    sessions : whose outcome is counted already
    """

    id: str
    names: list[str]
    versions: list[int]
    models: list[bytes]
    alpha: float
    feedback: dict[str, RuleSettings | float]
    promote: Promotion = "no"
    share: float = 1.0
    watch: float = 0.0
    tallies: list[Tally] = msgspec.field(default_factory=list)
    sessions: dict[str, None] = msgspec.field(default_factory=dict)

    @property
    def watches(self) -> bool:
        """Whether it watches a promoted model, and brings the one before it back if that wins."""
        return not self.models[0]

    def duel(self) -> Duel:
        """Return what readers need of it."""
        models = tuple(loads(body).snapshot() if body else None for body in self.models)
        return Duel(self.id, tuple(self.names), tuple(self.versions), models, self.share)

    def judge(self, ranked: Ranked, grades: NDArray[np.float64], most_sessions: int) -> None:
        """Take in who won a ranking that somebody clicked in.

        Where rankings name a session, the first with a click counts: one person, one outcome.
        """
        if ranked.teams is None or ranked.session in self.sessions:
            return
        first = len(ranked.order)
        liked = grades[np.array(ranked.order, np.int64)] > 0
        teams = np.array(ranked.teams[:first], np.int64)
        if not liked.any():
            return
        for challenger, tally in enumerate(self.tallies, start=1):
            tally.add(outcome(teams, liked, challenger))
        if ranked.session is not None:
            self._first_sessions.append(ranked.session)
            self.sessions[ranked.session] = None
            if len(self.sessions) > most_sessions:
                del self.sessions[self._first_sessions.popleft()]

    @cached_property
    def _first_sessions(self) -> deque[str]:
        """The sessions, oldest first; a dict would look for its oldest among all that it lost."""
        return deque(self.sessions)

    def intervals(self) -> list[Interval]:
        """Return where each challenger's mean outcome is; all together hold with 1 - alpha."""
        return intervals(self.tallies, self.alpha)

    def winner(self) -> str | None:
        """Return who is proven best: a challenger, or the champion over all; None where it is open.

        A challenger wins once its lower bound is above 0; of several, the highest bound wins.
        """
        if all(tally.wins == tally.losses for tally in self.tallies):
            return None
        bounds = self.intervals()
        best = max(range(len(bounds)), key=lambda n: bounds[n].low)
        if bounds[best].low > 0:
            return self.names[best + 1]
        return self.names[0] if all(one.high < 0 for one in bounds) else None
