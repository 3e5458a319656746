"""One ranker on one fold: choose parameters on validation data, then measure on test data.

A result can be stored in a folder, so that an interrupted comparison continues where it was.
"""

from __future__ import annotations

import copy
import json
import math
import re
import time
from dataclasses import asdict, dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from rankloop.data.io.replacing import replace_when_done
from rankloop.exceptions import DataError
from rankloop.features.columns import Features, needs_description
from rankloop.measures.evaluation import evaluate
from rankloop.rankers.batch.base import refit_parameters
from rankloop.rankers.wrappers.described import data_for, fit_to

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rankloop.data.dataset import QueryDataset
    from rankloop.experiments.fold_source import Parts
    from rankloop.experiments.named_rankers import NamedRanker
    from rankloop.measures.conventions import Convention
    from rankloop.measures.measure import Measure
    from rankloop.rankers.base import Ranker


@dataclass(frozen=True)
class FoldScore:
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
    measured: tuple[FoldScore, ...]

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> FoldResult:
        """Make a result from the values of `asdict`."""
        measured = tuple(
            FoldScore(**{**m, "values": tuple(m["values"])}) for m in record["measured"]
        )
        tried = tuple((setting, value) for setting, value in record["tried"])
        return cls(**{**record, "measured": measured, "tried": tried})


def run_fold(
    named_ranker: NamedRanker,
    fold: str,
    parts: Parts,
    measures: Sequence[Measure],
    conventions: Sequence[Convention],
    seed: Sequence[int],
    on_setting: Callable[[float], None] | None = None,
) -> FoldResult:
    """Fit every setting, choose by the first measure and convention, measure the chosen one.

    A ranker that is trained on the validation part in the end (`refit`) is so only once chosen.
    The test part is not used before the choice. Documents are shuffled before they are measured,
    so that the result for ties does not depend on the file; all rankers see the same order.

    on_setting : called after each setting but the last, with the seconds that all will have taken
    """
    named_ranker, (train, valid, test) = describe_parts(named_ranker, parts)
    watched = valid.shuffle(np.random.default_rng([*seed, 1]))
    best: tuple[float, float, dict[str, object], Ranker] | None = None
    tried, total = [], 0.0
    refit = [name for name, wanted in refit_parameters(named_ranker.ranker).items() if wanted]
    ranker = copy.deepcopy(named_ranker.ranker).set_params(**dict.fromkeys(refit, False))
    for setting, model, seconds in _fit_settings(
        replace(named_ranker, ranker=ranker), train, valid
    ):
        result = evaluate(watched, model.predict(watched), measures[0], conventions[0]).results[0]
        reached = -math.inf if math.isnan(result.mean) else result.mean
        tried.append((setting, _finite_or_none(result.mean)))
        total += seconds
        if on_setting is not None and len(tried) < len(named_ranker.settings):
            on_setting(total / len(tried) * len(named_ranker.settings))
        if best is None or reached > best[0]:
            best = reached, seconds, setting, model
    if best is None:
        raise DataError(f"{named_ranker.name} has an empty grid: its search space has no values")
    reached, fit_seconds, chosen, model = best
    if refit:
        start = time.perf_counter()
        again = copy.deepcopy(named_ranker.ranker).set_params(**chosen)
        model = again.fit(train, valid=valid)
        fit_seconds = time.perf_counter() - start
        total += fit_seconds
    judged = test.shuffle(np.random.default_rng([*seed, 2]))
    scores = model.predict(judged)
    return FoldResult(
        named_ranker.name,
        fold,
        chosen,
        _finite_or_none(reached),
        tuple(tried),
        total,
        fit_seconds,
        len(model.dumps()),
        model.rounds_,
        tuple(
            FoldScore(
                str(result.measure),
                rule.name,
                _finite_or_none(result.mean),
                tuple(map(_finite_or_none, result.values.tolist())),
            )
            for rule in conventions
            for result in evaluate(judged, scores, measures, rule)
        ),
    )


def describe_parts(named_ranker: NamedRanker, parts: Parts) -> tuple[NamedRanker, Parts]:
    """Return data in the form that a ranker needs, as described by the training part."""
    if not any(map(needs_description, parts)):
        return named_ranker, parts
    features = Features.learn(parts[0], **named_ranker.limits)  # type: ignore[arg-type] # numbers
    ranker = fit_to(named_ranker.ranker, features)
    train, valid, test = (data_for(ranker, features, part) for part in parts)
    return replace(named_ranker, ranker=ranker), (train, valid, test)


def check_measurable(
    data: QueryDataset, measures: Sequence[Measure], conventions: Sequence[Convention]
) -> None:
    """Raise if a measure cannot be computed on such data, before hours of training."""
    for rule in conventions:
        evaluate(data, np.zeros(data.n_documents), measures, rule)


def _fit_settings(
    named_ranker: NamedRanker, train: QueryDataset, valid: QueryDataset
) -> Iterator[tuple[dict[str, object], Ranker, float]]:
    """Yield every setting with its model and the seconds it took."""
    models = named_ranker.ranker.fit_path(train, named_ranker.settings, valid=valid)
    for setting in named_ranker.settings:
        start = time.perf_counter()
        model = next(models)
        yield setting, model, time.perf_counter() - start


def _finite_or_none(value: float) -> float | None:
    return value if math.isfinite(value) else None


class ResultStore:
    """A folder of finished results; a file is complete or does not exist.

    A result is found by a digest of everything that it depends on, which the file contains, too.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise DataError(
                f"cannot resume from {self.folder}: {error.strerror}; give a folder"
            ) from None

    def get(self, ranker: str, fold: str, key: object) -> FoldResult | None:
        """Return the result if it exists; a damaged file counts as none."""
        try:
            record = json.loads(self._path(ranker, fold, key).read_bytes())
            return FoldResult.from_dict(record["result"]) if record["key"] == key else None
        except (OSError, ValueError, KeyError, TypeError):
            return None

    def put(self, result: FoldResult, key: object) -> None:
        """Write a result; an error leaves no incomplete file."""
        text = json.dumps({"key": key, "result": asdict(result)}, allow_nan=False)
        with replace_when_done(self._path(result.ranker, result.fold, key)) as partial:
            partial.write_text(text + "\n")

    def _path(self, ranker: str, fold: str, key: object) -> Path:
        digest = sha256(json.dumps(key, sort_keys=True).encode()).hexdigest()[:16]
        name = re.sub(r"[^A-Za-z0-9.=-]+", "_", f"{fold}-{ranker}")[:80]
        return self.folder / f"{name}-{digest}.json"
