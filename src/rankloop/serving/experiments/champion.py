"""The champion, its challengers, and the error budget that is left for experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rankloop.rankers.model_files.saving import dumps, loads
from rankloop.serving.experiments.experiment import LiveExperiment
from rankloop.serving.experiments.intervals import Outcomes, share_of_errors
from rankloop.serving.learning.models import Model

if TYPE_CHECKING:
    from rankloop.serving.experiments.experiment import Promotion
    from rankloop.serving.journal.action_entries import ExperimentEnded, ExperimentStarted, Promoted
    from rankloop.serving.settings.loop import LoopSettings

    Models = dict[str, Model]


class Experiments(msgspec.Struct):
    """The champion of a loop, its running experiment and its error budget, as plain values.

    An operator may start an experiment with some challengers. If a promotion asks for it, a
    *holdback* follows: an experiment that keeps comparing the new champion, as it continues to
    learn, with the state that the old one had. The old one becomes champion again if it is proven
    better.

    champion : the model that ranks
    running : the running experiment
    started, spent : how many were started, including holdbacks, and the error budget they used
    promotions, rollbacks : how often a model became champion, and how often an old one returned
    """

    champion: str = ""
    running: LiveExperiment | None = None
    started: int = 0
    spent: float = 0.0
    promotions: int = 0
    rollbacks: int = 0

    def start(self, entry: ExperimentStarted, models: Models, settings: LoopSettings) -> str:
        """Start an experiment; this ends a running holdback."""
        busy = self.running is not None and not self.running.is_holdback
        names = [self.champion, *entry.challengers]
        known = all(name in models for name in names) and len(set(names)) == len(names)
        if busy or not known or len(names) < 2:
            return "refused"
        # Bytes instead of the models, which continue to learn: all outcomes of an experiment must
        # be about the same challengers.
        bodies = [dumps(models[name].ranker) for name in names]
        versions = [models[name].version for name in names]
        is_started = self._begin(
            entry.id, names, versions, bodies, settings, entry.promote, entry.share, entry.holdback
        )
        return "started" if is_started else "refused"

    def end(
        self, entry: ExperimentEnded, models: Models, settings: LoopSettings, position: int
    ) -> str:
        """End the running experiment, and promote its winner if it was started for that."""
        experiment = self.running
        if experiment is None or experiment.id != entry.id:
            return "unknown"
        self.running = None
        if entry.winner not in experiment.names[1:]:
            # The champion of a holdback continues to learn, so that it may become worse later. Even
            # after it won, the comparison with the old one starts again.
            if experiment.is_holdback and entry.winner == self.champion:
                old = (experiment.names[1], experiment.versions[1], experiment.models[1])
                self._hold_back(*old, settings, experiment.share, position)
            return "ended"
        if experiment.promote == "no":
            return "ended"
        tested = experiment.models[experiment.names.index(entry.winner)]
        before = models.get(entry.winner)
        if experiment.promote == "snapshot" or before is None:
            curve = None if before is None else before.curve
            models[entry.winner] = Model(entry.winner, loads(tested), position, curve)
        self.rollbacks += experiment.is_holdback
        self._crown(entry.winner, models, settings, experiment.holdback, position)
        return entry.winner

    def promote(
        self, entry: Promoted, models: Models, settings: LoopSettings, position: int
    ) -> str:
        """Make a model the champion; this ends a running experiment."""
        if entry.model not in models:
            return "unknown"
        self._crown(entry.model, models, settings, entry.holdback, position)
        return entry.model

    def _crown(
        self, name: str, models: Models, settings: LoopSettings, holdback: float, position: int
    ) -> None:
        old, self.running = self.champion, None
        self.champion = name
        self.promotions += 1
        models[name].version = position
        if holdback and old != name and old in models:
            before = models[old]
            self._hold_back(old, before.version, dumps(before.ranker), settings, holdback, position)

    def _hold_back(
        self,
        old: str,
        version: int,
        body: bytes,
        settings: LoopSettings,
        share: float,
        position: int,
    ) -> None:
        # No bytes for the champion: it takes part as it continues to learn. If the old one wins, it
        # returns exactly as it was compared ("snapshot").
        names, versions = [self.champion, old], [position, version]
        self._begin(
            f"holdback {position}", names, versions, [b"", body], settings, "snapshot", share
        )

    def _begin(
        self,
        experiment_id: str,
        names: list[str],
        versions: list[int],
        bodies: list[bytes],
        settings: LoopSettings,
        promote: Promotion,
        share: float,
        holdback: float = 0.0,
    ) -> bool:
        alpha = share_of_errors(settings.alpha, self.spent, self.started)
        if alpha <= 0:
            return False
        # The share is spent now, whatever the outcome. If it were returned after an experiment
        # without a winner, repeating experiments could exceed the budget of the loop.
        self.started += 1
        self.spent += alpha
        self.running = LiveExperiment(
            experiment_id,
            names,
            versions,
            bodies,
            alpha,
            dict(settings.feedback),
            promote,
            share,
            holdback,
            [Outcomes() for _ in names[1:]],
        )
        return True
