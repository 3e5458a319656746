"""The champion, its challengers, and the error budget that is left for experiments."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from rankloop.rankers.model_files.saving import dumps, loads
from rankloop.serving.experiments import Tally, share_of_errors
from rankloop.serving.models import Model
from rankloop.serving.trials import Trial

if TYPE_CHECKING:
    from rankloop.serving.config import LoopSettings
    from rankloop.serving.journal.entries import ExperimentEnded, ExperimentStarted, Promoted
    from rankloop.serving.trials import Promotion

    Models = dict[str, Model]


class Contest(msgspec.Struct):
    """The champion of a loop and its running experiment, as plain values.

    An operator may start an experiment with some challengers. If a promotion asks for it, an
    experiment *watches* the new champion: it compares it, as it continues to learn, with the state
    that the old one had. The old one becomes champion again if it is proven better.

    champion : the model that ranks
    trial : the running experiment
    experiments, spent : how many were started, including watches, and the error budget they used
    promotions, rollbacks : how often a model became champion, and how often an old one returned
    """

    champion: str = ""
    trial: Trial | None = None
    experiments: int = 0
    spent: float = 0.0
    promotions: int = 0
    rollbacks: int = 0

    def started(self, entry: ExperimentStarted, models: Models, settings: LoopSettings) -> str:
        """Start an experiment; this ends a running watch."""
        busy = self.trial is not None and not self.trial.watches
        names = [self.champion, *entry.challengers]
        known = all(name in models for name in names) and len(set(names)) == len(names)
        if busy or not known or len(names) < 2:
            return "refused"
        bodies = [dumps(models[name].ranker) for name in names]
        versions = [models[name].version for name in names]
        started = self._begin(
            entry.id, names, versions, bodies, settings, entry.promote, entry.share, entry.watch
        )
        return "started" if started else "refused"

    def ended(
        self, entry: ExperimentEnded, models: Models, settings: LoopSettings, position: int
    ) -> str:
        """End the running experiment, and promote its winner if it was started for that."""
        trial = self.trial
        if trial is None or trial.id != entry.id:
            return "unknown"
        self.trial = None
        if entry.winner not in trial.names[1:]:
            if trial.watches and entry.winner == self.champion:  # proven for now: watch on
                old = (trial.names[1], trial.versions[1], trial.models[1])
                self._watch(*old, settings, trial.share, position)
            return "ended"
        if trial.promote == "no":
            return "ended"
        tested = trial.models[trial.names.index(entry.winner)]
        before = models.get(entry.winner)
        if trial.promote == "snapshot" or before is None:
            curve = None if before is None else before.curve
            models[entry.winner] = Model(entry.winner, loads(tested), position, curve)
        self.rollbacks += trial.watches
        self._crown(entry.winner, models, settings, trial.watch, position)
        return entry.winner

    def promoted(
        self, entry: Promoted, models: Models, settings: LoopSettings, position: int
    ) -> str:
        """Make a model the champion; this ends a running experiment."""
        if entry.model not in models:
            return "unknown"
        self._crown(entry.model, models, settings, entry.watch, position)
        return entry.model

    def _crown(
        self, name: str, models: Models, settings: LoopSettings, watch: float, position: int
    ) -> None:
        old, self.trial = self.champion, None
        self.champion = name
        self.promotions += 1
        models[name].version = position
        if watch and old != name and old in models:
            before = models[old]
            self._watch(old, before.version, dumps(before.ranker), settings, watch, position)

    def _watch(
        self,
        old: str,
        version: int,
        body: bytes,
        settings: LoopSettings,
        share: float,
        position: int,
    ) -> None:
        names, versions = [self.champion, old], [position, version]
        self._begin(f"watch {position}", names, versions, [b"", body], settings, "snapshot", share)

    def _begin(
        self,
        trial_id: str,
        names: list[str],
        versions: list[int],
        bodies: list[bytes],
        settings: LoopSettings,
        promote: Promotion,
        share: float,
        watch: float = 0.0,
    ) -> bool:
        alpha = share_of_errors(settings.alpha, self.spent, self.experiments)
        if alpha <= 0:
            return False
        self.experiments += 1
        self.spent += alpha
        self.trial = Trial(
            trial_id,
            names,
            versions,
            bodies,
            alpha,
            dict(settings.feedback),
            promote,
            share,
            watch,
            [Tally() for _ in names[1:]],
        )
        return True
