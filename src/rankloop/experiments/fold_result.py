"""One ranker on one fold: choose parameters on validation data, then measure on test data."""

from __future__ import annotations

import copy
import math
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.features import Features, needs_description
from rankloop.exceptions import DataError
from rankloop.measures.evaluation import evaluate
from rankloop.rankers.batch.base import refit_parameters
from rankloop.rankers.wrappers.described import suited, with_categories

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rankloop.data.dataset import QueryDataset
    from rankloop.experiments.contenders import Contender
    from rankloop.experiments.fold_source import Parts
    from rankloop.measures.conventions import Convention
    from rankloop.measures.measure import Measure
    from rankloop.rankers.base import Ranker


@dataclass(frozen=True)
class Measured:
    """One measure on the test part; `values` has one number per query, None if it is left out."""

    measure: str
    convention: str
    mean: float | None
    values: tuple[float | None, ...]


@dataclass(frozen=True)
class FoldResult:
    """The result of one ranker on one fold.

    chosen : the setting that was best on validation data
    valid : the value of the chosen setting on validation data
    tried : every setting with its value
    seconds : time for fitting all settings
    fit_seconds : time for fitting the chosen setting
    model_bytes : size of the saved model
    rounds : number of rounds of the chosen model; None for online rankers
    """

    ranker: str
    fold: str
    chosen: dict[str, object]
    valid: float | None
    tried: tuple[tuple[dict[str, object], float | None], ...]
    seconds: float
    fit_seconds: float
    model_bytes: int
    rounds: int | None
    measured: tuple[Measured, ...]

    @classmethod
    def from_dict(cls, told: Mapping[str, Any]) -> FoldResult:
        """Make a result from the values of `asdict`."""
        measured = tuple(Measured(**{**m, "values": tuple(m["values"])}) for m in told["measured"])
        tried = tuple((setting, value) for setting, value in told["tried"])
        return cls(**{**told, "measured": measured, "tried": tried})


def run_fold(
    contender: Contender,
    fold: str,
    parts: Parts,
    measures: Sequence[Measure],
    conventions: Sequence[Convention],
    seed: Sequence[int],
) -> FoldResult:
    """Fit every setting, choose by the first measure and convention, measure the chosen one.

    A ranker that is trained on the validation part in the end (`refit`) is so only once chosen.
    The test part is not used before the choice. Documents are shuffled before they are measured,
    so that the result for ties does not depend on the file; all rankers see the same order.
    """
    contender, (train, valid, test) = describe_parts(contender, parts)
    watched = valid.shuffled(np.random.default_rng([*seed, 1]))
    best: tuple[float, float, dict[str, object], Ranker] | None = None
    tried, total = [], 0.0
    refit = [name for name, wanted in refit_parameters(contender.ranker).items() if wanted]
    ranker = copy.deepcopy(contender.ranker).set_params(**dict.fromkeys(refit, False))
    for setting, model, seconds in _fit_settings(replace(contender, ranker=ranker), train, valid):
        result = evaluate(watched, model.predict(watched), measures[0], conventions[0]).results[0]
        reached = -math.inf if math.isnan(result.mean) else result.mean
        tried.append((setting, _known(result.mean)))
        total += seconds
        if best is None or reached > best[0]:
            best = reached, seconds, setting, model
    if best is None:
        raise DataError(f"{contender.name} has an empty grid: its search space has no values")
    reached, fit_seconds, chosen, model = best
    if refit:
        start = time.perf_counter()
        again = copy.deepcopy(contender.ranker).set_params(**chosen)
        model = again.fit(train, valid=valid)
        fit_seconds = time.perf_counter() - start
        total += fit_seconds
    judged = test.shuffled(np.random.default_rng([*seed, 2]))
    scores = model.predict(judged)
    return FoldResult(
        contender.name,
        fold,
        chosen,
        _known(reached),
        tuple(tried),
        total,
        fit_seconds,
        len(model.dumps()),
        model.rounds_,
        tuple(
            Measured(
                str(result.measure),
                rule.name,
                _known(result.mean),
                tuple(map(_known, result.values.tolist())),
            )
            for rule in conventions
            for result in evaluate(judged, scores, measures, rule)
        ),
    )


def describe_parts(contender: Contender, parts: Parts) -> tuple[Contender, Parts]:
    """Return data in the form that a ranker needs, as described by the training part."""
    if not any(map(needs_description, parts)):
        return contender, parts
    features = Features.learn(parts[0])
    ranker = with_categories(contender.ranker, features)
    train, valid, test = (suited(features, part, ranker.takes_nan) for part in parts)
    return replace(contender, ranker=ranker), (train, valid, test)


def check_measurable(
    data: QueryDataset, measures: Sequence[Measure], conventions: Sequence[Convention]
) -> None:
    """Raise if a measure cannot be computed on such data, before hours of training."""
    for rule in conventions:
        evaluate(data, np.zeros(data.n_documents), measures, rule)


def _fit_settings(
    contender: Contender, train: QueryDataset, valid: QueryDataset
) -> Iterator[tuple[dict[str, object], Ranker, float]]:
    """Yield every setting with its model and the seconds it took."""
    models = contender.ranker.fit_path(train, contender.settings, valid=valid)
    for setting in contender.settings:
        start = time.perf_counter()
        model = next(models)
        yield setting, model, time.perf_counter() - start


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None
