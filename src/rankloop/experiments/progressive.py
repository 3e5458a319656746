"""Progressive validation: every query is ranked and measured before the ranker learns from it.

A stream needs no test set: each ranking is made by a model that has not seen the query. Documents
are shuffled before they are ranked, so that ties are broken at random (a new model has only ties)
and not by the order of a file, which may reveal the grades.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from rankloop._utils.arguments import check_number, check_type
from rankloop._utils.processors import processors
from rankloop.data.dataset import QueryDataset
from rankloop.exceptions import DataError
from rankloop.measures.conventions import Convention, as_convention
from rankloop.measures.evaluation import evaluate
from rankloop.measures.measure import Measure, parse_all
from rankloop.rankers.online.base import OnlineRanker

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Stream:
    """How one ranker did by one measure.

    values : (permutations, queries) in the order of each permutation; NaN if a query is left out
    """

    ranker: str
    measure: Measure
    convention: str
    values: NDArray[np.float64]

    @property
    def means(self) -> NDArray[np.float64]:
        """The cumulative measure of each permutation: the mean over its queries."""
        return np.array([np.nan if np.isnan(v).all() else np.nanmean(v) for v in self.values])

    @property
    def mean(self) -> float:
        """The mean over permutations."""
        return float(self.means.mean())

    @property
    def std(self) -> float:
        """The standard deviation over permutations (0 for one)."""
        return float(self.means.std(ddof=1)) if len(self.values) > 1 else 0.0

    def curve(self, window: int | None = None) -> NDArray[np.float64]:
        """Return the mean after each query, over all queries so far or over the last `window`.

        It is averaged over permutations, and is NaN until a query has a value.
        """
        known = ~np.isnan(self.values)
        sums = np.cumsum(np.where(known, self.values, 0.0), axis=1)
        counts = np.cumsum(known, axis=1).astype(np.float64)
        if window is not None:
            if window < 1:
                raise DataError(f"window must be at least 1; found {window}")
            sums[:, window:] -= sums[:, :-window].copy()
            counts[:, window:] -= counts[:, :-window].copy()
        with np.errstate(invalid="ignore", divide="ignore"):
            curves = sums / counts
        missing = np.isnan(curves).all(axis=0)
        return np.where(missing, np.nan, np.nanmean(np.where(missing, 0.0, curves), axis=0))

    def to_dict(self) -> dict[str, object]:
        """Return what the command line prints as JSON."""
        return {
            "ranker": self.ranker,
            "measure": str(self.measure),
            "convention": self.convention,
            "mean": None if np.isnan(self.mean) else self.mean,
            "std": None if np.isnan(self.std) else self.std,
            "permutations": len(self.values),
        }


def permute(
    data: QueryDataset, seed: int, permutation: int, *, shuffle: bool = True
) -> QueryDataset:
    """Return the queries in the order of one permutation, with shuffled documents if `shuffle`."""
    rng = np.random.default_rng([seed, permutation])
    stream = data.select(rng.permutation(len(data)))
    return stream.shuffle(rng) if shuffle else stream


def stream(
    data: QueryDataset,
    rankers: Mapping[str, OnlineRanker],
    measures: str | Measure | Iterable[str | Measure] = "nDCG@10",
    conventions: str | Convention | Sequence[str | Convention] = "standard",
    *,
    permutations: int = 1,
    seed: int = 0,
    shuffle: bool = True,
    jobs: int | None = None,
    on_result: Callable[[str, int, Mapping[tuple[str, str], float]], None] | None = None,
) -> list[Stream]:
    """Run several rankers over one pass, in several random orders of the queries.

    Parameters
    ----------
    rankers : by name; each is copied, and continues from its current state
    measures, conventions : every measure is computed under every convention
    permutations : number of random orders of the queries, at least 1; all rankers see the same
    shuffle : whether to shuffle documents; without it, a file whose order reveals the grades makes
        every ranker look better, most of all one that goes through pairs in row order
    seed : random seed of the orders
    jobs : number of threads, by default one per processor; any number gives the same results
    on_result : called after each pass with the ranker, the permutation and its means, keyed by
        (measure, convention)

    Examples
    --------
    >>> from rankloop.data.simulate import separable
    >>> from rankloop.rankers.registry import make_ranker
    >>> data = separable(100, np.random.default_rng(0)).data
    >>> rankers = {name: make_ranker(name) for name in ("slam", "solar-ii")}
    >>> for result in stream(data, rankers, permutations=2):
    ...     print(result.ranker, result.mean > 0.9)
    slam True
    solar-ii True
    """
    check_type("data", data, QueryDataset, "a QueryDataset")
    check_type("rankers", rankers, Mapping, "a mapping of names to rankers")
    for ranker in rankers.values():
        check_type("each of the rankers", ranker, OnlineRanker, "a ranker that learns online")
    if not rankers:
        raise DataError("give at least one ranker")
    check_number("permutations", permutations, 1)
    check_number("seed", seed, 0)
    if not data.n_queries:
        raise DataError("the data has no queries; there is nothing to learn or to measure")
    wanted = parse_all(measures)
    under = [
        as_convention(rule)
        for rule in ([conventions] if isinstance(conventions, str | Convention) else conventions)
    ]
    keys = [(measure, rule) for rule in under for measure in wanted]
    values = {
        name: np.empty((len(keys), permutations, data.n_queries), np.float64) for name in rankers
    }

    def run(name: str, permutation: int, order: QueryDataset) -> tuple[str, int]:
        scores = copy.deepcopy(rankers[name]).predict_then_learn(order)
        losses = [
            result.values for rule in under for result in evaluate(order, scores, wanted, rule)
        ]
        values[name][:, permutation] = losses
        return name, permutation

    with ThreadPoolExecutor(jobs or processors()) as pool:
        for first in range(permutations):  # one order in memory at a time
            order = permute(data, seed, first, shuffle=shuffle)
            for done in as_completed([pool.submit(run, name, first, order) for name in rankers]):
                name, permutation = done.result()
                if on_result is not None:
                    means = np.nanmean(values[name][:, permutation], axis=1)
                    on_result(
                        name,
                        permutation,
                        {(str(m), c.name): float(v) for (m, c), v in zip(keys, means, strict=True)},
                    )
    return [
        Stream(name, measure, rule.name, values[name][k])
        for name in rankers
        for k, (measure, rule) in enumerate(keys)
    ]


@dataclass
class LiveStream:
    """Rankers on a stream that is read once, in batches.

    The documents of each batch are shuffled, ranked and measured before the rankers learn from
    them, as in :func:`rankloop.experiments.progressive.stream`; only sums are kept.
    """

    rankers: Mapping[str, OnlineRanker]
    measures: Sequence[Measure]
    conventions: Sequence[str]
    rng: np.random.Generator
    queries: int = 0
    sums: dict[tuple[str, str, str], float] = field(default_factory=dict)
    counts: dict[tuple[str, str, str], int] = field(default_factory=dict)

    def observe(self, batch: QueryDataset) -> None:
        """Rank, measure and learn from one batch of whole queries."""
        batch = batch.shuffle(self.rng)
        for name, ranker in self.rankers.items():
            scores = ranker.predict_then_learn(batch)
            for convention in self.conventions:
                for result in evaluate(batch, scores, self.measures, convention):
                    key = (name, str(result.measure), convention)
                    self.sums[key] = self.sums.get(key, 0.0) + float(np.nansum(result.values))
                    self.counts[key] = self.counts.get(key, 0) + result.queries
        self.queries += len(batch)

    def to_dicts(self) -> list[dict[str, object]]:
        """Return the means so far, in the form of :meth:`Stream.to_dict`."""
        return [
            {
                "ranker": name,
                "measure": measure,
                "convention": convention,
                "mean": total / self.counts[key] if self.counts[key] else None,
                "std": 0.0,
                "permutations": 1,
            }
            for key, total in self.sums.items()
            for name, measure, convention in [key]
        ]
