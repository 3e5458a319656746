"""The engine: from entries to state, and nothing else. No clock, no network, no hidden chance.

    state = fold(apply, entries)

on every machine, to the last bit. Readers get immutable models of it.
"""

from __future__ import annotations

from copy import copy
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from rankloop.exceptions import DataError, RankloopError
from rankloop.feedback.lessons import (
    graded_lesson,
    inverse_propensities,
    paired_lesson,
    preferred_pairs,
)
from rankloop.feedback.rules import feedback_grades, judged_grades
from rankloop.learners.saving import dumps, loads
from rankloop.serving.config import LoopSettings
from rankloop.serving.entries import (
    Checked,
    Closed,
    Configured,
    Entry,
    ExperimentEnded,
    ExperimentStarted,
    Judged,
    ModelAdded,
    Observed,
    Promoted,
    Ranked,
    RolledBack,
    digest_of,
)
from rankloop.serving.experiments import Duel, Tally, outcome
from rankloop.serving.joins import Joins
from rankloop.serving.models import Curve, Model, ModelState, fresh, qualities

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from rankloop.data.dataset import QueryDataset
    from rankloop.feedback.ranking import Ranking
    from rankloop.learners.snapshot import Snapshot
    from rankloop.serving.journal.base import Record

ENGINE = 1
"""The version of the arithmetic. Digests are compared only where it is the same."""

_CHECKS_KEPT = 16


class DivergedError(RankloopError):
    """The state here is not the one that another process reached from the same entries."""


class Counters(msgspec.Struct):
    """How many there were of each."""

    rankings: int = 0
    events: int = 0
    pending: int = 0
    late: int = 0
    rejected: int = 0
    strays: int = 0
    judgements: int = 0
    closed: int = 0
    lessons: int = 0
    agreed: int = 0
    experiments: int = 0
    promotions: int = 0


class Published(NamedTuple):
    """All that ranking needs, and how the loop does, as of one entry; it never changes.

    models, versions, curves : by name: what ranks, where it changed last, how well it does
    duel, tally, alpha : the running experiment, what it has found, its share of the error budget
    shown : how well the orders that were shown did
    """

    position: int
    settings: LoopSettings
    champion: str
    models: Mapping[str, Snapshot]
    versions: Mapping[str, int]
    curves: Mapping[str, Curve]
    counters: Counters
    shown: Curve
    duel: Duel | None
    tally: Tally | None
    alpha: float


class Trial(msgspec.Struct):
    """A running experiment: both models as they were at its start, and the tally."""

    id: str
    names: tuple[str, str]
    versions: tuple[int, int]
    models: tuple[bytes, bytes]
    alpha: float
    promote: bool
    tally: Tally
    sessions: dict[str, None]


class State(msgspec.Struct):
    """The engine's state as plain values."""

    engine: int
    position: int
    chain: bytes
    settings: LoopSettings | None
    champion: str
    models: list[ModelState]
    joins: Joins
    counters: Counters
    shown: Curve
    trial: Trial | None
    digests: dict[int, str]


class Engine:
    """The state of a loop; :meth:`apply` is the only way to change it.

    Parameters
    ----------
    fetch : gives the entry at an earlier position; the engine itself holds positions alone
    """

    def __init__(self, fetch: Callable[[int], Entry]) -> None:
        self._fetch = fetch
        self.position = 0
        self.settings: LoopSettings | None = None
        self.champion = ""
        self.models: dict[str, Model] = {}
        self.joins = Joins()
        self.counters = Counters()
        self.shown = Curve()
        self.trial: Trial | None = None
        self.digests: dict[int, str] = {}
        self._chain = b""
        self._duel: Duel | None = None

    def apply(self, record: Record, check: bool = True) -> None:
        """Take in the entry that follows.

        Parameters
        ----------
        record : the entry with its position, the next one
        check : whether digests that the journal holds must be those of this state

        Raises
        ------
        DivergedError
            where the entry holds a digest that is not the one this state had.
        """
        position, entry = record.position, record.entry
        if position != self.position + 1:
            raise DataError(
                f"entry {self.position + 1} must follow, but found {position}; apply all entries "
                "in order"
            )
        act = _APPLY.get(type(entry)) if check or not isinstance(entry, Checked) else None
        found = None if act is None else act(self, record, entry)
        self._chain = digest_of(self._chain, position.to_bytes(8, "little"), str(found).encode())
        self.position = position
        if self.settings is not None and position % self.settings.check_every == 0:
            self.digests[position] = self.digest()
            if len(self.digests) > _CHECKS_KEPT:
                del self.digests[next(iter(self.digests))]

    def pass_over(self, record: Record) -> None:
        """Go on as if the entry that follows had never come."""
        self.position = record.position

    def digest(self) -> str:
        """Return what is the same where, and only where, the same entries were applied."""
        plain = (self.position, self.champion, self.counters, self.shown)
        trial = None if self.trial is None else (self.trial.id, self.trial.tally)
        models = [
            (m.name, m.version, m.refused, m.curve, m.ranker.digest()) for m in self.models.values()
        ]
        return digest_of(msgspec.msgpack.encode((plain, trial, models, self._chain))).hex()

    def published(self) -> Published:
        """Return what readers rank by."""
        if self.settings is None:
            raise DataError("the loop has no settings yet; its first entry must hold them")
        return Published(
            self.position,
            self.settings,
            self.champion,
            MappingProxyType({name: m.ranker.snapshot() for name, m in self.models.items()}),
            MappingProxyType({name: m.version for name, m in self.models.items()}),
            MappingProxyType({name: copy(m.curve) for name, m in self.models.items()}),
            copy(self.counters),
            copy(self.shown),
            self._duel,
            None if self.trial is None else copy(self.trial.tally),
            0.0 if self.trial is None else self.trial.alpha,
        )

    def state(self) -> State:
        """Return all of it as plain values."""
        return State(
            ENGINE,
            self.position,
            self._chain,
            self.settings,
            self.champion,
            [model.state() for model in self.models.values()],
            self.joins,
            self.counters,
            self.shown,
            self.trial,
            self.digests,
        )

    def restore(self, state: State) -> None:
        """Become what :meth:`state` returned."""
        if state.engine != ENGINE:
            raise DataError(
                f"the state was made by version {state.engine} of the engine, and this is {ENGINE}"
            )
        self.position, self._chain = state.position, state.chain
        self.settings, self.champion = state.settings, state.champion
        self.models = {one.name: one.model() for one in state.models}
        self.joins, self.counters, self.shown = state.joins, state.counters, state.shown
        self.trial, self.digests = state.trial, state.digests
        self._duel = None if self.trial is None else _duel(self.trial)

    # One method a kind of entry; what it returns goes into the chain of the digest.

    def _configured(self, record: Record, entry: Configured) -> None:
        settings = msgspec.json.decode(entry.settings, type=LoopSettings)
        if self.settings is not None and self.settings.names != settings.names:
            raise DataError("the features of a loop cannot change; start another loop")
        configured = () if self.settings is None else self.settings.learners
        models = {}
        for text, learner in settings.make_learners().items():
            models[text] = self.models.get(text) or Model(
                text, fresh(learner, settings.names), record.position
            )
        for name, model in self.models.items():
            if name not in configured or name == self.champion:
                models.setdefault(name, model)
        self.settings, self.models = settings, models
        self.champion = self.champion or settings.learners[0]

    def _ranked(self, record: Record, entry: Ranked) -> None:
        self.counters.rankings += 1
        self.joins.ranked(entry.id, record.position, record.at)

    def _observed(self, record: Record, entry: Observed) -> str:
        settings = self._known_settings()
        status = self.joins.observed(
            entry.ranking_id, record.position, settings.most_early, settings.most_events
        )
        self.counters.events += 1
        self.counters.pending += status == "pending"
        self.counters.late += status == "late"
        self.counters.rejected += status == "rejected"
        return status

    def _closed(self, record: Record, entry: Closed) -> str:
        settings = self._known_settings()
        waiting = self.joins.close(entry.ranking_id, settings.most_closed)
        if waiting is None:
            return "unknown"
        self.counters.closed += 1
        if not waiting.events and self.trial is None:
            return "nothing"  # as most rankings: nobody said anything, and nothing is learnt
        ranked = self._ranked_at(waiting.position)
        ranking = ranked.ranking()
        events = []
        for place in waiting.events:
            event = self._fetch(place)
            if isinstance(event, Observed) and event.item in ranking.places:
                events.append(event.feedback())
            else:
                self.counters.strays += 1
        grades = feedback_grades(ranking, events, settings.rules())
        if self.trial is not None and ranked.experiment == self.trial.id:
            self._judge_trial(self.trial, ranked, grades)
        return self._teach(ranking, grades, record.position, by_clicks=True)

    def _judged(self, record: Record, entry: Judged) -> str:
        self.counters.judgements += 1
        ranking = self._ranked_at(entry.position).ranking()
        try:
            grades = judged_grades(ranking, entry.judgement())
        except DataError:
            return "rejected"
        return self._teach(ranking, grades, record.position)

    def _model_added(self, record: Record, entry: ModelAdded) -> None:
        self.models[entry.name] = Model(entry.name, loads(entry.model), record.position)

    def _promoted(self, record: Record, entry: Promoted) -> str:
        if entry.model not in self.models:
            return "unknown"
        self.counters.promotions += 1
        self.champion = entry.model
        self.models[entry.model].version = record.position
        return entry.model

    def _rolled_back(self, record: Record, entry: RolledBack) -> str:
        for name, body in entry.models.items():
            before = self.models.get(name)
            curve = None if before is None else before.curve
            self.models[name] = Model(name, loads(body), record.position, curve)
        self.champion = entry.champion
        return entry.champion

    def _experiment_started(self, _: Record, entry: ExperimentStarted) -> str:
        pair = (self.champion, entry.challenger)
        if self.trial is not None or entry.challenger not in self.models or pair[0] == pair[1]:
            return "refused"
        self.counters.experiments += 1
        self.trial = Trial(
            entry.id,
            pair,
            (self.models[pair[0]].version, self.models[pair[1]].version),
            (dumps(self.models[pair[0]].ranker), dumps(self.models[pair[1]].ranker)),
            entry.alpha,
            entry.promote,
            Tally(),
            {},
        )
        self._duel = _duel(self.trial)
        return "started"

    def _experiment_ended(self, _: Record, entry: ExperimentEnded) -> str:
        if self.trial is None or self.trial.id != entry.id:
            return "unknown"
        self.trial = self._duel = None
        return "ended"

    def _checked(self, _: Record, entry: Checked) -> None:
        own = self.digests.get(entry.position)
        if own is not None and own != entry.digest:
            raise DivergedError(
                f"after entry {entry.position} the state here has the digest {own}, but the "
                f"journal says {entry.digest}; start again from a snapshot or by replay"
            )

    def _teach(
        self,
        ranking: Ranking,
        grades: NDArray[np.float64],
        position: int,
        by_clicks: bool = False,
    ) -> str:
        """Measure every model on what is now known of a ranking, then let it learn."""
        settings = self._known_settings()
        judged = grades[grades >= 0]
        if not len(judged) or (judged == judged[0]).all():
            return "nothing"
        X = ranking.X
        if X is None:  # the journal keeps them always
            raise DataError(f"ranking {ranking.id} has no features")
        lesson = _lesson(settings, ranking, grades)
        self._measure(ranking, X, grades)
        self.counters.lessons += 1
        for model in self.models.values():
            model.learn(lesson, position, (ranking, grades) if by_clicks else None)
        return "learnt"

    def _measure(
        self, ranking: Ranking, X: NDArray[np.float32], grades: NDArray[np.float64]
    ) -> None:
        """Take in how well every model would have ranked, and what was shown."""
        places = np.full(len(grades), -float(len(grades)))
        places[ranking.order] = -np.arange(float(len(ranking)))
        models = list(self.models.values())
        scores = [
            np.asarray(model.ranker.predict(X, group=[len(X)]), np.float64) for model in models
        ]
        values = qualities([places, *scores], grades)
        if values is not None:
            for curve, value in zip([self.shown, *(m.curve for m in models)], values, strict=True):
                curve.add(value)
        best = int(ranking.scores[ranking.order].argmax())
        self.counters.agreed += best == 0

    def _judge_trial(self, trial: Trial, ranked: Ranked, grades: NDArray[np.float64]) -> None:
        if ranked.teams is None or ranked.session in trial.sessions:
            return
        order = np.array(ranked.order, np.int64)
        won = outcome(np.array(ranked.teams, np.int64), grades[order] > 0)
        trial.tally.add(won)
        if ranked.session is not None:
            trial.sessions[ranked.session] = None
            if len(trial.sessions) > self._known_settings().most_closed:
                del trial.sessions[next(iter(trial.sessions))]

    def _ranked_at(self, position: int) -> Ranked:
        entry = self._fetch(position)
        if not isinstance(entry, Ranked):
            raise DataError(f"entry {position} must be a ranking; found {type(entry).__name__}")
        return entry

    def _known_settings(self) -> LoopSettings:
        if self.settings is None:
            raise DataError("the loop has no settings yet; its first entry must hold them")
        return self.settings


_APPLY: Mapping[type, Callable[..., object]] = {
    Configured: Engine._configured,
    Ranked: Engine._ranked,
    Observed: Engine._observed,
    Closed: Engine._closed,
    Judged: Engine._judged,
    ModelAdded: Engine._model_added,
    Promoted: Engine._promoted,
    RolledBack: Engine._rolled_back,
    ExperimentStarted: Engine._experiment_started,
    ExperimentEnded: Engine._experiment_ended,
    Checked: Engine._checked,
}


def _lesson(settings: LoopSettings, ranking: Ranking, grades: NDArray[np.float64]) -> QueryDataset:
    if settings.lesson == "pairs":
        return paired_lesson(ranking, preferred_pairs(ranking, grades))
    if settings.lesson == "ips":
        weights = inverse_propensities(ranking, settings.examination, grades)
        return graded_lesson(ranking, grades, weights)
    return graded_lesson(ranking, grades)


def _duel(trial: Trial) -> Duel:
    champion, challenger = (loads(body).snapshot() for body in trial.models)
    return Duel(trial.id, trial.names, trial.versions, (champion, challenger))
