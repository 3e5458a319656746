"""The folds on which settings are measured: in this process, or on the workers of a cluster."""

from __future__ import annotations

import copy
import os
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from rankloop._utils.arguments import as_list
from rankloop.data.dataset import QueryDataset
from rankloop.data.io.formats import read
from rankloop.data.splits import k_folds
from rankloop.exceptions import DataError
from rankloop.experiments.fold_source import numbers_only
from rankloop.features.column import LIMIT
from rankloop.features.columns import Features, needs_description
from rankloop.measures.evaluation import evaluate
from rankloop.rankers.wrappers.described import data_for, fit_to

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rankloop.measures.conventions import Convention
    from rankloop.measures.measure import Measure
    from rankloop.rankers.base import Ranker

    Fold = tuple[QueryDataset, QueryDataset]

CATEGORY_LIMIT = "category_limit"
"""What a setting has beside the parameters of the ranker, if several limits are tried."""


class FoldMeans(Protocol):
    """Measures settings; `digest` identifies the data."""

    digest: str

    def of(self, setting: Mapping[str, object]) -> Iterator[float]:
        """Yield the mean of the measure on each fold, in order."""


@dataclass(frozen=True)
class Plan:
    """What is measured, on which folds of which data."""

    data: Any
    options: Mapping[str, Any]
    start: Ranker
    folds: int
    seed: int
    scale: str | None
    measure: Measure
    rules: Convention

    @contextmanager
    def make_measurer(self, cluster: object) -> Iterator[FoldMeans]:
        """Yield what measures settings, on a cluster or, without one, here."""
        if cluster is None:
            yield _Here(self)
            return
        from rankloop.distributed.cluster import connect

        with connect(cluster) as client:
            yield _There(self, client)

    def prepare(self, category_limit: int | None = None) -> tuple[str, Ranker, list[Fold]]:
        """Return a digest of the data, the ranker for it, and the folds."""
        data = self.data
        if not isinstance(data, QueryDataset):
            if not isinstance(data, str | os.PathLike):
                data = as_list(
                    "data",
                    data,
                    "a QueryDataset (rankloop.from_table makes one of a frame), or files",
                )
            data = read(*([data] if isinstance(data, str | os.PathLike) else data), **self.options)
        data, start = _prepare(data, self.start, self.scale, category_limit)
        digest = sha256(data.X.tobytes() + data.y.tobytes() + data.offsets.tobytes()).hexdigest()
        folds = [
            (train, test.shuffle(np.random.default_rng([self.seed, i, 2])))
            for i, (train, test) in enumerate(_scale(data, self.folds, self.seed, self.scale))
        ]
        return digest[:16], start, folds

    def mean(self, start: Ranker, setting: Mapping[str, object], fold: Fold) -> float:
        """Fit a setting on the training part of a fold, and measure it on the other."""
        train, test = fold
        own = {name: value for name, value in setting.items() if name != CATEGORY_LIMIT}
        model = copy.deepcopy(start).set_params(**own).fit(train)
        return evaluate(test, model.predict(test), self.measure, self.rules)[self.measure]


class _Here:
    """Folds are prepared once for each limit of categories, and kept."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self.digest, start, folds = plan.prepare()
        self._ready: dict[int | None, tuple[Ranker, list[Fold]]] = {None: (start, folds)}

    def of(self, setting: Mapping[str, object]) -> Iterator[float]:
        limit = _limit(setting)
        if limit not in self._ready:
            self._ready[limit] = self._plan.prepare(limit)[1:]
        start, folds = self._ready[limit]
        for fold in folds:
            yield self._plan.mean(start, setting, fold)


class _There:
    """Workers prepare the folds and keep them; the folds of a setting are measured together."""

    def __init__(self, plan: Plan, client: Any) -> None:
        from rankloop.distributed.calling import gather_results, submit

        self._client, self._names = client, [f"fold {i + 1}" for i in range(plan.folds)]
        options = {name: value for name, value in plan.options.items() if name != "notice"}
        plan_to_send = replace(plan, options=options)
        self._plan, self._submitted, self._gathered = plan_to_send, submit, gather_results
        self._held: dict[int | None, list[Any]] = {}
        task = submit(client, _digest, self._hold(None)[0])
        self.digest = gather_results(client, [task], self._names[:1])[0]

    def of(self, setting: Mapping[str, object]) -> Iterator[float]:
        held = self._hold(_limit(setting))
        futures = [self._submitted(self._client, _mean, fold, setting) for fold in held]
        yield from self._gathered(self._client, futures, self._names)

    def _hold(self, limit: int | None) -> list[Any]:
        """Return the folds as the workers prepare them for a limit of categories."""
        if limit not in self._held:
            self._held[limit] = [
                self._submitted(self._client, _one_fold, self._plan, i, limit)
                for i in range(self._plan.folds)
            ]
        return self._held[limit]


def _limit(setting: Mapping[str, object]) -> int | None:
    limit = setting.get(CATEGORY_LIMIT)
    return None if limit is None else int(str(limit))


def _one_fold(plan: Plan, i: int, limit: int | None) -> tuple[Plan, str, Ranker, Fold]:
    digest, start, folds = plan.prepare(limit)
    return replace(plan, data=None), digest, start, folds[i]


def _digest(held: tuple[Plan, str, Ranker, Fold]) -> str:
    return held[1]


def _mean(held: tuple[Plan, str, Ranker, Fold], setting: Mapping[str, object]) -> float:
    plan, _, start, fold = held
    return plan.mean(start, setting, fold)


def _prepare(
    data: QueryDataset, start: Ranker, scale: str | None, limit: int | None
) -> tuple[QueryDataset, Ranker]:
    """Return data in the form that the ranker needs: without missing values, dates, categories."""
    has_categories = any(column.kind == "category" for column in data.features or ())
    if limit is not None and (scale is not None or not has_categories):
        why = "a scaled column is a number" if has_categories else "the data has no categories"
        raise DataError(f"{CATEGORY_LIMIT} has nothing to limit: {why}; leave it out")
    if not needs_description(data):
        return data, start
    if scale is not None:
        return numbers_only(data)[0], start
    features = Features.learn(data, limit=LIMIT if limit is None else limit)
    ranker = fit_to(start, features)
    return data_for(ranker, features, data), ranker


def _scale(data: QueryDataset, folds: int, seed: int, scale: str | None) -> Iterator[Fold]:
    from rankloop.data.scaling import scaler_from_name

    for train, test in k_folds(data, folds, np.random.default_rng(seed)):
        if scale is None:
            yield train, test
        else:
            scaler = scaler_from_name(scale).fit(train)
            yield scaler.transform(train), scaler.transform(test)
