"""The folds of a comparison on the workers of a cluster, which read the data themselves."""

from __future__ import annotations

import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rankloop.distributed.calling import gather_results, submit
from rankloop.distributed.cluster import connect
from rankloop.experiments.fold_result import check_measurable, run_fold
from rankloop.experiments.fold_source import find_splits

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rankloop.experiments.fold_result import FoldResult
    from rankloop.experiments.fold_source import Data, Split, Trials
    from rankloop.experiments.named_rankers import NamedRanker
    from rankloop.measures.conventions import Convention
    from rankloop.measures.measure import Measure


@dataclass(frozen=True)
class Deal:
    """How the data of a comparison is found and divided; every worker finds the same folds."""

    data: Data
    folds: int | str | None
    trials: Trials | None
    seed: int
    scale: str | None
    options: Mapping[str, Any]

    def splits(self) -> tuple[list[Split], str]:
        """Return the folds, and how they were made."""
        splits, how = find_splits(
            self.data, self.folds, trials=self.trials, seed=self.seed, **self.options
        )
        return [split.scale(self.scale) for split in splits], how


def run_folds(
    cluster: object,
    deal: Deal,
    todo: Sequence[tuple[NamedRanker, int]],
    measures: Sequence[Measure],
    conventions: Sequence[Convention],
    on_result: Callable[[int, FoldResult], None],
) -> None:
    """Run each ranker on its fold, on the workers; hand over each result when it is done."""
    options = {name: value for name, value in deal.options.items() if name != "notice"}
    key = pickle.dumps(Deal(deal.data, deal.folds, deal.trials, deal.seed, deal.scale, options))
    with connect(cluster) as client:
        futures = [
            submit(client, _fold, key, named_ranker, i, measures, conventions)
            for named_ranker, i in todo
        ]
        names = [f"{named_ranker.name} on fold {i + 1}" for named_ranker, i in todo]
        gather_results(client, futures, names, on_result=on_result)


_kept: dict[bytes, list[Split]] = {}  # of the comparison that this worker takes part in


def _fold(
    key: bytes,
    named_ranker: NamedRanker,
    i: int,
    measures: Sequence[Measure],
    conventions: Sequence[Convention],
) -> FoldResult:
    deal: Deal = pickle.loads(key)
    if key not in _kept:
        _kept.clear()
        _kept[key] = deal.splits()[0]
    split = _kept[key][i]
    parts = split.parts()
    check_measurable(parts[1], measures, conventions)
    return run_fold(named_ranker, split.name, parts, measures, conventions, [deal.seed, i])
