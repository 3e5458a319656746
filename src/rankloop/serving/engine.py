"""The engine: from entries to state, and nothing else. No clock, no network, no hidden randomness.

    state = fold(apply, entries)

on every machine, to the last bit. Readers get immutable models.
"""

from __future__ import annotations

from copy import copy
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from rankloop import _core
from rankloop.exceptions import DataError, RankloopError
from rankloop.feedback.grading import grades_by, judgement_grades
from rankloop.rankers.model_files.saving import loads
from rankloop.serving.config import LoopSettings, rules_of
from rankloop.serving.contest import Contest
from rankloop.serving.epochs import epoch_state
from rankloop.serving.examples import make_example
from rankloop.serving.joins import Joins
from rankloop.serving.journal.entries import (
    Checked,
    Closed,
    Configured,
    Entry,
    EpochStarted,
    ExperimentEnded,
    ExperimentStarted,
    Judged,
    ModelAdded,
    Observed,
    Paged,
    Promoted,
    Ranked,
    RankedId,
    RolledBack,
    digest_of,
)
from rankloop.serving.models import Curve, Model, fresh, learn_examples
from rankloop.serving.state import ENGINE, Counters, Published, State

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import numpy as np
    from numpy.typing import NDArray

    from rankloop.feedback.ranking import Ranking
    from rankloop.serving.examples import Example
    from rankloop.serving.joins import Open
    from rankloop.serving.journal.base import Record
    from rankloop.serving.trials import Duel, Trial

_BATCH = 64  # examples that are learnt together: much faster than one by one, with the same result
_CHECKS_KEPT = 16
_AT_ONCE = 1000  # entries that are added to the chain together


class DivergedError(RankloopError):
    """The state here is not the one that another process reached from the same entries."""


class Engine:
    """The state of a loop; :meth:`apply` is the only way to change it.

    Parameters
    ----------
    fetch : returns the entry at an earlier position; the engine itself keeps only positions
    """

    def __init__(self, fetch: Callable[[int], Entry]) -> None:
        self._fetch = fetch
        self.position, self.epoch = 0, ENGINE
        self.settings: LoopSettings | None = None
        self.models: dict[str, Model] = {}
        self.contest = Contest()
        self.joins = Joins()
        self.counters = Counters()
        self.shown = Curve()
        self._waiting: list[Example] = []  # examples of which the models know nothing yet
        self.digests: dict[int, str] = {}
        self._chain, self._found = b"", list[str]()  # those of the last entries are not in it yet
        self._duel: Duel | None = None

    def learn(self) -> None:
        """Learn from the examples that wait; call it before looking at `models` or `shown`.

        :meth:`apply` only collects examples, and learns when a batch of them is full. The result
        does not depend on when this is called.
        """
        waiting, self._waiting = self._waiting, []
        learn_examples(waiting, self.models.values(), self.shown)

    def apply(self, record: Record, check: bool = True) -> None:
        """Process the next entry.

        Parameters
        ----------
        record : the entry with its position, the next one
        check : whether digests in the journal must be equal to those of this state

        Raises
        ------
        DivergedError
            if the entry contains a digest that differs from the digest of this state.
        """
        position, entry = record.position, record.entry
        if position != self.position + 1:
            raise DataError(
                f"expected entry {self.position + 1}, but found {position}; apply all entries "
                "in order"
            )
        act = _APPLY.get(type(entry)) if check or not isinstance(entry, Checked) else None
        found = None if act is None else act(self, record, entry)
        self._found.append(str(found))
        self.position = position
        if len(self._found) >= _AT_ONCE:
            self._fold()
        if self.settings is not None and position % self.settings.check_every == 0:
            self.digests[position] = self.digest()
            if len(self.digests) > _CHECKS_KEPT:
                del self.digests[next(iter(self.digests))]

    def pass_over(self, record: Record) -> None:
        """Continue as if the next entry did not exist."""
        self._fold()
        self.position = record.position

    def _fold(self) -> bytes:
        """Bring the chain up to the last entry, and return it: a digest of what became of each."""
        first = self.position - len(self._found) + 1
        self._chain = _core.blake2b_chain(self._chain, first, self._found)
        self._found = []
        return self._chain

    def digest(self) -> str:
        """Return bytes that are equal exactly if the same entries were applied."""
        self.learn()
        contest, trial = self.contest, self.contest.trial
        plain = (self.position, contest.champion, contest.spent, self.counters, self.shown)
        tried = None if trial is None else (trial.id, trial.tallies)
        models = [
            (m.name, m.version, m.refused, m.curve, m.ranker.digest()) for m in self.models.values()
        ]
        return digest_of(msgspec.msgpack.encode((plain, tried, models, self._fold()))).hex()

    def published(self) -> Published:
        """Return the models that readers use for ranking."""
        self.learn()
        if self.settings is None:
            raise DataError("the loop has no settings yet; its first entry must contain them")
        return Published(
            self.position,
            self.settings,
            self.champion,
            MappingProxyType({name: m.ranker.copy() for name, m in self.models.items()}),
            MappingProxyType({name: m.version for name, m in self.models.items()}),
            MappingProxyType({name: copy(m.curve) for name, m in self.models.items()}),
            copy(self.counters),
            copy(self.shown),
            self._current_duel(),
            0.0 if self.trial is None else self.trial.alpha,
            () if self.trial is None else tuple(copy(one) for one in self.trial.tallies),
            msgspec.structs.replace(self.contest, trial=None),
        )

    @property
    def champion(self) -> str:
        """The name of the model that ranks."""
        return self.contest.champion

    @property
    def trial(self) -> Trial | None:
        """The running experiment."""
        return self.contest.trial

    def state(self) -> State:
        """Return the whole state as plain values."""
        self.learn()
        return State(
            self.epoch,
            self.position,
            self._fold(),
            self.settings,
            [model.state() for model in self.models.values()],
            self.joins,
            self.counters,
            self.shown,
            self.contest,
            self.digests,
        )

    def restore(self, state: State) -> None:
        """Restore what :meth:`state` returned, also in an older version."""
        self.epoch = state.engine
        self.position, self._chain, self._found = state.position, state.chain, []
        self._waiting = []  # the state has learnt from all before it
        self.settings, self.contest = state.settings, state.contest
        self.models = {one.name: one.model() for one in state.models}
        self.joins, self.counters, self.shown = state.joins, state.counters, state.shown
        self.digests, self._duel = state.digests, None

    # One method a kind of entry; what it returns goes into the chain of the digest.

    def _configured(self, record: Record, entry: Configured) -> None:
        self.learn()
        settings = msgspec.json.decode(entry.settings, type=LoopSettings)
        if self.settings is not None and self.settings.names != settings.names:
            raise DataError("the features of a loop cannot be changed; use another loop name")
        if self.settings is None:
            self.epoch = entry.engine
        configured = () if self.settings is None else self.settings.rankers
        models = {}
        for text, ranker in settings.make_rankers().items():
            models[text] = self.models.get(text) or Model(
                text, fresh(ranker, settings.names), record.position
            )
        for name, model in self.models.items():
            if name not in configured or name == self.champion:
                models.setdefault(name, model)
        self.settings, self.models = settings, models
        self.contest.champion = self.champion or settings.rankers[0]

    def _ranked(self, record: Record, entry: Ranked | RankedId) -> None:
        self.counters.rankings += 1
        self.joins.ranked(entry.id, record.position, record.at)

    def _observed(self, record: Record, entry: Observed) -> str:
        settings = self._known_settings()
        status = self.joins.observed(
            entry.ranking_id, record.position, settings.max_early, settings.max_events
        )
        counters = self.counters
        counters.events += 1
        if status == "applied":
            return status
        counters.pending += status == "pending"
        counters.late += status == "late"
        counters.rejected += status == "rejected"
        if status == "late" and settings.late:
            late = self.joins.late(entry.ranking_id, record.position, settings.max_events)
            if late is not None:
                return f"late, {self._learn_from(late, record.position, late=True)}"
        return status

    def _paged(self, _: Record, entry: Paged) -> None:
        self.joins.paged(entry.ranking_id, entry.page)

    def _closed(self, record: Record, entry: Closed) -> str:
        settings = self._known_settings()
        waiting = self.joins.close(entry.ranking_id, settings.max_closed)
        if waiting is None:
            return "unknown"
        self.counters.closed += 1
        if not waiting.events:
            return "nothing"  # as most rankings: nobody said anything, and nothing is learnt
        return self._learn_from(waiting, record.position)

    def _learn_from(self, waiting: Open, position: int, late: bool = False) -> str:
        """Join a ranking with its feedback, judge a running experiment by it, and learn."""
        settings, trial = self._known_settings(), self.trial
        ranked = self._ranked_at(waiting.position)
        ranking = ranked.ranking(waiting.pages)
        events = []
        for place in waiting.events:
            event = self._fetch(place)
            if isinstance(event, Observed) and event.item in ranking.places:
                events.append(event)
            elif not late:
                self.counters.strays += 1
        if trial is not None and ranked.experiment == trial.id and not late:
            rules = rules_of(trial.feedback)
            trial.judge(ranked, grades_by(rules, ranking, events), settings.max_closed)
        grades = grades_by(settings.rules, ranking, events)
        return self._add_example(ranking, grades, position, by_clicks=True)

    def _judged(self, record: Record, entry: Judged) -> str:
        self.counters.judgements += 1
        ranking = self._ranked_at(entry.position).ranking(named=True)
        try:
            grades = judgement_grades(ranking, entry.judgement())
        except DataError:
            return "rejected"
        return self._add_example(ranking, grades, record.position)

    def _model_added(self, record: Record, entry: ModelAdded) -> None:
        self.learn()
        self.models[entry.name] = Model(entry.name, loads(entry.model), record.position)

    def _promoted(self, record: Record, entry: Promoted) -> str:
        self.learn()
        settings = self._known_settings()
        return self.contest.promoted(entry, self.models, settings, record.position)

    def _rolled_back(self, record: Record, entry: RolledBack) -> str:
        self.learn()
        for name, body in entry.models.items():
            before = self.models.get(name)
            curve = None if before is None else before.curve
            self.models[name] = Model(name, loads(body), record.position, curve)
        self.contest.champion, self.contest.trial = entry.champion, None
        return entry.champion

    def _experiment_started(self, _: Record, entry: ExperimentStarted) -> str:
        self.learn()
        return self.contest.started(entry, self.models, self._known_settings())

    def _experiment_ended(self, record: Record, entry: ExperimentEnded) -> str:
        self.learn()
        settings = self._known_settings()
        return self.contest.ended(entry, self.models, settings, record.position)

    def _epoch_started(self, record: Record, entry: EpochStarted) -> str:
        state = epoch_state(entry, record.position)
        if state is None:
            return "passed over"
        self.restore(state)
        self.epoch, self.digests = entry.engine, {}
        return "started"

    def _checked(self, _: Record, entry: Checked) -> None:
        if self.epoch != ENGINE:  # another arithmetic
            return
        own = self.digests.get(entry.position)
        if own is not None and own != entry.digest:
            raise DivergedError(
                f"after entry {entry.position} the state here has the digest {own}, but the "
                f"journal has {entry.digest}; start again from a snapshot or by replay"
            )

    def _add_example(
        self, ranking: Ranking, grades: NDArray[np.float64], position: int, by_clicks: bool = False
    ) -> str:
        """Keep what is now known about a ranking, and learn if the batch is full."""
        settings, counters = self._known_settings(), self.counters
        if len({grade for grade in grades.tolist() if grade >= 0}) < 2:
            return "nothing"  # no document is better than another
        example = make_example(settings, ranking, grades, position, by_clicks)
        if example is None:
            counters.refused += 1
            return "refused"
        counters.agreed += int(ranking.scores[ranking.order].argmax()) == 0
        counters.examples += 1
        self._waiting.append(example)
        if len(self._waiting) >= _BATCH:
            self.learn()
        return "learnt"

    def _current_duel(self) -> Duel | None:
        if self.trial is None:
            self._duel = None
        elif self._duel is None or self._duel.id != self.trial.id:
            self._duel = self.trial.duel()
        return self._duel

    def _ranked_at(self, position: int) -> Ranked:
        entry = self._fetch(position)
        if not isinstance(entry, Ranked):
            raise DataError(f"entry {position} must be a ranking; found {type(entry).__name__}")
        return entry

    def _known_settings(self) -> LoopSettings:
        if self.settings is None:
            raise DataError("the loop has no settings yet; its first entry must contain them")
        return self.settings


_APPLY: Mapping[type, Callable[..., object]] = {
    Configured: Engine._configured,
    Ranked: Engine._ranked,
    RankedId: Engine._ranked,
    Observed: Engine._observed,
    Closed: Engine._closed,
    Judged: Engine._judged,
    Paged: Engine._paged,
    ModelAdded: Engine._model_added,
    Promoted: Engine._promoted,
    RolledBack: Engine._rolled_back,
    ExperimentStarted: Engine._experiment_started,
    ExperimentEnded: Engine._experiment_ended,
    EpochStarted: Engine._epoch_started,
    Checked: Engine._checked,
}
