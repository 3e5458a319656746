"""Search a learner's parameters with Optuna, on folds by query."""

from __future__ import annotations

import copy
import math
import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.features import Features, needs_description
from rankloop.data.frames import as_frame
from rankloop.data.splits import k_folds
from rankloop.exceptions import DataError, MissingExtraError
from rankloop.experiments.contenders import open_space
from rankloop.experiments.fold_source import numbers_only
from rankloop.learners.registry import learner_text, read_learner
from rankloop.learners.search import Choice
from rankloop.learners.wrappers.described import suited, with_categories
from rankloop.metrics.conventions import Convention, as_convention
from rankloop.metrics.evaluation import evaluate
from rankloop.metrics.measures import Measure, parse

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping

    from rankloop.data.dataset import QueryDataset
    from rankloop.learners.base import Ranker
    from rankloop.learners.search import Search


@dataclass(frozen=True)
class Trial:
    """One setting that was tried.

    number : from 1
    value : the mean over its folds; None if it failed
    pruned : whether it was stopped before the last fold
    """

    number: int
    setting: dict[str, object]
    value: float | None
    pruned: bool


@dataclass(frozen=True)
class Tuned:
    """The best setting found, as a learner to train, and every trial."""

    learner: str
    setting: dict[str, object]
    value: float
    trials: tuple[Trial, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return what the command line prints as JSON."""
        return {
            "learner": self.learner,
            "setting": self.setting,
            "value": self.value,
            "trials": [vars(trial) for trial in self.trials],
        }

    def to_frame(self, kind: str | None = None) -> Any:
        """Return one row per trial, as a frame of `pandas` or `polars`."""
        rows = [{**vars(t), **t.setting} for t in self.trials]
        return as_frame([{k: v for k, v in row.items() if k != "setting"} for row in rows], kind)


def tune(
    data: QueryDataset,
    learner: str,
    measure: str | Measure = "nDCG@10",
    convention: str | Convention = "standard",
    *,
    folds: int = 5,
    trials: int = 50,
    timeout: float | None = None,
    storage: str | os.PathLike[str] | None = None,
    seed: int = 0,
    scale: str | None = None,
    on_trial: Callable[[Trial, Trial | None], None] | None = None,
) -> Tuned:
    """Search the parameters in a learner's search space.

    The value of a setting is the mean, over folds, of the measure on the held-out part, after
    fitting on the rest as `rankloop train` does. A setting that falls behind the median of earlier
    ones after a fold is stopped. The learner's own defaults are tried first.

    Parameters
    ----------
    learner : as `solar-ii` or `slam:measure=AP`; parameters that are given are not searched
    folds : at least 2
    trials : number of settings, including those found in `storage`
    timeout : seconds after which no new setting is tried
    storage : a file that keeps the trials; a later search continues from it
    seed : random seed of folds, shuffles and search
    scale : a scaler's name; it is fitted on each training part
    on_trial : called after each trial with the trial and the best one so far

    Raises
    ------
    MissingExtraError
        if Optuna is not installed.

    Examples
    --------
    >>> from rankloop.data.simulate import mslr_like
    >>> data = mslr_like(40, np.random.default_rng(0), n_features=6, mean_length=10).data
    >>> found = tune(data, "solar-i", folds=3, trials=5, scale="log")
    >>> len(found.trials), found.trials[0].setting, found.learner.startswith("solar-i:C=")
    (5, {'C': 1e-05}, True)
    """
    if trials < 1:
        raise DataError(f"trials must be at least 1; found {trials}")
    cls, fixed = read_learner(learner)
    wanted, rules = parse(measure), as_convention(convention)
    start = cls(**fixed)
    space = open_space(start, set(fixed))
    if not space:
        raise DataError(f"{learner} has nothing to search; see `rankloop learners` for what can be")
    optuna = _optuna()
    data, start = _prepared(data, start, scale)
    parts = [
        (train, test.shuffled(np.random.default_rng([seed, i, 2])))
        for i, (train, test) in enumerate(_scaled(data, folds, seed, scale))
    ]
    name = _study_name(learner, wanted, rules, folds, seed, scale, data)
    with _uninterrupted():
        study = _study(optuna, storage, name, seed)
        if not study.trials and (defaults := _defaults(start, space)):
            study.enqueue_trial(defaults)

    def objective(trial: Any) -> float:
        with _uninterrupted():
            setting = {key: _suggested(trial, key, search) for key, search in space.items()}
            known = _known(study, setting)
        if known is not None:
            return known
        reached: list[float] = []
        for train, test in parts:
            model = copy.deepcopy(start).set_params(**setting).fit(train)
            mean = evaluate(test, model.predict(test), wanted, rules)[wanted]
            reached += [] if math.isnan(mean) else [mean]
            with _uninterrupted():
                if reached:
                    trial.report(float(np.mean(reached)), len(reached))
                if trial.should_prune():
                    raise optuna.TrialPruned
        return float(np.mean(reached)) if reached else -math.inf

    end = math.inf if timeout is None else time.monotonic() + timeout
    left = trials - sum(t.state.is_finished() for t in study.trials)
    while left > 0 and time.monotonic() < end:
        left -= 1
        tried = _tried(optuna, study, objective)
        if on_trial is not None:
            best = _complete(study)
            on_trial(_trial(tried), _trial(max(best, key=lambda t: t.value)) if best else None)
    if not _complete(study):
        raise DataError(f"no setting of {learner} was finished in time; increase the timeout")
    best = study.best_trial
    finished = tuple(_trial(t) for t in study.trials if t.state.is_finished())
    text = learner_text(learner.partition(":")[0], {**fixed, **best.params})
    return Tuned(text, dict(best.params), best.value, finished)


def _prepared(data: QueryDataset, start: Ranker, scale: str | None) -> tuple[QueryDataset, Ranker]:
    """Return data in the form that the learner needs: without missing values, dates, categories."""
    if not needs_description(data):
        return data, start
    if scale is not None:
        return numbers_only(data)[0], start
    features = Features.learn(data)
    return suited(features, data, start.takes_nan), with_categories(start, features)


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise MissingExtraError("optuna", "tune", "tuning") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _study(optuna: Any, storage: str | os.PathLike[str] | None, name: str, seed: int) -> Any:
    kept = None
    if storage is not None:
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        try:
            kept = JournalStorage(JournalFileBackend(str(storage)))
        except (OSError, ValueError) as error:
            raise DataError(f"cannot keep trials in {storage}: {error}") from None
    study = optuna.create_study(
        storage=kept,
        study_name=name,
        direction="maximize",
        load_if_exists=True,
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5),
    )
    study.sampler = optuna.samplers.TPESampler(seed=seed + len(study.trials))  # go on, not again
    return study


def _study_name(learner: str, measure: Measure, rules: Convention, *rest: Any) -> str:
    *settings, data = rest
    digest = sha256(data.X.tobytes() + data.y.tobytes() + data.offsets.tobytes()).hexdigest()
    return " ".join(map(str, [learner, measure, rules.name, *settings, digest[:16]]))


def _scaled(data: QueryDataset, folds: int, seed: int, scale: str | None) -> Any:
    from rankloop.data.scaling import scaler_from_name

    for train, test in k_folds(data, folds, np.random.default_rng(seed)):
        if scale is None:
            yield train, test
        else:
            scaler = scaler_from_name(scale).fit(train)
            yield scaler.transform(train), scaler.transform(test)


def _suggested(trial: Any, name: str, search: Search) -> Any:
    if isinstance(search, Choice):
        return trial.suggest_categorical(name, search.values)
    if search.whole:
        return trial.suggest_int(name, int(search.low), int(search.high), log=search.log)
    return trial.suggest_float(name, search.low, search.high, log=search.log)


def _defaults(learner: Ranker, space: Mapping[str, Search]) -> dict[str, Any]:
    """Return the learner's own setting, or nothing if it is not in the search space."""
    setting = {name: getattr(learner, name) for name in space}
    for name, search in space.items():
        value = setting[name]
        if isinstance(search, Choice):
            if value not in search.values:
                return {}
        elif not isinstance(value, int | float) or not search.low <= value <= search.high:
            return {}
    return setting


def _tried(optuna: Any, study: Any, objective: Callable[[Any], float]) -> Any:
    """Return the next trial, finished."""
    states = optuna.trial.TrialState
    with _uninterrupted():
        trial = study.ask()
    try:
        outcome = {"values": objective(trial)}
    except optuna.TrialPruned:
        outcome = {"state": states.PRUNED}
    except BaseException:
        study.tell(trial, state=states.FAIL)
        raise
    with _uninterrupted():
        return study.tell(trial, **outcome)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C for a moment, because Optuna's locks do not survive it during a call."""
    if threading.current_thread() is not threading.main_thread():  # interrupts go to the main one
        yield
        return
    held: list[object] = []
    before = signal.signal(signal.SIGINT, lambda *_: held.append(True))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if held:
            raise KeyboardInterrupt


def _complete(study: Any) -> list[Any]:
    return [t for t in study.trials if t.state.name == "COMPLETE"]


def _known(study: object, setting: dict[str, object]) -> float | None:
    """Return the value of a setting that was tried before."""
    return next((t.value for t in _complete(study) if t.params == setting), None)


def _trial(trial: Any) -> Trial:
    pruned = trial.state.name == "PRUNED"
    value = trial.value
    if pruned and trial.intermediate_values:
        value = trial.intermediate_values[max(trial.intermediate_values)]
    return Trial(trial.number + 1, dict(trial.params), value, pruned)
