"""Search a ranker's parameters with Optuna, on folds by query."""

from __future__ import annotations

import math
import signal
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop._utils.arguments import check_number
from rankloop._utils.tabular import Tabular
from rankloop.data.frames import as_frame
from rankloop.exceptions import DataError, MissingExtraError
from rankloop.experiments.named_rankers import open_space
from rankloop.experiments.tune_folds import CATEGORY_LIMIT, FoldMeans, Plan
from rankloop.features.column import LIMIT
from rankloop.measures.conventions import Convention, as_convention
from rankloop.measures.measure import Measure, parse
from rankloop.rankers.parameters import check_whole
from rankloop.rankers.registry import ranker_text, read_ranker
from rankloop.rankers.search import OneOf

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from types import ModuleType

    from optuna.study import Study
    from optuna.trial import BaseTrial, FrozenTrial

    from rankloop.experiments.fold_source import Data
    from rankloop.rankers.base import Ranker
    from rankloop.rankers.search import Search


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
class Tuned(Tabular):
    """The best setting found, as a ranker to train, and every trial.

    setting : its parameters that were searched, and `category_limit`, if several were tried
    """

    ranker: str
    setting: dict[str, object]
    value: float
    trials: tuple[Trial, ...]

    def to_dict(self) -> dict[str, object]:
        """Return what the command line prints as JSON."""
        return {
            "ranker": self.ranker,
            "setting": self.setting,
            "value": self.value,
            "trials": [vars(trial) for trial in self.trials],
        }

    def _rows(self) -> list[dict[str, object]]:
        return [
            {
                "trial": trial.number,
                "value": trial.value,
                "stopped": trial.pruned,
                "setting": ", ".join(f"{name}={value}" for name, value in trial.setting.items()),
            }
            for trial in self.trials
        ]

    def to_frame(self, kind: str | None = None) -> Any:
        """Return one row per trial, as a frame of `pandas` or `polars`."""
        rows = [{**vars(t), **t.setting} for t in self.trials]
        return as_frame([{k: v for k, v in row.items() if k != "setting"} for row in rows], kind)


def tune(
    data: Data,
    ranker: str,
    measure: str | Measure = "nDCG@10",
    convention: str | Convention = "standard",
    *,
    folds: int = 5,
    trials: int = 50,
    timeout: float | None = None,
    storage: str | os.PathLike[str] | None = None,
    seed: int = 0,
    scale: str | None = None,
    category_limit: Sequence[int] = (),
    cluster: object = None,
    on_trial: Callable[[Trial, Trial | None], None] | None = None,
    **options: object,
) -> Tuned:
    """Search the parameters in a ranker's search space.

    The value of a setting is the mean, over folds, of the measure on the held-out part, after
    fitting on the rest as `rankloop train` does. A setting that falls behind the median of earlier
    ones after a fold is stopped. The ranker's own defaults are tried first.

    Parameters
    ----------
    data : a data set, or files or a folder
    ranker : as `solar-ii` or `slam:measure=AP`; parameters that are given are not searched
    folds : at least 2
    trials : number of settings, including those found in `storage`
    timeout : seconds after which no new setting is tried
    storage : a file that keeps the trials; a later search continues from it
    seed : random seed of folds, shuffles and search
    scale : a scaler's name; it is fitted on each training part
    category_limit : values to try for :class:`rankloop.Described`'s parameter of that name, such
        as (16, 100, 1000); the data is held in memory once for each
    cluster : a Dask cluster, as in :func:`rankloop.distributed.connect`, whose workers read the
        files and measure the folds of a setting at the same time. The results are the same.
    on_trial : called after each trial with the trial and the best one so far
    options : options of :func:`rankloop.read`, for files

    Raises
    ------
    MissingExtraError
        if Optuna is not installed.

    Examples
    --------
    >>> from rankloop.data.simulate import mslr_like
    >>> data = mslr_like(40, np.random.default_rng(0), n_features=6, mean_length=10).data
    >>> found = tune(data, "solar-i", folds=3, trials=5, scale="log")
    >>> len(found.trials), found.trials[0].setting, found.ranker.startswith("solar-i:C=")
    (5, {'C': 1e-05}, True)
    """
    check_number("trials", trials, 1)
    check_number("the number of folds", folds, 2)
    check_number("seed", seed, 0)
    cls, fixed = read_ranker(ranker)
    wanted, rules = parse(measure), as_convention(convention)
    start = cls(**fixed)
    space = open_space(start, set(fixed))
    if category_limit:
        for limit in category_limit:
            check_whole("category_limit", limit, 1)
        space = {**space, CATEGORY_LIMIT: OneOf(tuple(category_limit))}
    if not space:
        raise DataError(
            f"{ranker} has no parameters to search; see `rankloop rankers` for those that have"
        )
    optuna = _optuna()
    plan = Plan(data, options, start, folds, seed, scale, wanted, rules)
    with plan.make_measurer(cluster) as measured:
        return _search(optuna, ranker, space, plan, measured, trials, timeout, storage, on_trial)


def _search(
    optuna: ModuleType,
    ranker: str,
    space: Mapping[str, Search],
    plan: Plan,
    measured: FoldMeans,
    trials: int,
    timeout: float | None,
    storage: str | os.PathLike[str] | None,
    on_trial: Callable[[Trial, Trial | None], None] | None,
) -> Tuned:
    start, fixed = plan.start, read_ranker(ranker)[1]
    asked = [ranker, plan.measure, plan.rules.name, plan.folds, plan.seed, plan.scale]
    if CATEGORY_LIMIT in space:
        asked.append(space[CATEGORY_LIMIT].grid())
    name = " ".join(map(str, [*asked, measured.digest]))
    seed = plan.seed
    with _delay_interrupts():
        study = _study(optuna, storage, name, seed)
        if not study.trials and (defaults := _defaults(start, space)):
            study.enqueue_trial(defaults)

    def objective(trial: BaseTrial) -> float:
        with _delay_interrupts():
            setting = {key: _suggest(trial, key, search) for key, search in space.items()}
            known = _find_value(study, setting)
        if known is not None:
            return known
        reached: list[float] = []
        for mean in measured.of(setting):
            reached += [] if math.isnan(mean) else [mean]
            with _delay_interrupts():
                if reached:
                    trial.report(float(np.mean(reached)), len(reached))
                if trial.should_prune():
                    raise optuna.TrialPruned
        return float(np.mean(reached)) if reached else -math.inf

    end = math.inf if timeout is None else time.monotonic() + timeout
    left = trials - sum(t.state.is_finished() for t in study.trials)
    while left > 0 and time.monotonic() < end:
        left -= 1
        tried = _run_next_trial(optuna, study, objective)
        if on_trial is not None:
            best = _complete(study)
            on_trial(_trial(tried), _trial(max(best, key=lambda t: t.value)) if best else None)
    if not _complete(study):
        raise DataError(f"no setting of {ranker} was finished in time; increase the timeout")
    best = study.best_trial
    finished = tuple(_trial(t) for t in study.trials if t.state.is_finished())
    own = {name: value for name, value in best.params.items() if name != CATEGORY_LIMIT}
    text = ranker_text(ranker.partition(":")[0], {**fixed, **own})
    return Tuned(text, dict(best.params), best.value, finished)


def _optuna() -> ModuleType:
    try:
        import optuna
    except ImportError:
        raise MissingExtraError("optuna", "tune", "tuning") from None
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    return optuna


def _study(optuna: ModuleType, storage: str | os.PathLike[str] | None, name: str, seed: int) -> Any:
    journal = None
    if storage is not None:
        from optuna.storages import JournalStorage
        from optuna.storages.journal import JournalFileBackend

        try:
            journal = JournalStorage(JournalFileBackend(str(storage)))
        except (OSError, ValueError) as error:
            raise DataError(f"cannot keep trials in {storage}: {error}") from None
    study = optuna.create_study(
        storage=journal,
        study_name=name,
        direction="maximize",
        load_if_exists=True,
        pruner=optuna.pruners.MedianPruner(n_startup_trials=5),
    )
    study.sampler = optuna.samplers.TPESampler(seed=seed + len(study.trials))  # new draws
    return study


def _suggest(trial: Any, name: str, search: Search) -> object:
    if isinstance(search, OneOf):
        return trial.suggest_categorical(name, search.values)
    if search.whole:
        return trial.suggest_int(name, int(search.low), int(search.high), log=search.log)
    return trial.suggest_float(name, search.low, search.high, log=search.log)


def _defaults(ranker: Ranker, space: Mapping[str, Search]) -> dict[str, object]:
    """Return the ranker's own setting, or nothing if it is not in the search space."""
    setting = {name: getattr(ranker, name, LIMIT) for name in space}
    for name, search in space.items():
        value = setting[name]
        if isinstance(search, OneOf):
            if value not in search.values:
                return {}
        elif not isinstance(value, int | float) or not search.low <= value <= search.high:
            return {}
    return setting


def _run_next_trial(optuna: ModuleType, study: Any, objective: Callable[[BaseTrial], float]) -> Any:
    """Return the next trial, finished."""
    states = optuna.trial.TrialState
    with _delay_interrupts():
        trial = study.ask()
    try:
        outcome = {"values": objective(trial)}
    except optuna.TrialPruned:
        outcome = {"state": states.PRUNED}
    except BaseException:
        study.tell(trial, state=states.FAIL)
        raise
    with _delay_interrupts():
        return study.tell(trial, **outcome)


@contextmanager
def _delay_interrupts() -> Iterator[None]:
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


def _complete(study: Study) -> list[Any]:
    return [t for t in study.trials if t.state.name == "COMPLETE"]


def _find_value(study: Study, setting: dict[str, object]) -> float | None:
    """Return the value of a setting that was tried before."""
    return next((t.value for t in _complete(study) if t.params == setting), None)


def _trial(trial: FrozenTrial) -> Trial:
    pruned = trial.state.name == "PRUNED"
    value = trial.value
    if pruned and trial.intermediate_values:
        value = trial.intermediate_values[max(trial.intermediate_values)]
    return Trial(trial.number + 1, dict(trial.params), value, pruned)
