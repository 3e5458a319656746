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
from rankloop.serving.engine.columns import arrange, columns_of
from rankloop.serving.engine.effects import EFFECTS
from rankloop.serving.engine.joins import Joins
from rankloop.serving.engine.state import ENGINE, Published, State, Totals
from rankloop.serving.experiments.champion import Experiments
from rankloop.serving.journal.action_entries import Checked
from rankloop.serving.journal.base import CompactedError
from rankloop.serving.journal.entries import Entry, digest_of
from rankloop.serving.journal.ranking_entries import Closed, Ranked
from rankloop.serving.learning.examples import make_example
from rankloop.serving.learning.failures import MAX_KEPT, Failure, failure, is_contained
from rankloop.serving.learning.models import Model, Quality, learn_examples

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from rankloop.feedback.grading import GradedEvent
    from rankloop.feedback.ranking import Ranking
    from rankloop.serving.experiments.experiment import ExperimentModels, LiveExperiment
    from rankloop.serving.journal.base import Record
    from rankloop.serving.learning.examples import Example
    from rankloop.serving.settings.loop import LoopSettings

_log = logging.getLogger("rankloop.serving")

_BATCH = 64  # examples that are learnt together: much faster than one by one, with the same result
_CHECKS_KEPT = 16  # digests that wait for the `Checked` entry of the process that leads


class Engine:
    """The state of a loop: entries change it by :meth:`apply`, and models learn by :meth:`learn`.

    From a click to new weights: an `Observed` entry is only joined with its ranking. When the
    window of the ranking is over, a `Closed` entry follows. It fetches ranking and events, grades
    them (`grades_by`), and makes an example of them (`make_example`); `effects.py` has a function
    for each kind of entry. Examples wait until a batch is full, or until somebody asks for the
    models; then `learn` measures every model on each example, and lets it learn
    (`learning/models.py`).

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
            settings = self.require_settings()
            columns, names = settings.columns, settings.names
            learn_examples(waiting, self.models.values(), self.shown, self.fail, columns, names)

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
        change = EFFECTS.get(type(entry)) if check or not isinstance(entry, Checked) else None
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
            self.fail(record.position, type(entry).__name__, error)
            return "failed"

    def fail(self, position: int, what: str, error: Exception) -> None:
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
            MappingProxyType({name: m.refused for name, m in self.models.items()}),
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

    def add_example(
        self,
        ranking: Ranking,
        grades: NDArray[np.float64],
        position: int,
        events: Sequence[GradedEvent] | None = None,
    ) -> str:
        """Keep what is now known about a ranking, and learn if the batch is full."""
        settings, totals = self.require_settings(), self.totals
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

    def ranking_at(self, position: int) -> Ranked:
        """Return the ranking at a position."""
        entry = self.entry_at(position)
        if not isinstance(entry, Ranked):
            raise DataError(f"entry {position} must be a ranking; found {type(entry).__name__}")
        return entry

    def matrix(self, ranked: Ranked) -> NDArray[np.float32]:
        """Return the features of a ranking in the present columns."""
        now = self.require_settings().names
        return arrange(ranked.matrix(), columns_of(ranked, self.columns, now), now)

    def entry_at(self, position: int) -> Entry:
        """Return the entry at a position, if it was not compacted."""
        # One process may still have it in memory, another not: the journal decides for all.
        if position <= self.base:
            raise CompactedError(f"entry {position} was compacted and is only in the archive")
        return self._fetch(position)

    def require_settings(self) -> LoopSettings:
        """Return the settings of the loop."""
        if self.settings is None:
            raise DataError("the loop has no settings yet; its first entry must contain them")
        return self.settings
