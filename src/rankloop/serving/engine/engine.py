"""The engine turns entries into state, without a clock, a network or hidden randomness.

    state = fold(apply, entries)

The state is the same on every machine, to the last bit. Readers get models that never change.
"""

from __future__ import annotations

import logging
from copy import copy
from types import MappingProxyType
from typing import TYPE_CHECKING

import msgspec

from rankloop.exceptions import DataError
from rankloop.feedback.grading import grades_by, judgement_grades
from rankloop.rankers.model_files.saving import loads
from rankloop.serving.engine.columns import arrange, columns_of
from rankloop.serving.engine.epochs import epoch_state, quarantined_state
from rankloop.serving.engine.joins import Joins
from rankloop.serving.engine.state import ENGINE, Published, State, Totals
from rankloop.serving.experiments.champion import Experiments
from rankloop.serving.journal.base import CompactedError
from rankloop.serving.journal.entries import (
    Checked,
    Closed,
    Compacted,
    Configured,
    Entry,
    EpochStarted,
    ExperimentEnded,
    ExperimentStarted,
    Judged,
    ModelAdded,
    ModelRemoved,
    Observed,
    Paged,
    Promoted,
    Quarantined,
    Ranked,
    RankedId,
    Retried,
    RolledBack,
    digest_of,
)
from rankloop.serving.learning.examples import make_example
from rankloop.serving.learning.failures import (
    MAX_KEPT,
    DivergedError,
    Failure,
    failure,
    is_contained,
)
from rankloop.serving.learning.models import (
    Model,
    Quality,
    fresh,
    learn_examples,
    model_name,
)
from rankloop.serving.settings.loop import LoopSettings, read_journaled, rules_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rankloop.feedback.ranking import Ranking
    from rankloop.serving.engine.joins import Open
    from rankloop.serving.experiments.experiment import ExperimentModels, LiveExperiment
    from rankloop.serving.journal.base import Record
    from rankloop.serving.learning.examples import Example

_log = logging.getLogger("rankloop.serving")

_BATCH = 64  # examples that are learnt together: much faster than one by one, with the same result
_CHECKS_KEPT = 16  # digests that wait for the `Checked` entry of the process that leads


class Engine:
    """The state of a loop: entries change it by :meth:`apply`, and models learn by :meth:`learn`.

    From a click to new weights: an `Observed` entry is only joined with its ranking. When the
    window of the ranking is over, a `Closed` entry follows, and `_close_ranking` fetches ranking
    and events, grades them (`grades_by`), and makes an example of them (`make_example`). Examples
    wait until a batch is full, or until somebody asks for the models; then `learn` measures every
    model on each example, and lets it learn (`learning/models.py`).

    An error that an entry causes stops only that entry, or the model that fails to learn from it
    (`learning/failures.py`). Errors of the store, and digests that differ, are raised.

    Parameters
    ----------
    fetch : returns the entry at an earlier position; the engine itself keeps only positions
    """

    def __init__(self, fetch: Callable[[int], Entry]) -> None:
        self._fetch = fetch
        self.position, self.epoch = 0, ENGINE
        self.settings: LoopSettings | None = None
        self.columns: dict[int, tuple[str, ...]] = {}  # by the position of their settings
        self.models: dict[str, Model] = {}
        self.experiments = Experiments()
        self.joins = Joins()
        self.totals = Totals()
        self.shown = Quality()
        self._waiting: list[Example] = []  # examples of which the models know nothing yet
        self.digests: dict[int, str] = {}
        self._chain = b""  # a digest of the result of each entry
        self.failures: list[Failure] = []
        self.base = 0  # the last position that was compacted
        self._experiment_models: ExperimentModels | None = None

    def learn(self) -> None:
        """Learn from the examples that wait; call it before looking at `models` or `shown`.

        :meth:`apply` only collects examples, and learns when a batch of them is full. The result
        does not depend on when this is called.
        """
        waiting, self._waiting = self._waiting, []
        if waiting:
            settings = self._require_settings()
            columns, names = settings.columns, settings.names
            learn_examples(waiting, self.models.values(), self.shown, self._fail, columns, names)

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
        # Without `check`, some entries were left out on purpose, so that digests must differ.
        change = _APPLY.get(type(entry)) if check or not isinstance(entry, Checked) else None
        result = None if change is None else self._try(change, record, entry)
        # The results are part of the digest: two engines that once decided differently, such as
        # late instead of applied, are found out at the next check, even if their models agree.
        self._extend_chain(position, str(result))
        self.position = position
        # Entries are counted, not seconds: all processes take digests at the same positions.
        if self.settings is not None and position % self.settings.check_every == 0:
            self.digests[position] = self.digest()
            if len(self.digests) > _CHECKS_KEPT:
                del self.digests[next(iter(self.digests))]

    def _try(self, change: Callable[..., object], record: Record, entry: Entry) -> object:
        """Return what a change returned; if it fails because of its entry, only count that."""
        try:
            return change(self, record, entry)
        except Exception as error:
            if not is_contained(error):
                raise
            self._fail(record.position, type(entry).__name__, error)
            return "failed"

    def _fail(self, position: int, what: str, error: Exception) -> None:
        """Count a failure; the latest ones are kept for people to look at."""
        self.totals.failed += 1
        self.failures = [*self.failures[1 - MAX_KEPT :], failure(position, what, error)]
        n = self.totals.failed
        if n & (n - 1) == 0:  # the first, the second, the fourth ...: many do not fill the log
            _log.error("entry %d: %s failed, and is left out: %s", position, what, error)

    def pass_over(self, record: Record) -> None:
        """Continue as if the next entry did not exist; a ranking is closed, but not learnt from."""
        if isinstance(record.entry, Closed) and self.settings is not None:
            self.joins.close(record.entry.ranking_id, self.settings.max_closed)
        self.position = record.position

    def _extend_chain(self, position: int, result: str) -> None:
        """Add the result of an entry to the chain, so that its digest depends on all of them."""
        self._chain = digest_of(self._chain, position.to_bytes(8, "little"), result.encode())

    def digest(self) -> str:
        """Return a text that is equal exactly if the same entries were applied."""
        self.learn()
        experiments, experiment = self.experiments, self.experiments.running
        plain = (self.position, experiments.champion, experiments.spent, self.totals, self.shown)
        tried = None if experiment is None else (experiment.id, experiment.outcomes)
        models = [
            (m.name, m.version, m.refused, m.curve, m.ranker.digest()) for m in self.models.values()
        ]
        return digest_of(msgspec.msgpack.encode((plain, tried, models, self._chain))).hex()

    def publish(self) -> Published:
        """Return the models that readers use for ranking."""
        self.learn()
        if self.settings is None:
            raise DataError("the loop has no settings yet; its first entry must contain them")
        # Copies, because this engine goes on changing its models and totals while requests read.
        return Published(
            self.position,
            self.settings,
            self.champion,
            MappingProxyType({name: m.ranker.copy() for name, m in self.models.items()}),
            MappingProxyType({name: m.version for name, m in self.models.items()}),
            MappingProxyType({name: copy(m.curve) for name, m in self.models.items()}),
            MappingProxyType({name: copy(m.changes) for name, m in self.models.items()}),
            copy(self.totals),
            copy(self.shown),
            self._current_experiment(),
            0.0 if self.running is None else self.running.alpha,
            ()
            if self.running is None
            else tuple(copy(outcomes) for outcomes in self.running.outcomes),
            msgspec.structs.replace(self.experiments, running=None),
            MappingProxyType(dict(self.columns)),
            tuple(self.failures),
        )

    @property
    def champion(self) -> str:
        """The name of the model that ranks."""
        return self.experiments.champion

    @property
    def running(self) -> LiveExperiment | None:
        """The running experiment."""
        return self.experiments.running

    def state(self) -> State:
        """Return the whole state as plain values."""
        self.learn()
        return State(
            self.epoch,
            self.position,
            self._chain,
            self.settings,
            [model.state() for model in self.models.values()],
            self.joins,
            self.totals,
            self.shown,
            self.experiments,
            self.digests,
            self.failures,
            self.base,
            self.columns,
        )

    def restore(self, state: State) -> None:
        """Restore what :meth:`state` returned, also in an older version."""
        self.epoch = state.engine
        self.position, self._chain = state.position, state.chain
        # The models of the state have learnt from all entries before it. Examples that wait here
        # belong to the models that it replaces, and must not reach the new ones.
        self._waiting = []
        self.settings, self.experiments = state.settings, state.experiments
        self.columns = state.columns
        self.models = {model.name: model.model() for model in state.models}
        self.joins, self.totals, self.shown = state.joins, state.totals, state.shown
        self.digests, self._experiment_models = state.digests, None
        self.failures, self.base = state.failures, state.base

    # One method for each kind of entry; what it returns goes into the chain of the digest. Those
    # that change models call `learn` first: waiting examples are for the models as they are now.

    def _configure(self, record: Record, entry: Configured) -> None:
        self.learn()
        before = self.settings
        settings = read_journaled(entry.settings, before)
        if before is None:
            self.epoch = entry.engine
        if settings.computes and (before is None or before.feature_rules != settings.feature_rules):
            self.columns = {**self.columns, record.position: settings.names}
        # Models of unchanged rankers go on. Of all others, those that operators added stay, and so
        # does the champion; a ranker that was removed from the settings goes.
        configured = () if before is None else before.rankers
        models = {}
        for text, ranker in settings.make_rankers().items():
            name = model_name(text, settings, self.models)
            models[name] = self.models.get(name) or Model(
                name, fresh(ranker, settings.names, settings.columns), record.position
            )
        for name, model in self.models.items():
            if name not in configured or name == self.champion:
                models.setdefault(name, model)
        self.settings, self.models = settings, models
        self.experiments.champion = self.champion or next(iter(models))

    def _open_ranking(self, record: Record, entry: Ranked | RankedId) -> None:
        self.totals.rankings += 1
        self.joins.open_ranking(entry.id, record.position, record.at)

    def _add_event(self, record: Record, entry: Observed) -> str:
        settings = self._require_settings()
        status = self.joins.add_event(
            entry.ranking_id, record.position, settings.max_early, settings.max_events
        )
        totals = self.totals
        totals.events += 1
        if status == "applied":
            return status
        totals.pending += status == "pending"
        totals.late += status == "late"
        totals.rejected += status == "rejected"
        if status == "late" and settings.late:
            late = self.joins.add_late_event(entry.ranking_id, record.position, settings.max_events)
            if late is not None:
                return f"late, {self._learn_from(late, record.position, late=True)}"
        return status

    def _add_page(self, _: Record, entry: Paged) -> None:
        self.joins.add_page(entry.ranking_id, entry.page)

    def _close_ranking(self, record: Record, entry: Closed) -> str:
        settings = self._require_settings()
        waiting = self.joins.close(entry.ranking_id, settings.max_closed)
        if waiting is None:
            return "unknown"
        self.totals.closed += 1
        if not waiting.events:
            return "nothing"  # as for most rankings: without feedback, nothing is learnt
        return self._learn_from(waiting, record.position)

    def _learn_from(self, waiting: Open, position: int, late: bool = False) -> str:
        """Join a ranking with its feedback, judge a running experiment by it, and learn."""
        settings, experiment = self._require_settings(), self.running
        ranked = self._ranking_at(waiting.position)
        ranking = ranked.ranking(waiting.pages, X=self._matrix(ranked))
        events = []
        for place in waiting.events:
            event = self._entry_at(place)
            if isinstance(event, Observed) and event.item in ranking.places:
                events.append(event)
            elif not late:  # a late event repeats the whole ranking, whose strays are counted
                self.totals.strays += 1
        # An experiment keeps the rules of its start, so that new settings cannot move a comparison
        # that is running. Each ranking counts once, so late feedback does not count again.
        if experiment is not None and ranked.experiment == experiment.id and not late:
            try:
                rules = rules_of(experiment.feedback)
                experiment.judge(ranked, grades_by(rules, ranking, events), settings.max_closed)
            except Exception as error:  # the models can still learn from the ranking
                if not is_contained(error):
                    raise
                self._fail(position, f"experiment {experiment.id}", error)
        grades = grades_by(settings.rules, ranking, events)
        return self._add_example(ranking, grades, position, events)

    def _judge(self, record: Record, entry: Judged) -> str:
        self.totals.judgements += 1
        return self._learn_judgement(entry, record.position)

    def _learn_judgement(self, entry: Judged, position: int) -> str:
        ranked = self._ranking_at(entry.position)
        ranking = ranked.ranking(named=True, X=self._matrix(ranked))
        try:
            grades = judgement_grades(ranking, entry.judgement())
        except DataError:
            return "rejected"
        return self._add_example(ranking, grades, position)

    def _add_model(self, record: Record, entry: ModelAdded) -> None:
        self.learn()
        self.models[entry.name] = Model(entry.name, loads(entry.model), record.position)

    def _remove_model(self, _: Record, entry: ModelRemoved) -> str:
        self.learn()
        tried = () if self.running is None else self.running.names
        if entry.name == self.champion or entry.name in tried or entry.name not in self.models:
            return "refused"
        del self.models[entry.name]
        return entry.name

    def _promote(self, record: Record, entry: Promoted) -> str:
        self.learn()
        settings = self._require_settings()
        return self.experiments.promote(entry, self.models, settings, record.position)

    def _roll_back(self, record: Record, entry: RolledBack) -> str:
        self.learn()
        models = {}
        for name, body in entry.models.items():
            before = self.models.get(name)
            curve = None if before is None else before.curve
            models[name] = Model(name, loads(body), record.position, curve)
        self.models |= models
        self.experiments.champion, self.experiments.running = entry.champion, None
        return entry.champion

    def _start_experiment(self, _: Record, entry: ExperimentStarted) -> str:
        self.learn()
        return self.experiments.start(entry, self.models, self._require_settings())

    def _end_experiment(self, record: Record, entry: ExperimentEnded) -> str:
        self.learn()
        settings = self._require_settings()
        return self.experiments.end(entry, self.models, settings, record.position)

    def _start_epoch(self, record: Record, entry: EpochStarted) -> str:
        state = epoch_state(entry, record.position)
        if state is None:
            return "passed over"
        self.restore(state)
        self.epoch, self.digests = entry.engine, {}
        return "started"

    def _quarantine(self, record: Record, entry: Quarantined) -> str:
        state = quarantined_state(entry, record.position)
        if state is None:
            return "passed over"
        self.restore(state)
        self.digests = {}  # those in between are of a state that had the entry
        return "quarantined"

    def _retry(self, record: Record, entry: Retried) -> str:
        """Learn again from what a closing or a judgement should have given."""
        failed = self._entry_at(entry.position)
        if isinstance(failed, Judged):
            return self._learn_judgement(failed, record.position)
        if isinstance(failed, Closed):
            ranking = self.joins.closed.get(failed.ranking_id)
            if ranking is not None:
                return self._learn_from(ranking, record.position, late=True)
        return "refused"

    def _compact(self, _: Record, entry: Compacted) -> None:
        self.base = max(self.base, entry.until)

    def _compare_digest(self, _: Record, entry: Checked) -> None:
        if self.epoch != ENGINE:  # the digests of another version are of other bits
            return
        digest = self.digests.get(entry.position)
        if digest is not None and digest != entry.digest:
            raise DivergedError(
                f"after entry {entry.position} the state here has the digest {digest}, but the "
                f"journal has {entry.digest}; start again from a snapshot or by replay"
            )

    def _add_example(
        self,
        ranking: Ranking,
        grades: NDArray[np.float64],
        position: int,
        events: Sequence[Observed] | None = None,
    ) -> str:
        """Keep what is now known about a ranking, and learn if the batch is full."""
        settings, totals = self._require_settings(), self.totals
        if len({grade for grade in grades.tolist() if grade >= 0}) < 2:
            return "nothing"  # no document is better than another
        example = make_example(settings, ranking, grades, position, events)
        if example is None:
            totals.refused += 1
            return "refused"
        totals.agreed += int(ranking.scores[ranking.order].argmax()) == 0
        totals.examples += 1
        self._waiting.append(example)
        if len(self._waiting) >= _BATCH:
            self.learn()
        return "learnt"

    def _current_experiment(self) -> ExperimentModels | None:
        # Models of an experiment never change, and loading them is slow: once is enough.
        if self.running is None:
            self._experiment_models = None
        elif self._experiment_models is None or self._experiment_models.id != self.running.id:
            self._experiment_models = self.running.load()
        return self._experiment_models

    def _ranking_at(self, position: int) -> Ranked:
        entry = self._entry_at(position)
        if not isinstance(entry, Ranked):
            raise DataError(f"entry {position} must be a ranking; found {type(entry).__name__}")
        return entry

    def _matrix(self, ranked: Ranked) -> NDArray[np.float32]:
        """Return the features of a ranking in the present columns."""
        now = self._require_settings().names
        return arrange(ranked.matrix(), columns_of(ranked, self.columns, now), now)

    def _entry_at(self, position: int) -> Entry:
        # One process may still have it in memory, another not: the journal decides for all.
        if position <= self.base:
            raise CompactedError(f"entry {position} was compacted and is only in the archive")
        return self._fetch(position)

    def _require_settings(self) -> LoopSettings:
        if self.settings is None:
            raise DataError("the loop has no settings yet; its first entry must contain them")
        return self.settings


_APPLY: Mapping[type, Callable[..., object]] = {
    Configured: Engine._configure,
    Ranked: Engine._open_ranking,
    RankedId: Engine._open_ranking,
    Observed: Engine._add_event,
    Closed: Engine._close_ranking,
    Judged: Engine._judge,
    Paged: Engine._add_page,
    ModelAdded: Engine._add_model,
    ModelRemoved: Engine._remove_model,
    Promoted: Engine._promote,
    RolledBack: Engine._roll_back,
    ExperimentStarted: Engine._start_experiment,
    ExperimentEnded: Engine._end_experiment,
    EpochStarted: Engine._start_epoch,
    Quarantined: Engine._quarantine,
    Retried: Engine._retry,
    Compacted: Engine._compact,
    Checked: Engine._compare_digest,
}
